#!/bin/sh
# What heed costs on each core, as linked with --gc-sections at -Os with GCC: code and constants. Stacks: stack.sh.
#   sh ports/cortex-m/size.sh           prints the table
#   sh ports/cortex-m/size.sh update    writes it into ports/cortex-m/README.md, between its markers
#   sh ports/cortex-m/size.sh check     fails if that README.md says something else; exit status 77 if that cannot be told
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
readme=$here/README.md
command -v arm-none-eabi-g++ >/dev/null 2>&1 || { echo "SKIPPED: arm-none-eabi-g++ is not installed"; exit 77; }
compiler="GCC $(arm-none-eabi-g++ -dumpfullversion)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

row() { # row CORE TEXT
  flags=$(sed -n "s/^set(core_flags_$1 \(.*\))/\1/p" "$here/core.cmake")
  common="$flags -mthumb -Os -ffreestanding -ffunction-sections -fdata-sections -I$source/include"
  # shellcheck disable=SC2086
  arm-none-eabi-g++ $common -std=c++17 -fno-exceptions -fno-rtti -fno-math-errno -ffp-contract=off -fno-tree-vectorize \
    -DHEED_FLAGS_ARE_SET -c "$source/lib/single.cpp" -o heed.o
  rm -f libheed.a
  arm-none-eabi-ar rc libheed.a heed.o
  line="| $2"
  for calls in PLAIN ATTENTION ALL OPTIONS; do
    # shellcheck disable=SC2086
    arm-none-eabi-gcc $common -D$calls -c "$here/size.c" -o size.o
    # shellcheck disable=SC2086
    arm-none-eabi-gcc $common -fno-tree-loop-distribute-patterns -c "$here/libc.c" -o libc.o
    # shellcheck disable=SC2086
    arm-none-eabi-gcc $flags -mthumb -nostdlib -Wl,--gc-sections -Wl,-e,start -Wl,-Map,map size.o libc.o libheed.a -lgcc -o program
    line="$line | $(awk -f "$here/heed_bytes.awk" map)"
  done
  echo "$line |"
}

table() {
  echo "| $compiler, -Os, bytes | code: plain self-attention | attention | everything but options | everything |"
  echo "|---|---|---|---|---|"
  row m0plus "M0+, lane1-unfused"
  row m3 "M3, lane1-unfused"
  row m4f "M4F, lane1"
  row m7 "M7, lane1"
  row m33 "M33, lane1"
  row m55 "M55, mve"
}

begin='<!-- size table: sh ports\/cortex-m\/size.sh update -->' end='<!-- end of size table -->'
case ${1-} in
'') table ;;
update)
  table >table
  awk -v begin="$(echo "$begin" | tr -d '\\')" -v end="$end" '
    $0 == begin { print; while ((getline line < "table") > 0) print line; inside = 1 }
    $0 == end { inside = 0 }
    !inside' "$readme" >readme
  cp readme "$readme"
  ;;
check)
  sed -n "/^$begin\$/,/^$end\$/p" "$readme" | sed '1d;$d' >recorded
  [ -s recorded ] || { echo "FAILED: ports/cortex-m/README.md has no size table"; exit 1; }
  grep -q "^| $compiler, " recorded || { echo "SKIPPED: the size table was made with another compiler than $compiler"; exit 77; }
  table >table
  diff recorded table || { echo "FAILED: sizes have changed (<: ports/cortex-m/README.md); if on purpose: sh ports/cortex-m/size.sh update"; exit 1; }
  echo "the size table of ports/cortex-m/README.md is right"
  ;;
esac
