#!/bin/sh
# check_package.sh BUILD SOURCE: can others use heed as they are used to? Installs BUILD into a scratch folder, moves it, and
# builds small programs against it: find_package, pkg-config, plain gcc, add_subdirectory (shared), FetchContent. A C program
# must need no C++ runtime, a shared library must show nothing but heed_*. Exit status 0, or 1 at the first failure.
set -eu
build=$(cd "$1" && pwd)
source=$(cd "$2" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() { echo "FAILED: $*"; [ ! -f log ] || tail -n 40 log; exit 1; }
quietly() { "$@" >log 2>&1 || fail "$*"; rm -f log; }
# Nothing of C++ or of libm: libc, threads and OpenMP's own libraries are all that a program may ask for.
check_needs() {
  needs=$(readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -Ev "^(libc\.so|ld-linux${2:+|$2})" || true)
  [ -z "$needs" ] || fail "$1 needs $needs"
}
check_exports() {
  others=$(nm -D --defined-only "$1" | awk '{print $3}' | sed 's/@.*//' | grep -v '^heed_' || true)
  [ -z "$others" ] || fail "$1 shows $others"
}

cat >app.c <<'END'
#include <heed/heed.h>
#include <stdio.h>
HEED_MEMORY(workspace, HEED_WORKSPACE_BYTES(3, 3));
int main(void) {
  static const float x[5][3] = {{5, 2, 0}, {0, 0, 2}, {0, 5, 0}, {2, 0, 0}, {0, 0, 3}};
  float y[5][3];
  heed_status s = heed_self_attention(heed_matrix_of(x[0], 5, 3), HEED_SCALE_DEFAULT,
                                      heed_matrix_out_of(y[0], 5, 3), workspace);
  printf("%s: %.5f, heed %s, kernel %s\n", heed_status_text(s), (double)y[0][0], heed_version(), heed_isa_current());
  return s != HEED_OK || y[0][0] < 4.99985f || y[0][0] > 4.99987f;
}
END
cat >app_openmp.c <<'END'
#include <heed/openmp.h>
int main(void) {
  heed_executor executor;
  return heed_openmp_executor(2, &executor) != HEED_OK || executor.n_workers != 2;
}
END
cat >app_threads.c <<'END'
#include <heed/threads.h>
static heed_threads threads;
int main(void) {
  heed_executor executor;
  if (heed_threads_start(&threads, 2) != HEED_OK) return 1;
  return heed_threads_executor(&threads, &executor) != HEED_OK || executor.n_workers != 2 || heed_threads_stop(&threads);
}
END
# The readers of heed_calibrate's and heed_import's files are sources: a file of neither kind is refused.
cat >app_models.c <<'END'
#include <heed/heed_file.h>
#include <heed/int_model.h>
HEED_ALIGNED static const unsigned char none[128];
int main(void) {
  int_model model;
  heed_file file;
  return int_model_open(&model, none, sizeof none) == NULL || heed_file_open(&file, none, sizeof none) == NULL;
}
END
# So are what programs of heed_compile need besides.
cat >app_compiled.c <<'END'
#include "heed_model.h"
HEED_ALIGNED static const unsigned char none[128];
int main(void) {
  heed_file file;
  heed_tokenizer words;
  heed_golden golden;
  if (heed_file_open(&file, none, sizeof none) == NULL) return 1;
  file.data = none, file.n_bytes = sizeof none, file.n_tensors = 0;
  return heed_tokenizer_open(&words, &file) == NULL || heed_golden_begin(&golden, "no receipt", 10) == NULL;
}
END
cat >app.cpp <<'END'
#include <heed/heed.hpp>
static heed::sequence<5, 3> x, y;
static heed::workspace<3> workspace;
int main() {
  const float rows[5][3] = {{5, 2, 0}, {0, 0, 2}, {0, 5, 0}, {2, 0, 0}, {0, 0, 3}};
  if (!x.append(rows) || !x.full() || x.append(rows[0]).fault() != HEED_FULL || x.length() != 5) return 1;
  if (!heed::self_attention(x, y, workspace) || y.length() != 5) return 2;
  if (!(y.row(0)[0] > 4.99985f && y.row(0)[0] < 4.99987f)) return 3;
  if (!x.push(rows[4]) || x.length() != 5 || x.row(0)[2] != 2) return 6;
  float q[2][2][3] = {{{1, 2, 3}, {0, 1, 0}}, {{1, 0, 0}, {0, 0, 1}}}, k[2][1][3] = {{{1, 1, 1}}, {{0, 0, 0}}};
  float v[2][1][2] = {{{5, 6}}, {{1, 2}}}, out[2][2][2];
  static heed::workspace<3, 2> other;
  heed::attention_options options;
  options.causal = true;
  if (!heed::attention(q, k, v, out, other, options)) return 4;
  return out[0][1][0] == 5 && out[0][1][1] == 6 && out[1][0][0] < 5 ? 0 : 5;
}
END

echo "install, and move what was installed"
quietly cmake --install "$build" --prefix "$scratch/first"
mv first prefix
config=$(find "$scratch/prefix" -name heedConfig.cmake)
pc=$(dirname "$(find "$scratch/prefix" -name heed.pc)")
library=$(find "$scratch/prefix" -name 'libheed.a' -o -name 'libheed.so' | head -n 1)
if [ -z "$config" ] || [ "$pc" = . ] || [ -z "$library" ]; then fail "heedConfig.cmake, heed.pc or libheed is not installed"; fi
cmp -s "$source/LICENSE" prefix/share/doc/heed/LICENSE || fail "LICENSE is not installed into share/doc/heed"
LD_LIBRARY_PATH=$(dirname "$library")
export LD_LIBRARY_PATH
if grep -rlF -e "$build" -e "$source" "$scratch/prefix" --include=*.cmake --include=*.pc; then fail "a path of this machine"; fi

echo "find_package, C"
mkdir find_c find_cpp subdirectory fetch
cat >find_c/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(app C CXX)
find_package(heed 0.3 REQUIRED)
add_executable(app ../app.c)
target_link_libraries(app heed::heed)
add_executable(app_models ../app_models.c ${heed_SOURCES}/int_model.c ${heed_SOURCES}/heed_file.c)
target_link_libraries(app_models heed::heed)
add_executable(app_compiled ../app_compiled.c ${heed_SOURCES}/heed_file.c ${heed_SOURCES}/heed_model.c)
target_link_libraries(app_compiled heed::heed)
foreach(executor openmp threads)
  if(TARGET heed::${executor})
    add_executable(app_${executor} ../app_${executor}.c)
    target_link_libraries(app_${executor} heed::${executor})
  endif()
endforeach()
END
quietly cmake -S find_c -B find_c/build -Dheed_DIR="$(dirname "$config")"
quietly cmake --build find_c/build
quietly find_c/build/app
quietly find_c/build/app_models
quietly find_c/build/app_compiled
# The project has C++, too, but its C program is linked by the C compiler. (Makefiles show the command.)
link=find_c/build/CMakeFiles/app.dir/link.txt
if [ -f $link ] && grep -qE '^[^ ]*(\+\+)' $link; then fail "a C program is linked by the C++ compiler: $(cat $link)"; fi
check_needs find_c/build/app libheed
for executor in openmp threads; do
  [ -x find_c/build/app_$executor ] || continue
  quietly find_c/build/app_$executor
  check_needs find_c/build/app_$executor 'libheed|libgomp|libomp|libpthread|libm\.so'
done

echo "find_package, C++ alone, heed.hpp"
sed -e 's/app C CXX)/app CXX)\nset(CMAKE_CXX_STANDARD 17)/; s/app\.c/app.cpp/; /app_models/d; /app_compiled/d; /^foreach/,/^endforeach/d' find_c/CMakeLists.txt >find_cpp/CMakeLists.txt
quietly cmake -S find_cpp -B find_cpp/build -Dheed_DIR="$(dirname "$config")"
quietly cmake --build find_cpp/build
quietly find_cpp/build/app

echo "plain C compiler: cc app.c libheed"
quietly cc -std=c99 -Wall -Wextra -Wpedantic -Werror -I prefix/include app.c "$library" -o app
quietly ./app
check_needs app libheed
quietly cc -std=c99 -Wall -Wextra -Wpedantic -Werror -I prefix/include app_models.c prefix/include/heed/int_model.c prefix/include/heed/heed_file.c "$library" -o app_models
quietly ./app_models
quietly cc -std=c99 -Wall -Wextra -Wpedantic -Werror -I prefix/include app_compiled.c prefix/include/heed/heed_file.c prefix/include/heed/heed_model.c "$library" -o app_compiled
quietly ./app_compiled

if command -v pkg-config >/dev/null; then
  echo "pkg-config"
  export PKG_CONFIG_PATH="$pc"
  # shellcheck disable=SC2046
  quietly cc app.c $(pkg-config --cflags --libs heed) -o app_pc
  quietly ./app_pc
  for executor in openmp threads; do
    [ -f "$pc/heed-$executor.pc" ] || continue
    # shellcheck disable=SC2046
    quietly cc app_$executor.c $(pkg-config --cflags --libs heed-$executor) -o app_pc_$executor
    quietly ./app_pc_$executor
  done
else
  echo "pkg-config: not tested, there is none"
fi

echo "add_subdirectory, shared library"
cat >subdirectory/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.16)
project(app C)
set(BUILD_SHARED_LIBS ON)
set(HEED_INSTALL ON CACHE BOOL "")
add_subdirectory($source heed)
if(TARGET heed_demo OR TARGET heed_bench)
  message(FATAL_ERROR "a subproject builds the library alone")
