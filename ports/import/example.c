/* A projection on a microcontroller, with weights that heed_import has written: a flat file, which is linked into the program as
 * it is, or arrays in C (EXAMPLE_ARRAYS). Both have w (4, 32) and b (4). SPDX-License-Identifier: MIT */
#include "port.h"

enum { n_in = 32, n_out = 4 };

#ifdef EXAMPLE_ARRAYS
#include "import_arrays.h"

static const char *find_weights(heed_weights *w, const float **b) {
  *w = import_arrays_w_weights();
  *b = import_arrays_b;
  return NULL;
}
#else
#include "import/heed_file.h"
HEED_FILE_LINK(model, EXAMPLE_FILE)

static const char *find_weights(heed_weights *w, const float **b) {
  heed_file file;
  const char *error = heed_file_open(&file, model, HEED_FILE_LINKED_BYTES(model));
  if (!error) error = heed_file_check(&file); /* reads every number once; leave it out if that takes too long */
  if (!error) error = heed_file_weights(&file, "w", n_in, n_out, w);
  if (!error) error = heed_file_floats(&file, "b", n_out, b);
  return error;
}
#endif

int main(void) {
  heed_weights w;
  const float *b;
  float x[n_in], y[n_out];
  const char *error = find_weights(&w, &b);
  for (int i = 0; i < n_in; i++) x[i] = (float)(i + 1);
  if (!error) {
    const heed_status status = heed_linear(heed_matrix_of(x, 1, n_in), w, b, heed_matrix_out_of(y, 1, n_out), NULL);
    if (status != HEED_OK) error = heed_status_text(status);
  }
  if (error) {
    port_write(error);
    port_write("\n");
    return 1;
  }
  for (int i = 0; i < n_out; i++) {
    port_write_int((int32_t)y[i]);
    port_write(i == n_out - 1 ? "\n" : " ");
  }
  return 0;
}
