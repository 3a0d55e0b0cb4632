#!/bin/sh
# Installs what is missing (Debian or Ubuntu, root or sudo), builds heed for cores without an operating system with GCC and clang,
# runs self-test, known answers, random shapes, bad input, faults and benchmark under QEMU, and compares with this PC. Prints a
# table and a verdict.
#   sh ports/bare/run.sh [CORE...]     of m0plus m3 m4f m7 m33 m55 rv32imc rv32imafc rv64gc lx106; none: all (the list `cores`)
set -eu
cd "$(dirname "$0")/../.."
. ports/linux/packages.sh
source=$PWD
. ports/bare/core.sh
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(heed_cores)

echo "== packages =="
heed_install cmake=cmake c++=g++ make=make libxsimd-dev '?clang-19=clang-19' '?ld.lld-19=lld-19'
for core; do
  heed_core "$core"
  case $family in
  cortex-m) heed_install qemu-system-arm=qemu-system-arm arm-none-eabi-g++=gcc-arm-none-eabi ;;
  riscv) heed_install qemu-system-riscv32=qemu-system-misc riscv64-unknown-elf-g++=gcc-riscv64-unknown-elf ;;
  xtensa) heed_install qemu-system-xtensa=qemu-system-misc xtensa-lx106-elf-g++=gcc-xtensa-lx106 ;;
  esac
done

folder=build/bare
mkdir -p $folder
echo "== the PC's answers =="
cmake -S . -B build -DHEED_BUILD_TESTS=ON -DHEED_BUILD_DEMO=ON >$folder/log
cmake --build build --parallel "$(nproc)" --target heed_device heed_device_integers heed_firmware_example heed_device_bench >$folder/log 2>&1 || { cat $folder/log; exit 1; }
sh ports/bare/references.sh $folder/references build/tests/heed_device build/tests/heed_firmware_example \
  build/bench/heed_device_bench build/tests/heed_device_integers

n_failed=0 n_passed=0 n_skipped=0
: >$folder/table
for core; do
  for compiler in gcc clang; do
    echo "== $core, $compiler =="
    status=0
    sh ports/bare/check.sh "$core" $compiler $folder/references $folder/"$core"-$compiler || status=$?
    case $status in 0) n_passed=$((n_passed + 1)) ;; 77) n_skipped=$((n_skipped + 1)) ;; *) n_failed=$((n_failed + 1)) ;; esac
    cat $folder/"$core"-$compiler/row >>$folder/table 2>/dev/null || true
  done
done

version() { "$1" --version 2>/dev/null | head -n 1 || true; }
echo
echo "All emulated ($(version "${emulator%% *}")); $(version "$gcc-gcc"); $(version clang-19)"
awk -F '|' -f ports/bare/table.awk $folder/table
verdict=passed
if [ $n_failed -gt 0 ] || [ $n_passed -eq 0 ]; then verdict=FAILED; fi
echo "VERDICT: $verdict: $n_passed passed, $n_failed failed, $n_skipped skipped"
[ $verdict = passed ]
