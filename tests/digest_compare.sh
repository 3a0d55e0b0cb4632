#!/bin/sh
# digest_compare.sh REFERENCE COMMAND...: every digest that the command prints equals the reference of its arithmetic.
# Exit status 77, with the reason, if the command's emulator or executable is missing. SPDX-License-Identifier: MIT
set -eu
reference=$1
shift
emulator=$1
executable=
for executable; do :; done
[ -x "$executable" ] || {
  echo "SKIPPED: $executable was not built, because its compiler is missing"
  exit 77
}
command -v "$emulator" >/dev/null 2>&1 || {
  echo "SKIPPED: $emulator is not installed"
  exit 77
}
found=$(mktemp)
trap 'rm -f "$found"' EXIT
status=0
"$@" >"$found" || status=$?
awk -v status="$status" '
  NR == FNR { expected[$1] = $3; next }
  { sub(/\r$/, "") } # Windows
  { compared++
    verdict = !($1 in expected) ? "no reference of this arithmetic here" : $3 == expected[$1] ? "equal" : "DIFFERENT"
    different += verdict == "DIFFERENT"
    alone += !($1 in expected)
    print $0, verdict }
  END {
    print compared + 0 " digests, " different + 0 " different, exit status " status
    if (different || !compared) exit 1
    if (compared == alone) { print "SKIPPED: this machine cannot run the arithmetic to compare with"; exit 77 }
    exit status != 0 }
' "$reference" "$found"
