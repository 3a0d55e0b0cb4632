#!/bin/sh
# sizes.sh TARGET SINGLE SOURCE: the sizes of the headers, as macros and functions, and calls that want too much (sizes.c,
# sizes_refused.c), with the library as two files. TARGET is here, i686 or wasm32. Exit status 77, with the reason, if a tool is
# missing. SPDX-License-Identifier: MIT
set -eu
target=$1 single=$2 source=$3
case $target in
here) cc=cc cxx=c++ flags='' run='' ;;
i686) cc=i686-linux-gnu-gcc cxx=i686-linux-gnu-g++ flags='-msse2 -mfpmath=sse -static' run='' ;;
wasm32) cc=clang-19 cxx=clang++-19 flags='--target=wasm32-wasi' run="node --no-warnings $source/ports/wasm/run.mjs" ;;
esac
for tool in $cc $cxx ${run%% *}; do
  command -v "$tool" >/dev/null 2>&1 || { echo "SKIPPED: $tool is not installed"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086
compile() { "$cc" -std=c99 $flags -I"$source/include" -I"$source/tests" "$@"; }
echo 'int main(void) { return 0; }' >"$work/none.c"
compile "$work/none.c" -o "$work/none" 2>/dev/null || { echo "SKIPPED: $cc cannot link for $target"; exit 77; }
$run "$work/none" 2>/dev/null || { echo "SKIPPED: this machine cannot run programs for $target"; exit 77; }

# shellcheck disable=SC2086
"$cxx" -std=c++17 $flags -O0 -w -fno-exceptions -fno-rtti -c "$single/heed.cpp" -o "$work/heed.o"
for program in sizes sizes_refused; do
  compile -Wall -Wextra -Wpedantic -Werror "$source/tests/$program.c" "$work/heed.o" -o "$work/$program"
  $run "$work/$program"
done

# Every macro HEED_..._BYTES(...) and every function heed_..._bytes of the headers stands in the table of sizes.c. A format's
# bytes are those of a number.
$run "$work/sizes" names >"$work/names"
for name in $(sed -n 's/^#define \(HEED_[A-Z0-9_]*_BYTES\)(.*/\1/p; s/.*size_t \(heed_[a-z0-9_]*_bytes\)(.*/\1/p' \
  "$source"/include/heed/*.h | grep -vx HEED_DTYPE_BYTES); do
  grep -qx "$name" "$work/names" || { echo "FAILED: sizes.c does not compare $name"; exit 1; }
done

# What is too large is no constant of an array.
array() { printf '#include "heed/heed.h"\n#include "heed/integers.h"\nHEED_MEMORY(m, %s);\nint main(void) { return m.bytes == 0; }\n' "$1" >"$work/array.c"; }
array 'HEED_SAMPLE_BYTES(32768)'
compile -fsyntax-only "$work/array.c"
big='HEED_PARTIAL_BYTES(HEED_MAX_COUNT,HEED_MAX_DIM,HEED_MAX_COUNT,HEED_MAX_DIM) HEED_SAMPLE_BYTES(-1)
HEED_CACHE_BYTES(HEED_MAX_COUNT,HEED_MAX_COUNT,HEED_MAX_DIM,HEED_MAX_DIM,HEED_MAX_DIM,HEED_F32)
HEED_INT_CACHE_BYTES(HEED_INT_MAX_KEYS,HEED_MAX_COUNT,HEED_MAX_DIM,HEED_INT_MAX_DIM,HEED_INT_MAX_DIM)'
[ "$target" = here ] || big="$big
HEED_SAMPLE_BYTES(1<<29) HEED_SEQUENCE_BYTES(1<<30,4) HEED_WEIGHTS_PACKED_BYTES(HEED_F32,16,1<<28)
HEED_ATTENTION_LAYER_BYTES(1<<26,16,16,64,64) HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(1<<26,64,1,1,64,64,64,0)
HEED_TRANSFORMER_LAYER_MIN_BYTES_OF_HEADS(1<<26,1024,16,16,64,64,64,0) HEED_INT_LAYER_BYTES(1<<18,16384,256,256,64,64,0)
HEED_INT_LAYER_MIN_BYTES(1<<18,16384,256,256,64,64,0)"
for size in $big; do
  array "$size"
  ! compile -fsyntax-only "$work/array.c" 2>/dev/null || { echo "FAILED: an array of $size compiles"; exit 1; }
done
echo "right on $target"
