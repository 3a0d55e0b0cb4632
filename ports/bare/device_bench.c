/* The device benchmark on all of the RAM that is left. Argument: shapes, for example P1 P6; none: all that fit.
 * SPDX-License-Identifier: MIT */
#include "../measure/device_bench.h"

#include "port.h"

int main(void) {
  static char text[64];
  const char *only[sizeof text / 2 + 1];
  int n = 0;
  port_arguments(text, sizeof text);
  for (char *p = text; *p;) {
    only[n++] = p;
    while (*p && *p != ' ') p++;
    while (*p == ' ') *p++ = 0;
  }
  only[n] = NULL;
  const heed_clock clock = heed_clock_start();
  size_t bytes;
  void *memory = port_free_memory(&bytes);
  return heed_device_bench(&clock, memory, bytes, only) != 0;
}
