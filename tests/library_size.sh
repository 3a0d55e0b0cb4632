#!/bin/sh
# library_size.sh SIZE LIBRARY SOURCE: libheed.a has no more code than README.md and ports/README.md state, and not a tenth less. The
# figures are those of x86-64 and GCC in a Release build. SPDX-License-Identifier: MIT
set -eu
size=$1 library=$2 source=$3
kilobytes() { # kilobytes PATTERN: code of the members whose names fit
  "$size" "$library" | awk -v pattern="$1" '$6 ~ pattern { n += $1 } END { print int((n + 999) / 1000) }'
}
check() { # check WHAT FOUND STATED
  [ -n "$3" ] || { echo "FAILED: $1 is not stated"; exit 1; }
  if [ "$2" -gt "$3" ] || [ $(($2 * 11)) -lt $(($3 * 10)) ]; then echo "FAILED: $1: found $2 KB, stated $3"; exit 1; fi
  echo "$1: $2 KB of at most $3"
}
stated() { sed -n "s/.*$2.*/\\1/p" "$source/$1"; }
check "README.md, code" "$(kilobytes '\.o$')" "$(stated README.md 'has at most \([0-9]*\) KB of code')"
check "README.md, integers" "$(kilobytes '^int_')" "$(stated README.md 'at most \([0-9]*\) KB are for integers')"
check "ports/README.md, code" "$(kilobytes '\.o$')" "$(stated ports/README.md '`libheed.a` has at most \([0-9]*\) KB')"
