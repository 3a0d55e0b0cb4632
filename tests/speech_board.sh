#!/bin/sh
# speech_board.sh CORE COMPILER FORMATS SOURCE BUILD HOST_COMPILER BENCH HEED_MODEL HEED: speech to text on an emulated board of
# ports/bare with external memory, built in BUILD, by a program that heed_compile of the folder BENCH writes. A clip of 2 s must give the text,
# the tokens and the bits of the encoder's output and of all logits that the same program gives on this computer, in each of FORMATS. Exit
# status 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=$2 formats=$3 source=$4 build=$5 host_compiler=$6 bench=$7 heed_model=$8 heed=$9
. "$source/tests/board.sh"
model_folder HEED_MOONSHINE "${HEED_MOONSHINE:-}"
need_tools
mkdir -p "$build"
cd "$build"
of=$build/ports/$family/speech
mkdir -p "$of"
"$bench/moonshine_folder" "$model" "$build/moonshine.folder"
ln -sfn "$model/clips" speech_clips # names without blanks for the board's command line
trap 'rm -f speech.heed speech_bad.heed' EXIT
HEED_QEMU_SECONDS=600
export HEED_QEMU_SECONDS
clip=speech_clips/alsa_rear_left.wav
cat >"$build/speech_host.c" <<'END'
#include "speech.h"

#include <inttypes.h>
#include <stdio.h>

#include "rows_digest.h"
#include "wav.h"

HEED_FILE_LINK(file, "speech.heed")
static speech net;
static unsigned char bytes[2 * SPEECH_SAMPLES + 4096];
static int16_t samples[SPEECH_SAMPLES];
static uint64_t digest;

static void see(void *user, int32_t layer, int64_t first, heed_matrix rows) {
  (void)user, (void)first;
  if (layer == SPEECH_LAYERS) digest = rows_digest(digest, rows.data, rows.dim);
}

int main(int argc, char **argv) {
  FILE *const in = fopen(argv[argc - 1], "rb");
  wav_file wav;
  char text[64];
  int32_t token = 0;
  const char *error = wav_open(&wav, bytes, in ? fread(bytes, 1, sizeof bytes, in) : 0);
  for (size_t i = 0; !error && i < wav.n_samples; ++i) samples[i] = wav_sample(&wav, i);
  if (!error) error = speech_open(&net, file, HEED_FILE_LINKED_BYTES(file));
  if (!error) error = speech_sound(&net, samples, (int32_t)wav.n_samples);
  digest = rows_digest(ROWS_DIGEST_BEGIN, net.x, net.n_rows * SPEECH_DIM);
  net.see = see;
  while (!error && !(error = speech_next(&net, &token)) && token >= 0)
    printf("%.*s", (int)speech_text(&net, token, text, sizeof text), text);
  if (error) return puts(error), 1;
  printf("\n");
  for (int32_t t = 0; t < net.n; ++t) printf("%d ", (int)net.tokens[t]);
  printf("%016" PRIx64 "\n", digest);
  return 0;
}
END

for format in $formats; do
  case $format in
  f32 | f16) options="--format $format" ;;
  int8) options=--exact ;;
  w8a8) options="--format int8 --format f32=conv3 --format f16=embedding" ;;
  esac
  # shellcheck disable=SC2086
  "$bench/heed_compile" moonshine.folder -o "$of/speech" --seconds 5 $options 2>said || { cat said; fail "heed_compile"; }
  if [ -z "${is_built:-}" ]; then build_board "" heed_speech; else cmake --build "$build" --parallel 2 --target heed_speech >/dev/null; fi
  is_built=1
  (cd "$of" && "$host_compiler" -std=c99 -O2 -I. "-I$source/include" "-I$source/ports" "-I$source/ports/compile" "-I$source/ports/import" \
    "$build/speech_host.c" speech.c "$source/ports/wav.c" "$heed_model" "$heed" -lm -o host)
  ln -sfn "$of/speech.heed" speech.heed
  run_board heed_speech speech.heed $clip >found || { cat found; fail "$format"; }
  arithmetic_in found
  HEED_ISA=$kernel "$of/host" $clip >reference || skip "this computer cannot run the arithmetic to compare with"
  heard=$(sed -n 's/.*"tokens":"\([^"]*\)","digest":"\([^"]*\)".*/\1 \2/p' found)
  { head -n 1 found && echo "$heard"; } | cmp -s - reference || { cat found reference; fail "$format: other text or bits"; }
  awk -v what="$core, $compiler, $format: $(head -n 1 found) All bits equal" '
    function count(name,   n) { n = $0; return sub(".*\"" name "\":", "", n) ? n + 0 : "?" }
    function millions(name) { return sprintf("%s %.1f", name, count(name) / 1e6) }
    NR == 2 {
      printf "%s; emulated, million instructions: %s, %s (%s, %s, %s), %s (%s, %s), %s steps; RAM %d, stack %d\n",
        what, millions("open"), millions("hear"), millions("convolutions"), millions("encoder_layers"),
        millions("keys_and_values"), millions("write"), millions("decoder_layers"), millions("logits"), count("steps"),
        count("ram_bytes"), count("stack_bytes")
    }' found
  keeps_to_task_stack heed_speech "$(most_stack found)"
done
"$gcc-size" -A "ports/$family/heed_speech.elf" | awk '
  $1 ~ /^\.(text|rodata|data)$/ { flash += $2 } $1 ~ /^\.(data|bss)$/ { ram += $2 }
  END { printf "flash %d without the model; RAM of the processor %d without stack\n", flash, ram }'

# What is wrong is named: the file of the last format, cut or changed, and what is none.
bad=speech_bad.heed
head -c 1000000 speech.heed >$bad
refuse "$bad: the file is truncated" heed_speech $bad $clip
refuse "$bad: cannot be read, or is too long" heed_speech speech.heed $bad
{ head -c 9000000 speech.heed && printf damage && tail -c +9000007 speech.heed; } >$bad
refuse "$bad: the file is damaged: the sum of a tensor differs" heed_speech $bad $clip
refuse "$clip: this is not a file of heed_import" heed_speech $clip $clip
refuse "none.heed: cannot be read" heed_speech none.heed $clip
refuse "tale.wav: cannot be read, or is too long" heed_speech speech.heed speech_clips/tale.wav
refuse "usage: heed_speech FILE CLIP" heed_speech speech.heed
