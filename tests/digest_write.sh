#!/bin/sh
# digest_write.sh REFERENCE COMMAND...: writes the digest of each arithmetic's scalar reference on this machine, or of its first
# kernel in a build with a fixed one. SPDX-License-Identifier: MIT
set -eu
reference=$1
shift
rm -f "$reference"
"$@" >"$reference.all" || true # kernels that disagree are the business of digest_native
awk '!($1 in row) || $2 ~ /^scalar/ { row[$1] = $0 } END { for (arithmetic in row) print row[arithmetic] }' \
  "$reference.all" >"$reference.part"
rm "$reference.all"
[ -s "$reference.part" ]
cat "$reference.part"
mv "$reference.part" "$reference"
