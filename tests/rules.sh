#!/bin/sh
# rules.sh SOURCE: the rules of MISRA that clang-tidy and cppcheck know, over the drop-in, the public headers and the C of receipts and
# model files. Each rule that is broken has a reason in tests/rules.md. Exit status 77, with the reason, if a tool is missing.
# SPDX-License-Identifier: MIT
set -eu
cd "$1"
for tool in clang-tidy cppcheck; do
  command -v $tool >/dev/null || { echo "SKIPPED: $tool is not installed"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Column COLUMN of the table behind the heading that begins with WORD, one word a line.
table() { # table WORD COLUMN
  awk -F ' *[|] *' -v word="$1" -v column="$2" '
    /^## / { inside = index($0, "## " word) == 1 }
    inside && /^\| [a-z0-9]/ && !/^\| (check|rule) / { n = split($column, of, ", "); for (i = 1; i <= n; i++) print of[i] }' tests/rules.md
}
# Rules of the file FOUND that are not in the file NAMED fail, as do those that are said to be kept.
compare() { # compare WHAT NAMED FOUND
  sort -u "$3" | while read -r rule; do
    grep -qxF "$rule" "$2" || { echo "FAILED: $1: tests/rules.md has no reason why $rule is broken:"; grep -F "$rule]" "$work/all" | head -n 3; }
  done
}

checks=$(table 'The library' 2 | tr '\n' ',')
table 'The library' 4 | grep -c '^kept' >"$work/n_kept"
awk -F ' *[|] *' '/^\| / && $4 !~ /^kept/ { print $2 }' tests/rules.md >"$work/broken"
: >"$work/all"
for isa in lanes4 lane1; do
  clang-tidy --header-filter='.*/(lib|include)/.*' -checks="-*,$checks" lib/single.cpp -- \
    -std=c++17 -Iinclude -Os -Wno-pass-failed "-DHEED_FIXED_ISA=$isa" >"$work/$isa" 2>"$work/errors" || { cat "$work/errors"; exit 1; }
  cat "$work/$isa" >>"$work/all"
done
sed -n 's/.* warning: .*\[\([^]]*\)\]$/\1/p' "$work/all" | tr ',' '\n' | sort -u >"$work/found"
printf '%s\n' "$checks" | tr ',' '\n' >"$work/asked"
grep -xFf "$work/asked" "$work/found" >"$work/found_asked" || true
grep -E '^clang-analyzer' "$work/found" >>"$work/found_asked" || true
compare "the library" "$work/broken" "$work/found_asked" >"$work/verdict"

echo '#include "heed/heed.h"' >"$work/headers.c"
for header in include/heed/*.h; do echo "#include \"heed/$(basename "$header")\""; done >>"$work/headers.c"
cppcheck --quiet --std=c99 --addon=misra --enable=style -Iinclude -Iports/receipt -Iports -Iports/import -D__GNUC__ \
  --suppress=missingIncludeSystem ports/receipt/receipt.c ports/receipt/golden.c ports/receipt/sha256.c ports/import/heed_file.c \
  "$work/headers.c" >"$work/output" 2>&1 || { cat "$work/output"; exit 1; }
sed 's/misra-c2012-//' "$work/output" >"$work/all"
sed -n 's/.*\[misra-c2012-\([0-9.]*\)\]$/\1/p' "$work/output" >"$work/found"
table 'Headers' 2 >"$work/broken"
compare "headers and C" "$work/broken" "$work/found" >>"$work/verdict"

cat "$work/verdict"
[ ! -s "$work/verdict" ] || exit 1
echo "$(cat "$work/n_kept") checks of clang-tidy find nothing, and $(wc -l <"$work/broken") rules of C have reasons"
