#!/bin/sh
# quick_rooms.sh SOURCE: test.sh --quick knows every suite of tests/CMakeLists.txt, and the pages name no room that is not there.
# SPDX-License-Identifier: MIT
set -eu
cd "$1"
rooms=$(sed -n 's/^ *heed_suite(\([a-z]*\).*/\1/p' tests/CMakeLists.txt)
said=$(sh ports/linux/test.sh --quick no_such_room) && { echo "FAILED: --quick takes a room that is not there"; exit 1; }
for room in $rooms; do
  case "$said " in *" $room "*) ;; *) echo "FAILED: --quick does not know $room: $said"; exit 1 ;; esac
done
for file in tests/*_test.cpp; do
  grep -q "\(^\|[ (/]\)${file##*/}" tests/CMakeLists.txt tests/sanitize.cmake || { echo "FAILED: no suite has $file"; exit 1; }
done
for word in $(grep -hoE 'test\.sh --quick[ a-z]*' tests/README.md README.md ports/README.md | sed 's/.*--quick//'); do
  echo "$rooms" | grep -qx "$word" || { echo "FAILED: a page names the room $word"; exit 1; }
done
echo "rooms: "$rooms
