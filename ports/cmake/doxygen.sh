#!/bin/sh
# doxygen.sh SOURCE BUILD: makes BUILD/manual, the HTML pages that BUILD/Doxyfile describes; any warning of Doxygen is a failure. Exit
# status 77, with the reason, if Doxygen is not installed. SPDX-License-Identifier: MIT
set -eu
cd "$1"
command -v doxygen >/dev/null 2>&1 || { echo "SKIPPED: doxygen is not installed (Debian: apt-get install doxygen)"; exit 77; }
rm -rf "${2:?}/manual"
warnings=$(doxygen "$2/Doxyfile" 2>&1) || { echo "$warnings"; echo "FAILED: doxygen"; exit 1; }
[ -z "$warnings" ] || { echo "$warnings"; echo "FAILED: Doxygen has warnings"; exit 1; }
echo "the manual is $2/manual/index.html"
