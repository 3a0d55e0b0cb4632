// The seam between rotary embedding and what uses it: a program links it only if it initialises a heed_rope.
#ifndef HEED_ROPE_HPP
#define HEED_ROPE_HPP

#include "heed/heed.h"
#include "../kernel_contract/kernel.hpp"
#include "validate.hpp"

namespace heed {

// Rows of n tokens, all checked. y may be x.
// Elements of a head that are rotated.
inline int32_t rotary_dim_of(const heed_rope &rope, int32_t head_dim) {
  return rope.rotary_dim == 0 ? head_dim : rope.rotary_dim;
}

struct rope_call {
  const heed_rope *rope;
  heed_tensor x;
  int32_t n, n_heads, head_dim;
  int64_t position;
  const int32_t *positions;  // or null
  heed_tensor_out y;
  const heed_executor *executor;  // or null
};

}  // namespace heed

// Named by heed_rope_init alone.
struct heed_rope_code {
  // The fields, for heads of this size; may add one range.
  void (*check)(heed::checker &check, const heed_rope &rope, int32_t head_dim);
  void (*run)(const heed::kernel *k, const heed::rope_call &call);
};

#endif
