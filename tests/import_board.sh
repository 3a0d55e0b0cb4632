#!/bin/sh
# import_board.sh CORE COMPILER SOURCE BUILD HEED_IMPORT: weights that HEED_IMPORT has written, in programs for an emulated board
# of ports/bare, built in BUILD: a flat file that is linked, and arrays in C. Exit status 77, with the reason, if something is
# missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=$2 source=$3 build=$4 heed_import=$5
. "$source/tests/board.sh"
need_tools
folder=$build/ports/$family
mkdir -p "$folder"
set -- "$folder"
. "$source/tests/import_sample.sh"
"$heed_import" "$folder/w.npy" "$folder/b.npy" --format int8 -o "$folder/import.heed"
"$heed_import" "$folder/w.npy" "$folder/b.npy" --format f16 -o "$folder/import_arrays.c"
build_board "" heed_import_flat heed_import_arrays
for program in heed_import_flat heed_import_arrays; do
  found=$(run_board $program) || fail "$program: $found"
  [ "$found" = "$expected" ] || fail "$program: $found, not $expected"
  "$gcc-size" "$folder/$program.elf"
done
