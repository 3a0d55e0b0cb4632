#!/bin/sh
# stack_target.sh EMULATOR PROGRAM SOURCE BUILD [CMAKE ARGUMENT...]: builds heed_stack for another target with scratch_build.sh
# and runs it in EMULATOR: fails if a call takes more than HEED_STACK_BYTES there. Exit status 77, with the reason, if EMULATOR
# or PROGRAM, the compiler, is missing. SPDX-License-Identifier: MIT
set -eu
emulator=$1 program=$2 source=$3 build=$4
shift 4
command -v "$emulator" >/dev/null 2>&1 || { echo "SKIPPED: $emulator is not installed"; exit 77; }
sh "$(dirname "$0")/scratch_build.sh" "$program" "$source" "$build" heed_stack -DCMAKE_EXE_LINKER_FLAGS=-static \
  -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON -DCMAKE_DISABLE_FIND_PACKAGE_OpenMP=ON "$@"
"$emulator" "$build/tests/heed_stack"
