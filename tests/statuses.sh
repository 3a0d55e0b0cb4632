#!/bin/sh
# statuses.sh SOURCE BUILD: calls that the suites bad_* and damaged_* make, and the comments of the headers: each status that a
# function returns is named there. Builds heed as a shared library, whose calls the dynamic linker shows. Exit status 77: not here.
# SPDX-License-Identifier: MIT
set -eu
source=$1 build=$2
here=$(cd "$(dirname "$0")" && pwd)
[ "$(uname -sm)" = "Linux x86_64" ] || { echo "SKIPPED: LD_AUDIT is used as on x86-64 Linux"; exit 77; }
suites="attention options caches layers rows integers"
targets=$(for suite in $suites; do printf 'heed_%s_tests,' "$suite"; done)
sh "$here/scratch_build.sh" c++ "$source" "$build" "${targets%,}" -DBUILD_SHARED_LIBS=ON > "$build.log" 2>&1 || {
  tail -30 "$build.log"
  exit 1
}
cc -std=c11 -O1 -shared -fPIC "$here/statuses_audit.c" -o "$build/statuses_audit.so"
: > "$build/statuses.seen"
for suite in $suites; do
  LD_AUDIT=$build/statuses_audit.so STATUSES=$build/statuses.seen HEED_TEST_PERCENT=10 \
    "$build/tests/heed_${suite}_tests" --gtest_filter='bad_*:damaged_*' --gtest_brief=1
done
awk -f "$here/statuses.awk" "$source"/include/heed/*.h "$build/statuses.seen"
