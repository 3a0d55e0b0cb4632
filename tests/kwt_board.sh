#!/bin/sh
# kwt_board.sh CORE COMPILER N_CLIPS SOURCE BUILD HEED_KWT KWT_WEIGHTS: keyword spotting on an emulated board of
# ports/cortex-m, built in BUILD. The first N_CLIPS of the recorded clips, one per run, must give the label and the bits of
# all logits that HEED_KWT, this computer's program, gives. Exit status 77, with the reason, if something is missing.
# SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=$2 n_clips=$3 source=$4 build=$5 heed_kwt=$6 kwt_weights=$7
skip() { echo "SKIPPED: $1"; exit 77; }
[ -n "${HEED_KWT1:-}" ] && [ -d "$HEED_KWT1" ] || skip "HEED_KWT1 does not name the folder of the model"
model=$(cd "$HEED_KWT1" && pwd)
[ "$compiler" != clang ] || command -v clang-19 >/dev/null 2>&1 || skip "clang-19 is not installed"
for program in arm-none-eabi-gcc qemu-system-arm; do # clang takes libgcc from the former
  command -v "$program" >/dev/null 2>&1 || skip "$program is not installed"
done

preset=cortex-$core
[ "$compiler" = gcc ] || preset=$preset-clang
(cd "$source" && cmake --preset "$preset" -B "$build" >/dev/null)
cmake --build "$build" --parallel 2 --target heed_kwt
cd "$build"
board=$(sed -n 's/^HEED_BOARD:[A-Z]*=//p' CMakeCache.txt) # and QEMU's name of it
ln -sfn "$model/clips" clips # names without blanks for the board's command line
"$kwt_weights" "$model/non_stream.tflite" weights.bin

# What this computer says, first the profile. A kernel of the board's profile is asked for by name.
"$heed_kwt" --bits "$model" >reference.all
: >found.json
for clip in $(sed -n "2,$((n_clips + 1))s/ .*//p" reference.all); do
  sh "$source/ports/cortex-m/qemu.sh" "$board" ports/cortex-m/heed_kwt.elf weights.bin "clips/$clip" >>found.json ||
    { tail -n 1 found.json; echo "failed: $clip"; exit 1; }
done
profile=$(sed -n '1s/.*"profile":"\([a-z]*\)".*/\1/p' found.json)
if [ "$(head -n 1 reference.all)" != "$profile" ]; then
  kernel=scalar
  [ "$profile" = fused ] || kernel=scalar-unfused
  HEED_KERNEL=$kernel "$heed_kwt" --bits "$model" >reference.all
  [ "$(head -n 1 reference.all)" = "$profile" ] || skip "this computer cannot run the profile to compare with"
fi
sed -n "2,$((n_clips + 1))p" reference.all >reference
sed -n 's/.*"clip":"clips\/\([^"]*\)","heard":"\([^"]*\)".*"bits":"\([^"]*\)".*"emulated":true}$/\1 \2 \3/p' found.json >found
cat found.json
if ! cmp reference found; then
  diff reference found
  exit 1
fi
awk -F'"count":' '
  { count = $2 + 0; sum += count; if (count > most) most = count
    sub(/.*"attention_percent":/, ""); attention += $0 }
  END { printf "%d clips, all bits equal; emulated: %.1f million instructions per clip, at most %.1f, %.1f %% of them in attention\n",
               NR, sum / NR / 1e6, most / 1e6, attention / NR; exit NR == 0 }' found.json
