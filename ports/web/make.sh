#!/bin/sh
# make.sh OUT: builds OUT/heed.html, a page of one file. It needs cmake, clang-19, lld-19, wasi-libc, and for 32-bit WebAssembly
# libclang-rt-19-dev-wasm32, libc++-19-dev-wasm32 and libc++abi-19-dev-wasm32 (Debian's names). Exit status 77 if one is missing.
#   HEED_WASM_CLANG=clang   another clang
#   HEED_DREAMS=FOLDER      a language model of llama2.c, which becomes a part of the page; HEED_COMPILE=PROGRAM compiles it, else it is built
# SPDX-License-Identifier: MIT
set -eu
[ $# -eq 1 ] || { sed -n '2,/^# SPDX/s/^# \{0,1\}//p' "$0"; exit 1; }
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
clang=${HEED_WASM_CLANG:-clang-19}
for program in cmake "$clang" "$(echo "$clang" | sed 's/clang/clang++/')" "wasm-ld${clang#clang}"; do
  command -v "$program" >/dev/null 2>&1 || { echo "$program is not installed"; exit 77; }
done
for file in libc.a libc++.a libc++abi.a; do
  [ -f /usr/lib/wasm32-wasi/$file ] || { echo "/usr/lib/wasm32-wasi/$file is not installed"; exit 77; }
done

cmake -S "$source" -B "$out/build" -DCMAKE_TOOLCHAIN_FILE="$source/ports/wasm/wasi.cmake" -DHEED_WASM_CLANG="$clang" -DHEED_WASM_SIMD=ON \
  -DCMAKE_BUILD_TYPE=Release >"$out/build.log" 2>&1 || { cat "$out/build.log"; exit 1; }
cmake --build "$out/build" --target heed >>"$out/build.log" 2>&1 || { cat "$out/build.log"; exit 1; }

cd "$out/build"
dreams_program() { # dreams.c, dreams.h and dreams.heed, from HEED_DREAMS
  if [ -z "${HEED_COMPILE:-}" ]; then
    cmake -S "$source" -B "$out/host" -DCMAKE_BUILD_TYPE=Release -DHEED_BUILD_DEMO=ON >"$out/host.log" 2>&1 &&
      cmake --build "$out/host" --target heed_compile >>"$out/host.log" 2>&1 || { cat "$out/host.log"; exit 1; }
    HEED_COMPILE=$out/host/bench/heed_compile
  fi
  "$HEED_COMPILE" "$HEED_DREAMS" -o dreams
}
rm -f dreams.* ./*.o
touch dreams.heed
[ -z "${HEED_DREAMS:-}" ] || dreams_program
flags="--target=wasm32-wasi -msimd128 -O2 -ffp-contract=off -ffunction-sections -fdata-sections -Wall -Wextra -I$source/include -I$source/ports -I$source/ports/kwt
  -I$source/ports/receipt -I$source/ports/compile -I$source/ports/import -I. -I$source/tests"
kwt=$source/ports/kwt
if [ -f dreams.c ]; then # heed_model.c has receipts, too
  flags="$flags -DWEB_DREAMS" more="dreams.c $source/ports/import/heed_file.c $source/ports/compile/heed_model.c"
else
  more="$source/ports/receipt/receipt.c $source/ports/receipt/sha256.c"
fi
# shellcheck disable=SC2086
for file in "$here/web.c" "$kwt/kwt.c" "$kwt/kwt_math.c" "$kwt/kwt_texts.c" $more "$source/ports/wav.c"; do
  "$clang" $flags -std=c99 -c "$file" -o "$(basename "$file").o"
done
# shellcheck disable=SC2086
"$clang" $flags -std=c99 -Dmain=heed_digest_main -c "$source/tests/digest.c" -o digest.c.o
# shellcheck disable=SC2086
import=$source/ports/import
for file in "$here/web_model.cpp" "$kwt/kwt_network.cpp" "$kwt/read_kwt.cpp" "$import/ggml_blocks.cpp" "$import/read_tflite.cpp" "$import/tensor.cpp" "$import/tflite_graph.cpp"; do
  "$(echo "$clang" | sed 's/clang/clang++/')" $flags -std=c++17 -c "$file" -o "$(basename "$file").o"
done
"$(echo "$clang" | sed 's/clang/clang++/')" --target=wasm32-wasi -mexec-model=reactor -Wl,--gc-sections,--strip-all,-z,stack-size=1048576 \
  ./*.c.o ./*.cpp.o libheed.a -o heed.wasm

# One file: a line "@include NAME" becomes that file, @wasm the module, and @dreams the language model.
for file in heed.wasm dreams.heed; do { base64 $file || base64 -i $file; } | tr -d '\n' >$file.base64; done
include() {
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
    '@include '*) include <"$here/${line#@include }" ;;
    @wasm) cat heed.wasm.base64 ;;
    @dreams) cat dreams.heed.base64 ;;
    *) printf '%s\n' "$line" ;;
    esac
  done
}
include <"$here/page.html" >"$out/heed.html"
echo "$out/heed.html: $(wc -c <"$out/heed.html") bytes, of which WebAssembly $(wc -c <heed.wasm)"
