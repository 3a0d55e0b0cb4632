#!/bin/sh
# compile_kwt.sh SOURCE COMPILER HEED_COMPILE HEED_MODEL LIBRARY: the published file of KWT-1, a graph of TensorFlow Lite, becomes a
# program, and that gives the logits of all clips in the folder HEED_KWT1, which others have computed in double precision. Exit status
# 77, with the reason, if the folder is not there. SPDX-License-Identifier: MIT
set -eu
source=$1 compiler=$2 heed_compile=$3 model=$4 library=$5
[ -n "${HEED_KWT1:-}" ] || { echo "SKIPPED: HEED_KWT1 names no folder with the model KWT-1"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$heed_compile" "$HEED_KWT1/non_stream.tflite" -o kwt 2>said || { cat said; exit 1; }
[ "$(grep -c "TRY(heed_graph_attend" kwt.c)" = 12 ] || { echo "not each of the 12 layers has become attention of heed"; exit 1; }
out=$(sed -n 's/^  \(KWT_[A-Z0-9_]*\) = 12,.*: an output.*/\1/p' kwt.h)
cat >main.c <<END
#include <stdio.h>

#include "clip.h"
#include "kwt.h"

HEED_FILE_LINK(file, "kwt.heed")
static kwt model;
static float sound[KWT_INPUT_1], logits[$out];

int main(int argc, char **argv) {
  const char *error = kwt_open(&model, file, HEED_FILE_LINKED_BYTES(file));
  for (int i = 1; !error && i < argc; ++i) {
    error = read_clip(argv[i], sound, KWT_INPUT_1) ? kwt_run(&model, sound, logits) : "is no clip";
    for (int k = 0; !error && k < $out; ++k) printf("%.9g%c", (double)logits[k], k + 1 < $out ? '\t' : '\n');
  }
  if (error) return puts(error), 1;
  return 0;
}
END
"$compiler" -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -Wall -Wextra -Wpedantic -Werror -I"$source/include" -I"$source/ports/compile" -I"$source/ports/import" -I"$source/tests/device" \
  main.c kwt.c "$model" "$library" -lm -o program
sed 1d "$HEED_KWT1/expected.tsv" >expected
cut -f 1 expected | sed "s|^|$HEED_KWT1/clips/|" | xargs ./program >found || { cat found; exit 1; }
paste expected found | awk -F '\t' '
  { best = 0
    for (k = 1; k < 12; ++k) if ($(16 + k) > $(16 + best)) best = k
    for (k = 0; k < 12; ++k) {
      d = $(4 + k) - $(16 + k)
      if (d < 0) d = -d
      if (!(d <= 2e-5)) { print $1 ": logit " k " is " $(16 + k) ", and not " $(4 + k); failed = 1 }
      if (d > greatest) greatest = d
      if (k != best && $(4 + k) > $(4 + best)) { print $1 ": another word"; failed = 1 }
    } }
  END { if (NR != 24) { print NR " clips"; failed = 1 }
        print NR " clips, greatest difference " greatest; exit failed }'
