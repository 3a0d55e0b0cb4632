#!/bin/sh
# references.sh FOLDER DEVICE EXAMPLE BENCHMARK INTEGERS: what the four programs print on this PC, for each arithmetic that it can run, for
# check.sh. Its own best kernel answers for its arithmetic. SPDX-License-Identifier: MIT
set -eu
folder=$1 device=$2 example=$3 benchmark=$4 integers=$5
rm -rf "$folder"
mkdir -p "$folder"
for kernel in '' scalar scalar-no-fma; do
  HEED_ISA=$kernel "$device" >"$folder/all"
  arithmetic=$(sed -n 's/^arithmetic //p' "$folder/all")
  [ ! -s "$folder/$arithmetic.txt" ] || continue
  sed '/^#/d' "$folder/all" >"$folder/$arithmetic.txt"
  HEED_ISA=$kernel "$benchmark" P1 P6 P7 >"$folder/$arithmetic.json"
done
"$example" >"$folder/example.txt"
"$integers" >"$folder/all"
sed '/^#/d' "$folder/all" >"$folder/integers.txt"
rm "$folder/all"
wc -l "$folder"/*
