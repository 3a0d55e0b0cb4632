#!/bin/sh
# compile_draft.sh SOURCE COMPILER HEED_COMPILE PUBLISHED_MODELS HEED_MODEL HEED: a program that reads ahead (heed_compile --draft) writes
# the tokens of one that does not, and has the bits of its logits: with every cache, with windows, greedy and drawn, from prompts that
# repeat and in pieces; and it does read ahead. SPDX-License-Identifier: MIT
set -eu
source=$1 compiler=$2 heed_compile=$3 published=$4 heed_model=$5 heed=$6
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$published" . llama gemma3_text
cat >main.c <<'END_OF_PROGRAM'
#include "model.h"

#include <stdio.h>

HEED_FILE_LINK(file, MODEL_FILE)
static model m;
static int layers_run;

int main(void) {
  const char *error = model_open(&m, file, HEED_FILE_LINKED_BYTES(file));
  for (int trial = 0; !error && trial < 60; ++trial) {
    model_choice how = {0.3f * (float)(trial % 4), trial % 3 * 5, trial % 5 == 0 ? 0.9f : 0.0f, (uint64_t)trial};
    uint64_t digest = 1469598103934665603u;
    int32_t token = 0;
    model_restart(&m);
    for (int i = 0; !error && i <= trial % 7; ++i) {
      const int32_t prompt = (trial + i % 3) % 20 + 5;
      error = model_read(&m, &prompt, 1);
    }
    while (!error && token >= 0 && m.n < MODEL_CONTEXT) {
      error = model_next(&m, trial % 4 ? &how : NULL, &token);
      for (int32_t i = 0; i < MODEL_TOKENS; ++i) {
        const union { float number; uint32_t bits; } pun = {m.logits[i]};
        digest = (digest ^ pun.bits) * 1099511628211u;
      }
      if (m.n % 50 == 0 && token >= 0 && m.n < MODEL_CONTEXT) error = model_read(&m, &token, 1); /* what was read ahead is of no use */
#ifdef DRAFTED
      layers_run += m.n_ahead > 0;
#endif
    }
    printf("%d:", trial);
    for (int32_t i = 0; i < m.n; ++i) printf(" %d", (int)m.tokens[i]);
    printf(" %016llx\n", (unsigned long long)digest);
  }
  fprintf(stderr, "%d\n", layers_run);
  return error ? puts(error), 1 : 0;
}
END_OF_PROGRAM
text_of() { # text_of FOLDER OPTION...: its program's texts in FOLDER/text, and how often it had tokens ahead
  out=$1
  shift
  mkdir -p "$out"
  "$heed_compile" "$model" -o "$out/model" --context 200 --piece 8 "$@" 2>said || { cat said; exit 1; }
  drafted=''
  case $* in *--draft*) drafted=-DDRAFTED ;; esac
  "$compiler" -std=c99 -O2 -Wall -Wextra -Wpedantic -Werror $drafted "-DMODEL_FILE=\"$out/model.heed\"" "-I$out" "-I$source/include" "-I$source/ports/compile" \
    "-I$source/ports/import" main.c "$out/model.c" "$heed_model" "$heed" -lm -o "$out/main"
  "./$out/main" >"$out/text" 2>"$out/ahead" || { cat "$out/text"; exit 1; }
}
for model in llama gemma3_text; do
  for cache in f32 int8; do
    text_of plain --cache $cache
    for draft in 1 7; do
      text_of ahead --cache $cache --draft $draft
      cmp plain/text ahead/text || { echo "$model, cache $cache: other texts with --draft $draft"; exit 1; }
      n=$(cat ahead/ahead)
      [ "$n" -gt 100 ] || { echo "$model, cache $cache, --draft $draft: $n tokens came while others were read ahead"; exit 1; }
      echo "$model, cache $cache, --draft $draft: $(wc -l <plain/text) texts as without; $n tokens with others read ahead"
    done
  done
done
if "$heed_compile" llama -o none --piece 8 --draft 8 2>said; then echo "took a draft as long as a piece"; exit 1; fi
grep -q -e "--draft is less than --piece" said
