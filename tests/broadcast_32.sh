#!/bin/sh
# broadcast_32.sh SINGLE SOURCE: broadcast.c on 32 bits with the library as two files; a signed overflow or a wild shift
# is a trap. Exit status 77, with the reason, if the compiler is missing. SPDX-License-Identifier: MIT
set -eu
single=$1 source=$2 compiler=i686-linux-gnu-g++
command -v $compiler >/dev/null 2>&1 || { echo "SKIPPED: $compiler is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for kernel in lanes4_no_fma lane1_no_fma; do
  $compiler -std=c++17 -O2 -msse2 -mfpmath=sse -fno-exceptions -fsanitize=undefined -fsanitize-undefined-trap-on-error \
    -DHEED_FIXED_ISA=$kernel -c "$single/heed.cpp" -o "$work/heed.o"
  i686-linux-gnu-gcc -msse2 -mfpmath=sse -static -I"$source/include" "$source/tests/broadcast.c" "$work/heed.o" \
    -o "$work/broadcast"
  "$work/broadcast"
  echo "$kernel: right, and nothing undefined"
done
