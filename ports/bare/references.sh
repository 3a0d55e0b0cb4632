#!/bin/sh
# references.sh FOLDER DEVICE EXAMPLE BENCHMARK INTEGERS: what the four programs print on this PC, for each profile that it can run, for
# check.sh. Its own best kernel answers for its profile. SPDX-License-Identifier: MIT
set -eu
folder=$1 device=$2 example=$3 benchmark=$4 integers=$5
rm -rf "$folder"
mkdir -p "$folder"
for kernel in '' scalar scalar-unfused; do
  HEED_KERNEL=$kernel "$device" >"$folder/all"
  profile=$(sed -n 's/^profile //p' "$folder/all")
  [ ! -s "$folder/$profile.txt" ] || continue
  sed '/^#/d' "$folder/all" >"$folder/$profile.txt"
  HEED_KERNEL=$kernel "$benchmark" P1 P6 P7 >"$folder/$profile.json"
done
"$example" >"$folder/example.txt"
"$integers" >"$folder/all"
sed '/^#/d' "$folder/all" >"$folder/integers.txt"
rm "$folder/all"
wc -l "$folder"/*
