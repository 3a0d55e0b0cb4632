#!/bin/sh
# make.sh FOLDER: the symbols of the shared libraries, from tests/abi.txt. SPDX-License-Identifier: MIT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n 's/^#define HEED_VERSION_[A-Z]* //p' "$here/../../../include/heed/types.h" | paste -sd.)
sed -n 's/^\(libheed[a-z_]*\)\.a: \(heed_.*\)/\1 \2/p' "$here/../../../tests/abi.txt" | LC_ALL=C sort |
  awk -v version="$version" '
  BEGIN { series = version; sub(/\.[0-9]*$/, "", series) }
  $1 != library { library = $1; printf "%s.so.%s libheed%s #MINVER#\n", library, series, series }
  { printf " %s@Base %s.0\n", $2, series }' >"$1/libheed.symbols"
