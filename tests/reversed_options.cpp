// The library as one file, whose options bind in the reverse order: heed_device linked with it prints the same lines as ever.
// SPDX-License-Identifier: MIT
#define HEED_BIND_ORDER(i) (n_objects - 1 - (i))
#include "../lib/single.cpp"
