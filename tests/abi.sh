#!/bin/sh
# abi.sh CC NM INCLUDE check|update FILE LIBRARY...: what a program that was compiled against heed depends on: declarations without
# comments, values of enums, sizes of structs on this machine, exported symbols. FILE holds it as it was decided; `check` fails if
# something is different, so that each change of the ABI is a decision; `update` writes it. SPDX-License-Identifier: MIT
set -eu
cc=$1 nm=$2 include=$3 action=$4 file=$5
shift 5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One declaration a line; functions with bodies are no part of the ABI.
declarations() {
  echo '#include <heed/heed.h>
#include <heed/integers.h>
#include <heed/openmp.h>
#include <heed/threads.h>' | "$cc" -std=c99 -E -P -I"$include" - | awk '
    {
      gsub(/__attribute__\(\(aligned\(64\)\)\)/, "ALIGNED64")
      for (i = 1; i <= length($0); i++) {
        c = substr($0, i, 1)
        text = text c
        if (c == "{") depth++
        if (c == "}") depth--
        if (depth == 0 && (c == ";" || c == "}" && text ~ /static inline/)) {
          gsub(/[ \t]+/, " ", text); sub(/^ /, "", text)
          if (text ~ /heed/ && text !~ /static inline/) print text
          text = ""
        }
      }
      text = text " "
    }'
}

# Names of enumerators and of structs, in the order of the headers, as a program that prints them.
program() {
  echo '#include <heed/heed.h>
#include <heed/integers.h>
#include <heed/threads.h>
#include <stdio.h>
int main(void) {'
  sed -n 's/^typedef enum [a-z_]* {\(.*\)} .*/\1/p' "$work/declarations" | tr ',' '\n' |
    sed -n 's/^ *\(HEED_[A-Z0-9_]*\).*/  printf("%s = %d\\n", "\1", (int)\1);/p'
  sed -n 's/^typedef struct \([a-z_]*\) {.*/  printf("sizeof(%s) = %d\\n", "\1", (int)sizeof(\1));/p' "$work/declarations"
  echo '  return 0;
}'
}

declarations >"$work/declarations"
program >"$work/program.c"
"$cc" -std=c99 -I"$include" "$work/program.c" -o "$work/program"
{
  echo "# The ABI of heed: $(basename "$file"), written by tests/abi.sh. Sizes are those of $("$cc" -dumpmachine | sed 's/-.*//')."
  cat "$work/declarations"
  "$work/program"
  for library; do
    "$nm" -g --defined-only "$library" 2>/dev/null | sed -n "s|.* [A-Z] \(heed_[a-z0-9_]*\)\$|$(basename "$library"): \1|p" | sort
  done
} >"$work/abi"

case $action in
update) cp "$work/abi" "$file" ;;
check)
  [ "$(head -1 "$work/abi")" = "$(head -1 "$file")" ] || { echo "SKIPPED: $(head -1 "$file")"; exit 77; }
  diff "$file" "$work/abi" || {
    echo "FAILED: the ABI has changed (<: as decided). If on purpose: abi.sh ... update, and a line in ports/CHANGES.md"
    exit 1
  }
  ;;
*) sed -n 2,4p "$0"; exit 1 ;;
esac
