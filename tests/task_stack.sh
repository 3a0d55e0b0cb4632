#!/bin/sh
# task_stack.sh README PROGRAM CORE BYTES: what a program took on a core is within its row of the table "Stack of an RTOS task": the
# column of the M55, or that of the other cores. SPDX-License-Identifier: MIT
awk -F ' *[|] *' -v program="$2" -v core="$3" -v bytes="$4" '
  /^\| / && index($2, "`" program "`:") == 1 { row = $0; limit = core == "m55" ? $4 : $3; gsub(/,/, "", limit) }
  END {
    if (!row) { print "the table has no row of " program; exit 1 }
    print program " on " core ": " bytes " of " limit " bytes of a task"
    if (bytes + 0 <= 0 || bytes + 0 > limit + 0) { print "more than the table says"; exit 1 }
  }' "$1"
