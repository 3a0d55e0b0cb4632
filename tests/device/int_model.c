/* Stack of int_model_run (ports/calibrate) on a board: a model of two layers, gated, is written into memory, opened and run on
 * stack that was painted. Prints "stack int_model_run BYTES" and "stack heed_int_layer_run BYTES", and fails if the first is
 * more than HEED_STACK_BYTES. SPDX-License-Identifier: MIT */
#include "calibrate/int_model.h"
#include "heed/heed.h"
#include "port.h"

enum { dim = 32, hidden = 64, heads = 2, n_layers = 2, rows = 5 };
#define LINEAR_BYTES(n_in, n_out) \
  (INT_MODEL_ROUND((n_in) * (n_out)) + INT_MODEL_ROUND(4 * (n_out)) + INT_MODEL_ROUND(8 * (n_out)))
#define LAYER_BYTES                                                                       \
  (sizeof(int_model_layer) + 4 * LINEAR_BYTES(dim, dim) + 3 * LINEAR_BYTES(dim, hidden) + \
   4 * INT_MODEL_ROUND(4 * dim) + 256)
enum { file_bytes = sizeof(int_model_header) + n_layers * LAYER_BYTES };

HEED_ALIGNED static uint32_t file[file_bytes / 4];
HEED_MEMORY(memory, HEED_INT_LAYER_BYTES(rows, dim, heads, heads, dim / heads, hidden, 1));
static int16_t x[rows * dim];
static int_model model;

/* Every multiplier is 1/2, and whatever else there is has the same bytes. A layer begins with its shifts. w_down has as many
 * numbers, but fewer outputs than LINEAR_BYTES counts: layer_bytes says so. */
static void write_file(void) {
  int_model_header h = {{INT_MODEL_MAGIC_0, INT_MODEL_MAGIC_1},
                        INT_MODEL_VERSION,
                        0,
                        0,
                        0,
                        n_layers,
                        dim,
                        hidden,
                        heads,
                        heads,
                        dim / heads,
                        1,
                        1,
                        1,
                        0,
                        {0x40000000, 0},
                        {0x40000000, 0}};
  h.layer_bytes = (uint32_t)(LAYER_BYTES - LINEAR_BYTES(dim, hidden) + LINEAR_BYTES(hidden, dim));
  h.n_bytes = (uint32_t)sizeof h + n_layers * h.layer_bytes;
  for (size_t i = 0; i < h.n_bytes / 4; i++) file[i] = i % 2 == 0 ? 0x40000000u : 0;
  for (int l = 0; l < n_layers; l++) {
    int_model_layer *layer = (int_model_layer *)(void *)(file + (sizeof h + (size_t)l * h.layer_bytes) / 4);
    layer->norm1_shift = layer->norm2_shift = 30;
    layer->score.e = -12;
  }
  *(int_model_header *)(void *)file = h;
  h.checksum = int_model_checksum(file + offsetof(int_model_header, layer_bytes) / 4,
                                  h.n_bytes - offsetof(int_model_header, layer_bytes));
  ((int_model_header *)(void *)file)->checksum = h.checksum;
}

static int print(const char *name, size_t bytes, heed_status status) {
  port_write("stack ");
  port_write(name);
  port_write(" ");
  port_write_int((int32_t)bytes);
  port_write(status != HEED_OK ? " refused: " : bytes > HEED_STACK_BYTES ? " TOO MUCH" : "");
  if (status != HEED_OK) port_write(heed_status_argument(status)), port_write(heed_status_text(status));
  port_write("\n");
  return status != HEED_OK || bytes > HEED_STACK_BYTES;
}

int main(void) {
  write_file();
  const char *error = int_model_open(&model, file, ((const int_model_header *)(const void *)file)->n_bytes);
  if (error) port_write(error), port_write("\n");
  if (error) return 1;
  for (int i = 0; i < rows * dim; i++) x[i] = (int16_t)(i * 77 % 4001 - 2000);
  port_paint_stack();
  heed_status status = int_model_run(&model, x, rows, memory);
  int faults = print("int_model_run", port_painted_stack_used(), status);
  const heed_int_matrix from = heed_int_matrix_of(x, HEED_INT16, rows, dim, 0);
  const heed_int_matrix_out to = heed_int_matrix_out_of(x, HEED_INT16, rows, dim, 0);
  port_paint_stack();
  status = heed_int_layer_run(&model.layer, from, to, memory, NULL);
  faults += print("heed_int_layer_run", port_painted_stack_used(), status);
  port_write("end\n");
  return faults != 0;
}
