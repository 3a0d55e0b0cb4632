#!/bin/sh
# Installs what is missing (Debian or Ubuntu, root or sudo), builds into build/ and runs the demo.
#   sh ports/linux/demo.sh [FOLDER]     FOLDER, or HEED_KWT1: the KWT-1 model and clips
#   HEED_DREAMS=FOLDER                  a language model of llama2.c's kind, which is compiled, and then writes
#   HEED_MOONSHINE=FOLDER               a speech model (ports/speech) with clips, which is compiled, and then transcribes two of them
set -eu
. "$(dirname "$0")/packages.sh"
FOLDER=${1:-}
heed_folders FOLDER HEED_KWT1 HEED_DREAMS HEED_MOONSHINE
folder=${FOLDER:-${HEED_KWT1:-}}
cd "$(dirname "$0")/../.."

compiles=''
[ -z "${HEED_DREAMS:-}${HEED_MOONSHINE:-}" ] || compiles='nlohmann-json3-dev libutf8proc-dev'
echo "== packages =="
heed_install cmake=cmake c++=g++ make=make libxsimd-dev '?libpng-dev' ${HEED_MOONSHINE:+libprotozero-dev} $compiles
echo "== building into build/ =="
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DHEED_BUILD_DEMO=ON "-DHEED_DREAMS=${HEED_DREAMS:-}" "-DHEED_MOONSHINE=${HEED_MOONSHINE:-}"
cmake --build build --parallel "$(nproc)" --target heed_demo heed_kwt ${HEED_DREAMS:+heed_dreams} ${HEED_MOONSHINE:+heed_listen} heed_map heed_replay kwt_weights
echo "== running build/bench/heed_demo =="
pictures=build/pictures
mkdir -p $pictures
rm -f $pictures/*
status=0
HEED_SENTENCE_MAP=$pictures/sentence.map build/bench/heed_demo ${folder:+"$folder"} || status=$?

echo
echo "== pictures of attention: build/bench/heed_map =="
if [ -n "$folder" ]; then
  build/bench/heed_kwt --map=$pictures/word.map "$folder/non_stream.tflite" "$folder/clips/yes_a.wav" || status=1
else
  echo "no spoken word: no model folder (give it as argument or in HEED_KWT1)"
fi
build/bench/heed_map $pictures/sentence.map
for map in "$pictures"/*.map; do
  drawn=0
  build/bench/heed_map "$map" "${map%.map}.png" || drawn=$?
  [ $drawn -ne 77 ] || break # no libpng: it has said so
  [ $drawn -eq 0 ] || status=1
done

echo
echo "== a receipt of the word, and its check: build/bench/heed_replay =="
if [ -n "$folder" ]; then
  clip=$folder/clips/yes_a.wav
  HEED_ISA=scalar build/bench/heed_kwt --receipt=build/word.receipt "$folder/non_stream.tflite" "$clip"
  echo "plain loops made it: $(build/bench/heed_replay "$folder/non_stream.tflite" build/word.receipt "$clip")" || status=1
  made=0
  HEED_KWT1=$folder sh tests/receipt_board.sh m4f gcc kwt "$PWD" "$PWD/build/receipt_m4f" "$PWD/build/bench" >build/receipt.log 2>&1 || made=$?
  tail -n 1 build/receipt.log
  [ $made -eq 0 ] || [ $made -eq 77 ] || status=1
else
  echo "no spoken word: no model folder"
fi
exit $status
