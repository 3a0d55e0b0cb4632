#include "device.h"

HEED_ALIGNED float pool[pool_floats];
HEED_ALIGNED unsigned char workspace[workspace_bytes];
size_t greatest_stack;

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

int main(void) {
  const char *kernel = heed_kernel_current();
  port_write("# kernel ");
  port_write(kernel);
  port_write(heed_kernel_profile(kernel) == HEED_PROFILE_FUSED ? "\nprofile fused\n" : "\nprofile unfused\n");
  const int faults = known_answers() + random_shapes() + refused_calls();
  port_write("# workspace ");
  port_write_int((int32_t)HEED_WORKSPACE_MIN_BYTES(64, 64));
  port_write("\n# stack ");
  port_write_int((int32_t)greatest_stack);
  port_write("\nfaults ");
  port_write_int(faults);
  port_write("\nend\n");
  return faults != 0;
}
