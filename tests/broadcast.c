/* Broadcast inputs: one row for very many, so that counts are large where memory is small. Products of counts must not
 * overflow, on 32 bits least of all. Exit status 0 if results are right. SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "heed/heed.h"

enum { n_q = 600000, n_kv = 300000, wide = 1000 };
static float row[wide], out[n_q];
HEED_MEMORY(workspace, HEED_WORKSPACE_BYTES(wide, 1));

static int faults;
static void expect(const char *what, heed_status status, float expected) {
  int32_t wrong = 0;
  for (int32_t i = 0; i < n_q; i++) wrong += out[i] != expected;
  if (status != HEED_OK || wrong)
    printf("%s: %s, %d results differ from %g, the first is %g\n", what, heed_status_text(status), (int)wrong,
           (double)expected, (double)out[0]);
  faults += status != HEED_OK || wrong != 0;
}

static heed_attention call_of(int32_t rows, int32_t keys, int32_t dim) {
  heed_attention call = heed_attention_of(row, row, row, rows, keys, 1, 1, dim, out, workspace);
  call.v_dim = 1;
  call.q.row_stride = call.k.row_stride = call.v.row_stride = 0;
  call.out = heed_token_major_out(out, rows, 1, 1);
  return call;
}

int main(void) {
  for (int i = 0; i < wide; i++) row[i] = 0.5f;
  heed_attention call = call_of(n_q, 1, wide);
  expect("many queries", heed_attention_run(&call), 0.5f); /* rows of 4004 bytes: 2.4 GB in all */
  call = call_of(1, n_kv, 1);
  expect("many keys", heed_attention_run(&call), 0.5f);
  call = call_of(1, 1, 1);
  call.batch_size = n_q;
  call.q.batch_stride = call.k.batch_stride = call.v.batch_stride = 0;
  call.out.batch_stride = 1;
  expect("many batch entries", heed_attention_run(&call), 0.5f);
  const heed_matrix x = {row, n_q, 4, 0}, w = {row, 4, 1, 0};
  const heed_matrix_out y = {out, n_q, 1, 1};
  expect("linear", heed_linear(x, heed_weights_of_matrix(w), NULL, y, NULL), 1.0f);
  expect("weighted sum", heed_weighted_sum(x, w, y, NULL), 1.0f);
  expect("softmax", heed_softmax((heed_matrix){row, n_q, 1, 0}, 1, y, NULL), 1.0f);
  return faults != 0;
}
