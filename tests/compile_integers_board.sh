#!/bin/sh
# compile_integers_board.sh CORE SOURCE HEED_COMPILE PUBLISHED: programs of heed_compile --integers on an emulated board with GCC: they have
# the known answers and sums of every other processor, and what is linked has no function of soft floats. Prints the size of each. Exit
# status 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=gcc source=$2 heed_compile=$3 published=$4
. "$source/tests/board.sh"
. "$source/tests/compiled_integers.sh"
need_tools
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
[ "$board" != microbit ] || board=mps2-an385 # QEMU's micro:bit has too little memory
freestanding="$flags -ffreestanding -ffunction-sections -fdata-sections"
# shellcheck disable=SC2086
"$gcc-g++" $freestanding -fno-tree-vectorize -mfp16-format=ieee -O2 -std=c++17 -fno-exceptions -fno-rtti -fno-math-errno -ffp-contract=off \
  -DHEED_FLAGS_ARE_SET "-I$source/include" -c "$source/lib/single.cpp" -o heed.o
kinds='bert-classes roberta vit deit-classes'
# shellcheck disable=SC2086
"$published" . $kinds
for kind in $kinds; do
  name=$(echo "$kind" | tr - _)_int
  "$heed_compile" "$kind" -o "$name" --integers "$kind/rows.npy" 2>said || { cat said; fail "$kind"; }
  support=''
  for file in ports/cortex-m/startup ports/cortex-m/fault ports/bare/painted_stack ports/bare/libc ports/bare/semihosting; do
    support="$support $source/$file.c"
  done
  # shellcheck disable=SC2046,SC2086
  "$gcc-gcc" $freestanding -fno-tree-loop-distribute-patterns -O2 -std=c99 -Wall -Wextra -I. $(integers_flags "$name") -nostdlib \
    -Wl,--gc-sections -T "$source/ports/bare/link.ld" -L "$source/ports/cortex-m/boards/$board" $integers_sources $support \
    "$name.c" heed.o -lgcc -o "$name.elf" 2>linker || { cat linker; fail "$name does not link"; }
  # Soft floats of Arm's library and of GCC's: __aeabi_fadd, __aeabi_d2iz, __addsf3, ...
  if "$gcc-nm" "$name.elf" | grep -E '__aeabi_(c?[fd](add|sub|rsub|mul|div|cmp|neg|2)|[iul]+2[fd])|__[a-z]*([sdht]f[23]?|[sd]i[sd]f)$'; then
    fail "$core, $name: it links soft floats"
  fi
  found=$(sh "$source/ports/bare/qemu.sh" "$board" "$name.elf") || fail "$core, $name: $found"
  expected=$(awk -v name="$name" '$1 == name { print $2 }' "$source/tests/compiled_integers.txt")
  [ "$found" = "compiled_integers: good $expected" ] || fail "$core, $name: $found, and not $expected"
  "$gcc-size" "$name.elf" | awk -v core="$core" -v name="$name" 'NR == 2 { print core ", " name ": good; " $1 + $2 " bytes of flash, " $2 + $3 " of RAM" }'
done
