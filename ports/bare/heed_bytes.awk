# Bytes of code and constants that libheed.a has in a program, from the map of GNU ld or of lld. With -v ARCHIVES=PATTERN those of
# other archives: 'lib(heed|gcc)'.
BEGIN { if (!ARCHIVES) ARCHIVES = "libheed" }
function number(hex,   i, n) {
  sub(/^0x/, "", hex)
  for (i = 1; i <= length(hex); i++) n = 16 * n + index("0123456789abcdef", tolower(substr(hex, i, 1))) - 1
  return n
}
/^Linker script and memory map/ { gnu = 1 }
/^ *VMA +LMA +Size/ { lld = 1 }
gnu && $1 ~ /^\./ { section = $1 }
gnu && section ~ /^\.(text|rodata)/ && $NF ~ ARCHIVES "\\.a\\(" && $(NF - 1) ~ /^0x/ { bytes += number($(NF - 1)) }
lld && $5 ~ ARCHIVES "\\.a\\(.*:\\(\\.(text|rodata)" { bytes += number($3) }
END { print bytes + 0 }
