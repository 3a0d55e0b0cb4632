#!/bin/sh
# compile_wasm.sh SOURCE HEED_COMPILE PUBLISHED PUBLISHED_GRAPHS: programs that heed_compile writes, of every kind, as WebAssembly with SIMD128,
# which Node runs as a browser would: they compute the known answers that this computer has put into their files, and keep what their
# headers promise. Exit status 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
source=$1 heed_compile=$2 published=$3 published_graphs=$4
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
c="clang-19 $flags -std=c99 -Wall -Wextra -Werror -I. $compiled_folders"
objects=heed.o
for file in port linux/port import/heed_file compile/heed_model; do
  object=$(echo $file | tr / _).o
  $c -c "$source/ports/$file.c" -o "$object"
  objects="$objects $object"
done

# run_node NAME EXPECTED TEST FLAG...: NAME.c with tests/device/TEST.c as NAME.wasm, which says that
run_node() {
  name=$1 expected=$2 test=$3
  shift 3
  # shellcheck disable=SC2086
  $c "-DMODEL_FILE_BYTES=$(($(wc -c <"$name.heed")))" "$@" "$source/tests/device/$test.c" "$name.c" $objects \
    -Wl,-z,stack-size=65536 -o "$name.wasm"
  found=$(cd / && node --no-warnings "$source/ports/wasm/run.mjs" "$work/$name.wasm") || { echo "$name: $found"; exit 1; }
  [ "$found" = "$expected" ] || { echo "$name: $found, and not $expected"; exit 1; }
}
compile_model() { # compile_model NAME MODEL OPTION...
  name=$1
  shift
  "$heed_compile" "$@" -o "$name" 2>said || { cat said; echo "failed: $1"; exit 1; }
}
"$published" . llama gguf-gemma3 bert vit moonshine whisper bert-classes deit-classes
for model in llama gguf-gemma3.gguf bert vit moonshine whisper; do
  name=model_$(basename "$model" .gguf | tr - _) how=
  case $model in
  moonshine) how='--format int8 --seconds 1 --context 24' ;;
  whisper) how='--format int8 --seconds 1' ;;
  esac
  # shellcheck disable=SC2086
  compile_model "$name" "$model" $how
  # shellcheck disable=SC2046
  run_node "$name" "compiled_model: good" compiled_model $(compiled_flags "$name")
done
for model in bert-classes deit-classes; do
  name=$(echo "$model" | tr - _)_int
  compile_model "$name" "$model" --integers "$model/rows.npy"
  # shellcheck disable=SC2046
  run_node "$name" "compiled_integers: good $(awk -v name="$name" '$1 == name { print $2 }' "$source/tests/compiled_integers.txt")" \
    compiled_integers $(integers_flags "$name")
done
"$published_graphs" .
for model in bert_graph.onnx conv_graph.onnx recurrent_graph.onnx keywords_graph.tflite; do
  name=${model%.*}
  compile_model "$name" "$model"
  # shellcheck disable=SC2046
  run_node "$name" "compiled_graph: good" compiled_graph $(compiled_graph_flags "$name")
done
echo "programs for WebAssembly: good"
