# Maps of a linker, each behind a line "== FUNCTION" of what a program calls besides the base, the first one "== base": lines of
# ports/compile/target_parts.inc for -v core=CORE. A line has the bytes of all sections that the same functions bring into a program, and
# these functions as bits of a number, by their order here. SPDX-License-Identifier: MIT
/^== / { here = n_functions++; in_map = 0; next }
/^Linker script and memory map/ { in_map = 1 }
!in_map { next }
/^ \.[^ ]+$/ { name = $1; getline; $0 = " " name " " $0 }
/^ \./ && NF >= 4 {
  if ($1 ~ /^\.(bss|comment|debug|ARM\.attributes|riscv\.attributes|note|stack)/ || $2 ~ /^0x0*$/ || $3 == "0x0") next
  section = $1 " " $4
  bytes[section] = number($3) # a section may have several: the last one counts
  if (!((section, here) in has)) has[section, here] = 1
}
END {
  for (section in bytes) {
    mask = ""
    if ((section, 0) in has) mask = "0xffffffffffffffff"
    else
      for (nibble = 15; nibble >= 0; nibble--) {
        value = 0
        for (bit = 3; bit >= 0; bit--) value = 2 * value + ((section, 4 * nibble + bit + 1) in has)
        mask = mask substr("0123456789abcdef", value + 1, 1)
      }
    if (mask !~ /^0x/) mask = "0x" mask
    sums[mask] += bytes[section]
  }
  for (mask in sums) print "{\"" core "\", " mask ", " sums[mask] "}," | "sort"
}
function number(hex,  n, i) {
  for (i = 3; i <= length(hex); i++) n = 16 * n + index("0123456789abcdef", substr(hex, i, 1)) - 1
  return n
}