endif()
add_executable(app ../app.c)
target_link_libraries(app heed::heed)
END
quietly cmake -S subdirectory -B subdirectory/build -DCMAKE_BUILD_TYPE=Release
quietly cmake --build subdirectory/build --parallel 2
quietly subdirectory/build/app
quietly cmake --install subdirectory/build --prefix "$scratch/shared"
[ -f shared/share/doc/heed/LICENSE ] || fail "LICENSE is not installed with a shared library"
for shared in subdirectory/build/heed/libheed*.so; do
  check_exports "$shared"
  check_needs "$shared" 'libheed|libgomp|libomp|libpthread|libm\.so'
done
check_needs subdirectory/build/heed/libheed.so

python=''
for candidate in python3 /usr/bin/python3; do
  if [ -z "$python" ] && "$candidate" -c 'import numpy' 2>/dev/null; then python=$candidate; fi
done
if [ -n "$python" ]; then
  echo "Python, shared library"
  quietly "$python" "$source/tests/python_test.py" "$scratch/subdirectory/build/heed/libheed.so"
else
  echo "Python: not tested, there is no python3 with numpy (Debian: python3-numpy)"
fi

echo "FetchContent, fixed kernel"
cat >fetch/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.16)
project(app C CXX)
include(FetchContent)
set(HEED_FIXED_ISA scalar CACHE STRING "")
FetchContent_Declare(heed SOURCE_DIR $source)
FetchContent_MakeAvailable(heed)
add_executable(app ../app.c)
target_link_libraries(app heed::heed)
END
quietly cmake -S fetch -B fetch/build -DCMAKE_BUILD_TYPE=Release
quietly cmake --build fetch/build --parallel 2
quietly fetch/build/app

