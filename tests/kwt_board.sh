#!/bin/sh
# kwt_board.sh CORE COMPILER N_CLIPS SOURCE BUILD HEED_KWT KWT_WEIGHTS: keyword spotting on an emulated board of
# ports/bare, built in BUILD. The first N_CLIPS of the recorded clips, one per run, must give the label and the bits of
# all logits that HEED_KWT, this computer's program, gives; a third of them also with weights in int8. Exit status 77, with
# the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=$2 n_clips=$3 source=$4 build=$5 heed_kwt=$6 kwt_weights=$7
. "$source/tests/board.sh"
model_folder HEED_KWT1 "${HEED_KWT1:-}"
need_tools
build_board "" heed_kwt
cd "$build"
ln -sfn "$model/clips" clips # names without blanks for the board's command line

compare() { # compare FORMAT N: the first N clips
  "$kwt_weights" "$model/non_stream.tflite" "$1.bin" "$1"
  # What this computer says, first the arithmetic. A kernel of the board's arithmetic is asked for by name.
  "$heed_kwt" --bits "--weights=$1.bin" "$model" >reference.all
  : >found.json
  for clip in $(sed -n "2,$(($2 + 1))s/ .*//p" reference.all); do
    run_board heed_kwt "$1.bin" "clips/$clip" >>found.json || { tail -n 1 found.json; fail "$clip"; }
  done
  arithmetic_in found.json
  if [ "$(head -n 1 reference.all)" != "$arithmetic" ]; then
    HEED_ISA=$kernel "$heed_kwt" --bits "--weights=$1.bin" "$model" >reference.all
    [ "$(head -n 1 reference.all)" = "$arithmetic" ] || skip "this computer cannot run the arithmetic to compare with"
  fi
  sed -n "2,$(($2 + 1))p" reference.all >reference
  sed -n 's/.*"clip":"clips\/\([^"]*\)","heard":"\([^"]*\)".*"bits":"\([^"]*\)".*"emulated":true}$/\1 \2 \3/p' found.json >found
  cat found.json
  if ! cmp reference found; then
    diff reference found
    exit 1
  fi
  awk -F'"count":' -v format="$1" '
    { count = $2 + 0; sum += count; if (count > most) most = count
      sub(/.*"sound_percent":/, ""); sound += $0
      sub(/.*"attention_percent":/, ""); attention += $0
      sub(/.*"stack_bytes":/, ""); if ($0 + 0 > stack) stack = $0 + 0 }
    END { printf "%d clips, %s, all bits equal; emulated: %.1f million instructions per clip, at most %.1f, %.1f %% of them in " \
                 "attention, %.1f %% for sound; stack %d bytes\n",
                 NR, format, sum / NR / 1e6, most / 1e6, attention / NR, sound / NR, stack; exit NR == 0 }' found.json
  keeps_to_task_stack heed_kwt "$(most_stack found.json)"
}
compare f32 "$n_clips"
compare int8 $((n_clips / 3))

# What is wrong is named.
clip=clips/$(sed -n '2s/ .*//p' reference.all)
head -c 800000 int8.bin >short.bin
refuse "too short or too long" heed_kwt short.bin "$clip"
{ head -c 500000 int8.bin && printf '\125\252' && tail -c +500003 int8.bin; } >damaged.bin
refuse "weights are damaged" heed_kwt damaged.bin "$clip"
refuse "cannot be read" heed_kwt none.bin "$clip"
refuse "cannot be read, or is too long" heed_kwt int8.bin int8.bin
