#!/bin/sh
# compile_onnx_board.sh CORE SOURCE HEED_COMPILE PUBLISHED_GRAPHS HEED: programs that heed_compile writes of graphs, on an emulated board with
# GCC: they compute the known answers of every node that this computer has put into their files. Prints the size of each. Exit
# status 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=gcc source=$2 heed_compile=$3 published=$4 heed=$5
. "$source/tests/compiled_board.sh"
"$published" .
for model in bert_graph.onnx vit_graph.onnx gpt_graph.onnx conv_graph.onnx recurrent_graph.onnx quantized_graph.onnx keywords_graph.tflite; do
  name=${model%.*}
  case $name in bert*) format='--format int8' ;; vit*) format='--format f16' ;; quantized*) format= ;; *) format='--format f32' ;; esac
  # shellcheck disable=SC2086
  compile_model $name $model $format
  # shellcheck disable=SC2046,SC2086
  link_board $name $(compiled_graph_flags $name) $compiled_graph_sources
  run_board $name "compiled_graph: good"
done
