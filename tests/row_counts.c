/* row_counts KIND ROWS CALLS: heed_linear of ROWS rows, CALLS times, with 256 x 200 weights of KIND (row_counts.sh has the list),
 * for a program that counts instructions. Exit status 1 if the call is refused. SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "heed/heed.h"
#include "heed/int_products.h"

enum { n_in = 256, n_out = 200, most_rows = 64 };

static float x[most_rows * n_in], y[most_rows * n_out], floats[n_in * n_out], scales[n_out];
static _Alignas(64) unsigned char narrow[n_in * n_out * 4];
HEED_MEMORY(packed, HEED_WEIGHTS_PACKED_BYTES(HEED_F32, n_in, n_out));

static int32_t dtype_of(const char *kind) {
  static const char *const names[] = {"f32", "f16", "bf16", "int8", "q8_0", "q4_0"};
  static const int32_t dtypes[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8, HEED_Q8_0, HEED_Q4_0};
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (strncmp(kind, names[i], strlen(names[i])) == 0) return dtypes[i];
  return -1;
}

/* Zeros, or bytes of zeros with a scale, where numbers do not matter: heed's steps do not depend on them. */
static heed_status weights_of(const char *kind, heed_weights *w) {
  const int32_t dtype = dtype_of(kind);
  const void *data = dtype == HEED_F32 ? (const void *)floats : narrow;
  const heed_weights wide = heed_weights_of(floats, NULL, HEED_F32, HEED_IN_OUT, n_in, n_out);
  heed_status status;
  if (strstr(kind, ":in_out")) return *w = heed_weights_of(data, scales, dtype, HEED_IN_OUT, n_in, n_out), HEED_OK;
  if (strstr(kind, ":out_in")) return *w = heed_weights_of(data, scales, dtype, HEED_OUT_IN, n_in, n_out), HEED_OK;
  if (strstr(kind, ":blocks")) return *w = heed_weights_of_blocks(narrow, dtype, n_in, n_out), HEED_OK;
  status = heed_weights_pack(wide, dtype, packed);
  if (status == HEED_OK) status = heed_weights_open(w, packed.data, packed.bytes);
  if (status == HEED_OK && strstr(kind, ":integers")) status = heed_weights_in_integers(w, *w);
  return status;
}

int main(int argc, char **argv) {
  heed_weights w;
  if (argc != 4 || dtype_of(argv[1]) < 0 || weights_of(argv[1], &w) != HEED_OK) return 1;
  const int32_t n_rows = atoi(argv[2]);
  if (n_rows < 1 || n_rows > most_rows) return 1;
  for (int i = 0; i < most_rows * n_in; i++) x[i] = (float)(i % 7);
  for (int i = 0; i < n_out; i++) scales[i] = 1;
  for (int calls = atoi(argv[3]); calls > 0; calls--)
    if (heed_linear(heed_matrix_of(x, n_rows, n_in), w, NULL, heed_matrix_out_of(y, n_rows, n_out), NULL) != HEED_OK)
      return 1;
  return 0;
}
