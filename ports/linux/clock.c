/* Linux: nanoseconds. A program under qemu-user cannot tell: whoever starts it there sets HEED_EMULATED.
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 199309L
#include "clock.h"

#include <stdlib.h>
#include <time.h>

static uint64_t nanoseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

heed_clock heed_clock_start(void) {
  const heed_clock clock = {"clock_gettime", "nanoseconds", getenv("HEED_EMULATED") != NULL, nanoseconds};
  return clock;
}
