/* No call of the library allocates: this program has its own malloc and the like, which fail the test while a call is
 * under way. With the argument "prove" it allocates during a call itself and must end with status 1, so that the test
 * is known to see an allocation. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/all_calls.h"

static volatile int watching, n_allocations;

static void count(void) {
  if (watching) n_allocations++;
}

/* The C library's own, under names that it exports for programs which bring an allocator. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

void *malloc(size_t size) {
  count();
  return __libc_malloc(size);
}
void *calloc(size_t n, size_t size) {
  count();
  return __libc_calloc(n, size);
}
void *realloc(void *memory, size_t size) {
  count();
  return __libc_realloc(memory, size);
}
void free(void *memory) {
  count();
  __libc_free(memory);
}
void *memalign(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **memory, size_t alignment, size_t size) {
  *memory = memalign(alignment, size);
  return *memory ? 0 : 12;
}
void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  static void *(*next)(void *, size_t, int, int, int, off_t);
  if (!next) {
    void *symbol = dlsym(RTLD_NEXT, "mmap");
    memcpy(&next, &symbol, sizeof next);
  }
  count();
  return next(address, size, protection, flags, file, offset);
}

static heed_status allocate(void) {
  void *volatile memory = malloc(1); /* a compiler may leave out what nobody looks at */
  free(memory);
  return HEED_OK;
}

/* Faults of one call on the kernel in use. The heap's end is compared as well: brk has no name to interpose. */
static int watch(const char *name, heed_status (*run)(void)) {
  void *const heap_end = sbrk(0);
  n_allocations = 0;
  watching = 1;
  const heed_status status = run();
  watching = 0;
  if (status == HEED_OK && n_allocations == 0 && sbrk(0) == heap_end) return 0;
  printf("%s, %s: status %d, %d allocations\n", heed_isa_current(), name, (int)status, n_allocations);
  return 1;
}

int main(int n_arguments, char **arguments) {
  if (n_arguments > 1 && strcmp(arguments[1], "prove") == 0) return watch("malloc", allocate);
  int faults = 0;
  printf("kernels:");
  for (int32_t i = 0; i < heed_isa_count(); i++) printf(" %s", heed_isa_name(i));
  printf("\n");
  for (int32_t i = 0; i < heed_isa_count(); i++) {
    if (heed_isa_use(heed_isa_name(i)) != HEED_OK) continue;
    for (int c = 0; c < n_all_calls; c++) {
      calls_fill(); /* what one call writes is another's input, and may have become too large for int8 */
      faults += watch(all_calls[c].name, all_calls[c].run);
    }
  }
  printf("%d calls allocated or failed\n", faults);
  return faults != 0;
}
