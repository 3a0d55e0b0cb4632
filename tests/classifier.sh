#!/bin/sh
# classifier.sh SOURCE COMPILER HEED_CALIBRATE LIBRARY: the example of the packages as it stands, over every word with one wrong
# letter; and train.py, whose model another program runs. Exit status 77, with the reason, without numpy. SPDX-License-Identifier: MIT
set -eu
source=$1 compiler=$2 heed_calibrate=$3 library=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=$source/ports/packages/classifier
build() { # build PROGRAM FOLDER_OF_MODEL FILE
  "$compiler" -std=c99 -Wall -Wextra -Wpedantic -Wno-unused -Werror -I"$2" -I"$source/include" -I"$source/ports/calibrate" "$3" \
    "$source/ports/calibrate/int_model.c" "$library" -o "$1"
}

cp "$folder"/classifier.* "$work/"
cat >"$work/all.c" <<'END'
#include "classifier.h"
#include <stdio.h>
#include <string.h>
static int n_right, n_all;
static void try_it(int_model *model, const char *typed, int meant) {
  int8_t scores[n_words];
  if (classify(model, typed, scores) != HEED_OK) return;
  n_right += strcmp(classifier_best(scores), words[meant]) == 0;
  n_all++;
}
int main(void) {
  int_model model;
  if (int_model_open(&model, layers, sizeof layers)) return 1;
  for (int w = 0; w < n_words; w++) {
    const char *word = words[w];
    const size_t n = strlen(word);
    char typed[16];
    try_it(&model, word, w);
    for (size_t i = 0; i <= n; i++)
      for (char c = 'a'; c <= 'z'; c++) { /* one letter more, and one letter another */
        sprintf(typed, "%.*s%c%s", (int)i, word, c, word + i);
        try_it(&model, typed, w);
        if (n <= 3 || i == n) continue;
        typed[i + 1] = 0, strcat(typed, word + i + 1);
        try_it(&model, typed, w);
      }
    for (size_t i = 0; i < n && n > 2; i++) { /* one letter less */
      sprintf(typed, "%.*s%s", (int)i, word, word + i + 1);
      try_it(&model, typed, w);
    }
  }
  printf("%d of %d words are recognised\n", n_right, n_all);
  return n_right != 1326 || n_all != 1354; /* integers: the same everywhere */
}
END
build "$work/all" "$folder" "$work/all.c"
"$work/all"

python=''
for candidate in python3 /usr/bin/python3; do
  if [ -z "$python" ] && "$candidate" -c 'import numpy' 2>/dev/null; then python=$candidate; fi
done
[ -n "$python" ] || { echo "SKIPPED: the rest, train.py, wants numpy"; exit 77; }
"$python" "$folder/train.py" "$heed_calibrate" "$work" 60
build "$work/trained" "$work" "$work/classifier.c"
"$work/trained" >"$work/said" || true # it has learned little, and has another sum
grep -q '^heed .*, bits [0-9a-f]*: ' "$work/said" || { cat "$work/said"; echo "FAILED: the model of train.py does not run"; exit 1; }
echo "the model that train.py makes runs"
