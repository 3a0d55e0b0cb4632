/* What firmware links when it calls little, or all: size.sh counts what of heed is in it. PLAIN, ATTENTION or ALL is
 * defined. Never run. SPDX-License-Identifier: MIT */
#include "heed/heed.h"

extern heed_matrix size_x;
extern heed_matrix_out size_out;
extern heed_attention size_call;
extern heed_layer size_layer;
extern heed_sequence size_sequence;
extern void *size_memory;

int start(void);
int start(void) {
  int32_t sum = 0;
#if defined(PLAIN) || defined(ALL)
  sum += heed_self_attention(size_x, 0, size_out, size_memory, 4096);
#endif
#if defined(ATTENTION) || defined(ALL)
  sum += heed_attention_run(&size_call);
#endif
#ifdef ALL
  float *floats = size_memory;
  sum += heed_dot(floats, floats, 9, floats) + heed_softmax(size_x, 1, size_out, NULL);
  sum += heed_weighted_sum(size_x, size_x, size_out, NULL) + heed_linear(size_x, size_x, floats, size_out, NULL);
  sum += heed_layer_run(&size_layer, size_x, size_out, floats, 9, size_memory, 4096, NULL);
  sum += heed_sequence_init(&size_sequence, floats, 9, 9) + heed_sequence_append(&size_sequence, size_x);
  sum += heed_sequence_clear(&size_sequence);
  sum += heed_sequence_self_attention(&size_sequence, 0, &size_sequence, size_memory, 4096);
  sum += heed_kernel_count() + heed_kernel_profile("mve") + heed_kernel_use(NULL) + *heed_kernel_name(0);
  sum += *heed_kernel_current() + *heed_status_text(sum) + *heed_status_argument(sum) + *heed_version();
  sum += (int32_t)heed_workspace_bytes(9, 9);
  sum += heed_selftest_boot(size_memory, 9, NULL);
#endif
  return sum;
}

heed_matrix size_x;
heed_matrix_out size_out;
heed_attention size_call;
heed_layer size_layer;
heed_sequence size_sequence;
void *size_memory;
