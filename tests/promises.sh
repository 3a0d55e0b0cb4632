#!/bin/sh
# promises.sh SOURCE: every sentence "Error:" of a public header stands in promises.txt, every promise there still stands in its
# header, and names tests that there are. SPDX-License-Identifier: MIT
set -eu
cd "$1"
awk '
  function trim(s) { gsub(/^ +| +$/, "", s); return s }
  function fail(text) { print "FAILED: " text; failed = 1 }
  FILENAME ~ /promises.txt$/ {
    if ($0 ~ /^#/ || $0 == "") next
    n = split($0, f, / \| /)
    if (n != 5) { fail("promises.txt, line " FNR ": has " n " fields, not 5"); next }
    id = trim(f[1]); header[id] = trim(f[2]); words[id] = trim(f[3]); kind[id] = trim(f[4]); tests[id] = trim(f[5])
    if (id in seen) fail(id " stands twice")
    seen[id] = 1; ids[++n_ids] = id
    if (kind[id] !~ /^(exhausted|bits|bound)$/) fail(id ": \"" kind[id] "\" is no kind")
    next
  }
  FILENAME ~ /include\/heed/ {
    name = FILENAME; sub(/.*\//, "", name)
    known = 0
    for (i = 1; i <= n_ids; i++)
      if (header[ids[i]] == name && index($0, words[ids[i]])) { stands[ids[i]] = 1; known = 1 }
    if (/Error:/ && !known) fail("include/heed/" name ":" FNR ": no test carries: " trim($0))
    next
  }
  # tests: TEST(suite, name), and names of ctest
  match($0, /^TEST(_P|_F)?\([a-z_0-9]+, *[a-zA-Z_0-9]+/) {
    text = substr($0, RSTART, RLENGTH); sub(/^TEST(_P|_F)?\(/, "", text); sub(/, */, ".", text)
    name = FILENAME; sub(/.*\//, "", name)
    there[name ":" text] = 1
  }
  match($0, /add_test\(NAME [^ )]+/) {
    name = substr($0, RSTART + 14, RLENGTH - 14)
    sub(/\$\{arithmetic\}/, "fma", name); there["ctest:" name] = 1
    if (sub(/_fma$/, "_no-fma", name)) there["ctest:" name] = 1
  }
  END {
    for (i = 1; i <= n_ids; i++) {
      id = ids[i]; count[kind[id]]++
      if (!(id in stands)) fail(id ": \"" words[id] "\" does not stand in include/heed/" header[id])
      n = split(tests[id], each, /, */)
      for (k = 1; k <= n; k++) if (!(each[k] in there)) fail(id ": there is no test " each[k])
    }
    printf "%d promises: %d exhausted, %d compared to the bit, %d within their bounds\n", n_ids, count["exhausted"], count["bits"], count["bound"]
    exit failed
  }' tests/promises.txt include/heed/*.h tests/*_test.cpp tests/CMakeLists.txt tests/*.cmake
