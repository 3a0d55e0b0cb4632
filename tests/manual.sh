#!/bin/sh
# manual.sh SOURCE CC: every C sample of the manual that includes a header compiles as C99, and every link between its pages leads
# somewhere. SPDX-License-Identifier: MIT
set -eu
source=$1 cc=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source"
failed=0 samples=0
pages=$(ls ./*.md ./*/*.md ./*/*/*.md)
for page in $pages; do
  case $page in ./build*) continue ;; esac
  rm -f "$work"/*.c
  awk -v work="$work" '
    /^```/ { inside = $0 ~ /^```c$/; if (inside) file = work "/" ++n ".c"; next }
    inside { print > file }' "$page"
  for sample in "$work"/*.c; do
    grep -q '#include' "$sample" 2>/dev/null || continue
    samples=$((samples + 1))
    ! grep -q '#include "minilm.h"' "$sample" || continue # heed_compile writes it, and commands.sh compiles the sample with it
    "$cc" -std=c99 -Wall -Wno-unused -fsyntax-only -Iinclude -Iports/import -Iports/tokenizer "$sample" || { echo "FAILED: a sample of $page"; failed=1; }
  done
  for link in $(grep -o '](\([^)#:]*\)[)#]' "$page" | sed 's/](//; s/[)#]$//'); do
    [ -e "$(dirname "$page")/$link" ] || { echo "FAILED: $page: $link leads nowhere"; failed=1; }
  done
done
[ $failed -eq 0 ] && echo "$samples samples compile, all links lead somewhere"
exit $failed
