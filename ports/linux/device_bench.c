/* heed_device_bench [SHAPE...]: the benchmark of microcontrollers (bench/device_bench.h), for comparison: its digests
 * are what a board must give. HEED_KERNEL names the kernel. SPDX-License-Identifier: MIT */
#include "device_bench.h"

#include <heed/heed.h>
#include <stdio.h>

enum { all_shapes_fit = 72 << 20 };
static HEED_ALIGNED float memory[all_shapes_fit / sizeof(float)];

static int n_lines;

static void print(const char *line) {
  fputs(line, stdout);
  fflush(stdout);
  ++n_lines;
}

int main(int argc, char **argv) {
  const heed_clock clock = heed_clock_start();
  const int n_failed = heed_device_bench(&clock, memory, sizeof memory, (const char *const *)argv + 1, print);
  if (n_lines == 0 || (argc > 1 && n_lines != argc - 1)) {
    fprintf(stderr, "usage: heed_device_bench [SHAPE...], names as in bench/shapes.h\n");
    return 2;
  }
  return n_failed != 0;
}
