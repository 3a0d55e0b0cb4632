#!/bin/sh
# commands.sh check SOURCE            every command of the pages is run by the other call, or commands.txt says why not
# commands.sh run SOURCE PAGE WORK    runs the commands of PAGE in a clean clone in WORK, in their order
# Exit status 77, with the reason, where a command wants what is not here. SPDX-License-Identifier: MIT
set -eu
mode=$1
source=$(cd "$2" && pwd)
list=$source/tests/commands.txt
cd "$source"

if [ "$mode" = check ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  failed=0 commands=0
  for page in *.md */*.md */*/*.md; do
    case $page in build* | ports/CHANGES.md) continue ;; esac
    awk -f tests/commands.awk "$list" "$page" >"$work/script" || failed=1
    sh -n "$work/script" || { echo "FAILED: $page: no commands of a shell"; failed=1; }
    if [ -s "$work/script" ] && ! grep -qxF "[$page]" "$list"; then echo "FAILED: $page has commands, and no section in commands.txt"; failed=1; fi
    commands=$((commands + $(grep -c '^passed' "$work/script" || true)))
  done
  for page in $(sed -n 's/^\[\(.*\)\]$/\1/p' "$list"); do
    [ -f "$page" ] || { echo "FAILED: commands.txt has $page, which is no page"; failed=1; }
  done
  [ $failed -eq 0 ] && echo "$commands commands stand on the pages to be run, and $(grep -c '^not ' "$list") others with a reason"
  exit $failed
fi

page=$3
mkdir -p "$4"
work=$(cd "$4" && pwd)
clone=$work/heed
rm -rf "$clone" "$work/root"
mkdir "$clone"
if [ -e .git ]; then git ls-files --cached --others --exclude-standard; else find . -type f ! -path './build*/*'; fi |
  while read -r file; do [ ! -e "$file" ] || echo "$file"; done | tar -cf - -T - | tar -C "$clone" -xf -
{
  cat <<'END'
say() { echo; echo "\$ $*"; }
passed() { # a script of heed's that lacks a tool has exit status 77
  [ "$1" -ne 77 ] || { echo "SKIPPED: from here on, since this is not installed"; exit 77; }
  [ "$1" -eq 0 ] || { echo "FAILED: exit status $1"; exit 1; }
}
wants() { command -v "$1" >/dev/null 2>&1 || { echo; echo "left out: $1 is not installed"; return 1; }; }
need() { eval "[ -n \"\${$1:-}\" ]" || { echo "SKIPPED: from here on the page wants $1, which is not set"; exit 77; }; }
END
  awk -f tests/commands.awk "$list" "$page"
} >"$work/script"
# What needs no root goes elsewhere; a second compilation of the same file costs nothing, where there is ccache.
export source clone DESTDIR="$work/root" CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-2}"
if command -v ccache >/dev/null 2>&1; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR="$clone" CCACHE_NOHASHDIR=1
fi
# Another python3 may stand before the system's, which has Debian's numpy.
python3 -c 'import numpy' 2>/dev/null || export PATH="/usr/bin:$PATH"
cd "$clone"
exec sh "$work/script"
