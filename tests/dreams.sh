#!/bin/sh
# dreams.sh BENCH [FOLDER]: heed_dreams in the folder BENCH, whose model was FOLDER, or was made up: what it writes, its receipts, and what is
# wrong is named. With FOLDER all texts of expected.txt, token by token. SPDX-License-Identifier: MIT
set -eu
. "$(dirname "$0")/expect.sh"
bench=$1 model=${2:-$1/made_up_dreams.folder}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
: >"$folder/input"
heed_dreams=$bench/heed_dreams
expect 0 "tokens a second" "$heed_dreams" "The light"
expect 0 "bytes of memory$" "$heed_dreams" --tokens=2 "The light"
for how in --seed=3 "--temperature=0.8 --top-p=0.9 --seed=7" "--temperature=0.8 --top-k=4 --level=rows --exact"; do
  # shellcheck disable=SC2086
  "$heed_dreams" $how "--receipt=$folder/receipt" "--numbers=$folder/numbers" "The light"
  expect 0 "^equal: " "$bench/heed_replay" "--numbers=$folder/numbers" "$model" "$folder/receipt"
done
sed 's/^setting temperature .*/setting temperature 0.25/' "$folder/receipt" | sed '$d' >"$folder/forged"
echo "end $(sha256sum <"$folder/forged" | cut -d' ' -f1)" >>"$folder/forged"
expect 1 "but these logits choose" "$bench/heed_replay" "$model" "$folder/forged"

expect 1 "needs a prompt, or --check=FOLDER" "$heed_dreams"
expect 1 "is not an option" "$heed_dreams" --speed "The light"
expect 1 "quote the prompt" "$heed_dreams" The light
expect 1 "tokens needs a number of 2 to" "$heed_dreams" --tokens=1 "The light"
expect 1 "more tokens than there is room for" "$heed_dreams" "$(printf 'Q%.0s' $(seq 600))"
expect 1 "cannot be opened" "$heed_dreams" "--file=$folder/none" "The light"
head -c 5000 "$bench/dreams.heed" >"$folder/short"
expect 1 "short: .*truncated" "$heed_dreams" "--file=$folder/short" "The light"

[ $# -eq 2 ] || { echo "the model is made up: there are no expected texts"; exit 0; }
"$heed_dreams" "--check=$model"
expect 0 "^I dream of 0.000000. Dimensions unfold, as I softly refine" "$heed_dreams" "I dream of"
ln -s "$model"/* "$folder"
damage() { # damage FILE COMMAND...: the command's output takes the file's place
  file=$1
  shift
  rm "$folder/$file"
  "$@" >"$folder/$file"
}
damage logits.bin head -c 260096 "$model/logits.bin"
expect 1 "logits.bin has fewer numbers" "$heed_dreams" "--check=$folder"
damage logits.bin cat "$model/logits.bin"
damage expected.txt sed '/^tokens/s/ [0-9]*$/ 7/' "$model/expected.txt"
expect 1 "5 of 5 texts are wrong" "$heed_dreams" "--check=$folder"
damage expected.txt :
expect 1 "lists no texts" "$heed_dreams" "--check=$folder"
