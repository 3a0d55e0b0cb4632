/* Greatest stack of every function on every kernel, measured: each call runs on a stack of its own that was filled with
 * a pattern. Fails if one needs more than HEED_STACK_BYTES, or twice as many if this is compiled without optimisation.
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "support/all_calls.h"

enum { stack_bytes = 1 << 17, pattern = 0x5a };
#ifdef __OPTIMIZE__
enum { promised = HEED_STACK_BYTES };
#else
enum { promised = 2 * HEED_STACK_BYTES };
#endif
HEED_ALIGNED static unsigned char stack[stack_bytes];
static ucontext_t here, there;
static heed_status (*volatile current)(void);
static volatile heed_status status;
static unsigned char *volatile top;

/* The call's own frame begins below this function's. */
static void enter(void) {
  top = __builtin_frame_address(0);
  status = current();
}

static size_t stack_of(heed_status (*run)(void)) {
  memset(stack, pattern, sizeof stack);
  current = run;
  getcontext(&there);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = sizeof stack;
  there.uc_link = &here;
  makecontext(&there, enter, 0);
  swapcontext(&here, &there);
  const unsigned char *lowest = stack;
  while (*lowest == pattern) lowest++;
  return (size_t)(top - lowest);
}

/* The callers of all_calls.h have frames too (a heed_attention is 240 bytes on 64-bit machines); they are counted
 * along, which makes the result a little too large. */
int main(void) {
  size_t greatest = 0;
  int faults = 0;
  for (int32_t i = 0; i < heed_isa_count(); i++) {
    if (heed_isa_use(heed_isa_name(i)) != HEED_OK) continue;
    for (int c = 0; c < n_all_calls; c++) {
      calls_fill(); /* what one call writes is another's input, and may have become too large for int8 */
      const size_t used = stack_of(all_calls[c].run);
      printf("%-16s %-30s %5lu bytes\n", heed_isa_name(i), all_calls[c].name, (unsigned long)used);
      faults += status != HEED_OK || used > promised;
      if (used > greatest) greatest = used;
    }
  }
  printf("greatest: %lu of %d bytes\n", (unsigned long)greatest, promised);
  return faults != 0 || greatest == 0;
}
