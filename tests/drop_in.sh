#!/bin/sh
# The library as two files (target heed_single): one compiler call, no include path. SPDX-License-Identifier: MIT
#   drop_in.sh run REFERENCE SINGLE SOURCE COMPILER FLAG...   compiles, runs the digest, compares with the library's
#   drop_in.sh core PROFILE SINGLE SOURCE COMPILER FLAG...    compiles for a core, compares with the library's machine code
#   drop_in.sh size MOST SINGLE SOURCE COMPILER FLAG...       compiles, and has no more bytes of code than MOST
# SINGLE is the folder of heed.h and heed.cpp. Exit status 77, with the reason, if the compiler is missing.
set -eu
mode=$1 reference=$2 single=$3 source=$4 compiler=$5
shift 5
command -v "$compiler" >/dev/null 2>&1 || { echo "SKIPPED: $compiler is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$single/heed.h" "$single/heed.cpp" "$work/"
if grep -n '^ *#include "' "$work/heed.h"; then echo "FAILED: heed.h is not one file"; exit 1; fi
if grep -n '^ *#include "' "$work/heed.cpp" | grep -v '"heed.h"$'; then echo "FAILED: includes more than heed.h"; exit 1; fi
(cd "$work" && "$compiler" -std=c++17 -Wall -Wextra -Wpedantic -Werror "$@" -c heed.cpp -o heed.o)
case $mode in
run)
  mkdir "$work/heed"
  cp "$single/heed.h" "$work/heed/"
  cc -I"$work" "$source/tests/digest.c" "$work/heed.o" -o "$work/digest"
  sh "$source/tests/digest_compare.sh" "$reference" "$work/digest"
  ;;
size)
  bytes=$(size "$work/heed.o" | awk 'NR == 2 { print $1 }')
  echo "$bytes bytes of code, at most $reference"
  [ "$bytes" -gt 10000 ] && [ "$bytes" -le "$reference" ]
  ;;
core)
  "$compiler" -std=c++17 "$@" -I"$source/include" -c "$source/lib/single.cpp" -o "$work/single.o"
  for object in heed single; do
    arm-none-eabi-objdump -s "$work/$object.o" | sed 1,3d >"$work/$object.contents" # code and constants
    arm-none-eabi-objdump -r "$work/$object.o" | sed 1,3d >"$work/$object.symbols"   # and what they refer to
  done
  lines=$(wc -l <"$work/heed.contents")
  [ "$lines" -gt 500 ] || { echo "FAILED: hardly any code"; exit 1; }
  cmp "$work/heed.contents" "$work/single.contents"
  cmp "$work/heed.symbols" "$work/single.symbols"
  undefined=$(arm-none-eabi-nm -u "$work/heed.o" | awk '$2 !~ /^(memcpy|memmove|memset|__aeabi_.*)$/ { print $2 }')
  [ -z "$undefined" ] || { echo "FAILED: heed.o needs" $undefined; exit 1; }
  echo "code and constants equal to the library's, byte for byte; nothing undefined"
  ;;
esac
