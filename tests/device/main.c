#include "device.h"

HEED_ALIGNED float pool[pool_floats];
HEED_ALIGNED unsigned char workspace_data[workspace_bytes];
const heed_memory workspace = {workspace_data, sizeof workspace_data};
size_t greatest_stack[n_functions];
struct one_of_each o;

void note_stack(int function, size_t bytes) {
  if (bytes > greatest_stack[function]) greatest_stack[function] = bytes;
}

void print_digest(const char *name, uint64_t digest) {
  port_write(name);
  port_write(" ");
  port_write_hex((uint32_t)(digest >> 32));
  port_write_hex((uint32_t)digest);
  port_write("\n");
}

void print_status(const char *name, int32_t index, heed_status status) {
  port_write(name);
  port_write(" ");
  port_write_int(index);
  port_write(": ");
  port_write_int(status);
  port_write(" ");
  port_write(heed_status_argument(status));
  port_write(": ");
  port_write(heed_status_text(status));
  port_write("\n");
}

static int conclude(const char *test, heed_status status) {
  port_write("# ");
  port_write(test);
  port_write(": ");
  port_write(heed_status_text(status));
  port_write("\n");
  return status != HEED_OK;
}

/* The self-test at start-up everywhere; all of it where there is room for its buffer. */
static int selftest(void) {
  heed_status status;
  heed_memory memory;
  memory.data = port_free_memory(&memory.bytes);
  MEASURED(of_selftest, status = heed_selftest_boot(heed_memory_of(pool, sizeof pool), NULL));
  int faults = conclude("boot self-test", status);
  if (memory.bytes >= HEED_SELFTEST_FEATURES_BYTES) {
    MEASURED(of_selftest, status = heed_selftest_features(memory, NULL));
    faults += conclude("self-test of features", status);
  }
  if (memory.bytes >= HEED_SELFTEST_BYTES) {
    MEASURED(of_selftest, status = heed_selftest(memory, NULL));
    faults += conclude("self-test", status);
  }
  return faults;
}

/* 1 if a call has taken more than the header promises. */
static int print_stack(void) {
  static const char *const names[n_functions] = {
      "attention", "weights", "options",      "self_attention", "layer",    "layer_options",
      "partial",   "linear",  "weighted_sum", "softmax",        "norm",     "elements",
      "rope",      "dot",     "project",      "formats",        "selftest", "cache"};
  int most = 0;
  for (int i = 0; i < n_functions; i++) {
    port_write("# stack ");
    port_write(names[i]);
    port_write(" ");
    port_write_int((int32_t)greatest_stack[i]);
    port_write("\n");
    if (greatest_stack[i] > HEED_STACK_BYTES) most = 1;
  }
  return most;
}

int main(void) {
  const char *kernel = heed_isa_current();
  port_write("# kernel ");
  port_write(kernel);
  port_write(heed_isa_arithmetic(kernel) == HEED_ARITHMETIC_FMA ? "\narithmetic fma\n" : "\narithmetic no-fma\n");
  int faults = selftest();
  faults += known_answers();
  faults += random_shapes();
  faults += random_options();
  faults += random_caches();
  faults += refused_calls();
  faults += refused_options();
  faults += narrow_numbers();
  faults += narrow_attention();
  faults += random_block();
  faults += refused_block();
  faults += packed_weights();
  port_write("# workspace ");
  port_write_int((int32_t)HEED_WORKSPACE_MIN_BYTES(64, 64));
  port_write("\n");
  faults += print_stack();
  port_write("faults ");
  port_write_int(faults);
  port_write("\nend\n");
  return faults != 0;
}
