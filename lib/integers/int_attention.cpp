// heed_int_attention_run, and how much memory it wants.
#include "int_check.hpp"
#include "../isa_choice/int_door.hpp"
#include "int_functions.hpp"
#include "int_plan.hpp"

void heed::run_int_attention(int_kernel k, const heed_int_attention &call) { run_int_call(k, call); }

heed_status heed_int_attention_run(const heed_int_attention *call) {
  const heed_status status = heed::check_int_attention(call, false);
  if (status == HEED_OK) heed::run_int_attention(heed::int_kernel_in_use(), *call);
  return status;
}

size_t heed_int_workspace_min_bytes(int32_t head_dim, int32_t v_dim) {
  const bool valid = head_dim >= 1 && head_dim <= HEED_INT_MAX_DIM && v_dim >= 1 && v_dim <= HEED_INT_MAX_DIM;
  return valid ? HEED_INT_WORKSPACE_MIN_BYTES(head_dim, v_dim) : 0;
}
size_t heed_int_workspace_bytes(int32_t head_dim, int32_t v_dim) {
  return heed_int_workspace_min_bytes(head_dim, v_dim) ? HEED_INT_WORKSPACE_BYTES(head_dim, v_dim) : 0;
}
