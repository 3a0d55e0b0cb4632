#!/bin/sh
# compile_moonshine.sh SOURCE COMPILER HEED_COMPILE HEED_MODEL HEED: a program that heed_compile writes from Moonshine Tiny, in a folder as
# Hugging Face has it (moonshine_weights.py), gives the tokens and texts of the clips in HEED_MOONSHINE, which a computation in float64 said,
# and the encoder's rows. So does one from both graphs of ONNX, in a folder as transformers.js has it, and with keys and values in f16; one whose rows are
# quantised, but for two matrices, says 22 of 24 clips so. Exit status 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
source=$1 compiler=$2 heed_compile=$3 heed_model=$4 heed=$5
[ -n "${HEED_MOONSHINE:-}" ] && [ -f "$HEED_MOONSHINE/weights.tsv" ] || { echo "SKIPPED: HEED_MOONSHINE does not name the folder of the model"; exit 77; }
command -v python3 >/dev/null || { echo "SKIPPED: python3 is not installed"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$(dirname "$heed_compile")/moonshine_folder" "$HEED_MOONSHINE" exported
python3 "$source/tests/moonshine_weights.py" "$HEED_MOONSHINE" moonshine
cp exported/config.json exported/tokenizer.json moonshine
"$heed_compile" moonshine -o moon --exact --check --check-input "$HEED_MOONSHINE/clips/lamp.wav" 2>said >errors || { cat said; exit 1; }
rm -r moonshine
mkdir exported/onnx
for graph in encoder_model decoder_model_merged; do mv exported/$graph.onnx exported/onnx/${graph}_quantized.onnx; done
awk '/^(layer|result)/ { n++; if ($(NF - 1) > 4e-6 * $NF) { print "error of " $0; bad = 1 } } END { exit bad || n != 13 }' errors
cat >main.c <<'END'
#include "moon.h"

#include <stdio.h>

#include "ports/wav.h"

HEED_FILE_LINK(file, "moon.heed")
static moon model;
static unsigned char sound[1 << 20];
static int16_t samples[MOON_SAMPLES];
static float rows[MOON_ROWS * MOON_DIM];

static size_t read_file(const char *path, void *to, size_t most) {
  FILE *const in = fopen(path, "rb");
  const size_t n = in ? fread(to, 1, most, in) : 0;
  if (in) fclose(in);
  return n;
}

/* main CLIP [ROWS]: the start token, tokens and the end token, a tab and the text; or the greatest difference of the encoder's rows. */
int main(int argc, char **argv) {
  wav_file wav;
  char text[2000], piece[100];
  int32_t token = 0;
  size_t n_text = 0;
  const char *error = moon_open(&model, file, HEED_FILE_LINKED_BYTES(file));
  if (!error) error = wav_open(&wav, sound, read_file(argv[1], sound, sizeof sound));
  if (!error && wav.n_samples > MOON_SAMPLES) error = "the clip is too long";
  for (size_t i = 0; !error && i < wav.n_samples; ++i) samples[i] = wav_sample(&wav, i);
  if (!error) error = moon_sound(&model, samples, (int32_t)wav.n_samples);
  if (!error && argc > 2) {
    float greatest = 0;
    const size_t n = read_file(argv[2], rows, sizeof rows) / sizeof(float);
    if (n != (size_t)model.n_rows * MOON_DIM) return puts("other rows"), 1;
    for (size_t i = 0; i < n; ++i) {
      const float difference = model.x[i] > rows[i] ? model.x[i] - rows[i] : rows[i] - model.x[i];
      if (!(difference <= greatest)) greatest = difference;
    }
    return printf("%g\n", (double)greatest), 0;
  }
  printf("1");
  while (!error && !(error = moon_next(&model, &token)) && token >= 0) {
    printf(" %d", token);
    const size_t n = moon_text(&model, token, piece, sizeof piece);
    for (size_t i = 0; i < n && n_text < sizeof text - 1; ++i) text[n_text++] = piece[i];
  }
  text[n_text] = 0;
  printf(" 2\t%s\n", text);
  return error ? puts(error), 1 : 0;
}
END
ports=$source/ports
build() {
  "$compiler" -std=c99 -O2 -Wall -Wextra -Wpedantic -Werror -I. -I"$source" -I"$source/include" -I"$ports/compile" -I"$ports/import" main.c moon.c \
    "$ports/wav.c" "$heed_model" "$heed" -lm -o main
}
build
for clip in kitchen_light weather tale; do
  found=$(./main "$HEED_MOONSHINE/clips/$clip.wav" "$HEED_MOONSHINE/expected/$clip.encoder.f32") || { echo "$clip: $found"; exit 1; }
  awk -v found="$found" 'BEGIN { exit !(found < 2e-4) }' || { echo "$clip: the encoder's rows differ by $found"; exit 1; }
  echo "$clip: the encoder's rows are within $found"
done
# The end token is not there where a text ends for its length.
tab=$(printf '\t')
cut -f 1,8,9 "$HEED_MOONSHINE/expected/expected.tsv" | tail -n +2 >expected
transcribe() { # transcribe [CLIP...]: all but these
  n=0
  while IFS=$tab read -r clip tokens text; do
    found=$(./main "$HEED_MOONSHINE/clips/$clip.wav") || { echo "$clip: $found"; exit 1; }
    if [ "$found" = "$tokens$tab$text" ]; then n=$((n + 1)); else case " $* " in *" $clip "*) ;; *) echo "$clip: $found, not $tokens$tab$text" && exit 1 ;; esac; fi
  done <expected
  [ $n -gt 20 ] || { echo "expected.tsv has no clips"; exit 1; }
  echo "$n clips as expected"
}
transcribe
"$heed_compile" exported -o moon --exact 2>said || { cat said; exit 1; }
[ "$(wc -c <moon.heed)" -lt 34000000 ] || { echo "the weights of the export have more than their 8 bits"; exit 1; }
build
transcribe
"$heed_compile" exported -o moon --exact --cache f16 2>said || { cat said; exit 1; }
build
transcribe
"$heed_compile" exported -o moon --format int8 --format f32=conv3 --format f16=embedding 2>said || { cat said; exit 1; }
[ "$(wc -c <moon.heed)" -lt 39000000 ] || { echo "the weights have more bytes than they should"; exit 1; }
build
transcribe book coffee
