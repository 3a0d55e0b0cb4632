#!/bin/sh
# kwt.sh HEED_KWT KWT_WEIGHTS: keyword spotting on real speech, all clips of the model's folder, with weights in f32 and in
# int8; then folders with one clip, with a clip that says another word, and with none; single files, words in a pipe; what is
# damaged or does not fit. Exit status 77 if the model or a program is missing.
# SPDX-License-Identifier: MIT
set -eu
. "$(dirname "$0")/expect.sh"
heed_kwt=$1 kwt_weights=$2
needs_model HEED_KWT1 "$1" "$2"
"$heed_kwt" "$HEED_KWT1"

ln -s "$model/non_stream.tflite" "$model/clips" "$folder"
expect 0 "2789312 bytes" "$kwt_weights" "$model/non_stream.tflite" "$folder/f32.bin"
expect 0 "876352 bytes" "$kwt_weights" "$model/non_stream.tflite" "$folder/int8.bin" int8
expect 0 "^passed: 24 of 24 clips" "$heed_kwt" "--weights=$folder/int8.bin" "$model"
"$heed_kwt" --bits "$model" >"$folder/bits"
"$heed_kwt" --bits "--weights=$folder/f32.bin" "$model" | cmp - "$folder/bits"

sed -n 1,2p "$model/expected.tsv" >"$folder/expected.tsv"
expect 0 "^passed: 1 of 1 clips" "$heed_kwt" "$folder"
awk -F'\t' -v OFS='\t' 'NR == 3 { $2 = $2 "?" } NR <= 3' "$model/expected.tsv" >"$folder/expected.tsv"
expect 1 "^FAILED: 1 of 2 clips" "$heed_kwt" "$folder"
sed -n 1p "$model/expected.tsv" >"$folder/expected.tsv"
expect 1 "lists no clips" "$heed_kwt" "$folder"
expect 77 "HEED_KWT1" env HEED_KWT1= "$heed_kwt"
expect 1 "is not a folder" "$heed_kwt" "$folder/none"
expect 1 "is not an option" "$heed_kwt" --speed "$model"

# Files: of a second, shorter, longer.
published=$model/non_stream.tflite clips=$model/clips
raw() { tail -c 32000 "$clips/$1.wav"; }
little_endian() { # little_endian N BYTES
  rest=$1 i=0
  while [ "$i" -lt "$2" ]; do
    printf "\\$(printf %03o $((rest % 256)))"
    rest=$((rest / 256)) i=$((i + 1))
  done
}
wav() { # wav FILE CHANNELS RATE BITS: of standard input
  cat >"$folder/data"
  n=$(wc -c <"$folder/data")
  {
    printf RIFF && little_endian $((n + 36)) 4 && printf 'WAVEfmt ' && little_endian 16 4 && little_endian 1 2
    little_endian "$2" 2 && little_endian "$3" 4 && little_endian $(($3 * $2 * $4 / 8)) 4 && little_endian $(($2 * $4 / 8)) 2
    little_endian "$4" 2 && printf data && little_endian "$n" 4 && cat "$folder/data"
  } >"$folder/$1"
}
raw yes_a | wav same.wav 1 16000 16
cmp "$folder/same.wav" "$clips/yes_a.wav"
expect 0 "off_b.wav: off 9" "$heed_kwt" "$published" "$clips/yes_a.wav" "$clips/off_b.wav"
expect 0 "left_a.wav: left" "$heed_kwt" "$folder/int8.bin" "$clips/left_a.wav"
raw yes_a | head -c 24000 | wav short.wav 1 16000 16
expect 0 "short.wav: yes" "$heed_kwt" "$published" "$folder/short.wav"
for clip in silence yes_a up_b unknown_house silence; do raw $clip; done >"$folder/speech"
wav long.wav 1 16000 16 <"$folder/speech"
expect 0 "long.wav:    1.75 s  yes " "$heed_kwt" "$published" "$folder/long.wav"
[ "$(sed 's/.* s  \([a-z]*\) .*/\1/' "$folder/output" | tr '\n' ' ')" = "yes up " ]
for clip in silence silence; do raw $clip; done | wav quiet.wav 1 16000 16
expect 0 "quiet.wav: no word" "$heed_kwt" "$published" "$folder/quiet.wav"

