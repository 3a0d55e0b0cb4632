#!/bin/sh
# Installs what is missing (Debian or Ubuntu, root or sudo), builds into build/ and runs every test: natively, and emulated
# for other processors. Ends with a verdict; exit status 0 if no test failed.
#   --all                        also what is slow: every target, compiler and build type of tests/targets.sh, Windows, coverage,
#                                every float, an hour of differential fuzzing. Two hours on 2 cores; 2 GB of cross
#                                compilers, Wine and Node, as far as the archive has them. Interrupted, it goes on where it
#                                was: what has passed is not run again until a source changes (tests/once.sh)
#   --quick                      a verdict in two minutes: builds what changed, then a tenth of the random cases of all suites, without
#                                emulators, sanitizers, boards and other compilers; checks the format of the sources. Words
#                                behind it choose rooms: those of heed_suite in tests/CMakeLists.txt
#   HEED_KWT1=FOLDER             the KWT-1 model and clips; without it those tests are skipped
#   HEED_DREAMS=FOLDER           a language model of llama2.c's kind; likewise
#   HEED_EEG=FOLDER              the weights and recordings of ports/sensor; likewise
#   HEED_MOONSHINE=FOLDER        the speech model and clips of ports/speech; likewise
#   HEED_ONNX_ATTENTION=FOLDER   the ONNX conformance vectors; likewise
#   HEED_ONNX_NODES=FOLDER       ONNX's own tests of its operators; Debian's package libonnx-testdata, if this names no other
#   HEED_SCHEMAS=FOLDER          schemas of packages (tests/packages.sh names them); without it own checks alone
set -eu
. "$(dirname "$0")/packages.sh"
heed_folders HEED_ONNX_NODES HEED_KWT1 HEED_DREAMS HEED_EEG HEED_MOONSHINE HEED_ONNX_ATTENTION HEED_SCHEMAS
cd "$(dirname "$0")/../.."

all=''
quick=''
case ${1-} in
'') ;;
--all) all=1 ;;
--quick) quick=1; shift ;;
*) sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0"; exit 1 ;;
esac

if [ -n "$quick" ]; then
  all_rooms=$(sed -n 's/^ *heed_suite(\([a-z]*\).*/\1/p' tests/CMakeLists.txt | tr '\n' ' ')
  targets=''
  for room in ${*:-$all_rooms}; do
    case " $all_rooms" in *" $room "*) ;; *) echo "there is no room $room; rooms are: $all_rooms"; exit 1 ;; esac
    targets="$targets heed_${room}_tests"
  done
  awk -f tests/expressions.awk lib/*.hpp lib/*/*.?pp lib/*/*/*.?pp
  sh tests/format.sh . || [ $? -eq 77 ]
  [ -f build/CMakeCache.txt ] || cmake -S . -B build >build.log 2>&1 || { cat build.log; exit 1; }
  rm -f build.log
  cmake build -DHEED_BUILD_TESTS=ON >/dev/null
  # shellcheck disable=SC2086
  cmake --build build --parallel "$(nproc)" --target $targets | grep -E '%|error|warning' | grep -v 'Consolidate\|Built target' || true
  HEED_TEST_PERCENT=${HEED_TEST_PERCENT:-10} exec sh tests/quick.sh build/tests $targets
fi

