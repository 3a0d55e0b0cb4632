#!/bin/sh
# compile_dreams_integers.sh SOURCE COMPILER HEED_COMPILE HEED_MODEL HEED: the language model in HEED_DREAMS without a float. heed_compile --integers sees four
# texts of its expected.txt, which no one here wrote, and the program reads the fifth: how many of its next tokens are the most probable
# ones; so for each of the five. ports/compile/README.md has the sum, and the text that a program writes itself. Exit status 77, with the reason, if
# HEED_DREAMS names no folder. SPDX-License-Identifier: MIT
set -eu
source=$1 compiler=$2 heed_compile=$3 heed_model=$4 heed=$5
[ -n "${HEED_DREAMS:-}" ] && [ -f "$HEED_DREAMS/expected.txt" ] || { echo "SKIPPED: HEED_DREAMS does not name the folder of the model"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
build() { # build OUTPUT SOURCE...
  output=$1
  shift
  "$compiler" -std=c99 -O2 -Wall -Wextra -Wpedantic -Werror -I"$source/include" -I"$source/ports/compile" -I"$source/ports/import" "$@" \
    "$heed_model" "$heed" -lm -o "$output"
}

# rows.npy of tokens, 128 a line of the input.
cat >rows.c <<'END'
#include <stdio.h>
int main(void) {
  static int tokens[100 * 128];
  int n = 0;
  while (n < 100 * 128 && scanf("%d", &tokens[n]) == 1) ++n;
  char shape[32];
  snprintf(shape, sizeof shape, "(%d, 128), }", n / 128);
  fwrite("\x93NUMPY\1\0\x76\0", 1, 10, stdout);
  printf("{'descr': '<i4', 'fortran_order': False, 'shape': %-67s\n", shape);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < 4; ++k) putchar(tokens[i] >> 8 * k & 255);
  return n == 0 || n % 128 != 0;
}
END
cat >main.c <<'END'
#include "dream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

HEED_FILE_LINK(file, "dream.heed")
static dream model;

/* main PROMPT: what the program writes behind it. main N TOKEN...: the tokens behind N that are the most probable ones, and their number. */
int main(int argc, char **argv) {
  char text[64];
  int32_t token = 0, kept = 0;
  const char *error = dream_open(&model, file, HEED_FILE_LINKED_BYTES(file));
  if (argc == 2) {
    if (!error) error = dream_prompt(&model, argv[1], strlen(argv[1]));
    printf("%s", argv[1]);
    while (!error && token >= 0 && model.n < DREAM_CONTEXT) {
      error = dream_next(&model, NULL, &token);
      if (!error && token >= 0) fwrite(text, 1, dream_text(&model, token, text, sizeof text), stdout);
    }
  } else {
    for (int i = 2; !error && i < argc; ++i) {
      const int32_t next = atoi(argv[i]), before = model.n;
      int32_t best = 0;
      for (int32_t t = 1; t < DREAM_TOKENS; ++t)
        if (model.logits[t] > model.logits[best]) best = t;
      if (before >= atoi(argv[1])) kept += best == next;
      error = dream_read(&model, &next, 1);
    }
    printf("%d %d", kept, argc - 2 - atoi(argv[1]));
  }
  return error ? puts(error), 1 : 0;
}
END
build rows rows.c
awk '$1 == "tokens" { $1 = ""; print }' "$HEED_DREAMS/expected.txt" >texts
awk '$1 == "prompt_tokens" { print NF - 1 }' "$HEED_DREAMS/expected.txt" >lengths
n=$(wc -l <texts)
[ "$n" -gt 1 ] || { echo "expected.txt has no texts"; exit 1; }
kept=0 all=0 i=0
while [ $i -lt "$n" ]; do
  i=$((i + 1))
  sed "${i}d" texts | ./rows >rows.npy
  "$heed_compile" "$HEED_DREAMS" -o dream --integers rows.npy --check --target m0plus 2>said >errors || { cat said; exit 1; }
  awk '/^layer/ { n++; if ($4 > 0.015 * $NF) { print "error of " $0; bad = 1 } } END { exit bad || n != 4 }' errors
  build main main.c dream.c
  # shellcheck disable=SC2046
  found=$(./main "$(sed -n "${i}p" lengths)" $(sed -n "${i}p" texts)) || { echo "text $i: $found"; exit 1; }
  echo "text $i: ${found% *} of ${found#* } next tokens stay the most probable ones"
  kept=$((kept + ${found% *})) all=$((all + ${found#* }))
done
text=$(./main "I dream of")
echo "$text"
page=$source/ports/compile/README.md
weights=$(sed -n 's/.*: \([0-9]*\) bytes of weights$/\1/p' said) ram=$(sed -n 's/^RAM *\([0-9]*\) bytes.*/\1/p' errors)
grep -qF "$weights bytes of weights so, and $ram of RAM" "$page" || { echo "$weights and $ram bytes: $page has other numbers"; exit 1; }
grep -qF "at $kept of $all tokens" "$page" || { echo "$kept of $all: $page has another number"; exit 1; }
tr '\n' ' ' <"$page" | sed 's/ > / /g' | tr -s ' ' | grep -qF "$text" || { echo "$page has another text"; exit 1; }
