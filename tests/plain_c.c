/* A user's program, linked by `gcc plain_c.c libheed.a` and nothing else. SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "heed/heed.h"

int main(void) {
  static const float words[15] = {5, 2, 0, 0, 0, 2, 0, 5, 0, 2, 0, 0, 0, 0, 3};
  static float context[15];
  HEED_MEMORY(workspace, HEED_WORKSPACE_BYTES(3, 3));
  const heed_status status = heed_self_attention(heed_matrix_of(words, 5, 3), HEED_SCALE_DEFAULT,
                                                 heed_matrix_out_of(context, 5, 3), workspace);
  printf("%s: %s, %.5f\n", heed_isa_current(), heed_status_text(status), context[0]);
  return status != HEED_OK || context[0] < 4.99985f || context[0] > 4.99987f;
}