echo "== packages =="
heed_install cmake=cmake c++=g++ make=make pkg-config=pkg-config libxsimd-dev libgtest-dev libbenchmark-dev \
  '?clang++=clang' '?qemu-x86_64=qemu-user' '?aarch64-linux-gnu-g++=g++-aarch64-linux-gnu' \
  '?arm-linux-gnueabihf-g++=g++-arm-linux-gnueabihf' '?i686-linux-gnu-g++=g++-i686-linux-gnu' \
  '?s390x-linux-gnu-g++=g++-s390x-linux-gnu' '?arm-none-eabi-gcc=gcc-arm-none-eabi' \
  '?libpng-dev' '?qemu-system-arm=qemu-system-arm' '?riscv64-unknown-elf-g++=gcc-riscv64-unknown-elf' '?qemu-system-riscv32=qemu-system-misc' \
  '?xtensa-lx106-elf-g++=gcc-xtensa-lx106' '?clang-19=clang-19' '?libclang-rt-19-dev' '?ld.lld-19=lld-19' '?mpirun=openmpi-bin' '?libopenmpi-dev' '?doxygen' \
  '?zip' '?arduino-builder' '?arduino-ctags' '?python3-kconfiglib' '?python3-numpy' '?libprotozero-dev' '?libutf8proc-dev' '?sentencepiece' '?libmbedtls-dev' '?nlohmann-json3-dev' '?libonnx-testdata' \
  '?abidw=abigail-tools' '?clang-format-14' '?clang-tidy' '?cppcheck'
if [ -n "$all" ]; then
  heed_install '?riscv64-linux-gnu-g++=g++-riscv64-linux-gnu' '?powerpc64le-linux-gnu-g++=g++-powerpc64le-linux-gnu' \
    '?powerpc-linux-gnu-g++=g++-powerpc-linux-gnu' \
    '?mips64el-linux-gnuabi64-g++=g++-mips64el-linux-gnuabi64' '?x86_64-w64-mingw32-g++=g++-mingw-w64-x86-64-win32' '?wine=wine' \
    '?node=nodejs' '?gcovr=gcovr' '?wasi-libc' '?libclang-rt-19-dev-wasm32' '?llvm-ar-19=llvm-19' \
    '?npm=npm' '?libc++-19-dev-wasm32' '?libc++abi-19-dev-wasm32' '?chromium-headless-shell=chromium-headless-shell' '?tsc=node-typescript' '?dh=debhelper' '?lintian' '?blhc'
fi
# Clang's sanitizers and OpenMP come in packages named after its version.
clang=$(clang --version 2>/dev/null | sed -n 's/.*clang version \([0-9]*\).*/\1/p')
if [ -n "$clang" ]; then heed_install "?libclang-rt-$clang-dev" "?libomp-$clang-dev"; fi

# ONNX's own tests of its operators.
nodes=/usr/share/libonnx-testdata/data/node
if [ -z "${HEED_ONNX_NODES:-}" ] && [ -d $nodes ]; then
  HEED_ONNX_NODES=$nodes
  export HEED_ONNX_NODES
fi

echo "== building into build/ =="
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DHEED_BUILD_TESTS=ON -DHEED_BUILD_BENCH=ON -DHEED_BUILD_DEMO=ON
cmake --build build --parallel "$(nproc)"

echo "== running every test =="
results=$PWD/build/test_results
mkdir -p "$results"
failed=0
run() { # run NAME COMMAND...: ctest and its report NAME.xml
  report=$results/$1.xml
  shift
  "$@" --parallel "$(nproc)" --output-on-failure --output-junit "$report" || failed=1
}
# A part that passed is not run again; what is slow remembers by itself, each test and each row of targets.sh.
part() { # part LABEL ARGUMENT...
  echo "== $1 =="
  part=$1
  shift
  run "$part" sh tests/once.sh "$results/passed" "$part" ctest --test-dir build "$@"
}
if [ -z "$all" ]; then
  rm -f "$results"/*.xml
  run tests ctest --test-dir build
else
  rm -f "$results/tests.xml"
  slow='targets|coverage|windows|sweep|differential|packages|web|pages'
  for label in suites boards sanitizers drop_in; do part $label -C all -L "^$label\$"; done
  part other -LE "^(suites|boards|sanitizers|drop_in|$slow)\$"
  echo "== $slow =="
  run slow ctest --test-dir build -C all -L "^($slow)\$"
  if [ -f build/tests/targets/table.md ]; then
    echo
    cat build/tests/targets/table.md
  fi
fi

# From ctest's reports: how many of each label, and the last words of every skipped test, which give the reason.
echo
echo "== verdict =="
awk -f ports/linux/verdict.awk "$results"/*.xml || failed=1
exit $failed
