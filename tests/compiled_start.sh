# compiled_start.sh: how tests of programs that heed_compile writes begin. Those tests have the arguments SOURCE COMPILER HEED_COMPILE PUBLISHED
# LIBRARY [EMULATOR...], set `source` to the first, and source this: then they are in an empty folder, which goes at the end, and "$@" is
# the emulator. Exit status 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
compiler=$2 heed_compile=$3 published=$4 library=$5
shift 5
command -v "$compiler" >/dev/null || { echo "SKIPPED: $compiler is not installed"; exit 77; }
[ $# -eq 0 ] || command -v "$1" >/dev/null || { echo "SKIPPED: $1 is not installed"; exit 77; }
[ -f "$library" ] || { echo "SKIPPED: $library was not built, because its compiler is missing"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
. "$source/tests/compiled.sh"

# chosen ITEM...: HEED_TEST_PERCENT of them, of every part of the list, if there is an emulator, which is slow; else all
percent=100
[ $# -eq 0 ] || percent=${HEED_TEST_PERCENT:-100}
chosen() {
  of=0
  for item; do
    of=$((of + percent))
    [ $((of % 100)) -ge "$percent" ] || echo "$item"
  done
}

# compare_lines FILE FOUND: the lines of FOUND are those of FILE, without its comments, for the same first words; with all items,
# for every line
compare_lines() {
  grep -v '^#' "$1" >expected_lines
  if [ "$percent" -lt 100 ]; then
    awk 'NR == FNR { is_found[$1] = 1; next } $1 in is_found' "$2" expected_lines >expected_here
    mv expected_here expected_lines
  fi
  diff expected_lines "$2" || { echo "models compute other numbers: see $1"; exit 1; }
}

# spoil FILE: another byte in the middle of FILE, which is kept as `whole`
spoil() {
  cp "$1" whole
  size=$(wc -c <whole)
  { head -c $((size / 2)) whole && printf '\377' && tail -c +$((size / 2 + 2)) whole; } >"$1"
}
