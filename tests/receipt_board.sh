#!/bin/sh
# receipt_board.sh CORE COMPILER PROGRAMS SOURCE BUILD BENCH: receipts that an emulated board of ports/bare makes, built in BUILD, of
# PROGRAMS among "kwt dreams sensor_floats sensor_integers": heed_replay of the folder BENCH must compute the same, and name a
# change. Prints what a receipt costs there. Exit status 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=$2 programs=$3 source=$4 build=$5 bench=$6
. "$source/tests/board.sh"
need_tools
large_board
mkdir -p "$build/ports/$family"
targets=''
for program in $programs; do
  case $program in
  kwt) model_folder HEED_KWT1 "${HEED_KWT1:-}" ;;
  dreams)
    model_folder HEED_DREAMS "${HEED_DREAMS:-}"
    mkdir -p "$build/ports/$family/dreams"
    "$bench/heed_compile" "$model" -o "$build/ports/$family/dreams/dreams" 2>/dev/null || fail "heed_compile"
    ;;
  sensor_*)
    model_folder HEED_EEG "${HEED_EEG:-}"
    "$bench/sensor_weights" "$model" "$build/ports/$family/$program.c" "${program#sensor_}" >/dev/null
    ;;
  esac
  targets="$targets heed_$program heed_${program}_receipt"
done
# shellcheck disable=SC2086
build_board "$board" $targets
cd "$build"

# receipt_of PROGRAM WORD...: found.receipt, and found.json of the program with it and without
receipt_of() {
  of=$1
  shift
  run_board "heed_${of}_receipt" "$@" >found || { tail -n 1 found; fail "$of"; }
  awk '/^heed-receipt / { within = 1 } within; /^end / { within = 0 }' found >found.receipt
  tail -n 1 found >with.json
  run_board "heed_$of" "$@" | tail -n 1 >without.json
}
number_in() { sed -n "s/.*\"$2\":\([0-9]*\).*/\1/p" "$1"; }
# verify MODEL [INPUT]: equal, and not equal with another input
verify() {
  said=$("$bench/heed_replay" "$1" found.receipt ${2:+"$2"}) || fail "$of: $said"
  case $said in equal:*) ;; *) fail "$of: $said" ;; esac
  flash() { "$gcc-size" -A "ports/$family/$1.elf" | awk '$1 ~ /^\.(text|s?rodata|s?data)$/ { n += $2 } END { print n }'; }
  echo "$core, $compiler, $of: $said; emulated: $count to $count_with instructions, flash $(($(flash "heed_${of}_receipt") - $(flash "heed_$of"))) bytes more, stack $(number_in without.json stack_bytes) to $(number_in with.json stack_bytes)"
}

for each in $programs; do
  case $each in
  kwt)
    model=$HEED_KWT1
    ln -sfn "$model/clips" clips
    "$bench/kwt_weights" "$model/non_stream.tflite" f32.bin f32 >/dev/null
    for clip in clips/*.wav; do break; done
    receipt_of kwt f32.bin "$clip"
    count=$(number_in without.json count) count_with=$(number_in with.json count)
    verify "$model/non_stream.tflite" "$clip"
    ;;
  dreams)
    model=$HEED_DREAMS
    ln -sfn "ports/$family/dreams/dreams.heed" dreams.heed
    receipt_of dreams dreams.heed 24 "I dream of"
    count=$(number_in without.json count) count_with=$(number_in with.json count)
    verify "$model"
    sed 's/^token 12 .*/token 12 7/' found.receipt >forged
    sed -i '$d' forged && echo "end $(sha256sum <forged | cut -d' ' -f1)" >>forged
    ! said=$("$bench/heed_replay" "$model" forged) || fail "took a forged token"
    case $said in "different: step 12"*) ;; *) fail "a forged token: $said" ;; esac
    ;;
  sensor_*)
    model=$HEED_EEG
    rows=input.rows
    if [ "$each" = sensor_integers ]; then
      "$bench/sensor_weights" --rows "$model/input.f32" "$rows" >/dev/null
    else
      cat "$model/input.f32" >"$rows"
    fi
    receipt_of "$each" "$rows"
    count=$(($(number_in without.json rows) + $(number_in without.json layers)))
    count_with=$(($(number_in with.json rows) + $(number_in with.json layers)))
    verify "$model" "$model/input.f32"
    ;;
  esac
done
