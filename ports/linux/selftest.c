/* heed_selftest: do all kernels of this build give the same bits on this very processor? Exit status 0 if they do.
 * SPDX-License-Identifier: MIT */
#include "../terminal.h"
#include "demo.h"

int main(void) { return finish_output("heed_selftest", demo_selftest()); }
