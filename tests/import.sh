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
  if (heed_linear(heed_matrix_of(x, 1, 32), w, bias, heed_matrix_out_of(y, 1, 4), NULL) != HEED_OK) return 1;
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
         (m.q4.dtype != HEED_Q4_0) | (arrays_q4_weights().dtype != HEED_Q4_0) | (arrays_raw[1] != -1) |
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

# Names of strangers: each is one name in C, and none of their text stands where a compiler or a terminal reads it.
little() { printf "\\$(printf %03o "$1")\000\000\000"; }
long() { little "$1" && little 0; }
gguf() { # gguf NAME...: tensors (2, 3) of floats, all with the same numbers
  printf 'GGUF' && little 3 && long $# && long 0
  for name; do
    long "$(printf %b "$name" | wc -c)" && printf %b "$name"
    little 2 && long 3 && long 2 && little 0 && long 0
  done
}
padded() { # padded FILE: to 32 bytes, and then the numbers
  head -c $(((32 - $(wc -c <"$1") % 32) % 32)) /dev/zero >>"$1"
  printf '\000\000\200\077\000\000\000\100\000\000\100\100\000\000\200\100\000\000\240\100\000\000\300\100' >>"$1"
}
evil='*/ int inject_1(void) { return 7; } /*' quote='v", 2, 3, 0); inject_2(); (void)("' lines='a\n#error inject_3\n' back='ends in \\\\'
gguf "$evil" "$quote" "$lines" "$back" '??/' '\0033[31mred\0033]0;inject_4\0007' '\0342\0200\0256inject_5' 'caf\0303\0251\0377' '' '%s%n' \
  int class unix printf exp errno NULL size_t INT8_MAX heed_linear HEED_F32 _Bool __FILE__ 0.w a.b a_b w w_scales w.weights w_open H I >evil.gguf
padded evil.gguf
n_names=32
expect 0 "033" evil.gguf
LC_ALL=C grep -q '[^ -~]' output && { echo "a name reaches the terminal as it is"; exit 1; }
for name in evil int exp heed unix 0 data _x; do
  expect 0 "bytes" evil.gguf -o "$name.c"
  expect 0 "bytes" evil.gguf -o "$name.heed"
  "$heed_import" "$name.heed" --code >opened.h
  prefix=$(sed -n 's/^typedef struct \(.*\) {$/\1/p' opened.h)
  for file in "$prefix.h" opened.h "$name.c"; do
    LC_ALL=C grep '[^ -~]' "$file" && { echo "$file: has bytes of a name"; exit 1; }
    sed -e 's|/\*.*\*/||' -e 's/"\([^"\\]\|\\.\)*"//g' "$file" | grep -wE 'inject_[1-5]' && { echo "$file: text of a name is code"; exit 1; }
  done
  [ "$(grep -c '^extern const float' "$prefix.h")" = $n_names ] || { echo "$prefix.h: not $n_names arrays"; exit 1; }
  printf '%s\n' "#include \"$prefix.h\"" '#include "opened.h"' '#include <stdio.h>' "HEED_FILE_LINK(linked, \"$name.heed\")" \
    "int main(void) { static $prefix m; const char *error = ${prefix}_open(&m, linked, HEED_FILE_LINKED_BYTES(linked));" \
    'return error ? puts(error), 1 : 0; }' | sed "s/opened.h/opened_$prefix.h/" >evil_main.c
  sed "s/[A-Z0-9_]*_H\$/OPENED_H/" opened.h >"opened_$prefix.h"
  build evil evil_main.c "$name.c" "$source/ports/import/heed_file.c" -Wall -Wextra -Werror -Wcomment -Wtrigraphs
  ./evil || { echo "$name: a name of the flat file is not the one in C"; exit 1; }
done

# Layouts that the numbers have not.
expect 1 "q8: is in blocks of inputs: it is (out, in)" model.heed --only q8 --in-out q8 -o x.heed
expect 1 "packed: is packed: give the file that it was made of" model.heed --only packed --format f32 -o x.heed

# What is not whole is not there: an input as the output, full disks, a full standard output.
cp model.heed same.heed
ln model.heed hard.heed
for output in model.heed hard.heed; do
  expect 1 "$output: is an input, too" model.heed -o $output
  cmp -s model.heed same.heed || { echo "$output: the input is lost"; exit 1; }
done
expect 1 "names: is an input, too" w.npy --names names -o names
cp w.npy w.h
expect 1 "is an input, too" w.h -o w.c
printf old >full.heed
printf old >full.c
for output in full.heed full.c; do
  (trap '' XFSZ && ulimit -f 1 && "$heed_import" model.heed --leave-out q4 --leave-out packed --format f32=w -o $output) >output 2>&1 && { echo "$output: written on a full disk"; exit 1; }
  grep -q "cannot be written" output || { cat output; exit 1; }
  [ "$(cat $output)" = old ] || { echo "$output: half a file"; exit 1; }
done
if [ -c /dev/full ]; then
  for arguments in w.npy --help "w.npy --code" "w.npy -o x.heed --code"; do
    # shellcheck disable=SC2086
    "$heed_import" $arguments 2>output >/dev/full && { echo "$arguments: exit 0 on a full standard output"; exit 1; }
    grep -q "standard output cannot be written" output || { cat output; exit 1; }
  done
  expect 1 "/dev/full: cannot be written" w.npy -o /dev/full
fi
expect 0 "/dev/null: " w.npy -o /dev/null
[ -c /dev/null ] || { echo "/dev/null is gone"; exit 1; }
[ -z "$(ls | grep part)" ] || { ls; echo "parts of files are left"; exit 1; }

# What is wrong is named.
expect 2 "no file is named"
expect 0 "^usage: heed_import" --help
expect 2 "^usage: heed_import"
expect 2 "q5_1: no format" w.npy --format q5_1 -o x.heed
expect 2 "w: no FROM=TO" w.npy --rename w -o x.heed
expect 2 "int8=: no FORMAT=PATTERN" w.npy --format int8= -o x.heed
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
