/* What a port measures with: a counter, and what it counts. SPDX-License-Identifier: MIT */
#ifndef HEED_PORTS_CLOCK_H
#define HEED_PORTS_CLOCK_H

#include <stdint.h>

typedef struct heed_clock {
  const char *name; /* "clock_gettime", "dwt", "systick", "qemu-icount" */
  const char *unit; /* "nanoseconds", "cycles", "ticks", "instructions" */
  int emulated;     /* 1: an emulator runs the program, and the counts are no measurement of hardware */
  uint64_t (*read)(void);
} heed_clock;

/* Starts the port's clock. */
heed_clock heed_clock_start(void);

#endif
