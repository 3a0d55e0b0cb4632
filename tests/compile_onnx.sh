#!/bin/sh
# compile_onnx.sh SOURCE COMPILER HEED_COMPILE PUBLISHED_GRAPHS LIBRARY [EMULATOR...]: heed_compile takes small graphs of ONNX and TensorFlow Lite as exporters write
# them, and COMPILER builds what it writes, in C99 without a warning: each program opens its file and computes the known answers
# of every node that this computer has put there. With an EMULATOR the programs are those of another processor. Exit status 77,
# with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
source=$1
. "$source/tests/compiled_start.sh"
mkdir models
"$published" models
build() { # build NAME PROGRAM
  # shellcheck disable=SC2086,SC2046
  "$compiler" -std=c99 -O1 -Wall -Wextra -Wpedantic -Werror -I. $(compiled_graph_flags "$1") $compiled_graph_sources \
    "$source/ports/linux/port.c" "$1.c" "$library" -lm -o "$2"
}
runs() { # runs PROGRAM COMMAND...
  program=$1
  shift
  found=$("$@") || { echo "$program: $found"; exit 1; }
  [ "$found" = "compiled_graph: good" ] || { echo "$program: $found"; exit 1; }
}
n=0
for model in models/*.onnx models/*.tflite; do
  formats='f32 int8'
  case $model in *narrow* | *quantized*) formats="$formats kept" ;; esac # as the source has them: 4 bits, bytes with zero points
  for format in $formats; do
    name=$(basename "$model" | sed 's/\..*//')_$format
    option="--format $format"
    [ $format != kept ] || option=
    # shellcheck disable=SC2086
    "$heed_compile" "$model" -o "$name" $option --check >"$name.errors" 2>said || { cat said; echo "failed: $model"; exit 1; }
    build "$name" "$name"
    runs "$name" "$@" "./$name"
    n=$((n + 1))
    # Rows of floats and weights of floats: what double precision has, but for rounding. Of quantised rows the reference rounds to 8 bits.
    bound=2e-5
    case $name in quantized*) bound=0.02 ;; esac
    [ $format != f32 ] || awk -v name="$name" -v bound=$bound 'NR > 1 && !($1 <= bound * ($3 > 1 ? $3 : 1) && $2 <= bound * ($3 > 1 ? $3 : 1)) {
        print name ": " $0; bad = 1 } END { exit bad || NR < 2 }' "$name.errors" || { echo "$name differs from double precision"; exit 1; }
  done
