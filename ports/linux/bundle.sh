#!/bin/sh
# bundle.sh BUILD FOLDER: copies what a build has of heed_bench, heed_device_bench, heed_selftest, heed_demo, heed_kwt, heed_dreams
# and heed_listen, with the shared libraries that a bare board may lack (all but the C library's own), and the licence, into FOLDER.
# Copy that to the board and run ./heed_selftest there.
set -eu
[ $# -eq 2 ] || { echo "usage: bundle.sh BUILD FOLDER: copies the programs of the folder BUILD into FOLDER" >&2; exit 1; }
programs="heed_bench heed_device_bench heed_selftest heed_demo heed_kwt heed_dreams heed_listen"
source=$(cd "$(dirname "$0")/../.." && pwd)
bundled=0
for program in $programs; do [ ! -f "$1/bench/$program" ] || bundled=$((bundled + 1)); done
if [ $bundled -eq 0 ]; then
  echo "FAILED: $1 has no programs to bundle. Build them: cmake -S $source -B $1 -DHEED_BUILD_DEMO=ON -DHEED_BUILD_BENCH=ON && cmake --build $1"
  exit 1
fi
build=$(cd "$1" && pwd)
mkdir -p "$2"
folder=$(cd "$2" && pwd)

compiler=$(sed -n 's/^set(CMAKE_CXX_COMPILER "\(.*\)")/\1/p' "$build"/CMakeFiles/*/CMakeCXXCompiler.cmake)
sysroot=$(sed -n 's/^HEED_SYSROOT:[A-Z]*=//p' "$build/CMakeCache.txt")

find_library() {
  for place in "$build" $sysroot; do
    found=$(find -L "$place" -name "$1" -type f 2>/dev/null | head -n 1)
    if [ -n "$found" ]; then echo "$found"; return; fi
  done
  found=$("$compiler" -print-file-name="$1")
  case $found in /*) echo "$found" ;; esac
}

# Libraries that a file asks for, and that those ask for.
copy_needs() {
  readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | while read -r name; do
    case $name in libc.so* | libm.so* | libpthread.so* | librt.so* | libdl.so* | ld-linux*) continue ;; esac
    [ ! -e "$folder/$name" ] || continue
    library=$(find_library "$name")
    if [ -z "$library" ]; then echo "not found: $name, which the board must have"; continue; fi
    cp -L "$library" "$folder/$name"
    copy_needs "$folder/$name"
  done
}

for program in $programs; do
  if [ -f "$build/bench/$program" ]; then
    cp "$build/bench/$program" "$folder/"
    copy_needs "$folder/$program"
  else
    echo "not in this build: $program"
  fi
done
[ ! -f "$folder/heed_dreams" ] || cp "$build/bench/dreams.heed" "$folder/"
[ ! -f "$folder/heed_listen" ] || cp "$build/bench/speech.heed" "$folder/"
cp "$source/LICENSE" "$folder/"
ls -l "$folder"
