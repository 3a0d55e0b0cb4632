#!/bin/sh
# The library as two files under the address and undefined-behaviour sanitizers, with the suites. SPDX-License-Identifier: MIT
#   drop_in_sanitized.sh build SINGLE FOLDER                     compiles heed.cpp with clang into FOLDER/heed.o
#   drop_in_sanitized.sh run FOLDER NAME OBJECT... -- FLAG...    links a suite's objects with it, FLAGs last, and runs it
# The objects are those of the main build, whatever compiler made them: only the library is instrumented. Suites are run on a
# small share of the random cases (sanitized.sh). Some tests are about the archive alone: its choice of kernels, and stripes of
# rows. Exit status 77 if clang or its runtime is missing.
set -eu
mode=$1
sanitizers='-fsanitize=address,undefined -fno-sanitize-recover=all'
# The runtime of the sanitizers is a package beside the compiler, which may be missing.
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
echo 'int main() {}' >"$probe/program.cpp"
clang=''
for compiler in clang++-19 clang++; do
  # shellcheck disable=SC2086
  [ -n "$clang" ] || ! $compiler $sanitizers "$probe/program.cpp" -o "$probe/program" 2>/dev/null || clang=$compiler
done
rm -rf "$probe"
[ -n "$clang" ] || { echo "SKIPPED: no clang++ that links its sanitizers (Debian: clang-19, libclang-rt-19-dev)"; exit 77; }
case $mode in
build)
  mkdir -p "$3"
  # shellcheck disable=SC2086
  $clang -std=c++17 -O1 -g1 -w $sanitizers -c "$2/heed.cpp" -o "$3/heed.o"
  ;;
run)
  folder=$2 program=$2/$3
  shift 3
  objects=''
  while [ "$1" != -- ]; do objects="$objects $1"; shift; done
  shift
  # shellcheck disable=SC2086
  $clang $sanitizers $objects "$folder/heed.o" "$@" -o "$program"
  exec sh "$(dirname "$0")/sanitized.sh" "$program" --gtest_brief=1 \
    '--gtest_filter=-kernel_list.is_that_of_the_build:rows_in_integers.have_the_same_bits_in_both_arithmetics:*stripes*'
  ;;
esac
