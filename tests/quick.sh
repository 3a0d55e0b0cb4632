#!/bin/sh
# quick.sh FOLDER PROGRAM...: runs GoogleTest programs of a folder, each in as many pieces at once as there are processors, says how
# far it is, and prints what failed. SPDX-License-Identifier: MIT
set -eu
folder=$1
shift
jobs=$(nproc 2>/dev/null || echo 2)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
for program; do
  i=0
  while [ $i -lt "$jobs" ]; do
    { GTEST_TOTAL_SHARDS=$jobs GTEST_SHARD_INDEX=$i "$folder/$program" --gtest_brief=1 >"$work/$i" 2>&1 || echo "died" >>"$work/$i"; } &
    i=$((i + 1))
  done
  wait
  n_passed=$(cat "$work"/* | sed -n 's/.*PASSED *\] \([0-9]*\) test.*/\1/p' | awk '{ n += $1 } END { print n + 0 }')
  n_failed=$(cat "$work"/* | grep -c '^\[  FAILED  \] .*(.* ms)' || true)
  if grep -q '^died' "$work"/* && [ "$n_failed" -eq 0 ]; then n_failed=1; fi
  if [ "$n_failed" -gt 0 ]; then cat "$work"/* | grep -v 'PASSED\|tests ran' | head -60; fi
  echo "$program: $n_passed passed, $n_failed failed"
  passed=$((passed + n_passed)) failed=$((failed + n_failed))
  rm -f "$work"/*
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
