#!/bin/sh
# room_links.sh NM LIBRARY SOURCE: the law of rooms (rooms.awk) for what is linked: which room of lib refers to functions and
# variables of which. Objects are those of the static library. SPDX-License-Identifier: MIT
set -eu
nm=$1 library=$2
cd "$3"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
find lib -name '*.cpp' >"$work/files"
"$nm" -A -P "$library" >"$work/symbols"
awk '
  FNR == NR { name = $0; sub(/.*\//, "", name); file[name] = $0; next }
  {
    object = $1
    sub(/^.*\[/, "", object)
    sub(/\.o\]:$/, "", object)
    if (!(object in file)) next
    if ($3 == "U") { user[++n] = file[object]; used[n] = $2 }
    else if ($3 ~ /^[TDRB]$/) home[$2] = file[object]
  }
  END { for (i = 1; i <= n; i++) if (used[i] in home) print "LINK", user[i], home[used[i]], used[i] }' "$work/files" "$work/symbols" >"$work/links"
[ -s "$work/links" ] || { echo "FAILED: no link of $library was found"; exit 1; }
awk -f tests/rooms.awk "$work/links"
echo "$(wc -l <"$work/links") references between files keep to the rooms"