# Words in a pipe, as they are heard: the program still waits for more when the first one is there.
cp "$folder/speech" "$folder/input"
expect 0 " yes .* up " sh -c '"$0" "$1" - | tr "\n" " "' "$heed_kwt" "$folder/int8.bin"
mkfifo "$folder/pipe"
"$heed_kwt" "$published" - <"$folder/pipe" >"$folder/words" &
exec 9>"$folder/pipe"
cat "$folder/speech" >&9
tries=0
until grep -q " up " "$folder/words"; do
  tries=$((tries + 1))
  [ "$tries" -lt 300 ] || { echo "no word before the pipe's end"; exit 1; }
  sleep 0.1
done
exec 9>&-
wait $!
head -c 20000 "$folder/speech" >"$folder/input" # less than a second
expect 0 "^$" sh -c '"$0" "$1" - && echo' "$heed_kwt" "$published"
head -c 32001 "$folder/speech" >"$folder/input"
expect 1 "ends in the middle of a sample" "$heed_kwt" "$published" -
cp "$folder/long.wav" "$folder/input"
expect 1 "standard input is a WAV file" "$heed_kwt" "$published" -
: >"$folder/input"
expect 1 "standard input is empty" "$heed_kwt" "$published" -
expect 1 "goes with no other sound" "$heed_kwt" "$published" - "$clips/yes_a.wav"
expect 1 "0 to 1" "$heed_kwt" --threshold=70 "$published" -

# Files that are not what they should be: the others are heard all the same.
raw yes_a | wav fast.wav 1 44100 16
raw yes_a | wav stereo.wav 2 16000 16
raw yes_a | wav bits.wav 1 16000 12
wav nothing.wav 1 16000 16 </dev/null
head -c 20000 "$clips/yes_a.wav" >"$folder/cut.wav"
head -c 40 "$clips/yes_a.wav" >"$folder/header.wav"
: >"$folder/empty.wav"
echo "text" >"$folder/text.wav"
refuse() { # refuse FILE TEXT
  expect 1 "$1: $2" "$heed_kwt" "$published" "$folder/$1" "$clips/go_a.wav"
  grep -q "go_a.wav: go" "$folder/output" || { echo "$1: the file after it was not heard"; exit 1; }
}
refuse fast.wav "has another rate.* 44100 Hz.* sox .*fast.wav -r 16000 -c 1 -b 16 out.wav"
refuse stereo.wav ".* has .* 2 channels"
refuse bits.wav ".* has .* 12 bits"
refuse nothing.wav "holds no samples"
refuse cut.wav "is truncated: it ends in the middle of a chunk"
refuse header.wav "holds no samples"
refuse empty.wav "is empty"
refuse text.wav "is not a WAV file"
refuse none.wav "cannot be opened"

# What the network attends to, as a picture.
heed_map=$(dirname "$heed_kwt")/heed_map
if [ -x "$heed_map" ]; then
  "$heed_kwt" "--map=$folder/yes.map" "$published" "$clips/yes_a.wav"
  expect 0 '^KWT-1 hears "yes" (91.2 %)' "$heed_map" "$folder/yes.map"
  expect 1 "map goes with one file" "$heed_kwt" "--map=$folder/yes.map" "$published" "$clips/yes_a.wav" "$clips/yes_b.wav"
  expect 1 "none/yes.map: cannot be written" "$heed_kwt" "--map=$folder/none/yes.map" "$published" "$clips/yes_a.wav"
  expect 1 "usage" "$heed_map"
fi

# Models that are damaged or none.
damage() { # damage TEXT FILE
  expect 1 "$2: $1" "$heed_kwt" "$folder/$2" "$clips/yes_a.wav"
}
head -c 1000000 "$published" >"$folder/short.tflite"
damage "the file ends in the middle" short.tflite
head -c 800000 "$folder/int8.bin" >"$folder/short.bin"
damage "the weights are too short or too long" short.bin
head -c 30 "$folder/int8.bin" >"$folder/header.bin"
damage "the weights are too short or too long" header.bin
{ head -c 500000 "$folder/int8.bin" && printf '\125\252' && tail -c +500003 "$folder/int8.bin"; } >"$folder/damaged.bin"
damage "the weights are damaged: their checksum differs" damaged.bin
{ printf HEED && tail -c +5 "$published"; } >"$folder/magic.bin"
damage "not a KWT-1 weights file" magic.bin
damage "not a TensorFlow Lite file" same.wav
: >"$folder/empty.bin"
damage "not a TensorFlow Lite file" empty.bin
expect 1 "is a file" "$heed_kwt" "$published"
expect 1 "not a TensorFlow Lite file" "$kwt_weights" "$folder/int8.bin" "$folder/again.bin"
expect 2 "usage" "$kwt_weights" "$published" "$folder/again.bin" f64
