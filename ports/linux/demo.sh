#!/bin/sh
# Installs what is missing (Debian or Ubuntu, root or sudo), builds into build/ and runs the demo.
#   sh ports/linux/demo.sh [FOLDER]     FOLDER, or HEED_KWT1: the KWT-1 model and clips
#   HEED_DREAMS=FOLDER                  a language model of llama2.c's kind, which then writes
set -eu
folder=${1:-${HEED_KWT1:-}}
if [ -n "$folder" ]; then folder=$(cd "$folder" && pwd); fi
if [ -n "${HEED_DREAMS:-}" ]; then HEED_DREAMS=$(cd "$HEED_DREAMS" && pwd) && export HEED_DREAMS; fi
cd "$(dirname "$0")/../.."
. ports/linux/packages.sh

echo "== packages =="
heed_install cmake=cmake c++=g++ make=make libxsimd-dev
echo "== building into build/ =="
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DHEED_BUILD_DEMO=ON
cmake --build build --parallel "$(nproc)" --target heed_demo heed_kwt heed_dreams
echo "== running build/bench/heed_demo =="
exec build/bench/heed_demo ${folder:+"$folder"}
