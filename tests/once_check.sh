#!/bin/sh
# once_check.sh SCRATCH ONCE: what passed is not run again, what failed is, and so is what has another command or other variables HEED_*.
# SPDX-License-Identifier: MIT
set -eu
rm -rf "$1"
mkdir -p "$1"
cd "$1"
once=$2
runs() { # runs COUNT COMMAND...: the command has run COUNT times so far
  count=$1
  shift
  sh "$once" passed task "$@" >said || [ "$3" = fails ] || { echo "FAILED: exit status of $*"; exit 1; }
  [ "$(wc -l <ran)" -eq "$count" ] || { echo "FAILED: $* has run $(wc -l <ran) times, not $count: $(cat said)"; exit 1; }
}
cat >task.sh <<'END'
echo run >>ran
[ "$1" != fails ]
END
runs 1 sh "$PWD/task.sh" fails
runs 2 sh "$PWD/task.sh" fails
runs 3 sh "$PWD/task.sh" passes
runs 3 sh "$PWD/task.sh" passes
grep -q '^passed before' said || { echo "FAILED: does not say that it passed before"; exit 1; }
runs 4 sh "$PWD/task.sh" passes differently
export HEED_TEST_PERCENT=3
runs 5 sh "$PWD/task.sh" passes differently
runs 6 sh "$PWD/task.sh" fails
runs 7 sh "$PWD/task.sh" passes differently
echo "all as it should be"
