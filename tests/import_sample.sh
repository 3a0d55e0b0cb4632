# import_sample.sh FOLDER, sourced: writes w.npy (4, 32), int8, and b.npy (4), f32, into $1. Row o of w has the numbers
# o + 1 at even places and -1 at odd ones; b is 0.5 1 -1 2. ports/import/example.c then prints $expected.
# SPDX-License-Identifier: MIT
npy() { # npy FILE TYPE SHAPE: the header; 128 bytes in all
  printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" >"$1"
}
npy "$1/w.npy" '|i1' '(4, 32)'
for even in 1 2 3 4; do
  for _ in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do printf "\\00$even\\377"; done
done >>"$1/w.npy"
npy "$1/b.npy" '<f4' '(4,)'
printf '\000\000\000\077\000\000\200\077\000\000\200\277\000\000\000\100' >>"$1/b.npy"
# sum of odd numbers to 31: 256; of even ones to 32: 272
expected='-15 241 495 754'
