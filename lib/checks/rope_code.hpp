// The seam between rotary embedding and what uses it: a program links it only if it initialises a heed_rope.
#ifndef HEED_ROPE_HPP
#define HEED_ROPE_HPP

#include "heed/heed.h"
#include "../kernel_contract/kernel.hpp"
#include "validate.hpp"

namespace heed {

// Elements of a head that are rotated.
inline int32_t rotary_dim_of(const heed_rope &rope, int32_t head_dim) {
  return rope.rotary_dim == 0 ? head_dim : rope.rotary_dim;
}

// Positions of a token.
inline int32_t axes_of(const heed_rope &rope) {
  if (rope.n_axes == 0) return 1;
  return rope.n_axes;
}
// The rope's own positions, from a token of the call on; or null.
inline const int32_t *positions_from(const heed_rope &rope, int32_t token) {
  if (!rope.positions) return nullptr;
  return rope.positions + static_cast<ptrdiff_t>(token) * axes_of(rope);
}

// Rows of n tokens, all checked. y may be x.
struct rope_call {
  const heed_rope *rope;
  heed_tensor x;
  int32_t n, n_heads, head_dim;
  int64_t position;
  const int32_t *positions;  // (n, axes) or null
  heed_tensor_out y;
  const heed_executor *executor;  // or null
};

}  // namespace heed

// Named by heed_rope_init alone.
struct heed_rope_code {
  // The fields, for heads of this size, and the rope's own positions of n tokens, 0: none; may add three ranges.
  void (*check)(heed::checker &check, const heed_rope &rope, int32_t head_dim, int32_t n);
  void (*run)(const heed::kernel *k, const heed::rope_call &call);
};

#endif
