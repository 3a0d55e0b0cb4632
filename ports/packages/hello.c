/* A sentence of five words attends to itself. The answers are known, to the bit. SPDX-License-Identifier: MIT */
#include "heed.h"
#include <stdio.h>
#include <string.h>

enum { words = 5, dim = 3 };
static const float x[words][dim] = {{5, 2, 0}, {0, 0, 2}, {0, 5, 0}, {2, 0, 0}, {0, 0, 3}};
static float y[words][dim];
HEED_MEMORY(workspace, HEED_WORKSPACE_BYTES(dim, dim));

static int hello(void) {
  const heed_status status = heed_self_attention(heed_matrix_of(x[0], words, dim), HEED_SCALE_DEFAULT,
                                                 heed_matrix_out_of(y[0], words, dim), workspace);
  if (status != HEED_OK) {
    printf("%s: %s\n", heed_status_argument(status), heed_status_text(status));
    return 1;
  }
  uint32_t sum = 2166136261u; /* FNV-1a of all bits */
  for (int i = 0; i < words; i++) {
    for (int j = 0; j < dim; j++) {
      const long n = (long)(y[i][j] * 100000 + 0.5f);
      uint32_t bits;
      memcpy(&bits, &y[i][j], sizeof bits);
      for (int k = 0; k < 32; k += 8) sum = (sum ^ (bits >> k & 255)) * 16777619u;
      printf(" %ld.%05ld", n / 100000, n % 100000);
    }
    printf("\n");
  }
  /* One number for all processors with a fused multiply-add, one for all others. */
  const char *kernel = heed_isa_current();
  const int right = sum == (heed_isa_arithmetic(kernel) == HEED_ARITHMETIC_FMA ? 0xe090dbd8 : 0x1c2353dd);
  printf("heed %s, kernel %s, bits %08lx: %s\n", heed_version(), kernel, (unsigned long)sum,
         right ? "right, as everywhere" : "WRONG");
  return !right;
}

#ifdef ESP_PLATFORM /* ESP-IDF begins here */
void app_main(void) { hello(); }
#else
int main(void) { return hello(); }
#endif
