#!/bin/sh
# cliffs.sh CORE COMPILER SOURCE BUILD: on an emulated board of ports/cortex-m, built in BUILD, n rows of a projection take at
# most 1.02 times the instructions of n + 1 rows and 1.02 n times those of one (tests/device/cliffs.c). Exit status 77, with
# the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=$2 source=$3 build=$4
skip() { echo "SKIPPED: $1"; exit 77; }
[ "$compiler" != clang ] || command -v clang-19 >/dev/null 2>&1 || skip "clang-19 is not installed"
for program in arm-none-eabi-gcc qemu-system-arm; do # clang takes libgcc from the former
  command -v "$program" >/dev/null 2>&1 || skip "$program is not installed"
done
preset=cortex-$core
[ "$compiler" = gcc ] || preset=$preset-clang
(cd "$source" && cmake --preset "$preset" -B "$build" >/dev/null)
cmake --build "$build" --target heed_cliffs
board=$(sed -n 's/^HEED_BOARD:[A-Z]*=//p' "$build/CMakeCache.txt")
machine=$(sed -n 's/^set(HEED_QEMU_MACHINE \(.*\))/\1/p' "$source/ports/cortex-m/boards/$board/board.cmake")
sh "$source/ports/cortex-m/qemu.sh" "$machine" "$build/ports/cortex-m/heed_cliffs.elf"
