/* Executors for those without POSIX threads: compile one of the files beside this header into your program. Each has
 * one set of workers, for one call of heed at a time. A task may not use the same executor. SPDX-License-Identifier: MIT */
#ifndef HEED_EXECUTORS_H
#define HEED_EXECUTORS_H

#if __has_include("heed/heed.h")
#include "heed/heed.h"
#else
#include "heed.h" /* of the two files */
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* windows.c: n_workers - 1 threads, which wait until the program ends, and the caller. 0: a thread cannot be started. */
int heed_windows_executor(int32_t n_workers, heed_executor *executor);

/* rp2040.c: the other core of an RP2040 or RP2350, and the caller's. Starts core 1, which then does nothing else. */
void heed_rp2040_executor(heed_executor *executor);

/* freertos.c: HEED_FREERTOS_WORKERS - 1 tasks of the priority given, and the caller. */
void heed_freertos_executor(uint32_t priority, heed_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
