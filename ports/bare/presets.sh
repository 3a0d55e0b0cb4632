#!/bin/sh
# The presets of CMakePresets.json for the cores of the list `cores`, two for each: GCC and clang.
#   sh ports/bare/presets.sh update   writes them, in the place of those that are there
#   sh ports/bare/presets.sh check    fails if they are not what the list says
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk -v FS=' *[|] *' '
  FILENAME ~ /cores$/ {
    if (/^#/) next
    ours[$2]; ours[$2 "-clang"]
    order[++n] = $2; title[$2] = $3; board[$2] = $6; type[$2] = $7; clang[$2] = $10 != "-"
    next
  }
  function name_in(text) { sub(/.*"name": "/, "", text); sub(/".*/, "", text); return text }
  function flush() {  # the block that has ended
    if (block != "" && !(name_in(block) in ours)) print_block(block)
    block = ""
  }
  function print_block(text) { sub(/,$/, "", text); printf "%s%s", (first ? "" : ",\n"), text; first = 0 }
  function ours_of(section,  i, p) {
    for (i = 1; i <= n; i++) {
      p = order[i]
      if (section == "configurePresets") {
        print_block("    {\n      \"name\": \"" p "\",\n      \"inherits\": \"base\",\n      \"displayName\": \"" title[p] ", GCC\",\n" \
          "      \"toolchainFile\": \"${sourceDir}/ports/bare/gcc.cmake\",\n" \
          "      \"cacheVariables\": { \"HEED_BOARD\": \"" board[p] "\", \"CMAKE_BUILD_TYPE\": \"" type[p] "\" }\n    }")
        if (clang[p]) print_block("    {\n      \"name\": \"" p "-clang\",\n      \"inherits\": \"" p "\",\n      \"displayName\": \"" title[p] ", clang\",\n" \
          "      \"toolchainFile\": \"${sourceDir}/ports/bare/clang.cmake\"\n    }")
      } else if (section == "buildPresets") {
        print_block("    { \"name\": \"" p "\", \"configurePreset\": \"" p "\" }")
        if (clang[p]) print_block("    { \"name\": \"" p "-clang\", \"configurePreset\": \"" p "-clang\" }")
      }
    }
  }
  /^  "[a-z]*Presets": \[/ { print; section = $0; gsub(/[^a-zA-Z]/, "", section); first = 1; inside = 1; next }
  inside && /^  \]/ { flush(); ours_of(section); print ""; print; inside = 0; next }
  inside && /^    \{/ { flush(); block = $0; next }
  inside { block = block "\n" $0; next }
  { print }' ports/bare/cores CMakePresets.json >"$work/presets"
case ${1-} in
update) cp "$work/presets" CMakePresets.json ;;
check)
  diff CMakePresets.json "$work/presets" || { echo "FAILED: ports/bare/cores says otherwise (>); sh ports/bare/presets.sh update"; exit 1; }
  echo "the presets are those of ports/bare/cores"
  ;;
*) sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0"; exit 1 ;;
esac
