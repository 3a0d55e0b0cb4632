#!/bin/sh
# compiler_modes.sh REFERENCE SINGLE SOURCE COMPILER: compiler modes that may change bits. With each of them the library as
# two files is refused by the compiler, or its self-test finds a difference, or its bits are the promised ones.
# Exit status 77, with the reason, if the compiler is missing. SPDX-License-Identifier: MIT
set -eu
reference=$1 single=$2 source=$3 compiler=$4
command -v "$compiler" >/dev/null 2>&1 || { echo "SKIPPED: $compiler is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/heed"
cp "$single/heed.h" "$work/heed/"
cp "$single/heed.cpp" "$single/heed.h" "$work/"
cat >"$work/selftest.c" <<'END'
#include "heed/heed.h"
static HEED_ALIGNED unsigned char buffer[HEED_SELFTEST_BYTES];
int main(int argc, char **argv) {
  (void)argv;
  if (argc == 2) return heed_selftest_boot(heed_memory_of(buffer, HEED_SELFTEST_BOOT_BYTES), 0) != HEED_OK;
  if (argc == 3) return heed_selftest_features(heed_memory_of(buffer, HEED_SELFTEST_FEATURES_BYTES), 0) != HEED_OK;
  return heed_selftest(heed_memory_of(buffer, sizeof buffer), 0) != HEED_OK;
}
END
faults=0
mode() { # mode must_be_refused|any FLAG...
  expected=$1
  shift
  if ! (cd "$work" && "$compiler" -std=c++17 -O2 $target "$@" -c heed.cpp -o heed.o) >"$work/log" 2>&1; then
    if grep -q "heed promises the same bits\|heed needs floats" "$work/log"; then verdict=refused; else verdict='not a flag of this compiler'; fi
  elif cc -I"$work" "$work/selftest.c" "$work/heed.o" -o "$work/selftest" &&
    cc -I"$work" "$source/tests/digest.c" "$work/heed.o" -o "$work/digest" && ! "$work/selftest"; then
    verdict='found by the self-test'
    "$work/selftest" boot || verdict="$verdict, by that of start-up"
    "$work/selftest" features now || verdict="$verdict, by that of features"
  elif sh "$source/tests/digest_compare.sh" "$reference" "$work/digest" >"$work/log"; then
    verdict='same bits'
  else
    verdict='DIFFERENT BITS, and the self-test passes'
  fi
  case $expected,$verdict in
  any,DIFF* | refused,[!rn]*) faults=$((faults + 1)) ;;
  esac
  echo "$compiler $*: $verdict"
}
case $("$compiler" -dumpmachine) in x86_64*) target='-mavx2 -mfma' ;; *) target= ;; esac
mode any
grep -q "1 digests, 0 different" "$work/log" || { cat "$work/log"; echo "FAILED: without a mode"; exit 1; }
mode refused -ffast-math
mode refused -Ofast
mode refused -ffinite-math-only
for flag in -funsafe-math-optimizations -freciprocal-math -fno-signed-zeros '-fassociative-math -fno-signed-zeros -fno-trapping-math'; do
  case $compiler in
  *clang*) mode any $flag ;; # it does not say so
  *) mode refused $flag ;;
  esac
done
for flag in -fno-honor-nans -fno-honor-infinities -ffp-model=fast -ffp-model=aggressive -frounding-math -fassociative-math; do
  mode any $flag
done
# What leaves the bits alone together does so alone: flags of one call permit at least what each of them does.
kept='-fcx-limited-range -fno-trapping-math'
case $compiler in
*clang*) kept="$kept -fapprox-func -fdenormal-fp-math=preserve-sign" ;;
*) kept="$kept -ffp-contract=fast" ;;
esac
mode any $kept
if [ "$verdict" != 'same bits' ]; then for flag in $kept; do mode any $flag; done; fi
case $compiler in *clang*) mode any -ffp-contract=fast ;; esac
# x87 evaluates in higher precision.
if [ "$compiler" = g++ ] && command -v i686-linux-gnu-g++ >/dev/null 2>&1; then
  compiler=i686-linux-gnu-g++ target=
  mode refused -mfpmath=387
fi
echo "$faults faults"
exit $((faults > 0))
