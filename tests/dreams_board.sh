#!/bin/sh
# dreams_board.sh CORE COMPILER N_TOKENS SOURCE BUILD HEED_DREAMS DREAMS_WEIGHTS: a language model on an emulated board of
# ports/bare, built in BUILD. Texts of N_TOKENS tokens, with weights in f32 and in int8, and in 128 KB of RAM, must have
# the tokens and the bits of all logits that HEED_DREAMS, this computer's program, gives. Exit status 77, with the reason, if
# something is missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=$2 n_tokens=$3 source=$4 build=$5 heed_dreams=$6 dreams_weights=$7
. "$source/tests/board.sh"
model_folder HEED_DREAMS "${HEED_DREAMS:-}"
need_tools
large_board
build_board "$board" heed_dreams heed_dreams_small
cd "$build"
ln -sfn "$model/model.bin" model.bin # names without blanks for the board's command line
ln -sfn "$model/tokenizer.bin" tokenizer.bin
"$dreams_weights" model.bin int8.bin >/dev/null

ram=$("$gcc-size" -A "ports/$family/heed_dreams_small.elf" | awk '$1 ~ /^\.(stack|data|bss)$/ { n += $2 } END { print n }')
[ "$ram" -le 131072 ] || fail "heed_dreams_small takes $ram bytes of RAM"

compare() { # compare PROGRAM WEIGHTS CACHE PROMPT
  run_board "$1" "$2" tokenizer.bin "$n_tokens" "$4" >found ||
    { cat found; fail "$1 $2 \"$4\""; }
  result=$(tail -n 1 found)
  arithmetic_in found
  HEED_ISA=$kernel "$heed_dreams" --bits "--weights=$2" "--cache=$3" "--tokens=$n_tokens" "$model" "$4" >reference ||
    fail "this computer's program"
  [ "$(head -n 1 reference)" = "$arithmetic" ] || skip "this computer cannot run the arithmetic to compare with"
  expected=$(sed -n '2s/^"[^"]*" //p' reference)
  [ "$(echo "$result" | sed -n 's/.*"tokens":"\([^"]*\)","digest":"\([^"]*\)".*/\1 \2/p')" = "$expected" ] ||
    { cat found reference; fail "$1 $2 \"$4\" has other tokens or bits"; }
  echo "$result" | awk -v what="$1, $2, cache $3" '{
    for (name = split("per_token per_token_of_prompt stack_bytes", names, " "); name >= 1; name--) {
      n[name] = $0; sub(".*\"" names[name] "\":", "", n[name]); n[name] += 0 }
    printf "%s: all bits equal; emulated: %.2f million instructions a token, %.2f a token of a prompt, stack %d\n",
           what, n[1] / 1e6, n[2] / 1e6, n[3] }'
  echo "$result" >found.json
  keeps_to_task_stack heed_dreams "$(most_stack found.json)"
}
for prompt in "I dream of" "Why do I"; do
  compare heed_dreams model.bin f32 "$prompt"
  compare heed_dreams int8.bin f32 "$prompt"
  compare heed_dreams_small int8.bin int8 "$prompt"
done

# What is wrong is named.
head -c 100000 model.bin >short.bin
refuse "shorter or longer than its header says" heed_dreams short.bin tokenizer.bin 8 x
head -c 1000 tokenizer.bin >short.bin
refuse "tokenizer's file ends too early" heed_dreams model.bin short.bin 8 x
refuse "cannot be read" heed_dreams none.bin tokenizer.bin 8 x
refuse "more than the context has room for" heed_dreams model.bin tokenizer.bin 8 "$(printf 'Q%.0s' $(seq 200))"
echo "$core, $compiler: RAM of heed_dreams_small $ram bytes with stack"
