#!/bin/sh
# The executors of ports/executors give the bits of one thread. Exit status 77, with the reason, if a tool is missing.
#   executors.sh here SOURCE WORK C CXX LIBRARY   std::thread; those for FreeRTOS and the RP2040 on stubs of POSIX threads
#   executors.sh windows SOURCE WORK              that for Windows, under Wine; heed is one file there
# SPDX-License-Identifier: MIT
set -eu
mode=$1 source=$2
mkdir -p "$3"
work=$(cd "$3" && pwd)
shift 3
cd "$work"
flags="-O2 -Wall -Wextra -I$source/include"
if [ "$mode" = here ]; then
  for name in rp2040 freertos; do
    # shellcheck disable=SC2086
    "$1" $flags -Werror -std=c99 -D_GNU_SOURCE -DHEED_FREERTOS_WORKERS=3 -I"$source/tests/stubs" -c "$source/ports/executors/$name.c" -o $name.o
  done
  # shellcheck disable=SC2086
  "$2" $flags -Werror -std=c++17 "$source/tests/executors_elsewhere.cpp" rp2040.o freertos.o "$3" -pthread -o executors
  ./executors
else
  mingw=x86_64-w64-mingw32
  for program in $mingw-g++ wine; do
    command -v $program >/dev/null 2>&1 || { echo "SKIPPED: $program is not installed"; exit 77; }
  done
  export WINEPREFIX="$work/wine" WINEDEBUG=-all
  # shellcheck disable=SC2086
  $mingw-gcc $flags -Werror -std=c99 -c "$source/ports/executors/windows.c" -o windows.o
  # shellcheck disable=SC2086
  $mingw-g++ $flags -std=c++17 -fno-exceptions -fno-rtti "$source/lib/single.cpp" "$source/tests/executors_elsewhere.cpp" windows.o \
    -static -o executors.exe
  wine cmd /c exit >/dev/null 2>&1 # it reports its first start
  wine executors.exe
fi
