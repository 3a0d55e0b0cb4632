#!/bin/sh
# Installs what is missing (Debian or Ubuntu, root or sudo), builds into build/ and runs every test: natively, and emulated
# for other processors. Ends with a verdict; exit status 0 if no test failed.
#   HEED_KWT1=FOLDER             the KWT-1 model and clips; without it those tests are skipped
#   HEED_ONNX_ATTENTION=FOLDER   the ONNX conformance vectors; likewise
set -eu
cd "$(dirname "$0")/../.."
. ports/linux/packages.sh

echo "== packages =="
heed_install cmake=cmake c++=g++ make=make pkg-config=pkg-config libxsimd-dev libgtest-dev libbenchmark-dev \
  '?clang++=clang' '?qemu-x86_64=qemu-user' '?aarch64-linux-gnu-g++=g++-aarch64-linux-gnu' \
  '?arm-linux-gnueabihf-g++=g++-arm-linux-gnueabihf' '?i686-linux-gnu-g++=g++-i686-linux-gnu' \
  '?arm-none-eabi-gcc=gcc-arm-none-eabi' '?qemu-system-arm=qemu-system-arm' '?clang-19=clang-19' '?ld.lld-19=lld-19'
# Clang's sanitizers and OpenMP come in packages named after its version.
clang=$(clang --version 2>/dev/null | sed -n 's/.*clang version \([0-9]*\).*/\1/p')
if [ -n "$clang" ]; then heed_install "?libclang-rt-$clang-dev" "?libomp-$clang-dev"; fi

echo "== building into build/ =="
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DHEED_BUILD_TESTS=ON -DHEED_BUILD_BENCH=ON -DHEED_BUILD_DEMO=ON
cmake --build build --parallel "$(nproc)"

echo "== running every test =="
results=$PWD/build/test_results.xml
failed=0
(cd build && ctest --parallel "$(nproc)" --output-on-failure --output-junit "$results") || failed=1

# From ctest's report: how many of each, and the last words of every skipped test, which give the reason.
echo
echo "== verdict =="
awk -f ports/linux/verdict.awk "$results" || failed=1
exit $failed
