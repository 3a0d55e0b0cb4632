#!/bin/sh
# compile_integers.sh SOURCE COMPILER HEED_COMPILE PUBLISHED_MODELS LIBRARY [EMULATOR...]: heed_compile --integers takes small models,
# and COMPILER builds what it writes, in C99 without a warning: no line has a float, and each program computes the known answers that
# this computer has put into its file, and a sum that tests/compiled_integers.txt has. With an EMULATOR the programs are those of another
# processor. Exit status 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
source=$1
. "$source/tests/compiled_start.sh"
kinds="bert bert-classes bert-outliers distilbert distilbert-classes roberta roberta-classes vit vit-classes deit deit-classes gpt2 llama llama-llama3 smollm qwen2 gemma"
# shellcheck disable=SC2086
"$published" . $kinds qwen3 mistral
# shellcheck disable=SC2086
for kind in $(chosen $kinds); do
  name=$(echo "$kind" | tr - _)_int
  "$heed_compile" "$kind" -o "$name" --integers "$kind/rows.npy" --check >errors 2>said || { cat said; echo "failed: $kind"; exit 1; }
  grep -q '^layer 2 ' errors && grep -q '^result ' errors || { cat errors; echo "$kind: --check prints no errors"; exit 1; }
  case $kind in
    gpt2 | llama | smollm | qwen2 | gemma) awk '/ next tokens stay the most probable ones$/ { n = $3; kept = $1 } END { exit !(n > 250 && kept > 0.88 * n) }' errors || { cat errors; echo "$kind: next tokens change"; exit 1; } ;;
    *-classes | deit) grep -q '^1[56] of 16 samples keep their class$' errors || { cat errors; echo "$kind: classes change"; exit 1; } ;;
  esac
  for file in "$name.c" "$name.h"; do
    if has_floats "$file"; then echo "$file has a float"; exit 1; fi
  done
  # shellcheck disable=SC2046,SC2086
  "$compiler" -std=c99 -O1 -Wall -Wextra -Wpedantic -Werror -I. $(integers_flags "$name") $integers_sources "$source/ports/linux/port.c" \
    "$name.c" "$library" -lm -o "$name"
  found=$("$@" "./$name") || { echo "$kind: $found"; exit 1; }
  echo "$name $found" | sed 's/compiled_integers: good //' >>sums
done
if [ -n "${HEED_UPDATE_ROWS:-}" ]; then
  { sed -n '/^#/p' "$source/tests/compiled_integers.txt"; cat sums; } >updated
  cp updated "$source/tests/compiled_integers.txt"
fi
compare_lines "$source/tests/compiled_integers.txt" sums
[ $# -eq 0 ] || { echo "$(wc -l <sums) programs: good"; exit 0; }

for name in bert_int bert_outliers_int vit_classes_int gpt2_int llama_int; do
  [ "$(HEED_INT_ISA=scalar "./$name")" = "$("./$name")" ] || { echo "$name: the scalar kernel has other numbers"; exit 1; }
done
# Rows that are computed together change no bit.
for kind in vit-classes llama; do
  name=$(echo "$kind" | tr - _)_int
  "$heed_compile" $kind -o "$name" --integers $kind/rows.npy --piece 17 2>/dev/null
  # shellcheck disable=SC2046,SC2086
  "$compiler" -std=c99 -O1 -I. $(integers_flags "$name") $integers_sources "$source/ports/linux/port.c" "$name.c" "$library" -lm -o pieces
  [ "$(./pieces)" = "$("./$name")" ] || { echo "--piece changes numbers"; exit 1; }
done
# Tokens are chosen with their probabilities.
# shellcheck disable=SC2046,SC2086
"$compiler" -std=c99 -O2 -Wall -Wextra -Wpedantic -Werror -I. -I"$source/tests/device" $compiled_folders $(integers_flags gpt2_int) -DMODEL_SOURCE='"gpt2_int.c"' \
  $(sed -n 's/^  GPT2_INT_\(LOGIT_[ME]\) = \([-0-9]*\).*/-D\1=\2/p' gpt2_int.h) "$source/tests/integer_choice.c" "$source/ports/import/heed_file.c" \
  "$source/ports/compile/heed_model.c" "$library" -lm -o choice
./choice || { echo "tokens are not chosen with their probabilities"; exit 1; }
# A window as long as the context is none.
"$heed_compile" mistral -o mistral_int --integers mistral/rows.npy --context 8 2>said || { cat said; exit 1; }

# A byte of the weights, or a file of another model: the program stays closed.
changed() { # changed NAME TEXT: builds NAME with what is now its file, and expects TEXT
  # shellcheck disable=SC2046,SC2086
  "$compiler" -std=c99 -O1 -I. $(integers_flags "$1") $integers_sources "$source/ports/linux/port.c" "$1.c" "$library" -lm -o changed
  found=$(./changed) && { echo "$1: took a changed file"; exit 1; }
  case $found in *"$2"*) ;; *) echo "$1: $found, not \"$2\""; exit 1 ;; esac
}
spoil bert_int.heed
changed bert_int "damaged"
cp vit_int.heed bert_int.heed
changed bert_int "the file is of another program"
cp bert_classes_int.heed distilbert_classes_int.heed
changed distilbert_classes_int "the known answers are of another model"

# What is refused leaves no file.
refused() { # refused STATUS TEXT ARGUMENT...
  status=$1 text=$2 is=0
  shift 2
  "$heed_compile" "$@" -o none 2>said || is=$?
  [ "$is" = "$status" ] || { cat said; echo "status $is, not $status: $*"; exit 1; }
  grep -qF -- "$text" said || { cat said; echo "no \"$text\": $*"; exit 1; }
  for file in none*; do
    [ ! -e "$file" ] || { echo "$file was written: $*"; exit 1; }
  done
}
refused 1 "a norm of queries and keys is not possible in integers, and this model (qwen3) has it" qwen3 --integers bert/rows.npy
refused 1 "a sliding window of fewer tokens than the context (--context) is not possible" mistral --integers bert/rows.npy
refused 1 "has the shape (16, 20), and not (n, length): tokens of texts, at most 12 of each" llama --integers llama/rows.npy --context 12
refused 1 "is of '<f4', and not of whole numbers" bert --integers vit/rows.npy
refused 1 "is of '<i8'" vit --integers bert/rows.npy
refused 1 "cannot be opened" bert --integers missing.npy
refused 2 "--format is for programs with floats, not for --integers" bert --integers bert/rows.npy --format int8
refused 2 "--draft is for programs with floats" gpt2 --integers gpt2/rows.npy --draft 3
refused 2 "--check-input is for programs with floats" bert --integers bert/rows.npy --check-input x
refused 2 "--integers names no file" bert --integers ""
refused 2 "--percent is for --integers" bert --percent 99
refused 2 "--percent is a number of 50 to 100" bert --integers bert/rows.npy --percent 101
echo "$(wc -l <sums) programs: good"
