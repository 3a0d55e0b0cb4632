#!/bin/sh
# kwt.sh PROGRAM: keyword spotting on real speech, 24 of 24 clips. Exit status 77 if the model or the program is missing.
# SPDX-License-Identifier: MIT
set -eu
[ -n "${HEED_KWT1:-}" ] && [ -d "$HEED_KWT1" ] || {
  echo "SKIPPED: HEED_KWT1 does not name the folder of the model"
  exit 77
}
[ -x "$1" ] || {
  echo "SKIPPED: $1 was not built"
  exit 77
}
exec "$1" "$HEED_KWT1"