done
[ $# -gt 0 ] || {
  for isa in scalar scalar-no-fma; do
    for name in bert_graph_f32 gpt_graph_int8 conv_graph_f32 recurrent_graph_f32 quantized_graph_kept; do runs "$name, $isa" env HEED_ISA=$isa "./$name"; done
  done
  # A token that is none of the model's is refused by the name of its input, and a bit of the weights closes the program.
  cat >indices.c <<'END'
#include "bert_graph_f32.h"
#include <stdio.h>
#include <string.h>
HEED_FILE_LINK(linked, "bert_graph_f32.heed")
static bert_graph_f32 model;
int main(void) {
  static int32_t ids[12], mask[12], types[12];
  float logits[3];
  const char *error = bert_graph_f32_open(&model, linked, HEED_FILE_LINKED_BYTES(linked));
  if (error == NULL) error = bert_graph_f32_run(&model, ids, mask, types, logits);
  if (error != NULL) return puts(error), 1;
  ids[7] = 99;
  error = bert_graph_f32_run(&model, ids, mask, types, logits);
  if (error == NULL || strcmp(error, "input_ids has a number that is not from 0 to 98") != 0) return 1;
  ids[7] = -1;
  if (bert_graph_f32_run(&model, ids, mask, types, logits) == NULL) return 1;
  puts("compiled_graph: good");
  return 0;
}
END
  # shellcheck disable=SC2086
  "$compiler" -std=c99 -O1 -I. $compiled_parts "$source/ports/linux/port.c" indices.c bert_graph_f32.c "$library" -lm -o indices
  runs indices ./indices
  # Rows of indices: what is in no dimension is refused by the name of its input, what is in another one than its own by the call.
  cat >points.c <<'END'
#include "places_graph_f32.h"
#include <stdio.h>
#include <string.h>
HEED_FILE_LINK(linked, "places_graph_f32.heed")
static places_graph_f32 model;
static float x[60], y[PLACES_GRAPH_F32_Y];
int main(void) {
  static int32_t points[24], rows[3], kinds[6];
  const char *error = places_graph_f32_open(&model, linked, HEED_FILE_LINKED_BYTES(linked));
  points[22] = -3, points[23] = 3;
  if (error == NULL) error = places_graph_f32_run(&model, x, points, rows, kinds, y);
  if (error != NULL) return puts(error), 1;
  points[5] = 4;
  error = places_graph_f32_run(&model, x, points, rows, kinds, y);
  if (error == NULL || strcmp(error, "points has a number that is not from -4 to 3") != 0) return 2;
  points[5] = 0, points[4] = 3;
  error = places_graph_f32_run(&model, x, points, rows, kinds, y);
  if (error == NULL || strcmp(error, "an index is not one of its table's") != 0) return 3;
  points[4] = -4;
  error = places_graph_f32_run(&model, x, points, rows, kinds, y);
  if (error == NULL || strcmp(error, "an index is not one of its table's") != 0) return 4;
  points[4] = 0, rows[1] = 3;
  error = places_graph_f32_run(&model, x, points, rows, kinds, y);
  if (error == NULL || strcmp(error, "rows has a number that is not from 0 to 2") != 0) return 5;
  puts("compiled_graph: good");
  return 0;
}
END
  # shellcheck disable=SC2086
  "$compiler" -std=c99 -O1 -I. $compiled_parts "$source/ports/linux/port.c" points.c places_graph_f32.c "$library" -lm -o points
  runs points ./points
  # TensorFlow.js: a layer of an encoder; a text, its tokens, and the same numbers where it fills its input and where it does not.
  for model in layer=4 text=3 text=7; do
    name=${model%=*}${model#*=}
    set -- --shape length=${model#*=}
    [ $name != layer4 ] || set --
    "$heed_compile" models/${model%=*}/model.json -o $name "$@" --check >errors 2>said || { cat said; exit 1; }
    awk -v name=$name 'NR > 1 && !($1 <= 2e-5) { print name ": " $0; bad = 1 } END { exit bad || NR < 5 }' errors || exit 1
    build $name $name
    runs $name ./$name
  done
  grep -q "^indices are those of one text, and no input; a shorter text has -1 at the end of its values$" said || { cat said; exit 1; }
  set --
  cat >texts.c <<'END'
#include "text3.h"
#include "text7.h"
#include <stdio.h>
#include <string.h>
HEED_FILE_LINK(file3, "text3.heed")
HEED_FILE_LINK(file7, "text7.heed")
static text3 three;
static text7 seven;
int main(void) {
  static const int32_t expected[] = {7, 8, 0, -1, -1, -1, -1};
  int32_t tokens[7], n = 0;
  float sums[3], others[3];
  const char *error = text3_open(&three, file3, HEED_FILE_LINKED_BYTES(file3));
  if (error == NULL) error = text7_open(&seven, file7, HEED_FILE_LINKED_BYTES(file7));
  if (error == NULL) error = text7_words(&seven, "\xef\xbd\x81"
                                                 "b\xe2\x82\xac\xe2\x82\xac", 10, tokens, 7, &n);
  if (error != NULL) return puts(error), 1;
  if (n != 3 || memcmp(tokens, expected, sizeof tokens) != 0) return puts("other tokens"), 1;
  error = text7_run(&seven, tokens, others);
  if (error == NULL) error = text3_run(&three, tokens, sums);
  if (error != NULL) return puts(error), 1;
  for (int i = 0; i < 3; i++)
    if (sums[i] - others[i] > 1e-6f || others[i] - sums[i] > 1e-6f) return puts("other sums"), 1;
  if (text3_words(&three, "aaaa", 4, tokens, 3, &n) == NULL || n != 4) return puts("a text of 4 tokens has room for 3"), 1;
  tokens[1] = 9;
  error = text3_run(&three, tokens, sums);
  if (error == NULL || strcmp(error, "values has a number that is not from -2147483647 to 8") != 0) return 1;
  puts("compiled_graph: good");
  return 0;
}
END
  # shellcheck disable=SC2086
  "$compiler" -std=c99 -O1 -I. $compiled_parts "$source/ports/linux/port.c" texts.c text3.c text7.c "$library" -lm -o texts
  runs texts ./texts
  spoil vit_graph_f32.heed
  build vit_graph_f32 changed
  found=$(./changed) && { echo "it took a damaged file"; exit 1; }
  case $found in *damaged*) ;; *) echo "$found: not \"damaged\""; exit 1 ;; esac
  # With the files of the packages.
  cmake "-DSOURCE=$source" "-DOUTPUT=$folder/single" -P "$source/ports/cmake/drop_in.cmake"
  for other in gcc clang; do
    ! command -v $other >/dev/null || $other -std=c99 -O2 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Isingle single/heed_model.c || exit 1
  done
  # shellcheck disable=SC2046
  "$compiler" -std=c99 -O1 -Wall -Wextra -Wpedantic -Werror -Isingle -I. -I"$source" $(compiled_graph_flags bert_graph_f32) "$source/tests/device/compiled_graph.c" \
    "$source/ports/port.c" "$source/ports/linux/port.c" single/heed_file.c single/heed_model.c bert_graph_f32.c "$library" -lm -o packaged
  runs "with the files of the packages" ./packaged
}
echo "$n programs of graphs: good"
