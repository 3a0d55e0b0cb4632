/* The port for everything with a C library. SPDX-License-Identifier: MIT */
#include "../port.h"

#include <stdio.h>
#include <stdlib.h>

void port_write(const char *text) { fputs(text, stdout); }
void port_exit(int status) { exit(status); }
void port_arguments(char *text, size_t capacity) {
  if (capacity) *text = 0;
}
int32_t port_read_file(const char *path, void *buffer, size_t capacity) {
  FILE *file = fopen(path, "rb");
  if (!file) return -1;
  const size_t n = fread(buffer, 1, capacity, file);
  const int rest = getc(file);
  fclose(file);
  return rest == EOF ? (int32_t)n : -1;
}
int32_t port_read_part(const char *path, size_t offset, void *buffer, size_t n) {
  FILE *file = fopen(path, "rb");
  if (!file) return -1;
  const int is_read = fseek(file, (long)offset, SEEK_SET) == 0 && fread(buffer, 1, n, file) == n;
  fclose(file);
  return is_read ? 0 : -1;
}
void *port_free_memory(size_t *bytes) {
  static __attribute__((aligned(64))) unsigned char memory[1 << 20];
  *bytes = sizeof memory;
  return memory;
}
void port_paint_stack(void) {}
size_t port_painted_stack_used(void) { return 0; }
