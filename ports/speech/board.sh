#!/bin/sh
# board.sh MODEL CLIP.wav [OPTION...]: speech to text on an emulated Cortex-M55 (QEMU's MPS3). build/bench/heed_compile writes a program from
# the folder MODEL with these options (default: --exact); heed_speech is built with it into build-cortex-m55, and run. CLIP has
# up to 5 s of sound, 16 kHz, mono. Prints the text and one JSON object.
# What it wants: arm-none-eabi-gcc, cmake, qemu-system-arm. SPDX-License-Identifier: MIT
set -eu
[ $# -ge 2 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 2; }
model=$1 clip=$2
shift 2
for file in "$model/config.json" "$clip"; do [ -f "$file" ] || { echo "$file: no such file"; exit 1; }; done
[ $# -gt 0 ] || set -- --exact
source=$(cd "$(dirname "$0")/../.." && pwd)
build=$source/build-cortex-m55
(cd "$source" && cmake --preset cortex-m55 >/dev/null)
program=$build/ports/cortex-m/speech
mkdir -p "$program"
"$source/build/bench/heed_compile" "$model" -o "$program/speech" --seconds 5 "$@" >/dev/null
cmake --build "$build" --target heed_speech >/dev/null
links=$(mktemp -d) # names without blanks for the board's command line
trap 'rm -rf "$links"' EXIT
ln -s "$program/speech.heed" "$links/model"
ln -s "$(cd "$(dirname "$clip")" && pwd)/$(basename "$clip")" "$links/clip"
HEED_QEMU_SECONDS=${HEED_QEMU_SECONDS:-900} sh "$source/ports/bare/qemu.sh" mps3-an547 "$build/ports/cortex-m/heed_speech.elf" "$links/model" "$links/clip"
