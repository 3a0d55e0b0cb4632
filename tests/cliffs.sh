#!/bin/sh
# cliffs.sh CORE COMPILER SOURCE BUILD: on an emulated board of ports/bare, built in BUILD, n rows of a projection take at
# most 1.02 times the instructions of n + 1 rows and 1.02 n times those of one, and packed weights no more than others
# (tests/device/cliffs.c). Exit status 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=$2 source=$3 build=$4
. "$source/tests/board.sh"
need_tools
build_board "" heed_cliffs
run_board heed_cliffs
