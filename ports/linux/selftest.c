/* heed_selftest: do all kernels of this build give the same bits on this very processor? Exit status 0 if they do.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "../terminal.h"
#include "demo.h"

int main(int argc, char **argv) {
  if (argc > 1) {
    fprintf(stderr, "usage: heed_selftest, without arguments; nobody knows what %s is\n", argv[1]);
    return 2;
  }
  return finish_output("heed_selftest", demo_selftest());
}
