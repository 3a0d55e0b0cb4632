#!/bin/sh
# compile_board.sh CORE SOURCE HEED_COMPILE PUBLISHED: programs that heed_compile writes, on an emulated board with GCC: they compute the
# known answers that this computer has put into their files, and keep what their headers promise. Prints the size of each. Exit status
# 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=gcc source=$2 heed_compile=$3 published=$4
. "$source/tests/board.sh"
. "$source/tests/compiled.sh"
need_tools
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
[ "$board" != microbit ] || board=mps2-an385 # QEMU's micro:bit has too little memory
freestanding="$flags -ffreestanding -ffunction-sections -fdata-sections"
# shellcheck disable=SC2086
"$gcc-g++" $freestanding -fno-tree-vectorize -mfp16-format=ieee -O2 -std=c++17 -fno-exceptions -fno-rtti -fno-math-errno -ffp-contract=off \
  -DHEED_FLAGS_ARE_SET "-I$source/include" -c "$source/lib/single.cpp" -o heed.o
"$published" . llama bert vit whisper moonshine
for name in llama bert vit whisper moonshine; do
  [ "$name $board" != "whisper mps3-an547" ] || continue # its tables of cosines and sines are 333 KB
  case $name in # 512 KB of flash, and of memory
  llama) how='--context 48 --piece 8' ;;
  bert) how='--format int8' ;;
  vit) how='--format f16' ;;
  whisper) how='--format int8 --seconds 1' ;;
  moonshine) how='--format int8 --seconds 1' ;;
  esac
  # shellcheck disable=SC2086
  "$heed_compile" $name -o "model_$name" $how 2>said || { cat said; fail "$name"; }
  support=''
  for file in ports/cortex-m/startup ports/cortex-m/fault ports/bare/painted_stack ports/bare/libc ports/bare/semihosting; do
    support="$support $source/$file.c"
  done
  # shellcheck disable=SC2046,SC2086
  "$gcc-gcc" $freestanding -fno-tree-loop-distribute-patterns -O2 -std=c99 -Wall -Wextra -I. $(compiled_flags "model_$name") -nostdlib \
    -Wl,--gc-sections -T "$source/ports/bare/link.ld" -L "$source/ports/cortex-m/boards/$board" $compiled_sources $support \
    "model_$name.c" heed.o -lgcc -o "$name.elf" 2>linker || { cat linker; fail "$name does not link"; }
  found=$(sh "$source/ports/bare/qemu.sh" "$board" "$name.elf") || fail "$core, $name: $found"
  [ "$found" = "compiled_model: good" ] || fail "$core, $name: $found"
  "$gcc-size" "$name.elf" | awk -v core="$core" -v name="$name" 'NR == 2 { print core ", " name ": good; " $1 + $2 " bytes of flash, " $2 + $3 " of RAM" }'
done
