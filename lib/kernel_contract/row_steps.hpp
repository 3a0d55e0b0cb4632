// What a kernel does for the rest of a transformer block: norms, activations, sums, rotary embedding.
#ifndef HEED_ROW_STEPS_HPP
#define HEED_ROW_STEPS_HPP

#include "packed_layout.hpp"
#include "score_rule.hpp"

namespace heed {

// What an RMS norm divides by and multiplies with.
enum class rms_kind : uint8_t {
  plain,     // the root of the mean of squares; weight
  plus_one,  // 1 + weight
  l2         // the root of the sum of squares
};

// y (n_rows, dim) = norm of the rows of x
struct norm_rows {
  const float *x;
  ptrdiff_t x_stride;
  const float *weight, *bias;  // or null
  float eps;
  float *y;
  ptrdiff_t y_stride;
  int32_t n_rows, dim;
  int32_t divisor;  // of a sum of squares: dim, or 1
  bool plus_one;    // the weight is 1 + weight
};

// The number from which a mean is measured: near it, however large it is, and no outlier unless two of the three are.
HEED_INLINE float median_of_three(float a, float b, float c) {
  const float low = b < a ? b : a;
  const float high = b < a ? a : b;
  if (c < low) return low;
  return high < c ? high : c;
}
HEED_INLINE float pivot_of_row(const float *x, int32_t n) { return median_of_three(x[0], x[n / 2], x[n - 1]); }

// y = f(x), f(x) * other, or x + other. Rows that lie without gaps are one long row.
struct element_rows {
  const float *x;
  ptrdiff_t x_stride;
  const float *other;  // or null
  ptrdiff_t other_stride;
  float *y;
  ptrdiff_t y_stride;
  int32_t n_rows;
  ptrdiff_t dim;
};

// Some pairs of each head of some tokens are rotated. Sine and cosine of a pair serve all heads of a token.
constexpr int32_t most_rope_pairs = 16;  // 32 would take 1.6 KB of stack
struct rope_rows {
  const uint64_t *frequencies;  // [n_pairs] turns for a position, in units of 2^-64
  int32_t n_pairs;
  int32_t partner;           // the other of a pair lies so many elements behind; 1: pairs are neighbours
  int64_t position;          // of token 0
  const int32_t *positions;  // or of each token
  const float *x;
  ptrdiff_t x_token_stride, x_head_stride;
  float *y;
  ptrdiff_t y_token_stride, y_head_stride;
  int32_t n_tokens, n_heads;
  float factor;  // of sine and cosine
};

struct row_steps {
  void (*rms_norm)(const norm_rows &rows);
  void (*layer_norm)(const norm_rows &rows);
  void (*gelu)(const element_rows &rows);
  void (*gelu_tanh)(const element_rows &rows);
  void (*silu)(const element_rows &rows);
  void (*relu)(const element_rows &rows);
  void (*tanh)(const element_rows &rows);
  void (*sigmoid)(const element_rows &rows);
  void (*add)(const element_rows &rows);
  void (*rope)(const rope_rows &rows);
};

#define HEED_DECLARE_KERNEL(symbol)             \
  extern const kernel symbol;                   \
  extern const product_steps symbol##_products; \
  extern const project_steps symbol##_project;  \
  extern const packed_steps symbol##_packed;    \
  extern const score_steps symbol##_scores;     \
  extern const row_steps symbol##_rows;

}  // namespace heed

#endif
