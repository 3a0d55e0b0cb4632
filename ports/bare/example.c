/* Self-attention on a microcontroller: static buffers, one call. SPDX-License-Identifier: MIT */
#include <heed/heed.h>

#include "port.h"

enum { n_words = 5, dim = 3 };
static const float words[n_words * dim] = {5, 2, 0, 0, 0, 2, 0, 5, 0, 2, 0, 0, 0, 0, 3}; /* apple is phone garden the */
static float context[n_words * dim];
HEED_MEMORY(workspace, HEED_WORKSPACE_MIN_BYTES(dim, dim));

int main(void) {
  const heed_status status = heed_self_attention(heed_matrix_of(words, n_words, dim), HEED_SCALE_DEFAULT,
                                                 heed_matrix_out_of(context, n_words, dim), workspace);
  if (status != HEED_OK) {
    port_write(heed_status_argument(status));
    port_write(": ");
    port_write(heed_status_text(status));
    port_write("\n");
    return 1;
  }
  for (int i = 0; i < n_words * dim; i++) { /* in millionths */
    port_write_int((int32_t)(context[i] * 1e6f + 0.5f));
    port_write(i % dim == dim - 1 ? "\n" : " ");
  }
  return 0;
}
