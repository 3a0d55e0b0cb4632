/* The device benchmark: the named shapes of shapes.h on the kernel in use, in a few kilobytes of C99 without a library
 * but heed and ports/port.h. SPDX-License-Identifier: MIT
 *
 * Prints one JSON object to a line and shape:
 *   {"shape":"P1","kernel":"lane1","arithmetic":"fma","clock":"dwt","unit":"cycles","count":3700000,
 *    "per_multiply_add":3.0097,"workspace_bytes":41472,"digest":"0123456789abcdef","emulated":false}
 *   {"shape":"P3","skipped":"needs 9252416 bytes, has 4063232"}
 *   {"shape":"P2","failed":"workspace: smaller than these dimensions need"}
 * count is the least of three calls, after one that does not count, in the clock's unit; per_multiply_add divides it by
 * heed_shape_multiply_adds. digest is FNV-1a (64 bits) of the output's bytes, little endian: for one shape and arithmetic
 * it is the same on every machine.
 */
#ifndef HEED_MEASURE_DEVICE_BENCH_H
#define HEED_MEASURE_DEVICE_BENCH_H

#include <stddef.h>

#include "clock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the shapes that are named in `only` (null-terminated; null: all) and fit into memory, which is aligned to 64
 * bytes. Each needs 8 bytes per float of q and of k, and a workspace: less than HEED_WORKSPACE_BYTES if memory is
 * short. Returns how many calls failed. */
int heed_device_bench(const heed_clock *clock, void *memory, size_t memory_bytes, const char *const *only);

#ifdef __cplusplus
}
#endif

#endif
