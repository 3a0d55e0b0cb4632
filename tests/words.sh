#!/bin/sh
# words.sh SOURCE: no file but ports/CHANGES.md has a name that 0.3 replaced: what stands left in its table "before | 0.3", and in
# no public header. Neither compiler nor CMake complains of a macro that nothing reads: it just does nothing. SPDX-License-Identifier: MIT
set -eu
cd "$1"
# Whatever has a stroke, and the faults of statuses, with HEED_ and without it, as the pages have them.
left=$(awk -F'|' '/^\| before \| 0\.3 \|/ { inside = 1 } /^$/ { inside = 0 } inside { print $2 }' ports/CHANGES.md |
  grep -oE '[A-Za-z][A-Za-z0-9]*([_-][A-Za-z0-9]+)*' | sed 's/^DHEED_/HEED_/' |
  awk '/^[A-Z_]+$/ && length > 3 && !/^HEED_/ { print; print "HEED_" $0 } /[_-]/' | sort -u)
replaced=$(for name in $left; do grep -rqwF -- "$name" include/heed || echo "$name"; done)
[ "$(echo "$replaced" | wc -l)" -gt 40 ] || { echo "FAILED: ports/CHANGES.md has no table of names that were replaced"; exit 1; }
# The places that tell a user of the old option what it is called now.
# and a key of DistilBERT's config.json, which is not heed's.
told='"hidden_dim"|HEED_FIXED_KERNEL is HEED_FIXED_ISA|(DEFINED|#ifdef) HEED_FIXED_KERNEL'
found=$(echo "$replaced" | grep -rnIwFf - --exclude=CHANGES.md CMakeLists.txt CMakePresets.json README.md .ci bench include lib ports tests |
  grep -vE "$told" || true)
[ -z "$found" ] || { echo "FAILED: names that 0.3 replaced (ports/CHANGES.md says by which):"; echo "$found"; exit 1; }
echo "no file has one of the names that 0.3 replaced"
