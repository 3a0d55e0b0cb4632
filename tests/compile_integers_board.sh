#!/bin/sh
# compile_integers_board.sh CORE SOURCE HEED_COMPILE PUBLISHED HEED: programs of heed_compile --integers on an emulated board with GCC: they have
# the known answers and sums of every other processor, and what is linked has no function of soft floats. Prints the size of each. Exit
# status 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=gcc source=$2 heed_compile=$3 published=$4 heed=$5
. "$source/tests/compiled_board.sh"
kinds='bert-classes bert-outliers roberta vit deit-classes gpt2 llama'
# shellcheck disable=SC2086
"$published" . $kinds
for kind in $kinds; do
  name=$(echo "$kind" | tr - _)_int
  compile_model "$name" "$kind" --integers "$kind/rows.npy"
  # shellcheck disable=SC2046,SC2086
  link_board "$name" $(integers_flags "$name") $integers_sources
  # Soft floats of Arm's library and of GCC's: __aeabi_fadd, __aeabi_d2iz, __addsf3, ...
  if "$gcc-nm" "$name.elf" | grep -E '__aeabi_(c?[fd](add|sub|rsub|mul|div|cmp|neg|2)|[iul]+2[fd])|__[a-z]*([sdht]f[23]?|[sd]i[sd]f)$'; then
    fail "$core, $name: it links soft floats"
  fi
  run_board "$name" "compiled_integers: good $(awk -v name="$name" '$1 == name { print $2 }' "$source/tests/compiled_integers.txt")"
done
