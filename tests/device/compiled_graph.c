/* A program that heed_compile has written of an ONNX graph, on hosts and boards: it opens its linked file, which compares every node
 * with the known answers. MODEL: its name; MODEL_HEADER, MODEL_FILE: its files; WITHOUT_PLACES: a call of NAME_run whose inputs
 * and outputs are null. Prints "compiled_graph: good", or what is wrong. SPDX-License-Identifier: MIT */
#include "compiled.h"

static MODEL model;

static int fails(const char *what) {
  port_write("compiled_graph: ");
  port_write(what);
  port_write("\n");
  return 1;
}

static int32_t n_shown;
static void count(void *user, int32_t layer, int64_t first, heed_matrix rows) {
  (void)user, (void)layer, (void)first;
  n_shown += rows.n_rows;
}

int main(void) {
  if (!is_read()) return fails("its file is not read");
  port_paint_stack();
  const char *error = OF(_open)(&model, linked, linked_bytes);
  if (error) return fails(error);
  if (model.fault_layer != -1) return fails("it names a layer that is wrong, and opens");
  model.see = count;
  if (!(WITHOUT_PLACES)) return fails("it runs without inputs");
  if (n_shown != 0) return fails("it shows nodes of a run that it refuses");
  if (port_painted_stack_used() > HEED_STACK_BYTES + 1024) return fails("it takes more stack than its header says");
  port_write("compiled_graph: good\n");
  return 0;
}
