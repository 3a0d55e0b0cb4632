#!/bin/sh
# windows.sh SOURCE SCRATCH: library and headers for Windows, as a user gets them. Built with MinGW, static and shared, and installed:
# the DLL is there and shows heed_* alone; a C program built against the installed tree, by hand and by find_package, runs under
# Wine. Exit status 77, with the reason, if MinGW or Wine is missing. SPDX-License-Identifier: MIT
set -eu
source=$(cd "$1" && pwd)
mkdir -p "$2"
scratch=$(cd "$2" && pwd)
for program in x86_64-w64-mingw32-g++ wine; do
  command -v $program >/dev/null 2>&1 || { echo "SKIPPED: $program is not installed"; exit 77; }
done
export WINEPREFIX="$scratch/wine" WINEDEBUG=-all
cd "$scratch"
fail() { echo "FAILED: $*"; [ ! -f log ] || tail -n 40 log; exit 1; }
quietly() { "$@" >log 2>&1 || fail "$*"; }
cross() { quietly cmake -DCMAKE_TOOLCHAIN_FILE="$source/ports/windows/mingw.cmake" -DCMAKE_BUILD_TYPE=Release "$@"; }
runs() { quietly wine "$1"; echo "$1: $(tr -d '\r' <log)"; }
exports() { x86_64-w64-mingw32-objdump -p "$1" | awk '/^\[Ordinal\/Name Pointer\]/ { inside = 1; next } inside && NF == 0 { exit } inside { print $NF }'; }

quietly wine cmd /c exit # it reports its first start
mkdir -p user
cat >user/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(user C)
find_package(heed REQUIRED)
add_executable(user ${SOURCE}/tests/plain_c.c)
target_link_libraries(user heed::heed)
END
# Static first: its objects are compiled anew for the DLL, since HEED_SHARED is a flag.
for kind in OFF ON; do
  tree=$scratch/shared_$kind
  cross -S "$source" -B build -DBUILD_SHARED_LIBS=$kind -DHEED_BUILD_TESTS=OFF -DHEED_BUILD_BENCH=OFF -DHEED_BUILD_DEMO=OFF
  quietly cmake --build build
  rm -rf "$tree" by_package
  quietly cmake --install build --prefix "$tree"
  quietly x86_64-w64-mingw32-gcc -I"$tree/include" "$source/tests/plain_c.c" -L"$tree/lib" -lheed -o by_hand.exe
  cross -S user -B by_package -Dheed_DIR="$tree/lib/cmake/heed" -DSOURCE="$source"
  quietly cmake --build by_package
  if [ $kind = ON ]; then
    for dll in libheed libheed_openmp; do
      [ -f "$tree/bin/$dll.dll" ] || { [ $dll != libheed ] || fail "$dll.dll is not installed"; continue; }
      exports "$tree/bin/$dll.dll" >exports
      others=$(grep -v '^heed_' exports || true)
      [ -z "$others" ] || fail "$dll.dll shows $others"
      [ -s exports ] || fail "$dll.dll shows nothing"
      echo "$dll.dll shows $(wc -l <exports) functions, all heed_*"
    done
    # All that the headers of the library itself declare can be called.
    find "$tree/include/heed" -name '*.h' ! -name openmp.h ! -name threads.h -exec cat {} + |
      sed -n 's/^HEED_API [^(]*[ *]\(heed_[a-z_0-9]*\)(.*/\1/p' | sort >declared
    exports "$tree/bin/libheed.dll" | sort | comm -23 declared - >absent
    if [ ! -s declared ] || [ -s absent ]; then fail "libheed.dll lacks" "$(cat absent)"; fi
    for program in by_hand.exe by_package/user.exe; do
      x86_64-w64-mingw32-objdump -p $program | grep -q 'DLL Name: libheed.dll' || fail "$program does not use the DLL"
    done
    cp "$tree/bin/libheed.dll" .
    cp "$tree/bin/libheed.dll" by_package/
  fi
  runs ./by_hand.exe
  runs by_package/user.exe
done
