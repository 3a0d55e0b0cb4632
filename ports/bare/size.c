/* What firmware links: size.sh counts what of heed is in it, check.sh looks for options in it. Never run. One of these
 * is defined:
 *   PLAIN      heed_self_attention
 *   ATTENTION  heed_attention_run
 *   ALL        both, products, softmax, the attention layer, sequences, the boot self-test, kernels and texts; no object
 *              of options.h, cache.h, weights.h or rope.h, no norms, activations and transformer layer
 *   OPTIONS    ALL, and each init function of options.h
 * SPDX-License-Identifier: MIT */
#include "heed/heed.h"

#ifdef OPTIONS
#define ALL
#endif

extern heed_matrix size_x;
extern heed_matrix_out size_out;
extern heed_attention size_call;
extern heed_attention_layer size_layer;
extern heed_sequence size_sequence;
extern heed_options size_options;
extern heed_tensor_out size_tensor;
extern heed_memory size_workspace;
extern void *size_memory;

int start(void);
int start(void) {
  int32_t sum = 0;
#if defined(PLAIN) || defined(ALL)
  sum += heed_self_attention(size_x, HEED_SCALE_DEFAULT, size_out, size_workspace);
#endif
#if defined(ATTENTION) || defined(ALL)
  sum += heed_attention_run(&size_call);
#endif
#ifdef ALL
  float *floats = size_memory;
  sum += heed_dot(floats, floats, 9, floats) + heed_softmax(size_x, 1, size_out, NULL);
  sum += heed_weighted_sum(size_x, size_x, size_out, NULL) +
         heed_linear(size_x, heed_weights_of_matrix(size_x), floats, size_out, NULL);
  sum += heed_attention_layer_run(&size_layer, size_x, size_out, size_workspace, NULL);
  sum += heed_sequence_init(&size_sequence, 9, 9, size_workspace) + heed_sequence_append(&size_sequence, size_x);
  sum += heed_sequence_push(&size_sequence, size_x) + heed_sequence_clear(&size_sequence);
  sum += heed_isa_count() + heed_isa_arithmetic("mve") + heed_isa_use(NULL) + *heed_isa_name(0);
  sum += *heed_isa_current() + *heed_status_text(sum) + *heed_status_argument(sum) + *heed_version();
  sum += (int32_t)heed_workspace_bytes(9, 9);
  sum += heed_sequence_attention(&size_sequence, 1, 0, &size_options, &size_sequence, size_workspace);
  sum += heed_selftest_boot(size_workspace, NULL);
#endif
#ifdef OPTIONS
  sum += heed_ranges_init(size_memory) + heed_mask_init_boolean(size_memory, size_memory, 9, 0, 0, 0);
  sum += heed_mask_init_additive(size_memory, floats, 9, 0, 0, 0) + heed_softcap_init(size_memory, 1);
  sum += heed_alibi_init(size_memory, floats) + heed_sinks_init(size_memory, floats);
  sum += heed_scores_init(size_memory, 0, size_tensor) + heed_attention_weights_init(size_memory, size_tensor);
  sum += heed_lse_init(size_memory, size_tensor);
  sum += heed_column_sums_init(size_memory, size_tensor) + heed_topk_weights_init(size_memory, 1, floats, size_memory);
  sum += heed_partial_init(size_memory, 1, 1, 1, 1, 0, size_workspace) + heed_partial_merge(size_memory, size_memory);
  sum += heed_partial_finish(size_memory, size_memory, size_tensor, size_memory);
#endif
  return sum;
}

heed_matrix size_x;
heed_matrix_out size_out;
heed_attention size_call;
heed_attention_layer size_layer;
heed_sequence size_sequence;
heed_options size_options;
heed_tensor_out size_tensor;
heed_memory size_workspace;
void *size_memory;
