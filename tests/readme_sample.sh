#!/bin/sh
# readme_sample.sh SOURCE CC CXX LIBRARY...: the program of README.md, compiled by CC as C99, prints what the page says behind it.
# SPDX-License-Identifier: MIT
set -eu
page=$1/README.md include=$1/include cc=$2 cxx=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk -v work="$work" '
  /^```/ { inside = $0 == "```c"; if (!inside) after = 1; next }
  inside { print > (work "/sample.c"); next }
  after && /^    / { print substr($0, 5) > (work "/said"); said = 1; next }
  said && !/^    / { exit }' "$page"
"$cc" -std=c99 -I"$include" -c "$work/sample.c" -o "$work/sample.o"
"$cxx" "$work/sample.o" "$@" -o "$work/sample"
"$work/sample" >"$work/printed"
diff "$work/said" "$work/printed" || { echo "FAILED: README.md says other numbers than its program prints"; exit 1; }
echo "README.md: the program prints what the page says"
