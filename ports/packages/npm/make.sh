#!/bin/sh
# make.sh FOLDER: heed.wasm, and classifier.wasm with its model, from the drop-in files in FOLDER. Exit status 1 if there is no clang for it. SPDX-License-Identifier: MIT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
clang=${HEED_WASM_CLANG:-clang-19}
cd "$1"
for program in "$clang" "wasm-ld${clang#clang}"; do
  command -v "$program" >/dev/null 2>&1 || { echo "npm: left out, $program is not installed"; exit 1; }
done
flags="--target=wasm32 -msimd128 -O2 -ffreestanding -ffunction-sections -fdata-sections -Wall -Wextra"
# shellcheck disable=SC2086
"$clang" $flags -x c++ -std=c++17 -fno-exceptions -fno-rtti -c heed.cpp -o heed.wasm.o
# shellcheck disable=SC2086
for file in heed_wasm memory; do "$clang" $flags -fno-builtin -I. -c "$here/$file.c" -o $file.o; done
# shellcheck disable=SC2086
for file in "$here/classifier_wasm.c" "$here/../../calibrate/int_model.c"; do
  "$clang" $flags -I. -I"$here/../classifier" -I"$here/../../calibrate" -c "$file" -o "$(basename "$file" .c).o"
done
link="--target=wasm32 -nostdlib -Wl,--no-entry,--gc-sections,--strip-all,--export=__heap_base,-z,stack-size=65536"
# shellcheck disable=SC2086
"$clang" $link heed.wasm.o memory.o heed_wasm.o -o heed.wasm
# shellcheck disable=SC2086
"$clang" $link heed.wasm.o memory.o classifier_wasm.o int_model.o -o classifier.wasm
