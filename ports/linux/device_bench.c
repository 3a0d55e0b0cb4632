/* heed_device_bench [SHAPE...]: the benchmark of microcontrollers (ports/measure/device_bench.h), for comparison: its digests
 * are what a board must give. HEED_ISA names the kernel. SPDX-License-Identifier: MIT */
#include "device_bench.h"

#include <heed/heed.h>
#include <stdio.h>
#include <string.h>

#include "../terminal.h"
#include "shapes.h"

enum { all_shapes_fit = 72 << 20 };
HEED_ALIGNED static float memory[all_shapes_fit / sizeof(float)];

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    int known = 0;
    for (int j = 0; j < heed_n_shapes; ++j) known |= strcmp(argv[i], heed_shapes[j].name) == 0;
    if (known) continue;
    fprintf(stderr, "heed_device_bench: there is no shape %s; shapes are:", argv[i]);
    for (int j = 0; j < heed_n_shapes; ++j) fprintf(stderr, " %s", heed_shapes[j].name);
    fprintf(stderr, "\n");
    return 2;
  }
  const heed_clock clock = heed_clock_start();
  return finish_output("heed_device_bench",
                       heed_device_bench(&clock, memory, sizeof memory, (const char *const *)argv + 1) != 0);
}
