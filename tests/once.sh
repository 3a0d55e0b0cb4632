#!/bin/sh
# once.sh FOLDER NAME COMMAND...: runs COMMAND, and remembers in FOLDER that it passed. Run again, it says so instead, as long as
# the sources, the command, the compiler and the variables HEED_* are the same; documents (*.md) may change. Exit status:
# COMMAND's. So an interrupted run of many such commands goes on where it was. SPDX-License-Identifier: MIT
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
passed=$1/$2
shift 2
stamp=$({
  (cd "$source" && find CMakeLists.txt include lib tests ports bench -type f ! -name '*.md' | sort | xargs cksum)
  echo "$*"
  env | grep '^HEED_' | sort || true
  c++ --version || true
} | cksum | tr ' ' -)
if [ -f "$passed" ] && [ "$(cat "$passed")" = "$stamp" ]; then
  echo "passed before, sources unchanged"
  exit 0
fi
rm -f "$passed"
"$@"
echo "$stamp" >"$passed"
