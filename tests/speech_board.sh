#!/bin/sh
# speech_board.sh CORE COMPILER FORMATS SOURCE BUILD HEED_LISTEN SPEECH_WEIGHTS: speech to text on an emulated board of
# ports/bare with external memory, built in BUILD. A clip of 2 s must give the text, the tokens and the bits of the encoder's
# output and of all logits that HEED_LISTEN, this computer's program, gives, in each of FORMATS. Exit status 77, with the
# reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=$2 formats=$3 source=$4 build=$5 listen=$6 weights=$7
. "$source/tests/board.sh"
model_folder HEED_MOONSHINE "${HEED_MOONSHINE:-}"
need_tools
build_board "" heed_speech
cd "$build"
ln -sfn "$model/clips" speech_clips # names without blanks for the board's command line
trap 'rm -f speech.heed speech_bad.heed' EXIT
HEED_QEMU_SECONDS=600
export HEED_QEMU_SECONDS
clip=speech_clips/alsa_rear_left.wav

for format in $formats; do
  "$weights" "$model" speech.heed "$format" >/dev/null
  run_board heed_speech speech.heed $clip >found || { cat found; fail "$format"; }
  arithmetic_in found
  HEED_ISA=$kernel "$listen" --bits speech.heed $clip >reference
  [ "$(head -n 1 reference)" = "$arithmetic" ] ||
    skip "this computer cannot run the arithmetic to compare with"
  heard=$(sed -n 's/.*"tokens":"\([^"]*\)","digest":"\([^"]*\)".*/\1 \2/p' found)
  [ "\"$(head -n 1 found)\" $heard" = "$(tail -n 1 reference)" ] || { cat found reference; fail "$format: other text or bits"; }
  awk -v what="$core, $compiler, $format: $(head -n 1 found) All bits equal" '
    function count(name,   n) { n = $0; return sub(".*\"" name "\":", "", n) ? n + 0 : "?" }
    function millions(name) { return sprintf("%s %.1f", name, count(name) / 1e6) }
    NR == 2 {
      printf "%s; emulated, million instructions: %s, %s (%s, %s, %s, %s, %s, %s), %s (%s, %s), %s steps; RAM %d, stack %d\n",
        what, millions("check"), millions("hear"), millions("conv_1"), millions("group_norm"), millions("conv_2"),
        millions("conv_3"), millions("encoder_layers"), millions("keys_and_values"), millions("write"),
        millions("decoder_layers"), millions("logits"), count("steps"), count("ram_bytes"), count("stack_bytes")
    }' found
  keeps_to_task_stack heed_speech "$(most_stack found)"
done
"$gcc-size" -A "ports/$family/heed_speech.elf" | awk '
  $1 ~ /^\.(text|rodata|data)$/ { flash += $2 } $1 ~ /^\.(data|bss)$/ { ram += $2 }
  END { printf "flash %d without the model; RAM of the processor %d without stack\n", flash, ram }'

# What is wrong is named: the file of the last format, cut or changed, and what is none.
bad=speech_bad.heed
head -c 1000000 speech.heed >$bad
refuse "$bad: the file is truncated" heed_speech $bad $clip
refuse "$bad: cannot be read, or is too long" heed_speech speech.heed $bad
{ head -c 9000000 speech.heed && printf damage && tail -c +9000007 speech.heed; } >$bad
refuse "$bad: the file is damaged: the sum of a tensor differs" heed_speech $bad $clip
refuse "$clip: this is not a file of heed_import" heed_speech $clip $clip
refuse "none.heed: cannot be read" heed_speech none.heed $clip
refuse "tale.wav: cannot be read, or is too long" heed_speech speech.heed speech_clips/tale.wav
refuse "usage: heed_speech MODEL CLIP" heed_speech speech.heed
