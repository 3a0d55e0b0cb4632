#!/bin/sh
# compile_board.sh CORE SOURCE HEED_COMPILE PUBLISHED HEED: programs that heed_compile writes, on an emulated board with GCC: they compute the
# known answers that this computer has put into their files, and keep what their headers promise. Prints the size of each. Exit status
# 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=gcc source=$2 heed_compile=$3 published=$4 heed=$5
. "$source/tests/compiled_board.sh"
"$published" . llama bert vit whisper moonshine
for name in llama bert vit whisper moonshine; do
  [ "$name $board" != "whisper mps3-an547" ] || continue # its tables of cosines and sines are 333 KB
  case $name in # 512 KB of flash, and of memory
  llama) how='--context 48 --piece 8' ;;
  bert) how='--format int8' ;;
  vit) how='--format f16' ;;
  whisper) how='--format int8 --seconds 1' ;;
  moonshine) how='--format int8 --seconds 1 --context 24' ;;
  esac
  # shellcheck disable=SC2086
  compile_model "model_$name" "$name" $how
  # shellcheck disable=SC2046,SC2086
  link_board "model_$name" $(compiled_flags "model_$name") $compiled_sources
  run_board "model_$name" "compiled_model: good"
done
