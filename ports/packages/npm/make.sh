#!/bin/sh
# make.sh FOLDER: heed.wasm, from the drop-in files in FOLDER. Exit status 1 if there is no clang for it. SPDX-License-Identifier: MIT
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
"$clang" $flags -fno-builtin -I. -c "$here/heed_wasm.c" -o heed_wasm.o
"$clang" --target=wasm32 -nostdlib -Wl,--no-entry,--gc-sections,--strip-all,--export=__heap_base,-z,stack-size=65536 heed.wasm.o heed_wasm.o -o heed.wasm
