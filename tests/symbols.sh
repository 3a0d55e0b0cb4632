#!/bin/sh
# symbols.sh NM LIBRARY: what the library needs and leaves in a program.
#   needs    memcpy, memset; in lib/os also the system's questions; the compiler's own arithmetic on 32-bit targets
#   defines  heed_* and names in namespace heed; in a kernel file no weak function (a copy compiled for AVX-512 could replace
#            another file's; unoptimised, the others share inline functions, all compiled for the same processor)
#   memory   nothing in .data, in .bss two pointers: the choice of kernel, of floats and of integers
# SPDX-License-Identifier: MIT
set -eu
nm=$1 library=$2
kernels=$(dirname "$0")/../lib/isa
size=$(echo "$nm" | sed 's/nm\(-[0-9.]*\)\{0,1\}$/size\1/')
faults=0
report() { # report TITLE LINES: lines are faults, one each
  if [ -n "$2" ]; then
    printf '%s:\n%s\n' "$1" "$2"
    faults=$((faults + 1))
  fi
}

case $library in
*.a) ;;
*)
  visible=$("$nm" -D --defined-only "$library" | awk '$2 ~ /[A-Z]/ && $3 !~ /^heed_/ { print $3 }')
  report "visible besides heed_*" "$visible"
  needed=$("$nm" -D --undefined-only "$library" | grep -E '_Z|__cxa|__gxx|std' | grep -v __cxa_finalize || true)
  report "needs a C++ library" "$needed"
  count=$("$nm" -D --defined-only "$library" | grep -c ' heed_')
  echo "$count functions visible, $faults faults"
  exit $((faults > 0))
  ;;
esac

# "member type name", for instance "avx2.cpp.o T heed_dot"; undefined ones have no address column.
symbols=$("$nm" -A "$library" | sed -E 's/^[^:]*:([^:]*):[ 0-9a-fA-F]*([A-Za-z]) /\1 \2 /')
[ "$(echo "$symbols" | wc -l)" -gt 50 ] || { echo "nm shows no symbols of $library"; exit 1; }

report "undefined" "$(echo "$symbols" | awk '
  $2 == "U" || $2 == "w" || $2 == "v" { needed[$3] = needed[$3] " " $1; next }
  $2 ~ /[A-Z]/ { defined[$3] = 1 }
  END {
    for (name in needed) {
      if (name in defined || name ~ /^(memcpy|memset|_GLOBAL_OFFSET_TABLE_|\.TOC\.)$/) continue
      if (name ~ /^(getenv|getauxval)$/ && needed[name] == " hosted.cpp.o") continue
      if (name !~ /memmove/ && name ~ /^__(aeabi_|u?div(mod)?di[34]|u?moddi3|ashldi3|ashrdi3|lshrdi3|fixuns|float)/) continue
      if (name ~ /^_(save|rest)([fg]pr|vr)[01]?_[0-9]+(_[xl])?$/) continue  # PowerPC at -Os, 32 and 64 bits
      if (name ~ /^__(asan|ubsan|sanitizer|sancov)/) continue
      print "  " name " in" needed[name]
    }
  }')"
report "weak or unique" "$(echo "$symbols" | awk '$2 ~ /[WVu]/ { print $1, $3 }' | while read -r member name; do
  [ ! -f "$kernels/${member%.o*}" ] || echo "  $name in $member"
done)"
report "foreign names" "$(echo "$symbols" | awk '
  $2 ~ /[A-TX-Z]/ && $3 !~ /^(heed_|_ZNK?4heed|_ZN15heed_front_door|_ZGVN4heed|__x86\.get_pc_thunk)/ { print "  " $3 " in " $1 }')"

memory=$("$size" -A "$library" | awk '
  $2 == ":" || /\(ex / { member = $1; next }
  $1 ~ /^\.(data|bss|tdata|tbss)/ && $1 !~ /^\.data\.rel\.ro/ && $2 > 0 { print member, $1, $2 }')
report "variables" "$(echo "$memory" | awk '
  NF == 0 { next }
  $1 ~ /^(front_door|int_kernels)\./ && $2 ~ /^\.bss/ && $3 <= 16 { next }  # MIPS rounds up
  { print "  " $0 }')"

echo "$(echo "$symbols" | awk '{ print $1 }' | sort -u | wc -l) objects, memory: ${memory:-none}; $faults faults"
exit $((faults > 0))
