#!/bin/sh
# sensor.sh HEED_SENSOR SENSOR_WEIGHTS: the sensor's model on its recordings, in floats and in integers; files of weights; what
# does not fit. Exit status 77 if the model or a program is missing. SPDX-License-Identifier: MIT
set -eu
. "$(dirname "$0")/expect.sh"
heed_sensor=$1 sensor_weights=$2
needs_model HEED_EEG "$1" "$2"
"$heed_sensor" "$HEED_EEG"
"$heed_sensor" --integers "$HEED_EEG"

expect 0 "58192 bytes" "$sensor_weights" "$model" "$folder/floats.bin"
expect 0 "19540 bytes" "$sensor_weights" "$model" "$folder/integers.bin" integers
expect 0 "19540 bytes" "$sensor_weights" "$model" "$folder/integers.c" integers
expect 0 "96000 bytes" "$sensor_weights" --rows "$model/input.f32" "$folder/input.i16"
tail -c +17 "$folder/floats.bin" | head -c 58048 | cmp - "$model/weights.f32"

# Foreign and damaged folders.
for file in weights.f32 prototypes.f32 input.f32 expected.tsv; do cat "$model/$file" >"$folder/$file"; done
expect 1 "input_float_stft.f32: cannot be opened" "$heed_sensor" "$folder"
sed -n 1,2p "$model/expected.tsv" >"$folder/expected.tsv"
expect 0 "^passed" "$heed_sensor" "$folder"
sed 's/^input	0/input	1/' "$folder/expected.tsv" >"$folder/other" && mv "$folder/other" "$folder/expected.tsv"
expect 1 "^FAILED" "$heed_sensor" "$folder"
expect 1 "^FAILED" "$heed_sensor" --integers "$folder"
sed -n 1p "$model/expected.tsv" >"$folder/expected.tsv"
expect 1 "lists no recording" "$heed_sensor" "$folder"
echo x >"$folder/expected.tsv"
expect 1 "its heading is another one" "$heed_sensor" "$folder"
head -c 58000 "$model/weights.f32" >"$folder/weights.f32"
expect 1 "weights.f32: does not have 14512 floats" "$heed_sensor" "$folder"
expect 77 "HEED_EEG" env HEED_EEG= "$heed_sensor"
expect 1 "is not a folder" "$heed_sensor" "$folder/none"
expect 1 "is not an option" "$heed_sensor" --speed "$model"
expect 2 "usage" "$sensor_weights" "$model" "$folder/out" f16
