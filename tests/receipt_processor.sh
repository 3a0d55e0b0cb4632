#!/bin/sh
# receipt_processor.sh HEED_REPLAY FOLDER EMULATOR...: receipts that heed_kwt, heed_dreams and heed_listen of another processor, in FOLDER,
# write in EMULATOR: HEED_REPLAY, this computer's program, must compute the same. Exit status 77, with the reason, if something is missing.
# SPDX-License-Identifier: MIT
set -eu
replay=$1 folder=$2
shift 2
[ -x "$folder/heed_kwt" ] || { echo "SKIPPED: $folder/heed_kwt was not built, because its compiler is missing"; exit 77; }
command -v "$1" >/dev/null || { echo "SKIPPED: $1 is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checked=0
verify() { # verify MODEL [INPUT]
  said=$("$replay" "$1" "$work/receipt" ${2:+"$2"}) || { echo "FAILED: $said"; exit 1; }
  case $said in equal:*) ;; *) echo "FAILED: $said"; exit 1 ;; esac
  echo "${1##*/}: $said"
  checked=$((checked + 1))
}
if [ -n "${HEED_KWT1:-}" ]; then
  for clip in "$HEED_KWT1"/clips/*.wav; do break; done
  "$@" "$folder/heed_kwt" "--receipt=$work/receipt" "$HEED_KWT1/non_stream.tflite" "$clip"
  verify "$HEED_KWT1/non_stream.tflite" "$clip"
fi
if [ -n "${HEED_DREAMS:-}" ] && [ -x "$folder/heed_dreams" ]; then
  "$@" "$folder/heed_dreams" --tokens=24 "--receipt=$work/receipt" "I dream of"
  verify "$HEED_DREAMS"
fi
made=$(dirname "$replay")/moonshine.folder
if [ -n "${HEED_MOONSHINE:-}" ] && [ -x "$folder/heed_listen" ] && [ -d "$made" ]; then
  clip=$HEED_MOONSHINE/clips/alsa_rear_left.wav
  "$@" "$folder/heed_listen" "--receipt=$work/receipt" "$clip"
  verify "$made" "$clip"
fi
[ $checked -gt 0 ] || { echo "SKIPPED: HEED_KWT1, HEED_DREAMS and HEED_MOONSHINE name no folder"; exit 77; }
