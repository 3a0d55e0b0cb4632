#!/bin/sh
# dreams.sh HEED_DREAMS DREAMS_WEIGHTS: a trained language model, all prompts of its folder; with weights in int8; text as it
# comes; then what is damaged or does not fit. Exit status 77 if the model or a program is missing.
# SPDX-License-Identifier: MIT
set -eu
. "$(dirname "$0")/expect.sh"
heed_dreams=$1 dreams_weights=$2
needs_model HEED_DREAMS "$1" "$2"
"$heed_dreams" "$HEED_DREAMS"

expect 0 "bytes" "$dreams_weights" "$model/model.bin" "$folder/int8.bin"
expect 0 "first 40 tokens 40 are unchanged" "$heed_dreams" "--weights=$folder/int8.bin" "$model"
expect 0 " 628 of 635 positions have the same most probable one" "$heed_dreams" --in-integers "$model"
expect 0 "rows of outputs" "$heed_dreams" --in-place "$model"
"$heed_dreams" --bits "$model" >"$folder/packed"
"$heed_dreams" --bits --in-place "$model" | cmp - "$folder/packed"
expect 0 "^I dream of 0.000000. Dimensions unfold, as I softly refine" "$heed_dreams" "$model" "I dream of"
expect 0 "tokens a second" "$heed_dreams" --window=50 --tokens=300 --temperature=0.7 --top-p=0.9 --seed=3 "$model" "The"
expect 0 "tokens a second" "$heed_dreams" --window=48 --pinned=1 --tokens=1000 --temperature=0.8 --seed=7 "$model" "The light"
heed_map=$(dirname "$heed_dreams")/heed_map
if [ -x "$heed_map" ]; then
  "$heed_dreams" --tokens=18 "--map=$folder/text.map" "$model" "The light"
  expect 0 '^"The light" goes on: unfold like petals, a flower' "$heed_map" "$folder/text.map"
fi
expect 1 "map goes with a prompt" "$heed_dreams" "--map=$folder/text.map" "$model"
expect 1 "pinned tokens, positions or rows of a piece are out of range" "$heed_dreams" --pinned=1 "$model" "The light"
expect 0 "^The light unfold" "$heed_dreams" --window=200 --tokens=40 "$model" "The light"
expect 1 "tokens needs a number of 2 to 1000000" "$heed_dreams" --tokens=1 "$model" "The light"
expect 1 "narrow already" "$dreams_weights" "$folder/int8.bin" "$folder/again.bin"
expect 77 "HEED_DREAMS" env HEED_DREAMS= "$heed_dreams"
expect 1 "is not a folder" "$heed_dreams" "$folder/none"
expect 1 "is not an option" "$heed_dreams" --speed "$model"
expect 1 "the prompt has [0-9]* tokens, the model's context 128" "$heed_dreams" "$model" "$(printf 'Q%.0s' $(seq 200))"

ln -s "$model"/* "$folder"
damage() { # damage FILE N: the file cut off after N bytes
  rm "$folder/$1"
  head -c "$2" "$model/$1" >"$folder/$1"
}
damage model.bin 500000
expect 1 "model.bin: the model's file is shorter or longer" "$heed_dreams" "$folder"
damage model.bin 20
expect 1 "model.bin: the model's file ends within its header" "$heed_dreams" "$folder"
rm "$folder/model.bin" && ln -s "$model/model.bin" "$folder"
damage tokenizer.bin 0
expect 1 "tokenizer.bin: the tokenizer's file ends too early" "$heed_dreams" "$folder"
rm "$folder/tokenizer.bin" && ln -s "$model/tokenizer.bin" "$folder"
damage tokenizer.bin 3000
expect 1 "tokenizer.bin: token [0-9]*: the tokenizer's file ends too early" "$heed_dreams" "$folder"
rm "$folder/tokenizer.bin" && ln -s "$model/tokenizer.bin" "$folder"
damage logits.bin 260096
expect 1 "logits.bin has fewer numbers" "$heed_dreams" "$folder"
rm "$folder/logits.bin" && ln -s "$model/logits.bin" "$folder" && rm "$folder/expected.txt"
sed '/^tokens/s/ [0-9]*$/ 7/' "$model/expected.txt" >"$folder/expected.txt"
expect 1 "^FAILED: 0 of 5 prompts" "$heed_dreams" "$folder"
: >"$folder/expected.txt"
expect 1 "lists no prompts" "$heed_dreams" "$folder"
