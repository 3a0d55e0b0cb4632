#!/bin/sh
# compiled_board_heed.sh CORE SOURCE OUTPUT: heed for an emulated board as one object, OUTPUT, which several tests link. Exit status 77, with
# the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=gcc source=$2 output=$3
. "$source/tests/board.sh"
need_tools
# shellcheck disable=SC2086
"$gcc-g++" $flags -ffreestanding -ffunction-sections -fdata-sections -fno-tree-vectorize -mfp16-format=ieee -O2 -std=c++17 -fno-exceptions \
  -fno-rtti -fno-math-errno -ffp-contract=off -DHEED_FLAGS_ARE_SET "-I$source/include" -c "$source/lib/single.cpp" -o "$output"
