#!/bin/sh
# compile.sh SOURCE COMPILER HEED_COMPILE PUBLISHED_MODELS LIBRARY [EMULATOR...]: heed_compile takes small models of every family, as
# they are published, and COMPILER builds what it writes, in C99 without a warning: each program opens its file, computes the
# known answers that this computer has put there, and keeps what its header promises. With an EMULATOR the programs are those of another
# processor. Exit status 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
source=$1
. "$source/tests/compiled_start.sh"
mkdir models
"$published" models
n=0
for model in $(chosen models/*); do
  name=$(basename "$model" .gguf | tr - _)
  "$heed_compile" "$model" -o "$name" 2>said || { cat said; echo "failed: $model"; exit 1; }
  # shellcheck disable=SC2086,SC2046
  "$compiler" -std=c99 -O1 -Wall -Wextra -Wpedantic -Werror -I. $(compiled_flags "$name") $compiled_sources "$source/ports/linux/port.c" \
    "$name.c" "$library" -lm -o "$name"
  found=$("$@" "./$name") || { echo "$model: $found"; exit 1; }
  [ "$found" = "compiled_model: good" ] || { echo "$model: $found"; exit 1; }
  # The known answers have a digest of the result in each arithmetic.
  LC_ALL=C grep -a '^row ' "$name.heed" | awk -v name="$name" '{ digests = digests " " $4 } END { print name digests }' >>rows
  n=$((n + 1))
done
if [ -n "${HEED_UPDATE_ROWS:-}" ]; then
  { sed -n '/^#/p' "$source/tests/compiled_rows.txt"; cat rows; } >updated
  cp updated "$source/tests/compiled_rows.txt"
fi
compare_lines "$source/tests/compiled_rows.txt" rows
[ $# -gt 0 ] || {
  for isa in scalar scalar-no-fma; do
    for name in llama bert vit; do
      found=$(HEED_ISA=$isa "./$name") || { echo "$name with HEED_ISA=$isa: $found"; exit 1; }
    done
  done
  # With the files of the packages.
  cmake "-DSOURCE=$source" "-DOUTPUT=$folder/single" -P "$source/ports/cmake/drop_in.cmake"
  # shellcheck disable=SC2046
  "$compiler" -std=c99 -O1 -Wall -Wextra -Wpedantic -Werror -Isingle -I. -I"$source" $(compiled_flags bert) "$source/tests/device/compiled_model.c" \
    "$source/ports/port.c" "$source/ports/linux/port.c" single/heed_file.c single/heed_model.c bert.c "$library" -lm -o packaged
  found=$(./packaged) || { echo "with the files of the packages: $found"; exit 1; }
  # A bit of the weights, of the known answers, or of another model: the program stays closed.
  changed() { # changed NAME TEXT: builds NAME with what is now its file, and expects TEXT
    # shellcheck disable=SC2086,SC2046
    "$compiler" -std=c99 -O1 -I. $(compiled_flags "$1") $compiled_sources "$source/ports/linux/port.c" "$1.c" "$library" -lm -o changed
    found=$(./changed) && { echo "$1: took a changed file"; exit 1; }
    case $found in *"$2"*) ;; *) echo "$1: $found, not \"$2\""; exit 1 ;; esac
  }
  spoil llama.heed
  changed llama "damaged"
  cp llama_linear.heed llama.heed
  changed llama "the known answers are of another model"
}
echo "$n programs: good"
