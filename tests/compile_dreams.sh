#!/bin/sh
# compile_dreams.sh SOURCE COMPILER HEED_COMPILE HEED_MODEL HEED: a program that heed_compile writes from the language model in HEED_DREAMS
# gives the tokens of its expected.txt, which no one here wrote, from the texts of their prompts. Exit status 77, with the reason, if
# HEED_DREAMS names no folder. SPDX-License-Identifier: MIT
set -eu
source=$1 compiler=$2 heed_compile=$3 heed_model=$4 heed=$5
[ -n "${HEED_DREAMS:-}" ] && [ -f "$HEED_DREAMS/expected.txt" ] || { echo "SKIPPED: HEED_DREAMS does not name the folder of the model"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$heed_compile" "$HEED_DREAMS" -o dream --check 2>said >errors || { cat said; exit 1; }
awk '/^(layer|result)/ { n++; if ($(NF - 2) > 1e-5 * $NF) { print "error of " $0; bad = 1 } } END { exit bad || n < 2 }' errors
cat >main.c <<'END'
#include "dream.h"

#include <stdio.h>
#include <string.h>

HEED_FILE_LINK(file, "dream.heed")
static dream model;

int main(int argc, char **argv) {
  int32_t token = 0;
  const char *error = dream_open(&model, file, HEED_FILE_LINKED_BYTES(file));
  if (argc != 2) error = "main PROMPT";
  if (!error) error = dream_prompt(&model, argv[1], strlen(argv[1]));
  while (!error && token >= 0 && model.n < DREAM_CONTEXT) error = dream_next(&model, NULL, &token);
  for (int32_t i = 0; i < model.n; ++i) printf("%s%d", i ? " " : "", model.tokens[i]);
  return error ? puts(error), 1 : 0;
}
END
ports=$source/ports
"$compiler" -std=c99 -O2 -Wall -Wextra -Wpedantic -Werror -I"$source/include" -I"$ports/compile" -I"$ports/import" main.c dream.c \
  "$heed_model" "$heed" -lm -o main
n=0
while read -r key value; do
  case $key in
  prompt) prompt=$value ;;
  tokens)
    found=$(./main "$prompt") || { echo "\"$prompt\": $found"; exit 1; }
    [ "$found" = "$value" ] || { echo "\"$prompt\": $found, not $value"; exit 1; }
    n=$((n + 1))
    ;;
  esac
done <"$HEED_DREAMS/expected.txt"
[ $n -gt 0 ] || { echo "expected.txt has no texts"; exit 1; }
echo "$n texts as expected"
