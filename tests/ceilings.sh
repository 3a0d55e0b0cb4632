#!/bin/sh
# ceilings.sh CEILINGS.AWK: a table of ceilings takes a few bytes more or less, and refuses more, too few, what it does not know and
# what is gone. SPDX-License-Identifier: MIT
set -eu
awk_file=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >figures <<'END'
| compiler | M0+ | M3 |
|---|---|---|
| `heed_dot` | 528 / 520 / 544 | 96 / - / 88 |
| everything | 40425 | 38863 |
END
awk -v MODE=write -f "$awk_file" figures >page
grep -qF '| `heed_dot` | 570 (528 / 520 / 544) | 120 (96 / - / 88) |' page || { echo "FAILED: it wrote"; cat page; exit 1; }
changed() { # changed STATUS TEXT SED: figures changed by SED are taken (0) or refused (1), with TEXT
  sed "$3" figures >other
  status=0
  awk -v MODE=check -f "$awk_file" page other >said || status=$?
  if [ $status -ne "$1" ] || ! grep -qF "$2" said; then echo "FAILED: $3: status $status"; cat said; exit 1; fi
}
changed 0 'below their ceilings' ''
changed 0 'below their ceilings' 's/544/570/; s/40425/41000/'
changed 0 'below their ceilings' 's/ 96 / 80 /; s/38863/38000/'
changed 0 'below their ceilings' 's/ | [^|]* |$/ |/'
changed 1 '`heed_dot`, M0+: 528 / 578 / 544 is above the ceiling 570' 's/520/578/'
changed 1 'everything, M3: the ceiling 40100 is too high for 30000' 's/38863/30000/'
changed 1 'M7: 96 / - / 88, and the page has no ceiling' 's/M3/M7/'
changed 1 'everything: the page has a row without figures' '/everything/d'
changed 1 'no figures' '3,4d'
echo "passed"
