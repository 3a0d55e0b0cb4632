#!/bin/sh
# format.sh SOURCE: every C and C++ file is as clang-format 14 writes it. Exit status 77 if there is none: other versions break lines
# elsewhere. SPDX-License-Identifier: MIT
set -eu
cd "$1"
for program in clang-format-14 clang-format; do
  case $($program --version 2>/dev/null) in *"version 14."*) format=$program; break ;; esac
done
[ -n "${format-}" ] || { echo "SKIPPED: clang-format 14 is not installed"; exit 77; }
files=$(find lib include ports tests bench -name '*.[ch]' -o -name '*.[ch]pp' | sort)
# shellcheck disable=SC2086
wrong=$($format --dry-run --Werror $files 2>&1 | sed -n 's/^\([^ :]*\):[0-9].*/\1/p' | sort -u)
[ -z "$wrong" ] || { echo "FAILED: not formatted; $format -i" $wrong; exit 1; }
echo "$(echo "$files" | wc -l) files are formatted"
