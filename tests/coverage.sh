#!/bin/sh
# coverage.sh BUILD: the lines and branches of lib that the unit tests leave out. Builds the library with GCC's
# instrumentation in the folder BUILD (new, or of an earlier run), runs the suites there on 5 % of the random cases or
# HEED_TEST_PERCENT, prints the share of lines and branches that run, and fails if one does not that is not listed in
# coverage_unreachable.txt. Takes six minutes after the build.
#   A branch is a way out of a condition as gcovr counts them: taken if any instantiation of its template takes it, in
#   any file of lib/isa; those of generic lambdas count one by one. Ways that only an exception takes are left out.
# Exit status 77, with the reason, where it cannot be told: without gcovr, gcov or g++, or on a processor that cannot
# run every kernel of x86-64. SPDX-License-Identifier: MIT
set -eu
[ $# = 1 ] || { sed -n '2,5s/^# //p' "$0"; exit 2; }
source=$(cd "$(dirname "$0")/.." && pwd)
for program in g++ gcov gcovr; do
  command -v $program >/dev/null 2>&1 || { echo "SKIPPED: $program is not installed"; exit 77; }
done
for feature in avx2 fma avx512f avx512cd avx512dq avx512bw avx512vl; do
  grep -qw $feature /proc/cpuinfo 2>/dev/null || { echo "SKIPPED: this processor lacks $feature"; exit 77; }
done
suites="heed_faulty_kernel_tests heed_steps $(sed -n 's/^ *heed_suite(\([a-z]*\).*/heed_\1_tests/p' "$source/tests/CMakeLists.txt" | tr '\n' ' ')"
# A kernel of integers that this processor cannot run.
left_out='none'
grep -qw avx_vnni /proc/cpuinfo || left_out='lib/isa/x86/int_avxvnni.*'
mkdir -p "$1"
build=$(cd "$1" && pwd)

{
  cmake -S "$source" -B "$build" -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=Coverage \
    -DCMAKE_CXX_FLAGS_COVERAGE=-O1 -DCMAKE_PROJECT_heed_INCLUDE="$source/tests/coverage.cmake" \
    -DHEED_BUILD_TESTS=ON -DHEED_BUILD_BENCH=OFF -DHEED_BUILD_DEMO=OFF &&
    cmake --build "$build" --parallel "${HEED_COVERAGE_JOBS:-2}" --target $suites
} >"$build/build.log" 2>&1 || { tail -20 "$build/build.log"; echo "FAILED: $build/build.log"; exit 1; }

export HEED_TEST_PERCENT="${HEED_TEST_PERCENT:-5}"
find "$build" -name '*.gcda' -exec rm -f {} +
for suite in $suites; do
  share=$HEED_TEST_PERCENT
  case $suite in # the quick ones
  heed_integers_tests) share=$((share * 6)) ;;
  heed_caches_tests) share=$((share * 3)) ;;
  esac
  HEED_TEST_PERCENT=$share "$build/tests/$suite" --gtest_brief=1 || { echo "FAILED: $suite"; exit 1; }
done

cd "$source"
gcovr --root . --filter lib/ --exclude "$left_out" --exclude-throw-branches --exclude-unreachable-branches --xml-pretty \
  --xml "$build/coverage.xml" "$build"
awk '
  function attribute(name) {
    if (!match($0, " " name "=\"[^\"]*")) return ""
    return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3)
  }
  function percent(part, all) { return sprintf("%d of %d, %.2f %%", part, all, all ? 100 * part / all : 100) }
  FILENAME ~ /\.txt$/ {
    if ($0 !~ /^#/ && split($0, field, / \| /) == 3) {
      known_file[++n_known] = field[1]; known_text[n_known] = field[2]; known_missing[n_known] = field[3]
    }
    next
  }
  /<class / {
    file = attribute("filename")
    n = 0
    while ((getline text[++n] < file) > 0) {}
    close(file)
    next
  }
  /<line / {
    n = attribute("number"); hits = attribute("hits"); missing = 0
    lines++; run += (hits > 0)
    if (split(attribute("condition-coverage"), part, /[(\/)]/) >= 3) {
      missing = part[3] - part[2]
      branches += part[3]; taken += part[2]
    }
    if (hits > 0 && !missing) next
    found = 0
    for (i = 1; i <= n_known; i++)
      if (file == known_file[i] && (known_text[i] == "*" || index(text[n], known_text[i])) &&
          (hits > 0 ? missing == known_missing[i] : known_missing[i] == "line")) found = seen[i] = 1
    if (found) { known_lines += (hits == 0); known_branches += missing; next }
    sub(/^ */, "", text[n])
    print file ":" n ": " (hits > 0 ? missing " of " part[3] " branches not taken" : "not run") ": " text[n]
    faults++
  }
  END {
    for (i = 1; i <= n_known; i++)
      if (!seen[i]) {
        print "no longer true: " known_file[i] " | " known_text[i] " | " known_missing[i]
        faults++
      }
    print "lines:    " percent(run, lines) "; of the reachable " percent(run, lines - known_lines)
    print "branches: " percent(taken, branches) "; of the reachable " percent(taken, branches - known_branches)
    if (!lines) { print "FAILED: no coverage data"; exit 1 }
    if (faults) print "FAILED: " faults " places that are not in tests/coverage_unreachable.txt, or are there wrongly"
    exit (faults > 0)
  }' tests/coverage_unreachable.txt "$build/coverage.xml"
