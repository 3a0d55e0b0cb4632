#!/bin/sh
# headers.sh SOURCE COMPILER...: the public headers in strict C99 and C11, C++17, and for Microsoft's compilers, which clang
# can stand in for. Exit status 77, with the reason, if no compiler is there. SPDX-License-Identifier: MIT
set -eu
source=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/user.c" <<'END'
#include "heed/heed.h"
#include "heed/openmp.h"
HEED_SEQUENCE(words, 8, 3);
HEED_WORKSPACE(scratch, 3, 3);
HEED_ALIGNED static float own[16];
heed_status use(void);
heed_status use(void) {
  const heed_status status = heed_sequence_append(&words, heed_matrix_of(own, 5, 3));
  return status ? status : heed_sequence_self_attention(&words, 0, &words, scratch, sizeof scratch);
}
END
{ cat "$work/user.c"; echo '#include "heed/heed.hpp"'; } >"$work/user.cpp"
checked=0
check() { # check COMPILER FLAG...
  "$@" -ffreestanding -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I"$source/include" && checked=$((checked + 1)) ||
    { echo "FAILED: $*"; exit 1; }
}
for compiler; do
  command -v "$compiler" >/dev/null 2>&1 || continue
  check "$compiler" -std=c99 -x c "$work/user.c"
  check "$compiler" -std=c11 -x c "$work/user.c"
  check "$compiler" -std=c++17 -x c++ "$work/user.cpp"
  case $compiler in *clang*) ;; *) continue ;; esac
  for target in x86_64-pc-windows-msvc aarch64-pc-windows-msvc; do
    check "$compiler" --target=$target -std=c11 -x c "$work/user.c"
    check "$compiler" --target=$target -std=c++17 -x c++ "$work/user.cpp"
  done
  # A compiler that is neither: alignment in the words of the standards.
  check "$compiler" -U__GNUC__ -std=c11 -x c "$work/user.c"
  check "$compiler" -U__GNUC__ -std=c++17 -x c++ "$work/user.cpp"
done
[ $checked -gt 0 ] || { echo "SKIPPED: none of $* is installed"; exit 77; }
echo "$checked times accepted without a warning"
