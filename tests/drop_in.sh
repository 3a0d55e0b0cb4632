#!/bin/sh
# The library as two files (target heed_single): one compiler call, no include path. SPDX-License-Identifier: MIT
#   drop_in.sh run REFERENCE SINGLE SOURCE COMPILER FLAG...   compiles, runs the digest, compares with the library's
#   drop_in.sh core - SINGLE SOURCE COMPILER FLAG...          compiles for a core; its words are the library's
#   drop_in.sh emulated EMULATOR SINGLE SOURCE COMPILER FLAG...   compiles for another Linux; flushed.c passes there
#   drop_in.sh size MOST SINGLE SOURCE COMPILER FLAG...       compiles, and has no more bytes of code than MOST
#   drop_in.sh program MOST SINGLE SOURCE COMPILER FLAG...    compiles with the flags that heed.cpp's first comment names, but
#                                                            FLAG... for the core, links, and a program has no more bytes than MOST
#   drop_in.sh standards - SINGLE SOURCE COMPILER FLAG...     silent in every standard from gnu++14 on, one clear error in older ones
#   drop_in.sh beside - SINGLE SOURCE COMPILER FLAG...        heed.hpp and heed_threads.* work beside them
# SINGLE is the folder of heed.h and heed.cpp. Exit status 77, with the reason, if the compiler is missing.
set -eu
mode=$1 reference=$2 single=$3 source=$4 compiler=$5
shift 5
command -v "$compiler" >/dev/null 2>&1 || { echo "SKIPPED: $compiler is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$single/heed.h" "$single/heed.cpp" "$work/"
if grep -n '^ *#include "' "$work/heed.h"; then echo "FAILED: heed.h is not one file"; exit 1; fi
if grep -n '^ *#include "' "$work/heed.cpp" | grep -v '"heed.h"$'; then echo "FAILED: includes more than heed.h"; exit 1; fi
if [ "$mode" = program ]; then
  command -v arm-none-eabi-gcc >/dev/null 2>&1 || { echo "SKIPPED: arm-none-eabi-gcc is not installed"; exit 77; }
  # What the first comment says: compiler call and link flag. The core is the caller's.
  stated=$(sed -n '2,/-c heed.cpp/s/^ \*  *\(.*\)/\1/p' "$work/heed.cpp" | tr -d '\\' | tr '\n' ' ')
  link=$(sed -n '1,/^MIT/s/.*Link with \(-Wl,[a-z-]*\).*/\1/p' "$work/heed.cpp")
  case $stated in *g++\ *-c\ heed.cpp*) ;; *) echo "FAILED: heed.cpp names no flags: $stated"; exit 1 ;; esac
  [ -n "$link" ] || { echo "FAILED: heed.cpp does not say how to link"; exit 1; }
  for word in $stated; do
    case $word in *g++ | -std=* | -mcpu=* | -mthumb | -mfloat-abi=* | -mfpu=* | -c | heed.cpp) ;; *) set -- "$@" "$word" ;; esac
  done
fi
# What a strict project switches on besides.
strict='-Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wcast-align -Wcast-qual -Wdouble-promotion -Wundef -Wfloat-equal'
if [ "$mode" = standards ]; then
  cd "$work"
  for standard in gnu++14 c++17 gnu++17 gnu++20 gnu++23 gnu++26; do
    echo | "$compiler" -std=$standard -fsyntax-only -x c++ - 2>/dev/null || { echo "$compiler knows no $standard"; continue; }
    # shellcheck disable=SC2086
    "$compiler" -std=$standard -Wall -Wextra -Wpedantic $strict -Werror "$@" -fsyntax-only heed.cpp
  done
  for standard in gnu++98 gnu++11 c++14; do
    if "$compiler" -std=$standard "$@" -fsyntax-only heed.cpp 2>errors; then echo "FAILED: $standard is taken"; exit 1; fi
    [ "$(grep -c 'error:' errors)" = 1 ] && grep -q 'error.*C++14 with GNU extensions.*-std=gnu++17' errors || { cat errors; exit 1; }
  done
  echo "silent from gnu++14 on, one clear error before"
  exit 0
fi
(cd "$work" && "$compiler" -std=c++17 -Wall -Wextra -Wpedantic -Werror "$@" -c heed.cpp -o heed.o)
case $mode in
run)
  mkdir "$work/heed"
  cp "$single/heed.h" "$work/heed/"
  cc -I"$work" "$source/tests/digest.c" "$work/heed.o" -o "$work/digest"
  sh "$source/tests/digest_compare.sh" "$reference" "$work/digest"
  ;;
emulated)
  command -v "${reference%% *}" >/dev/null 2>&1 || { echo "SKIPPED: ${reference%% *} is not installed"; exit 77; }
  mkdir "$work/heed"
  cp "$single/heed.h" "$work/heed/"
  : >"$work/heed/integers.h" # heed.h has it
  c=$(echo "$compiler" | sed 's/clang++/clang/;s/g++/gcc/')
  "$c" "$@" -static -I"$work" -I"$source/tests" "$source/tests/flushed.c" "$work/heed.o" -o "$work/flushed"
  # shellcheck disable=SC2086
  $reference "$work/flushed"
  ;;
