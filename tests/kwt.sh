#!/bin/sh
# kwt.sh PROGRAM: keyword spotting on real speech, all clips of the model's folder; then folders with one clip, with a
# clip that says another word, and with none. Exit status 77 if the model or the program is missing.
# SPDX-License-Identifier: MIT
set -eu
[ -n "${HEED_KWT1:-}" ] && [ -d "$HEED_KWT1" ] || {
  echo "SKIPPED: HEED_KWT1 does not name the folder of the model"
  exit 77
}
[ -x "$1" ] || {
  echo "SKIPPED: $1 was not built"
  exit 77
}
"$1" "$HEED_KWT1"

model=$(cd "$HEED_KWT1" && pwd) folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$model/non_stream.tflite" "$model/clips" "$folder"
expect() { # expect PROGRAM STATUS TEXT: of the folder with expected.tsv as it is now
  status=0
  "$1" "$folder" >"$folder/output" 2>&1 || status=$?
  [ "$status" = "$2" ] && grep -q "$3" "$folder/output" || {
    cat "$folder/output"
    echo "status $status, not $2 with \"$3\""
    exit 1
  }
}
sed -n 1,2p "$model/expected.tsv" >"$folder/expected.tsv"
expect "$1" 0 "^passed: 1 of 1 clips"
awk -F'\t' -v OFS='\t' 'NR == 3 { $2 = $2 "?" } NR <= 3' "$model/expected.tsv" >"$folder/expected.tsv"
expect "$1" 1 "^FAILED: 1 of 2 clips"
sed -n 1p "$model/expected.tsv" >"$folder/expected.tsv"
expect "$1" 1 "lists no clips"
