// Rotary embedding: rows of floats as the layer rotates them, and its table in integers. See quantize.hpp and calibrate.hpp.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <stdexcept>
#include <string>

#include "calibrate.hpp"

namespace calibrate {

void rotate(const heed_rope &rope, std::vector<float> &x, int32_t n, int32_t head_dim) {
  const auto dim = static_cast<int32_t>(x.size() / static_cast<size_t>(n));
  const heed_status status = heed_rope_apply(
      &rope, heed_tensor_of(heed_matrix_of(x.data(), n, dim), dim / head_dim), n, dim / head_dim, head_dim, 0, nullptr,
      heed_tensor_out_of(heed_matrix_out_of(x.data(), n, dim), dim / head_dim), nullptr);
  if (status != HEED_OK)
    throw std::invalid_argument(std::string("rotary embedding: ") + heed_status_argument(status) + ": " +
                                heed_status_text(status));
}

// A pair (1, 0) becomes its cosine and sine, both times the factor. So frequencies are those of the float layer, whatever they are
// made of.
int_rope quantize_rope(const heed_rope &rope, int32_t head_dim, int32_t n_positions) {
  if (n_positions < 1 || n_positions > HEED_INT_MAX_KEYS)
    throw std::invalid_argument("rotary embedding needs n_positions, 1 to " + std::to_string(HEED_INT_MAX_KEYS) +
                                ", not " + std::to_string(n_positions));
  int_rope r;
  r.n_positions = n_positions, r.style = rope.style;
  r.rotary_dim = rope.rotary_dim == 0 ? head_dim : rope.rotary_dim;
  const size_t pairs = static_cast<size_t>(r.rotary_dim) / 2, dim = static_cast<size_t>(head_dim),
               n = static_cast<size_t>(n_positions);
  const size_t step = rope.style == HEED_ROPE_HALVES ? 1 : 2, partner = rope.style == HEED_ROPE_HALVES ? pairs : 1;
  std::vector<float> heads(n * dim);
  for (size_t t = 0; t < n; ++t)
    for (size_t i = 0; i < pairs; ++i) heads[t * dim + i * step] = 1;
  rotate(rope, heads, n_positions, head_dim);
  for (size_t t = 0; t < n; ++t)
    for (const size_t at : {size_t{0}, partner})
      for (size_t i = 0; i < pairs; ++i) {
        const double number = static_cast<double>(heads[t * dim + i * step + at]) * 16384;
        if (std::fabs(number) >= 32767.5)
          throw std::invalid_argument("the factor of the rotary embedding is 2 or more: its table has no room for it");
        r.table.push_back(static_cast<int16_t>(std::lround(number)));
      }
  return r;
}

heed_int_rope int_rope::view() const { return {table.data(), n_positions, rotary_dim, style}; }

}  // namespace calibrate
