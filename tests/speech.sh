#!/bin/sh
# speech.sh HEED_LISTEN SPEECH_WEIGHTS: speech to text, all clips of its folder in f32; clips in other formats; streams cut at
# pauses; files; then what is damaged or does not fit. Exit status 77 if the model or a program is missing.
# SPDX-License-Identifier: MIT
set -eu
. "$(dirname "$0")/expect.sh"
listen=$1 weights=$2
needs_model HEED_MOONSHINE "$1" "$2"
clips=$model/clips
if ! "$weights" "$model" "$folder/int8.heed" >"$folder/output" 2>&1 && grep "without protozero" "$folder/output"; then
  echo "SKIPPED: built without protozero"
  exit 77
fi
raw() { tail -c +45 "$clips/$1.wav"; }

expect 0 "passed: 24 of 24 clips" "$listen" "$model"
expect 0 "passed: 24 of 24 clips" "$listen" --format=int8 --threads=2 "$model"
expect 0 "passed: 3 of 3 clips" "$listen" --format=f16 --clips=door,lamp,silence "$model"
expect 0 "passed: 22 of 24 clips" "$listen" --format=w8a8 --cache=f16 "$model"

# The file gives the same bits as the folder; a folder without vocabulary.bin takes the list that npm has.
"$listen" --bits --format=int8 "$model" "$clips/door.wav" >"$folder/bits"
"$listen" --bits "$folder/int8.heed" "$clips/door.wav" | cmp - "$folder/bits"
"$listen" --bits --threads=8 "$folder/int8.heed" "$clips/door.wav" | cmp - "$folder/bits"
expect 0 " 0.00 to   3.08 s  Who left the front door open?" "$listen" "$folder/int8.heed" "$clips/door.wav"

# A stream of three clips becomes three lines.
{ raw weather; raw door; raw dog; } >"$folder/stream"
"$listen" "$folder/int8.heed" - <"$folder/stream" >"$folder/output"
[ "$(grep -c ' to .* s  [A-Z]' "$folder/output")" = 3 ] && grep -q "Tomorrow will be cold and windy, with some rain in the evening" "$folder/output" &&
  grep -q "of real time" "$folder/output" && grep -q "convolution 2 [0-9.]* %" "$folder/output" || {
  cat "$folder/output"
  echo "a stream of three clips: other lines"
  exit 1
}
expect 0 "of real time" "$listen" --cut "--alignment=$folder/words" "$folder/int8.heed" "$clips/tale.wav"
[ "$(cut -f 3 "$folder/words" | tr '\n' ' ' | cut -c 1-38)" = "Once upon a time there was a king who " ] &&
  sort -c -n "$folder/words" && awk '$2 < $1 || $1 < before { exit 1 } { before = $2 }' "$folder/words" || {
  cat "$folder/words"
  echo "words do not lie in order"
  exit 1
}
# More than 15 s without a pause are cut between two words, which are heard whole.
spoken() { raw "$1" | tail -c +8001 | head -c -11200; } # without the silence around it
to_wav() { head -c 40 "$clips/door.wav"; printf '\377\377\377\377'; cat; } # of raw samples
{ spoken story; spoken weather; spoken river; spoken book; } | to_wav >"$folder/long.wav"
expect 0 "She read the whole book in one night.* could not sleep afterwards." "$listen" "$folder/int8.heed" "$folder/long.wav"
{ spoken story; spoken bridge; spoken machine; spoken market; } | to_wav >"$folder/long.wav"
expect 0 "[Oo]n Saturday morning we buy bread and cheese at the market." "$listen" "$folder/int8.heed" "$folder/long.wav"
# 15.02 s of one loudness: what is left behind the cut is heard, or says nothing.
head -c 480640 "$weights" | to_wav >"$folder/long.wav"
expect 0 "long.wav: .*" "$listen" "$folder/int8.heed" "$folder/long.wav"
expect 0 "long.wav has 15.02 s: --bits and --repeat take its first 15 s" "$listen" --bits "$folder/int8.heed" "$folder/long.wav"
expect 0 "silence.wav: (no speech)" "$listen" "$folder/int8.heed" "$clips/silence.wav"
head -c 640000 /dev/zero >"$folder/quiet"
expect 0 "^(no speech)" sh -c "'$listen' '$folder/int8.heed' - <'$folder/quiet'"
if [ -w /dev/full ]; then
  expect 1 "standard output cannot be written" sh -c "'$listen' '$folder/int8.heed' '$clips/door.wav' >/dev/full"
  expect 1 "/dev/full: cannot be written" "$listen" --alignment=/dev/full "$folder/int8.heed" "$clips/door.wav"
