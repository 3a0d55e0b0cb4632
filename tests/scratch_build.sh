#!/bin/sh
# scratch_build.sh PROGRAM SOURCE BUILD TARGET [CMAKE ARGUMENT...]: builds TARGETs (separated by commas) of the project in
# a folder of its own. Exit status 77, with the reason, if PROGRAM (the compiler) is missing. SPDX-License-Identifier: MIT
set -eu
program=$1 source=$2 build=$3 targets=$4
shift 4
command -v "$program" >/dev/null 2>&1 || {
  echo "SKIPPED: $program is not installed"
  exit 77
}
cmake -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Release -DHEED_BUILD_BENCH=OFF -DHEED_BUILD_DEMO=OFF \
  -DHEED_BUILD_TESTS=ON "$@"
for target in $(echo "$targets" | tr , ' '); do
  cmake --build "$build" --parallel 2 --target "$target"
done
