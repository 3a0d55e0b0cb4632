/* What ports/executors/rp2040.c needs of the Pico SDK, from POSIX threads: to compile it and to run it on a PC. */
#include <stdint.h>
void multicore_launch_core1(void (*entry)(void));
void multicore_fifo_push_blocking(uint32_t data);
uint32_t multicore_fifo_pop_blocking(void);
