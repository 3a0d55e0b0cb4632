#!/bin/sh
# kwt_int_board.sh CORE COMPILER N_CLIPS SOURCE BUILD HEED_KWT_INT HEED_CALIBRATE: keyword spotting in integers on an emulated
# board of ports/bare, built in BUILD. The first N_CLIPS of the recorded clips, one per run, must give the label and all
# logits that HEED_KWT_INT, this computer's program, gives. The program has no floating-point instruction, and calls no
# function that stands for one. Exit status 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=$2 n_clips=$3 source=$4 build=$5 heed_kwt_int=$6 heed_calibrate=$7
. "$source/tests/board.sh"
model_folder HEED_KWT1 "${HEED_KWT1:-}"
need_tools
large_board
build_board "$board" heed_kwt_int
cd "$build"
ln -sfn "$model/clips" clips # names without blanks for the board's command line
elf=ports/$family/heed_kwt_int.elf

floats=$("$gcc-nm" "$elf" | grep -E '__aeabi_(c?[fd]|u?[il]2[fd])|__(add|sub|mul|div|fix|float)[a-z]*[sd]f' || true)
[ -z "$floats" ] || fail "the program calls floats in software: $floats"
floats=$("$gcc-objdump" -d "$elf" | grep -E '\.f(16|32|64)' || true)
[ -z "$floats" ] || fail "the program has floating-point instructions: $(echo "$floats" | head -n 3)"

"$heed_calibrate" kwt "$model" kwt_int.bin >/dev/null
"$heed_kwt_int" --bits kwt_int.bin "$model" | sed "${n_clips}q" >reference
: >found.json
for clip in $(sed 's/ .*//' reference); do
  run_board heed_kwt_int kwt_int.bin "clips/$clip" >>found.json || { tail -n 1 found.json; fail "$clip"; }
done
sed -n 's/.*"clip":"clips\/\([^"]*\)","heard":"\([^"]*\)","logits":"\([^"]*\)".*"emulated":true}$/\1 \2 \3/p' found.json >found
tail -n 1 found.json
if ! cmp reference found; then
  diff reference found
  exit 1
fi
code=$("$gcc-size" -A "$elf" | awk '$1 ~ /^\.(text|rodata)$/ { n += $2 } END { print n }')
ram=$("$gcc-size" -A "$elf" | awk '$1 ~ /^\.(stack|data|bss)$/ { n += $2 } END { print n }')
[ "$core" != m0plus ] || [ "$ram" -le 65536 ] || fail "the program takes $ram bytes of RAM"
awk -F'"count":' -v code="$code" -v ram="$ram" '
  { count = $2 + 0; sum += count; if (count > most) most = count
    sound = $1; sub(/.*"sound":/, "", sound); sounds += sound
    sub(/.*"stack_bytes":/, ""); if ($0 + 0 > stack) stack = $0 + 0 }
  END { printf "%d clips, all logits equal; emulated: %.1f million instructions per clip, at most %.1f, %.1f of them for sound; " \
               "code %d bytes, RAM %d, stack %d of it\n", NR, sum / NR / 1e6, most / 1e6, sounds / NR / 1e6, code, ram, stack
        exit NR == 0 }' found.json
keeps_to_task_stack heed_kwt_int "$(most_stack found.json)"

# What is wrong is named.
clip=clips/$(sed -n '1s/ .*//p' reference)
head -c 700000 kwt_int.bin >kwt_int_short.bin
refuse "too short or too long" heed_kwt_int kwt_int_short.bin "$clip"
{ head -c 500000 kwt_int.bin && printf '\125\252' && tail -c +500003 kwt_int.bin; } >kwt_int_damaged.bin
refuse "weights are damaged" heed_kwt_int kwt_int_damaged.bin "$clip"
refuse "cannot be read, or is too long" heed_kwt_int kwt_int.bin kwt_int.bin
