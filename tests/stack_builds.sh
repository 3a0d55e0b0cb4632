#!/bin/sh
# stack_builds.sh SOURCE: the stack of every call (tests/stack.c) of the library as one file, without optimisation and with it, by GCC
# and clang: within HEED_STACK_BYTES, or twice as many. Exit status 77, with the reason, if there is no second compiler.
# SPDX-License-Identifier: MIT
set -eu
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
clang=
for name in clang-19 clang-14 clang; do [ -n "$clang" ] || ! command -v $name >/dev/null 2>&1 || clang=$name; done
build() { # build C C++ LEVEL
  "$2" -std=c++17 "$3" -fno-exceptions -fno-rtti -fno-math-errno -ffp-contract=off -DHEED_FLAGS_ARE_SET "-I$source/include" \
    -c "$source/lib/single.cpp" -o heed.o
  "$1" -std=c99 "$3" "-I$source/include" "-I$source/tests" "$source/tests/stack.c" heed.o -o stack
  ./stack >found || { cat found; echo "FAILED: $1 $3"; exit 1; }
  echo "$1 $3: $(tail -n 1 found)"
}
for level in -O0 -O2; do
  build gcc g++ $level
  [ -z "$clang" ] || build $clang "$(echo $clang | sed 's/clang/clang++/')" $level
done
[ -n "$clang" ] || { echo "SKIPPED: clang is not installed"; exit 77; }
