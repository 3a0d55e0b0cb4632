#!/bin/sh
# fuzz_reader.sh PROGRAM READER SECONDS: fuzzes one reader of files, beginning with small good files. What breaks it is printed in
# hexadecimal, so that a log is enough to run it again. Exit status 77 if PROGRAM was not built, or does not have this reader.
# SPDX-License-Identifier: MIT
set -eu
program=$1 reader=$2 seconds=$3
[ -x "$program" ] || { echo "SKIPPED: heed_fuzz_readers was not built, because clang is missing"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir seeds
status=0
"$program" --reader="$reader" --seeds=seeds >said 2>&1 || status=$?
if [ $status -eq 2 ]; then echo "SKIPPED: this build has no reader $reader, because its library is missing"; exit 77; fi
if [ $status -eq 3 ]; then echo "SKIPPED: no folder of a published model is named, which $reader begins with"; exit 77; fi
[ $status -eq 0 ] || { cat said; exit $status; }
# Real models are large: mutations stay in their first part.
UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=0 \
  "$program" --reader="$reader" -max_total_time="$seconds" -rss_limit_mb=3000 -malloc_limit_mb=1500 -timeout=20 -print_final_stats=1 -seed=1 seeds >said 2>&1 || status=$?
if [ $status -ne 0 ]; then
  cat said
  for file in crash-* timeout-* oom-*; do
    [ ! -f "$file" ] || { echo "$file: $(wc -c <"$file") bytes"; od -An -v -tx1 "$file" | head -c 6000; }
  done
  exit 1
fi
tail -n 1 said
grep -E 'number_of_executed_units|DONE' said
