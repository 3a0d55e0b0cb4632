// A projection, a norm and a rotary embedding of floats as integers: what layers are made of, and what stands before and behind them in a model.
// SPDX-License-Identifier: MIT
#ifndef HEED_CALIBRATE_QUANTIZE_HPP
#define HEED_CALIBRATE_QUANTIZE_HPP

#include <cstdint>
#include <vector>

#include "heed/heed.h"
#include "heed/integers.h"

namespace calibrate {

// An integer stands for (integer - zero) * scale.
struct quantity {
  double scale;
  int32_t zero = 0;
};

struct int_linear {
  int32_t n_in = 0, n_out = 0;
  std::vector<int8_t> numbers;  // HEED_OUT_IN
  std::vector<int32_t> bias;
  std::vector<heed_multiplier> multipliers;
  heed_int_projection view() const;  // as long as this lives
};

struct int_norm {
  std::vector<int32_t> weight, bias;
  int32_t shift = 0;
  uint32_t eps = 0;
  heed_int_norm view() const;
};

struct int_rope {
  std::vector<int16_t> table;  // (n_positions, rotary_dim)
  int32_t n_positions = 0, rotary_dim = 0, style = 0;
  heed_int_rope view() const;
};

// w (n_in, n_out), row-major. bias: n_out, or none. Each output has a scale of its own; the zero point of x goes into the bias.
int_linear quantize_linear(const std::vector<double> &w, const std::vector<double> &bias, int32_t n_in, int32_t n_out,
                           quantity x, quantity y);
// weight and bias: dim floats each, or null for ones and zeros.
int_norm quantize_norm(const float *weight, const float *bias, int32_t dim, float eps, double x_scale, double y_scale);
// Positions 0 to n_positions - 1, turned as heed_rope_apply turns them: by its base, scale, frequencies, rotary_dim, style and
// factor. std::invalid_argument: a rope that heed refuses, a factor of 2 or more, n_positions not 1 to HEED_INT_MAX_KEYS.
int_rope quantize_rope(const heed_rope &rope, int32_t head_dim, int32_t n_positions);

// The integer next to x, not beyond +-limit.
int32_t rounded(double x, double limit);
heed_multiplier multiplier(double factor);

}  // namespace calibrate

#endif
