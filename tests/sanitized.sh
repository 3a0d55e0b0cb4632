#!/bin/sh
# sanitized.sh PROGRAM [ARGUMENT...]: runs a program built with sanitizers on a small share of the random cases.
# Exit status 77 if it was not built. SPDX-License-Identifier: MIT
set -eu
[ -x "$1" ] || {
  echo "SKIPPED: $1 was not built, because clang is missing"
  exit 77
}
export HEED_TEST_PERCENT="${HEED_TEST_PERCENT:-4}"
export UBSAN_OPTIONS=print_stacktrace=1
# The OpenMP runtime keeps what it allocated for its threads; heed itself allocates nothing, which a test of its own shows.
export ASAN_OPTIONS=detect_leaks=0
exec "$@"
