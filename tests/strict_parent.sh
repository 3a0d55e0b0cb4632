#!/bin/sh
# strict_parent.sh SOURCE CC CXX [OPTION...]: a project that fetches heed and is strict with itself: warnings beyond -Wextra are errors, it has a
# BUILD_SHARED_LIBS and an install of its own. heed must build within it, change none of its variables, install nothing and
# build no executor that is not linked. Exit status 77, with the reason, if a compiler is missing. SPDX-License-Identifier: MIT
set -eu
source=$(cd "$1" && pwd)
for compiler in "$2" "$3"; do
  command -v "$compiler" >/dev/null 2>&1 || { echo "SKIPPED: $compiler is not installed"; exit 77; }
done
cc=$2 cxx=$3
shift 3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
fail() { echo "FAILED: $*"; exit 1; }
quietly() { "$@" >log 2>&1 || { tail -n 40 log; fail "$*"; }; }

headers=$(cd "$source/include/heed" && ls ./*.h | sed 's|./\(.*\)|#include <heed/\1>|')
cat >app.c <<END
$headers
HEED_MEMORY(workspace, HEED_WORKSPACE_BYTES(3, 3));
int main(void) {
  static const float x[3] = {5, 2, 0};
  float y[3];
  return heed_self_attention(heed_matrix_of(x, 1, 3), HEED_SCALE_DEFAULT, heed_matrix_out_of(y, 1, 3), workspace) != HEED_OK;
}
END
cat >app.cpp <<END
$headers
#include <heed/heed.hpp>
static heed::sequence<5, 3> x, y;
static heed::workspace<3> workspace;
int main() {
  const float rows[5][3] = {{5, 2, 0}, {0, 0, 2}, {0, 5, 0}, {2, 0, 0}, {0, 0, 3}};
  return x.append(rows) && heed::self_attention(x, y, workspace) ? 0 : 1;
}
END
echo 'int mine(void); int mine(void) { return 1; }' >mine.c
cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.16)
project(parent LANGUAGES C CXX)
set(CMAKE_C_STANDARD 99)
set(CMAKE_CXX_STANDARD 17)
add_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror)
include(FetchContent)
FetchContent_Declare(heed SOURCE_DIR $source)
FetchContent_MakeAvailable(heed)
foreach(variable BUILD_SHARED_LIBS CMAKE_INSTALL_LIBDIR CMAKE_BUILD_RPATH BUILD_TESTING)
  if(DEFINED CACHE{\${variable}})
    message(FATAL_ERROR "heed sets \${variable} for its parent")
  endif()
endforeach()
option(BUILD_SHARED_LIBS "My libraries are shared" ON)
add_library(mine mine.c)
get_target_property(type mine TYPE)
if(NOT type STREQUAL "SHARED_LIBRARY")
  message(FATAL_ERROR "mine is a \${type}")
endif()
install(TARGETS mine LIBRARY DESTINATION lib)
add_executable(app app.c)
target_link_libraries(app heed::heed)
add_executable(app_cpp app.cpp)
target_link_libraries(app_cpp heed::heed)
add_executable(app_threads EXCLUDE_FROM_ALL app.c)
target_link_libraries(app_threads heed::threads)
END
quietly cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" "$@"
quietly cmake --build build --parallel 2
if grep 'warning:' log; then fail "a warning"; fi
quietly build/app
quietly build/app_cpp
others=$(find build -name 'libheed_*')
[ -z "$others" ] || fail "is built, and nobody links it: $others"
quietly cmake --build build --target app_threads
quietly build/app_threads
quietly cmake --install build --prefix "$scratch/prefix"
installed=$(cd prefix && find . -type f)
[ "$installed" = ./lib/libmine.so ] || fail "the parent's install has: $installed"
echo "a strict project builds heed with $cc and $cxx, keeps its own variables and its own install"
