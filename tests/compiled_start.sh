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

# spoil FILE: another byte in the middle of FILE, which is kept as `whole`
spoil() {
  cp "$1" whole
  size=$(wc -c <whole)
  { head -c $((size / 2)) whole && printf '\377' && tail -c +$((size / 2 + 2)) whole; } >"$1"
}
