#!/bin/sh
# board.sh MODEL CLIP.wav: speech to text on an emulated Cortex-M55 (QEMU's MPS3). Builds heed_speech into build-cortex-m55 and
# runs it. MODEL is a file of speech_weights, CLIP up to 5 s of sound, 16 kHz, mono. Prints the text and one JSON object.
# What it wants: arm-none-eabi-gcc, cmake, qemu-system-arm. SPDX-License-Identifier: MIT
set -eu
[ $# -eq 2 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 2; }
for file in "$1" "$2"; do [ -f "$file" ] || { echo "$file: no such file"; exit 1; }; done
source=$(cd "$(dirname "$0")/../.." && pwd)
build=$source/build-cortex-m55
(cd "$source" && cmake --preset cortex-m55 >/dev/null && cmake --build "$build" --target heed_speech >/dev/null)
links=$(mktemp -d) # names without blanks for the board's command line
trap 'rm -rf "$links"' EXIT
ln -s "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")" "$links/model"
ln -s "$(cd "$(dirname "$2")" && pwd)/$(basename "$2")" "$links/clip"
HEED_QEMU_SECONDS=${HEED_QEMU_SECONDS:-900} sh "$source/ports/bare/qemu.sh" mps3-an547 "$build/ports/cortex-m/heed_speech.elf" "$links/model" "$links/clip"