fi

# A picture for each piece, or a word about the library that is missing.
if "$listen" --alignment="$folder/a.png" "$folder/int8.heed" - <"$folder/stream" >"$folder/output" 2>&1; then
  for picture in a a-2 a-3; do
    head -c 4 "$folder/$picture.png" | grep -q PNG || { echo "$picture.png is no picture"; exit 1; }
  done
else
  grep -q "a.png: this build has no libpng" "$folder/output" || { cat "$folder/output"; exit 1; }
fi
expect 1 "none/words.txt: cannot be written" "$listen" --alignment="$folder/none/words.txt" "$folder/int8.heed" "$clips/door.wav"

# Wrong sounds.
head -c 1044 "$clips/door.wav" >"$folder/cut.wav"
expect 1 "is truncated" "$listen" "$folder/int8.heed" "$folder/cut.wav"
head -c 30 "$clips/door.wav" >"$folder/head.wav"
expect 1 "is truncated: it ends in the middle of a chunk" "$listen" "$folder/int8.heed" "$folder/head.wav"
head -c 44 "$clips/door.wav" | head -c 36 >"$folder/bare.wav"
expect 1 "holds no samples" "$listen" "$folder/int8.heed" "$folder/bare.wav"
: >"$folder/empty.wav"
expect 1 "empty.wav: is empty" "$listen" "$folder/int8.heed" "$folder/empty.wav"
expect 1 "none.wav: cannot be opened" "$listen" "$folder/int8.heed" "$folder/none.wav"
expect 1 ": cannot be" "$listen" "$folder/int8.heed" "$folder"
# Chunks that are no sound, one of an odd length, before the format and before the data: the same bits.
{ head -c 12 "$clips/door.wav"; printf 'LIST\003\0\0\0abc\0'; head -c 36 "$clips/door.wav" | tail -c +13
  printf 'fact\004\0\0\0\0\0\0\0'; tail -c +37 "$clips/door.wav"; } >"$folder/chunks.wav"
"$listen" --bits "$folder/int8.heed" "$folder/chunks.wav" | cmp - "$folder/bits"
wav() { # wav CHANNELS RATE BYTES FRAME [BITS]: a header, and a sound of zeros. Octal bytes, little endian
  printf 'RIFF\377\377\0\0WAVEfmt \020\0\0\0\001\0%b\0%b\0\0\0\0\0\0%b\0%b\0data%b\0\0' "$1" "$2" "$4" "${5:-\\020}" "$3"
  head -c 60000 /dev/zero
}
wav '\002' '\200\076' '\000\100' '\004' >"$folder/stereo.wav"
expect 1 "2 channels, 16000 Hz, 16 bits;.* sox .*stereo.wav -r 16000 -c 1 -b 16 out.wav" "$listen" "$folder/int8.heed" "$folder/stereo.wav"
wav '\001' '\104\254' '\000\100' '\002' >"$folder/fast.wav"
expect 1 "44100 Hz.*This command converts it" "$listen" "$folder/int8.heed" "$folder/fast.wav"
wav '\001' '\200\076' '\000\100' '\002' '\014' >"$folder/bits.wav"
expect 1 "format 1, 1 channel, 16000 Hz, 12 bits" "$listen" "$folder/int8.heed" "$folder/bits.wav"
# What a program writes to a pipe, which cannot state a length: the same bits.
for length in '\377\377\377\377' '\000\000\000\000' '\000\360\377\177'; do
  { head -c 40 "$clips/door.wav"; printf "$length"; raw door; } >"$folder/pipe.wav"
  "$listen" --bits "$folder/int8.heed" "$folder/pipe.wav" | cmp - "$folder/bits"
