#!/bin/sh
# abidiff.sh SOURCE CXX WORK [write]: within a minor version the library may gain functions and loses or changes none. Compares heed
# with tests/abi-SERIES.xml, the ABI of the first release of this minor version, by abidiff (Debian: abigail-tools). `write` writes
# that file: once, when SERIES.0 is released. Some structs have grown at their end since, and their functions take the older size, too:
# they are listed below. A small library is compared first, changed in some ways, to see that abidiff sees them. Exit status 77, with the reason, if there is nothing to compare. SPDX-License-Identifier: MIT
set -eu
source=$(cd "$1" && pwd) cxx=$2 work=$3 action=${4:-check}
for program in abidw abidiff; do
  command -v $program >/dev/null 2>&1 || { echo "SKIPPED: $program is not installed"; exit 77; }
done
rm -rf "$work"
mkdir -p "$work"
cd "$work"
work=$PWD
series=$(sed -n 's/^#define HEED_VERSION_[A-Z]* //p' "$source/include/heed/types.h" | head -n 2 | paste -sd.)
stored=$source/tests/abi-$series.xml

# describe HEADER LIBRARY XML: functions and types that a program sees, without paths and lines.
describe() {
  abidw --header-file "$1" --drop-private-types --exported-interfaces-only --no-corpus-path --no-comp-dir-path --no-show-locs \
    --out-file "$3" "$2"
}
# heed_int_layer: int_layer_without_rope in lib/layers/int_layer.hpp, and a test of int_layer_test.cpp.
for grown in heed_int_layer toy_grown; do
  printf '[suppress_type]\nname = %s\ntype_kind = struct\nhas_data_member_inserted_at = end\nhas_size_change = yes\n\n' $grown
done >grown
compare() { abidiff --suppressions grown --no-added-syms --no-show-locs "$1" "$2"; } # compare OLD NEW: 0 if nothing is lost or changed

# toy NAME STRUCT FUNCTIONS [TYPE]: a library of its own.
toy() {
  mkdir "$1"
  printf 'struct %s { %s };\n' "${4-box}" "$2" >"$1/toy.h"
  for function in $3; do
    echo "extern \"C\" int $function(struct ${4-box} *b);" >>"$1/toy.h"
    echo "int $function(struct ${4-box} *b) { return b->a; }" >>"$1/toy.body"
  done
  { echo '#include "toy.h"'; cat "$1/toy.body"; } >"$1/toy.cpp"
  "$cxx" -g -shared -fPIC "$1/toy.cpp" -o "$1/libtoy.so"
  describe "$1/toy.h" "$1/libtoy.so" "$1.xml"
}
toy old 'int a; float b;' 'toy_one toy_two'
toy more 'int a; float b;' 'toy_one toy_two toy_three'
toy fewer 'int a; float b;' 'toy_one'
toy other 'int a; double b;' 'toy_one toy_two'
toy longer 'int a; float b; int c;' 'toy_one toy_two'
toy short 'int a; float b;' toy_one toy_grown
toy grown_end 'int a; float b; int c;' toy_one toy_grown
toy grown_begin 'int c; int a; float b;' toy_one toy_grown
compare old.xml more.xml || { echo "FAILED: abidiff refuses a new function"; exit 1; }
compare short.xml grown_end.xml || { echo "FAILED: abidiff refuses what is listed as grown"; exit 1; }
! compare short.xml grown_begin.xml >grown.log || { echo "FAILED: abidiff sees no field in front"; exit 1; }
for change in fewer other longer; do
  ! compare old.xml $change.xml >$change.log || { echo "FAILED: abidiff sees no difference: $change"; exit 1; }
done
grep -q "toy_two" fewer.log && grep -q "'float' to 'double'" other.log || { cat fewer.log other.log; exit 1; }

[ "$action" = write ] || [ -f "$stored" ] || { echo "SKIPPED: heed $series.0 is not released: there is no tests/abi-$series.xml"; exit 77; }
cmake -DSOURCE="$source" -DOUTPUT="$work/made" -P "$source/ports/cmake/drop_in.cmake"
"$cxx" -std=c++17 -O0 -g -shared -fPIC -DHEED_SHARED -DHEED_HOSTED=1 -fvisibility=hidden made/heed.cpp -o libheed.so
describe made/heed.h libheed.so heed.xml
if [ "$action" = write ]; then
  cp heed.xml "$stored"
  echo "wrote $stored"
else
  compare "$stored" heed.xml || { echo "FAILED: other than heed $series.0"; exit 1; }
fi
