#!/bin/sh
# dreams_board.sh CORE COMPILER N_TOKENS SOURCE BUILD HOST_COMPILER HEED_COMPILE HEED_MODEL HEED: the program of a language model on an emulated
# board of ports/bare, built in BUILD. Texts of N_TOKENS tokens, with weights in f32 and in int8, and in 128 KB of RAM, must have
# the tokens and the bits of all logits that the same program has on this computer. Exit status 77, with the reason, if something is
# missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=$2 n_tokens=$3 source=$4 build=$5 host_compiler=$6 heed_compile=$7 heed_model=$8 heed=$9
. "$source/tests/board.sh"
model_folder HEED_DREAMS "${HEED_DREAMS:-}"
need_tools
large_board
mkdir -p "$build"
cat >"$build/text.c" <<'END'
#include "dreams.h"
#include "rows_digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

HEED_FILE_LINK(file, "dreams.heed")
static dreams net;

int main(int argc, char **argv) {
  uint64_t digest = ROWS_DIGEST_BEGIN;
  int32_t token = 0;
  const char *error = argc == 3 ? dreams_open(&net, file, HEED_FILE_LINKED_BYTES(file)) : "text N PROMPT";
  if (!error) error = dreams_prompt(&net, argv[2], strlen(argv[2]));
  while (!error && net.n < atoi(argv[1]) && !(error = dreams_next(&net, NULL, &token)) && token >= 0)
    digest = rows_digest(digest, net.logits, DREAMS_TOKENS);
  if (error) return puts(error), 1;
  for (int32_t t = 0; t < net.n; ++t) printf("%d ", (int)net.tokens[t]);
  printf("%016" PRIx64 "\n", digest);
  return 0;
}
END

# program PROGRAM FOLDER OPTION...: PROGRAM with what heed_compile writes into FOLDER, for the board and for this computer
program() {
  to=$1 of=$build/ports/$family/$2
  shift 2
  mkdir -p "$of"
  "$heed_compile" "$model" -o "$of/dreams" "$@" 2>"$build/said" || { cat "$build/said"; fail "heed_compile"; }
  if [ -z "${is_built:-}" ]; then build_board "$board" "$to"; else cmake --build "$build" --parallel 2 --target "$to"; fi
  is_built=1
  (cd "$of" && "$host_compiler" -std=c99 -O2 -I. "-I$source/include" "-I$source/ports" "-I$source/ports/compile" "-I$source/ports/import" \
    "$build/text.c" dreams.c "$heed_model" "$heed" -lm -o text)
  ln -sfn "$of/dreams.heed" "$build/dreams.heed" # a name without blanks for the board's command line
}
compare() { # compare PROGRAM WHAT PROMPT
  (cd "$build" && run_board "$1" dreams.heed "$n_tokens" "$3") >found || { cat found; fail "$1 $2 \"$3\""; }
  result=$(tail -n 1 found)
  arithmetic_in found
  expected=$(HEED_ISA=$kernel "$of/text" "$n_tokens" "$3") || skip "this computer cannot run the arithmetic to compare with"
  [ "$(echo "$result" | sed -n 's/.*"tokens":"\([^"]*\)","digest":"\([^"]*\)".*/\1 \2/p')" = "$expected" ] ||
    { cat found && echo "$expected"; fail "$1, $2 \"$3\" has other tokens or bits"; }
  echo "$result" | awk -v what="$2" '{
    for (name = split("per_token per_token_of_prompt stack_bytes", names, " "); name >= 1; name--) {
      n[name] = $0; sub(".*\"" names[name] "\":", "", n[name]); n[name] += 0 }
    printf "%s: all bits equal; emulated: %.2f million instructions a token, %.2f a token of a prompt, stack %d\n",
           what, n[1] / 1e6, n[2] / 1e6, n[3] }'
  echo "$result" >found.json
  keeps_to_task_stack heed_dreams "$(most_stack found.json)"
}
cd "$build"
sizes() { "$gcc-size" -A "ports/$family/$1.elf" | awk -v sections="$2" '$1 ~ sections { n += $2 } END { print n }'; }
for which in f32 int8 small; do
  case $which in
  f32) name=heed_dreams && program $name dreams ;;
  int8) name=heed_dreams && program $name dreams --format int8 --exact ;;
  small) name=heed_dreams_small && program $name dreams_small --format int8 --exact --cache int8 --piece 1 ;;
  esac
  for prompt in "I dream of" "Why do I"; do compare $name $which "$prompt"; done
  ram=$(sizes $name '^\.(stack|data|bss)$')
  echo "$core, $compiler, $which: ROM $(sizes $name '^\.(text|s?rodata|s?data)$') bytes, RAM with stack $ram, file $(wc -c <dreams.heed)"
done
[ "$ram" -le 131072 ] || fail "heed_dreams_small takes $ram bytes of RAM"

# What is wrong is named.
head -c 100000 dreams.heed >short.heed
refuse "truncated" heed_dreams_small short.heed 8 x
refuse "cannot be read" heed_dreams_small none.heed 8 x
refuse "more tokens than there is room for" heed_dreams_small dreams.heed 8 "$(printf 'Q%.0s' $(seq 200))"