done
wav '\001' '\200\076' '\000\006' '\002' >"$folder/short.wav"
expect 1 "shorter than 895 samples" "$listen" "$folder/int8.heed" "$folder/short.wav"
expect 1 "not a WAV file" "$listen" "$folder/int8.heed" "$folder/int8.heed"
expect 1 "is a WAV file, not raw samples" sh -c "'$listen' '$folder/int8.heed' - <'$clips/door.wav'"
expect 1 "standard input is text, not raw samples" sh -c "'$listen' '$folder/int8.heed' - <'$model/expected/expected.tsv'"
expect 1 "standard input is text, not raw samples" sh -c "echo door | '$listen' '$folder/int8.heed' -"
expect 1 "standard input is empty" sh -c "'$listen' '$folder/int8.heed' - </dev/null"
# A stream that ends while somebody speaks: the last piece is heard.
expect 0 " s  [A-Z]" sh -c "head -c 48000 '$folder/stream' | '$listen' '$folder/int8.heed' -"
expect 1 "ends in the middle of a sample" sh -c "head -c 9999 '$folder/stream' | '$listen' '$folder/int8.heed' -"

# Wrong models.
head -c 1000000 "$folder/int8.heed" >"$folder/part.heed"
expect 1 "the file is truncated" "$listen" "$folder/part.heed" "$clips/door.wav"
{ head -c 9000000 "$folder/int8.heed"; printf 'damage'; tail -c +9000007 "$folder/int8.heed"; } >"$folder/damaged.heed"
expect 1 "the sum of a tensor differs" "$listen" "$folder/damaged.heed" "$clips/door.wav"
expect 1 "door.wav: is no file of speech_weights" "$listen" "$clips/door.wav" "$clips/door.wav"
expect 1 "empty.wav: is no file of speech_weights: it is empty" "$listen" "$folder/empty.wav" "$clips/door.wav"
{ cat "$folder/int8.heed"; printf 'more'; } >"$folder/longer.heed"
expect 1 "longer.heed: has [0-9]* bytes, and its header says [0-9]*" "$listen" "$folder/longer.heed" "$clips/door.wav"
printf 'x' | { head -c 12 "$folder/int8.heed"; cat; tail -c +14 "$folder/int8.heed"; } >"$folder/header.heed"
expect 1 "header.heed: " "$listen" "$folder/header.heed" "$clips/door.wav"
expect 77 "HEED_MOONSHINE" env HEED_MOONSHINE= "$listen"
expect 1 "none: does not exist. Give the folder" "$listen" "$folder/none"
expect 1 "none: does not exist" env "HEED_MOONSHINE=$folder/none" "$listen"
expect 1 "none: does not exist" "$weights" "$folder/none" "$folder/again.heed"
expect 1 "int8.heed: is no folder" "$weights" "$folder/int8.heed" "$folder/again.heed"
expect 77 "no sound is named" "$listen" "$folder/int8.heed"
expect 1 "does not list these clips" "$listen" --clips=none "$model"
expect 1 "has a format of its own" "$listen" --format=f16 "$folder/int8.heed" "$clips/door.wav"
expect 1 "is not an option" "$listen" --speed "$model"
expect 1 "cache needs f32 or f16, not \"q8\"" "$listen" --cache=q8 "$model"
expect 1 "clips needs names of clips" "$listen" --clips= "$model"
for n in 0 9 99 -1 2x ''; do expect 1 "threads needs a number of 1 to 8, not \"$n\"" "$listen" --threads=$n "$model"; done
expect 1 "repeat needs a number of 1 to 1000000, not \"0\"" "$listen" --repeat=0 "$model"
expect 1 "is not a format" "$listen" --format=int4 "$model"
mkdir "$folder/model"
expect 1 "neither vocabulary.bin nor llama-tokenizer.js" "$listen" "$folder/model"
ln -s "$model"/*.bin "$folder/model"
expect 1 "encoder_model.onnx: cannot be opened" "$listen" "$folder/model"
cp "$model/encoder_model.onnx" "$folder/model"
head -c 9000000 "$model/decoder_model_merged.onnx" >"$folder/model/decoder_model_merged.onnx"
expect 1 "decoder_model_merged.onnx: is no ONNX file, or it is truncated" "$listen" "$folder/model"
cp "$model/encoder_model.onnx" "$folder/model/decoder_model_merged.onnx"
expect 1 "another model" "$listen" "$folder/model"
