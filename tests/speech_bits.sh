#!/bin/sh
# speech_bits.sh HEED_LISTEN SPEECH_WEIGHTS FORMATS CLIPS PROGRAM EMULATOR...: speech to text on another processor. PROGRAM,
# heed_speech_bits in EMULATOR, must give the tokens and the bits that HEED_LISTEN, this computer's program, gives. CLIPS are
# names, or "all"; formats and clips stand between blanks. Exit status 77, with the reason, if something is missing.
# SPDX-License-Identifier: MIT
set -eu
. "$(dirname "$0")/expect.sh"
listen=$1 weights=$2 formats=$3 clips=$4 bits=$5
needs_model HEED_MOONSHINE "$listen" "$weights"
shift 5
[ -f "$bits" ] || { echo "SKIPPED: $bits was not built, because its compiler is missing"; exit 77; }
command -v "$1" >/dev/null || { echo "SKIPPED: $1 is not installed"; exit 77; }
[ "$clips" != all ] || clips=$(tail -n +2 "$model/expected/expected.tsv" | cut -f 1)
sounds=''
for clip in $clips; do sounds="$sounds $folder/clips/$clip.wav"; done
ln -s "$model/clips" "$folder/clips" # names without blanks

for format in $formats; do
  "$weights" "$model" "$folder/model.heed" "$format" >"$folder/output" 2>&1 || {
    cat "$folder/output"
    ! grep -q "without protozero" "$folder/output" || { echo "SKIPPED: built without protozero"; exit 77; }
    exit 1
  }
  start=$(date +%s)
  # shellcheck disable=SC2086
  "$@" "$bits" "$folder/model.heed" $sounds >"$folder/found"
  seconds=$(($(date +%s) - start))
  arithmetic=$(head -n 1 "$folder/found")
  kernel=scalar
  [ "$arithmetic" = fma ] || kernel=scalar-no-fma
  # shellcheck disable=SC2086
  HEED_ISA=$kernel "$listen" --bits "$folder/model.heed" $sounds >"$folder/expected"
  [ "$(head -n 1 "$folder/expected")" = "$arithmetic" ] || { echo "SKIPPED: this computer cannot run the arithmetic $arithmetic"; exit 77; }
  cmp "$folder/expected" "$folder/found" || { diff "$folder/expected" "$folder/found"; exit 1; }
  echo "$format, $arithmetic: $(($(wc -l <"$folder/found") - 1)) clips, all bits equal; $seconds s emulated"
done
