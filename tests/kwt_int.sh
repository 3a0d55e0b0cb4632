#!/bin/sh
# kwt_int.sh HEED_KWT_INT HEED_CALIBRATE: keyword spotting in integers, from the trained model: heed_calibrate makes the file,
# heed_kwt_int hears all clips on every kernel of integers, and all logits have the digest that stands here. Then a model of
# the user's own, and what is damaged or does not fit. Exit status 77 if the model or a program is missing.
# SPDX-License-Identifier: MIT
set -eu
page=$(cd "$(dirname "$0")/../ports/kwt" && pwd)/README.md
. "$(dirname "$0")/expect.sh"
heed_kwt_int=$1 heed_calibrate=$2
needs_model HEED_KWT1 "$1" "$2"
cd "$folder"
digest=b9ff2fb4c8ac7179
"$heed_calibrate" kwt "$model" kwt.bin
expect 0 "^passed" "$heed_kwt_int" kwt.bin "$model"
cat output
[ "$(grep -c "24 of 24 clips, .* digest $digest," output)" -eq "$(grep -c ' ms a clip$' output)" ] || { echo "the digest is not $digest"; exit 1; }
# The page has these figures.
said=$(sed -n 's/^plain .* logit error \([0-9.]*\) (rms \([0-9.]*\)), least margin \([0-9.]*\),.*/greatest error of a logit is \1 (rms \2), the least margin \3 /p' output)
[ -n "$said" ] && tr '\n' ' ' <"$page" | grep -qF "$said" || { echo "ports/kwt/README.md does not say: $said"; exit 1; }
expect 0 "hurts y by" "$heed_calibrate" --places --percent=99.99 --headroom=2 kwt "$model" other.bin
! cmp -s kwt.bin other.bin || { echo "options change nothing"; exit 1; }

head -c 700000 kwt.bin >short.bin
expect 1 "too short or too long" "$heed_kwt_int" short.bin "$model"
{ head -c 500000 kwt.bin && printf '\125\252' && tail -c +500003 kwt.bin; } >damaged.bin
expect 1 "weights are damaged" "$heed_kwt_int" damaged.bin "$model"
expect 77 "HEED_KWT1" env HEED_KWT1= "$heed_kwt_int" kwt.bin
expect 1 "is not a folder" "$heed_kwt_int" kwt.bin none
expect 1 "speed is not an option" "$heed_kwt_int" --speed kwt.bin "$model"
expect 1 "WEIGHTS .FOLDER. are wanted" "$heed_kwt_int"
expect 2 "usage" "$heed_calibrate"
expect 1 "is not an option" "$heed_calibrate" --speed kwt "$model" x.bin
expect 1 "percent=101: 50 to 100 is possible" "$heed_calibrate" --percent=101 kwt "$model" x.bin
expect 1 "headroom=0.1: 1 to 100 is possible" "$heed_calibrate" --headroom=0.1 kwt "$model" x.bin
expect 1 "cannot be opened" "$heed_calibrate" kwt none x.bin
