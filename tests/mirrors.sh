#!/bin/sh
# mirrors.sh CC SOURCE: what other languages repeat of the headers is still what the headers say. ports/python/heed.py: fields of structs,
# their types and places, numbers of enums, names of functions, the version. JavaScript: calls of functions that the modules have, and C
# below them that compiles. Nothing is run; no Python, no WebAssembly. SPDX-License-Identifier: MIT
set -eu
cc=$1
cd "$2"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
wrong() { echo "FAILED: $*"; status=1; }

# A struct for each _struct of heed.py, and what must be so.
awk '
  function claim(what, text) { print "_Static_assert(" what ", \"heed.py: " text "\");" }
  function enums(prefix, text,    i, n, pair) {
    sub(/^.*\{/, "", text)
    n = split(text, pair, /[},]/)
    for (i = 1; i <= n; i++) if (split(pair[i], of, /[": ]+/) > 2) claim(prefix toupper(of[2]) " == " of[3], of[2])
  }
  function member(group,    kind, list, i, n) {
    kind = group; sub(/, .*/, "", kind); gsub(/"/, "", kind)
    sub(/^[^,]*, "/, "", group); sub(/"$/, "", group)
    n = split(group, list, " ")
    for (i = 1; i <= n; i++) {
      body = body (kind in types ? types[kind] : "struct py" kind) " " list[i] "; "
      fields[++n_fields] = list[i]
      if (kind ~ /^[iuf]$/) kinds[n_fields] = types[kind]; else kinds[n_fields] = ""
    }
  }
  function finish(    s, f, i) {
    gsub(/" +"/, "", text)
    match(text, /"heed_[a-z_]*"/)
    s = substr(text, RSTART + 1, RLENGTH - 2)
    text = substr(text, RSTART + RLENGTH)
    body = ""; n_fields = 0
    while (match(text, /\(("[a-z]"|_[a-z_]+), *"[^"]*"\)/)) {
      member(substr(text, RSTART + 1, RLENGTH - 2))
      text = substr(text, RSTART + RLENGTH)
    }
    print "struct py" substr(s, 5) " { " body "};"
    for (i = 1; i <= n_fields; i++) {
      f = fields[i]
      claim("offsetof(struct py" substr(s, 5) ", " f ") == offsetof(" s ", " f ") && sizeof((struct py" substr(s, 5) "){0}." f \
            ") == sizeof((" s "){0}." f ")", s "." f " is elsewhere")
      if (kinds[i] != "") claim("_Generic((" s "){0}." f ", " kinds[i] ": 1, default: 0)", s "." f " has another type")
    }
    claim("sizeof(struct py" substr(s, 5) ") == sizeof(" s ")", s " lacks a field")
    structs[s]
    text = ""
  }
  BEGIN {
    print "#include <heed/heed.h>\n#include <heed/integers.h>\n#include <stddef.h>"
    types["i"] = "int32_t"; types["u"] = "uint32_t"; types["f"] = "float"; types["z"] = "ptrdiff_t"; types["p"] = "void *"
  }
  /^_[a-z_]+ = _struct\(/ { inside = 1 }
  inside { text = text " " $0; if (/\]\)$/) { inside = 0; finish(); n++ } next }
  /^FORMATS = / { enums("HEED_", $0) }
  /^LAYOUTS = / { enums("HEED_", $0) }
  /^STYLES = / { enums("HEED_ROPE_", $0) }
  /^_BAD_STRUCT_SIZE = / { claim("HEED_BAD_STRUCT_SIZE == " $3, $1) }
  /^VERSION = / { split($3, v, /[".]/); claim("HEED_VERSION_MAJOR == " v[2] " && HEED_VERSION_MINOR == " v[3], "VERSION") }
  {
    line = $0
    while (match(line, /"heed_[a-z_]*[a-z]"/)) {
      functions[substr(line, RSTART + 1, RLENGTH - 2)]
      line = substr(line, RSTART + RLENGTH)
    }
  }
  END {
    print "int main(void) {"
    for (f in functions) print (f in structs ? "  (void)" f "_run, (void)" f "_bytes;" : "  (void)" f ";")
    print "  return 0;\n}"
    print n " structs of heed.py" >"/dev/stderr"
    if (n < 10) print "#error heed.py is written in another way"
  }' ports/python/heed.py >"$work/python.c" 2>"$work/said"
"$cc" -std=c11 -Iinclude -fsyntax-only "$work/python.c" || wrong "ports/python/heed.py is not as the headers"
cat "$work/said"
scale=$(sed -n 's/^_SCALE_DEFAULT = //p' ports/python/heed.py)
grep -q "define HEED_SCALE_DEFAULT.*${scale:-none}" include/heed/*.h || wrong "heed.py: _SCALE_DEFAULT"

# Modules for JavaScript: they compile, and have the functions that are called.
for file in ports/packages/npm/heed_wasm.c ports/packages/npm/classifier_wasm.c ports/web/web.c; do
  "$cc" -std=gnu11 -Werror=implicit-function-declaration -Werror=unused-function -Wno-attributes -Iinclude -Iinclude/heed -Iports/calibrate -Iports/packages/classifier -Iports/kwt \
    -Iports -Iports/receipt -c $file -o "$work/module.o" || wrong "$file"
done
calls() { # C CALLS FILE...: the last word of each of CALLS, a pattern, is in EXPORT(...) of C
  sed -n 's/^EXPORT(\([a-z_]*\)).*/\1/p' "$1" | sort -u >"$work/exports"
  pattern=$2
  shift 2
  grep -oh "$pattern" "$@" | sed 's/.*\.//; s/($//' | grep -v '^memory$\|^_' | sort -u >"$work/calls"
  comm -23 "$work/calls" "$work/exports" >"$work/missing"
  [ -s "$work/calls" ] || wrong "no calls in $*"
  [ ! -s "$work/missing" ] || wrong "$*: no function $(tr '\n' ' ' <"$work/missing")"
  echo "$(wc -l <"$work/calls") functions called by $*"
}
calls ports/web/web.c '\(exports\|call\)\.[a-z_]*' ports/web/engine.js ports/web/page.js
calls ports/packages/npm/heed_wasm.c 'heed\.[a-z_]*(' ports/packages/npm/heed.mjs
calls ports/packages/npm/classifier_wasm.c 'model\.[a-z_]*(' ports/packages/npm/classifier.mjs
exit $status
