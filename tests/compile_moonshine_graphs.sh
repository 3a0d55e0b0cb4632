#!/bin/sh
# compile_moonshine_graphs.sh SOURCE COMPILER HEED_COMPILE HEED_MODEL LIBRARY: both published ONNX graphs of Moonshine, whose matrices are
# quantised, become programs. The encoder's rows for a clip are those of expected/, in double precision. Both branches of the decoder
# compare their known answers, and the file of weights is no larger than the graph. Exit status 77, with the reason, if HEED_MOONSHINE
# names no folder. SPDX-License-Identifier: MIT
set -eu
source=$1 compiler=$2 heed_compile=$3 model=$4 library=$5
[ -n "${HEED_MOONSHINE:-}" ] || { echo "SKIPPED: HEED_MOONSHINE names no folder with the model Moonshine Tiny"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
build() { # build NAME MAIN.c
  "$compiler" -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -Wall -Wextra -Wpedantic -Werror -I"$source/include" -I"$source/ports/compile" \
    -I"$source/ports/import" -I"$source/tests/device" "$2" "$1.c" "$model" "$library" -lm -o "$1"
}
compile() { # compile GRAPH NAME OPTION...
  graph=$1 name=$2
  shift 2
  "$heed_compile" "$HEED_MOONSHINE/$graph.onnx" -o "$name" "$@" 2>said || { cat said; exit 1; }
}
samples=$(awk -F '\t' '$1 == "kitchen_light" { print $4 }' "$HEED_MOONSHINE/expected/expected.tsv")
compile encoder_model encoder --exact --shape "input_values=1,$samples"
out=$(sed -n 's/^  \(ENCODER_[A-Z0-9_]*\) = .*: an output.*/\1/p' encoder.h)
cat >main.c <<END
#include <math.h>
#include <stdio.h>

#include "clip.h"
#include "encoder.h"

HEED_FILE_LINK(file, "encoder.heed")
static encoder model;
static float sound[ENCODER_INPUT_VALUES], rows[$out], expected[$out];

int main(int argc, char **argv) {
  FILE *known = argc == 3 ? fopen(argv[2], "rb") : NULL;
  const char *error = encoder_open(&model, file, HEED_FILE_LINKED_BYTES(file));
  double greatest = 0;
  if (!known || !read_clip(argv[1], sound, ENCODER_INPUT_VALUES)) return puts("no files"), 1;
  if (fread(expected, sizeof expected, 1, known) != 1 || fgetc(known) != EOF) return puts("another number of rows"), 1;
  if (!error) error = encoder_run(&model, sound, rows);
  if (error) return puts(error), 1;
  for (int i = 0; i < $out; ++i)
    if (!(fabs((double)rows[i] - (double)expected[i]) <= greatest)) greatest = fabs((double)rows[i] - (double)expected[i]);
  printf("encoder: greatest difference %.3g\n", greatest);
  return !(greatest <= 2e-4);
}
END
build encoder main.c
./encoder "$HEED_MOONSHINE/clips/kitchen_light.wav" "$HEED_MOONSHINE/expected/kitchen_light.encoder.f32"
for cached in 0 1; do
  length=$((8 - 7 * cached))
  compile decoder_model_merged decoder --value use_cache_branch=$cached --shape decoder_sequence_length=$length \
    --shape encoder_sequence_length=40 --shape encoder_sequence_length_out=40 --shape past_decoder_sequence_length=7
  [ "$(wc -c <decoder.heed)" -le "$(wc -c <"$HEED_MOONSHINE/decoder_model_merged.onnx")" ] || { echo "the decoder's weights grew"; exit 1; }
  cat >decoder_main.c <<'END'
#include <stdio.h>

#include "decoder.h"

HEED_FILE_LINK(file, "decoder.heed")
static decoder model;

int main(void) {
  const char *error = decoder_open(&model, file, HEED_FILE_LINKED_BYTES(file));
  return error ? puts(error), 1 : 0;
}
END
  build decoder decoder_main.c
  ./decoder
  echo "decoder, use_cache_branch=$cached: known answers"
done
