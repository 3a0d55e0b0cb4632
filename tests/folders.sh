#!/bin/sh
# folders.sh SOURCE: which folder may use which. The library uses none of the others, ports/ nothing of bench/, and bench/ of ports/
# only ports/measure and terminal.h. An include counts by its name, and in the build's files each path of a source file.
# SPDX-License-Identifier: MIT
set -eu
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sources() { find "$@" -type f -name '*.[ch]' -o -type f -name '*.[ch]pp' -o -type f -name '*.inc'; }
headers() { sources "$@" | sed 's|.*/||' | sort -u; }
status=0
# uses USERS FORBIDDEN OWN: no file of the folders USERS includes a header of FORBIDDEN that is not in OWN, too.
uses() {
  # shellcheck disable=SC2086
  headers $2 >"$work/all" && headers $3 >"$work/own" && comm -23 "$work/all" "$work/own" >"$work/forbidden"
  # shellcheck disable=SC2086
  found=$(sources $1 | xargs grep -nE '^ *# *include "' | awk -F '"' -v list="$work/forbidden" '
    BEGIN { while ((getline name <list) > 0) forbidden[name] }
    { name = $2; sub(/.*\//, "", name) } name in forbidden')
  [ -s "$work/all" ] || found="$2 has no headers"
  [ -z "$found" ] || { echo "FAILED: $1 may include nothing of $2 but what is in $3:"; echo "$found"; status=1; }
}
uses "include lib" "ports bench tests" "include lib"
uses ports bench ports
uses bench ports "bench ports/measure ports/terminal.h"
found=$(find ports \( -name CMakeLists.txt -o -name '*.cmake' -o -name '*.sh' \) -print0 |
  xargs -0 grep -nE '(^|[^A-Za-z])bench/[a-z_]+\.(cpp|hpp|c|h)([^a-z]|$)' || true)
[ -z "$found" ] || { echo "FAILED: ports/ is built of its own files and the library's:"; echo "$found"; status=1; }
[ $status -ne 0 ] || echo "each folder includes what it may"
exit $status
