#!/bin/sh
# board_programs.sh FOLDER EMULATOR...: the programs in FOLDER need no library of the board; self-test and the shortest shape of
# the benchmark pass. Exit status 77, with the reason, if they were not built or cannot be run. SPDX-License-Identifier: MIT
set -eu
folder=$1
shift
[ -x "$folder/heed_selftest" ] || { echo "SKIPPED: $folder/heed_selftest was not built, because its compiler is missing"; exit 77; }
command -v "$1" >/dev/null || { echo "SKIPPED: $1 is not installed"; exit 77; }
for program in heed_selftest heed_demo heed_device_bench; do
  if readelf -l "$folder/$program" | grep INTERP; then echo "$program wants shared libraries"; exit 1; fi
done
"$@" "$folder/heed_selftest"
refuses() { # refuses STATUS TEXT COMMAND...
  expected=$1 text=$2 status=0
  shift 2
  said=$("$@" 2>&1) || status=$?
  case "$status $said" in "$expected "*"$text"*) ;; *) echo "$said"; echo "$*: status $status, not $expected with $text"; exit 1 ;; esac
}
refuses 2 "usage: heed_selftest" "$@" "$folder/heed_selftest" nonsense
refuses 2 "shapes are: P1 " "$@" "$folder/heed_device_bench" P99
refuses 1 "heed_demo: FOLDER: there is no non_stream.tflite in /none" "$@" "$folder/heed_demo" /none
"$@" "$folder/heed_device_bench" P6 | tee "$folder/p6.json"
grep -q '"shape":"P6".*"digest"' "$folder/p6.json"
