#!/bin/sh
# import.sh SOURCE COMPILER HEED_IMPORT LIBRARY: heed_import's command line; programs in C99 that link its flat files and its
# arrays, of every format. SPDX-License-Identifier: MIT
set -eu
source=$1 compiler=$2 heed_import=$3 library=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
set -- .
. "$source/tests/import_sample.sh"

expect() { # expect STATUS TEXT ARGUMENT...: heed_import says TEXT
  status=$1 text=$2 found=0
  shift 2
  "$heed_import" "$@" >output 2>&1 || found=$?
  [ "$status" = "$found" ] && grep -q -e "$text" output || {
    cat output
    echo "heed_import $*: status $found, not $status with \"$text\""
    exit 1
  }
}
build() { # build PROGRAM SOURCE... [FLAG...]
  program=$1
  shift
  "$compiler" -std=c99 -Wall -Wextra -Wpedantic -Werror -I"$source/include" -I"$source/ports" -I"$source/ports/import" -I. "$@" \
    "$library" -lm -o "$program"
}
port="$source/ports/linux/port.c $source/ports/port.c"

expect 0 "^i8    (out, in)  4 x 32               w$" w.npy b.npy
for format in f32 f16 bf16 int8; do
  expect 0 "import.heed: " w.npy b.npy --format $format -o import.heed
  expect 0 "import_arrays.c: " w.npy b.npy --format $format --transpose w -o import_arrays.c
  # shellcheck disable=SC2086
  build flat "$source/ports/import/example.c" "$source/ports/import/heed_file.c" $port -DEXAMPLE_FILE='"import.heed"'
  # shellcheck disable=SC2086
  build arrays "$source/ports/import/example.c" import_arrays.c $port -DEXAMPLE_ARRAYS
  for program in flat arrays; do
    found=$(./$program)
    [ "$found" = "$expected" ] || { echo "$program, $format: $found, not $expected"; exit 1; }
  done
done

# All kinds of tensors at once, and the code that --code prints.
for name in q8 q4 packed raw; do cp w.npy $name.npy; done
set -- w.npy b.npy q8.npy q4.npy packed.npy raw.npy --format f32 --format q8_0=q8 --format int4=q4 --format packed-int8=packed --format keep=raw
expect 0 "model.heed: " "$@" -o model.heed --code
sed '/: [0-9]* bytes$/d' output >model.h
expect 0 "^q4_0  (out, in)  4 x 32               q4$" model.heed
expect 0 "^int8  packed     4 x 32               packed$" model.heed
expect 0 "arrays.c: " "$@" -o arrays.c
cat >main.c <<'END'
#include "arrays.h"
#include "model.h"
#include <stdio.h>
HEED_FILE_LINK(linked, "model.heed")
static int print(heed_weights w, const float *bias) {
  float x[32], y[4];
  for (int i = 0; i < 32; i++) x[i] = (float)(i + 1);
  if (heed_project(heed_matrix_of(x, 1, 32), w, bias, heed_matrix_out_of(y, 1, 4), NULL) != HEED_OK) return 1;
  printf("%.0f %.0f %.0f %.0f\n", y[0], y[1], y[2], y[3]);
  return 0;
}
int main(void) {
  model m;
  heed_weights packed;
  const char *error = model_open(&m, linked, HEED_FILE_LINKED_BYTES(linked));
  if (error) return puts(error), 1;
  if (arrays_packed_open(&packed) != HEED_OK || m.raw.n_scales != 1) return 1;
  if (print(m.raw, m.b) | print(arrays_raw_weights(), arrays_b)) return 1;
  return print(m.w, m.b) | print(m.q8, m.b) | print(m.packed, m.b) | print(arrays_w_weights(), arrays_b) |
         print(arrays_q8_weights(), arrays_b) | print(packed, arrays_b) |
         (m.q4.format != HEED_Q4_0) | (arrays_q4_weights().format != HEED_Q4_0) | (arrays_raw[1] != -1) |
         (arrays_raw_zero_points[0] != 0);
}
END
build all main.c arrays.c "$source/ports/import/heed_file.c"
./all >found || { cat found; exit 1; }
# int8 and Q8_0 round what the largest number of their scale does not divide: at most half a scale for each of 528
awk -v expected="$expected" 'BEGIN { split(expected, e) }
  { for (o = 1; o <= 4; o++) if ($o - e[o] > 10 || e[o] - $o > 10) { print "line " NR ": " $0; exit 1 } }
  END { exit NR != 8 }' found

# Names.
printf 'w\tlayer.0.w\n' >names
expect 0 "x.heed: " w.npy b.npy --names names --rename 'b=norm' -o x.heed
expect 0 " layer.0.w$" x.heed
expect 0 " norm$" x.heed
expect 0 " layer.0.w$" x.heed --only 'layer.*'

# What is wrong is named.
expect 2 "no file is named"
expect 0 "^usage: heed_import" --help
expect 2 "^usage: heed_import"
expect 2 "q5_1: no format" w.npy --format q5_1 -o x.heed
expect 2 "w: no FROM=TO" w.npy --rename w -o x.heed
expect 1 "none.npy: cannot be opened" none.npy
expect 1 "^heed_import: \.: cannot be opened" .
expect 1 "no tensor that is imported matches z" w.npy --only w --transpose z -o x.heed
expect 1 "no tensor is left" w.npy --leave-out w -o x.heed
expect 1 "w: two tensors would have this name" w.npy w.npy -o x.heed
expect 1 "cannot be written" w.npy -o none/x.heed
head -c 200 w.npy >short.npy
expect 1 "short.npy: has more or fewer bytes than its shape says" short.npy
head -c 100 model.heed >short.heed
expect 1 "short.heed: the file is truncated" short.heed
{ head -c 1000 model.heed && printf '\377' && tail -c +1002 model.heed; } >damaged.heed
expect 1 "damaged.heed: the file is damaged" damaged.heed
expect 1 "^heed_import: names: is neither" names
echo "passed"
