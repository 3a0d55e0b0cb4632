#!/bin/sh
# plain_c.sh COMPILER SOURCE LIBRARY OUTPUT: a C program needs the C compiler and the library, and nothing else.
# SPDX-License-Identifier: MIT
set -eu
"$1" -I"$2/include" "$2/tests/plain_c.c" "$3" -o "$4"
"$4"
