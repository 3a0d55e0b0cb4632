#include "heed/heed.h"

size_t heed_workspace_min_bytes(int32_t head_dim, int32_t v_dim) {
  const bool valid = head_dim >= 1 && head_dim <= HEED_MAX_DIM && v_dim >= 1 && v_dim <= HEED_MAX_DIM;
  return valid ? HEED_WORKSPACE_MIN_BYTES(head_dim, v_dim) : 0;
}

size_t heed_workspace_bytes(int32_t head_dim, int32_t v_dim) {
  return heed_workspace_min_bytes(head_dim, v_dim) ? HEED_WORKSPACE_BYTES(head_dim, v_dim) : 0;
}
