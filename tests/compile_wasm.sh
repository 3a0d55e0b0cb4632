#!/bin/sh
# compile_wasm.sh SOURCE HEED_COMPILE PUBLISHED: programs that heed_compile writes, as WebAssembly with SIMD128, which Node runs as a browser
# would: they compute the known answers that this computer has put into their files, and keep what their headers promise. Exit
# status 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
source=$1 heed_compile=$2 published=$3
for program in clang-19 clang++-19 wasm-ld-19 node; do
  command -v $program >/dev/null || { echo "SKIPPED: $program is not installed"; exit 77; }
done
[ -f /usr/lib/wasm32-wasi/libc.a ] || { echo "SKIPPED: wasi-libc is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$source/tests/compiled.sh"
compiled_at=$work/ # names of files begin with / here
flags='--target=wasm32-wasi -msimd128 -O2 -ffp-contract=off'
# shellcheck disable=SC2086
clang++-19 $flags -std=c++17 -fno-exceptions -fno-rtti -fno-math-errno "-I$source/include" -c "$source/lib/single.cpp" -o heed.o
"$published" . llama gguf-gemma3 bert vit
for model in llama gguf-gemma3.gguf bert vit; do
  name=model_$(basename "$model" .gguf | tr - _)
  "$heed_compile" "$model" -o "$name" 2>said || { cat said; echo "failed: $model"; exit 1; }
  # shellcheck disable=SC2046,SC2086
  clang-19 $flags -std=c99 -Wall -Wextra -Werror -I. $(compiled_flags "$name") "-DMODEL_FILE_BYTES=$(($(wc -c <"$name.heed")))" $compiled_sources \
    "$source/ports/linux/port.c" "$name.c" heed.o -Wl,-z,stack-size=65536 -o "$name.wasm"
  found=$(cd / && node --no-warnings "$source/ports/wasm/run.mjs" "$work/$name.wasm") || { echo "$model: $found"; exit 1; }
  [ "$found" = "compiled_model: good" ] || { echo "$model: $found"; exit 1; }
done
echo "programs for WebAssembly: good"
