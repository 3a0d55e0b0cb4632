#!/bin/sh
# sensor_board.sh CORE COMPILER KINDS SOURCE BUILD HEED_SENSOR SENSOR_WEIGHTS: the sensor's model on an emulated board of
# ports/bare, built in BUILD, its weights in flash, KINDS of "floats integers". Both recordings must give the bits that
# HEED_SENSOR, this computer's program, gives. The program in integers has no floating-point arithmetic in it. Exit status
# 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=$2 kinds=$3 source=$4 build=$5 heed_sensor=$6 sensor_weights=$7
. "$source/tests/board.sh"
model_folder HEED_EEG "${HEED_EEG:-}"
need_tools
folder=$build/ports/$family
mkdir -p "$folder"
for kind in $kinds; do "$sensor_weights" "$model" "$folder/sensor_$kind.c" "$kind" >/dev/null; done
# shellcheck disable=SC2086
build_board "" $(printf 'heed_sensor_%s ' $kinds)
cd "$build"

no_floats() { # no_floats PROGRAM: neither calls nor instructions
  found=$("$gcc-nm" "$1" | grep -E ' (__aeabi_[fd]|__aeabi_c[fd]|__aeabi_u?[il]2[fd]|__[a-z]*[sd]f)' || true)
  found=$found$("$gcc-objdump" -d "$1" | awk -F '\t' '$3 ~ /\.f(16|32|64)$|^f[a-z]+\.[sdwl]|^f[ls][wd]$/' | head -n 3)
  [ -z "$found" ] || fail "floating point in $1: $found"
}

for kind in $kinds; do
  elf=$folder/heed_sensor_$kind.elf option=''
  : >found.json
  for name in input input_float_stft; do
    rows=$name.$kind # a file of this build, never a link to the model's own
    rm -f "$rows"
    if [ "$kind" = integers ]; then
      "$sensor_weights" --rows "$model/$name.f32" "$rows" >/dev/null
    else
      cat "$model/$name.f32" >"$rows"
    fi
    run_board "heed_sensor_$kind" "$rows" >>found.json || { tail -n 1 found.json; fail "$kind, $name"; }
  done
  arithmetic_in found.json
  [ "$arithmetic" != integers ] || { option=--integers && no_floats "$elf"; }
  HEED_ISA=$kernel "$heed_sensor" $option --bits "$model" >reference.all
  [ -z "$kernel" ] || [ "$(head -n 1 reference.all)" = "$arithmetic" ] || skip "this computer cannot run the arithmetic to compare with"
  sed -n 's/^input[a-z_]* //p' reference.all >reference
  sed -n 's/.*"bits":"\([^"]*\)".*"emulated":true}$/\1/p' found.json >found
  [ "$(wc -l <found)" -eq 2 ] || { cat found.json; fail "$kind: no two results"; }
  diff reference found || fail "$kind: other bits than this computer's"
  keeps_to_task_stack "heed_sensor_$kind" "$(most_stack found.json)"
  sizes=$("$gcc-size" -A "$elf" | awk '
    $1 ~ /^\.(text|s?rodata|s?data)$/ { flash += $2 } $1 ~ /^\.(stack|s?data|s?bss)$/ { ram += $2 } $1 == ".stack" { stack = $2 }
    END { printf "flash %d, RAM %d", flash, ram - stack }')
  sed -n '1s/.*"rows":\([0-9]*\),"layers":\([0-9]*\),"stack_bytes":\([0-9]*\).*/\1 \2 \3/p' found.json |
    awk -v what="$core, $compiler, $kind, $arithmetic: all bits equal; emulated: $sizes" '{
      printf "%s and stack %d; %.2f million instructions a recording, %.2f of them for the rows\n", what, $3, ($1 + $2) / 1e6, $1 / 1e6 }'
done

# What is wrong is named.
! run_board "heed_sensor_$kind" none.rows >found || fail "took no file"
grep -q "none.rows: a recording has 120 rows" found || { cat found; fail "did not name the missing file"; }
