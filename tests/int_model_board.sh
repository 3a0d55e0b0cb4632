#!/bin/sh
# int_model_board.sh CORE COMPILER SOURCE: the stack of ports/calibrate/int_model.c on an emulated board (tests/device/int_model.c)
# keeps to HEED_STACK_BYTES, and to the table of ports/cortex-m/README.md. Exit status 77, with the reason, if a tool is missing.
# SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=$2 source=$3
. "$source/tests/board.sh"
need_tools
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
sections='-ffreestanding -ffunction-sections -fdata-sections'
level=-Os
[ "$type" = MinSizeRel ] || level=-O2
case $compiler in
gcc) c="$gcc-gcc -fno-tree-loop-distribute-patterns" cxx="$gcc-g++ -fno-tree-vectorize -mfp16-format=ieee" ;;
clang) c="clang-19 --target=$target -meabi gnu" cxx="clang++-19 --target=$target -meabi gnu -fno-vectorize -fno-slp-vectorize" ;;
esac
# shellcheck disable=SC2086
$cxx $flags $sections $level -std=c++17 -fno-exceptions -fno-rtti -fno-math-errno -ffp-contract=off -DHEED_FLAGS_ARE_SET \
  "-I$source/include" -c "$source/lib/single.cpp" -o heed.o
for file in ports/cortex-m/startup ports/cortex-m/fault ports/bare/painted_stack ports/bare/libc ports/bare/semihosting ports/port \
  ports/calibrate/int_model tests/device/int_model; do
  # shellcheck disable=SC2086
  $c $flags $sections -Os -std=c99 "-I$source/include" "-I$source/ports" "-I$source/tests" -c "$source/$file.c" \
    -o "$(echo $file | tr / _).o"
done
[ "$board" != microbit ] || board=mps2-an385 # QEMU's micro:bit has too little memory
# shellcheck disable=SC2086
"$gcc-gcc" $flags -nostdlib -Wl,--gc-sections -T "$source/ports/bare/link.ld" -L "$source/ports/cortex-m/boards/$board" ./*.o \
  -lgcc -o int_model.elf 2>linker || { cat linker; fail "does not link"; }
status=0
sh "$source/ports/bare/qemu.sh" "$board" int_model.elf >found || status=$?
cat found
[ $status -eq 0 ] && [ "$(tail -n 1 found)" = end ] || fail "$core, $compiler: exit status $status"
keeps_to_task_stack int_model "$(sed -n 's/^stack int_model_run //p' found)"