beside)
  cp "$single/heed.hpp" "$single/heed_threads.h" "$single/heed_threads.cpp" "$work/"
  cat >"$work/app.cpp" <<'END'
#include "heed.hpp"
#include "heed_threads.h"
static heed::sequence<5, 3> x, y;
static heed::workspace<3> workspace;
static heed_threads threads;
int main() {
  const float rows[5][3] = {{5, 2, 0}, {0, 0, 2}, {0, 5, 0}, {2, 0, 0}, {0, 0, 3}};
  if (!x.append(rows) || !heed::self_attention(x, y, workspace)) return 1;
  if (!(y.row(0)[0] > 4.99985f && y.row(0)[0] < 4.99987f)) return 2;
  heed_executor executor;
  if (heed_threads_start(&threads, 2) != HEED_OK) return 3;
  return heed_threads_executor(&threads, &executor) != HEED_OK || executor.n_workers != 2 || heed_threads_stop(&threads);
}
END
  # shellcheck disable=SC2086
  (cd "$work" && "$compiler" -std=c++17 -Wall -Wextra -Wpedantic $strict -Werror "$@" app.cpp heed_threads.cpp heed.o -pthread -o app && ./app)
  echo "heed.hpp and heed_threads work beside heed.h"
  ;;
size)
  bytes=$(size "$work/heed.o" | awk 'NR == 2 { print $1 }')
  echo "$bytes bytes of code, at most $reference"
  [ "$bytes" -gt 10000 ] && [ "$bytes" -le "$reference" ]
  ;;
program)
  # The call of README's Firmware section, on memory of its own. The flags of the core go to both calls of the C compiler.
  cat >"$work/app.c" <<'END'
#include "heed.h"
enum { n_words = 24, dim = 16 };
static float words[n_words * dim], context[n_words * dim];
HEED_MEMORY(workspace, HEED_WORKSPACE_MIN_BYTES(dim, dim));
const char *volatile shown;
int main(void) {
  heed_status status = heed_self_attention(heed_matrix_of(words, n_words, dim), HEED_SCALE_DEFAULT,
                                           heed_matrix_out_of(context, n_words, dim), workspace);
  if (status != HEED_OK) shown = heed_status_argument(status), shown = heed_status_text(status);
  return status != HEED_OK;
}
void *memcpy(void *to, const void *from, size_t n) {
  for (size_t i = 0; i < n; i++) ((volatile char *)to)[i] = ((const char *)from)[i];
  return to;
}
void *memset(void *to, int value, size_t n) {
  for (size_t i = 0; i < n; i++) ((volatile char *)to)[i] = (char)value;
  return to;
}
END
  core=''
  for word; do case $word in -mcpu=* | -mthumb | -mfloat-abi=* | -mfpu=*) core="$core $word" ;; esac; done
  # shellcheck disable=SC2086
  (cd "$work" && arm-none-eabi-gcc $core -Os -ffreestanding -nostdlib -Wl,-emain,--no-enum-size-warning "$link" app.c heed.o -lgcc -o app)
  bytes=$(arm-none-eabi-size "$work/app" | awk 'NR == 2 { print $1 + $2 }')
  echo "with $* $link: $bytes bytes, at most $reference"
  [ "$bytes" -gt 3000 ] && [ "$bytes" -le "$reference" ]
  ;;
core)
  case "$compiler $* " in
  *-g++\ *) binutils=${compiler%-g++} ;; *' -march=rv'*) binutils=riscv64-unknown-elf ;; *) binutils=arm-none-eabi ;;
  esac
  command -v $binutils-nm >/dev/null 2>&1 || { echo "SKIPPED: $binutils-nm is not installed"; exit 77; }
  # The same words after the preprocessor are the same code, whatever the compiler makes of them.
  # Pragmas alone are not in it: those of heed.cpp shield it from the warnings of strict projects.
  words() { "$compiler" -std=c++17 "$@" -E -P | grep -vE '^ *#pragma (GCC|clang) diagnostic' | tr -s ' \t\n' '\n\n\n'; }
  (cd "$work" && words "$@" heed.cpp >heed.words)
  words "$@" -I"$source/include" "$source/lib/single.cpp" >"$work/single.words"
  count=$(wc -l <"$work/heed.words")
  [ "$count" -gt 50000 ] || { echo "FAILED: hardly any code"; exit 1; }
  cmp "$work/heed.words" "$work/single.words"
  undefined=$($binutils-nm -u "$work/heed.o" | awk '$2 ~ /memmove/ || $2 !~ /^(memcpy|memset|__aeabi_.*|__gnu_thumb1_case_.*|__[a-z]+[dsgt][fi]([dsgt][fi])?[23]?)$/ { print $2 }')
  [ -z "$undefined" ] || { echo "FAILED: heed.o needs" $undefined; exit 1; }
  echo "$count words, equal to the library's; nothing undefined"
  ;;
esac