echo "a folder without xsimd: one error, which names it"
if cmake -S "$source" -B wrong -DHEED_XSIMD_INCLUDE_DIR="$scratch/nowhere" >log 2>&1; then fail "was not refused"; fi
[ "$(grep -c "CMake Error" log)" -eq 1 ] || fail "not one error"
grep -qF "$scratch/nowhere/xsimd" log || fail "does not name the folder"
rm -f log

echo "no xsimd: a warning says what it costs and how to get it; HEED_FETCH_XSIMD takes FetchContent's"
xsimd=$(sed -n 's/^HEED_XSIMD_INCLUDE_DIR:[A-Z]*=//p' "$build/CMakeCache.txt")
none=-DCMAKE_IGNORE_PATH="/usr/include;/usr/local/include;$xsimd"
cmake -S "$source" -B without "$none" >log 2>&1 || fail "no build without xsimd"
tr -s ' \n' ' ' <log | grep -q 'CMake Warning.* heed: xsimd is not found\. .*2\.2 times.*libxsimd-dev.*-DHEED_XSIMD_INCLUDE_DIR=.*-DHEED_FETCH_XSIMD=ON' || fail "no such warning"
if [ -d "$xsimd" ]; then
  mkdir -p fetched/include
  ln -s "$xsimd/xsimd" fetched/include/
  quietly cmake -S "$source" -B with "$none" -DHEED_FETCH_XSIMD=ON -DFETCHCONTENT_SOURCE_DIR_XSIMD="$scratch/fetched"
  grep -q "^HEED_XSIMD_INCLUDE_DIR:PATH=$scratch/fetched/include" with/CMakeCache.txt || fail "FetchContent's xsimd is not taken"
fi
rm -f log

echo "passed: heed can be installed, moved, found, linked from C alone and built as a part of another project"
