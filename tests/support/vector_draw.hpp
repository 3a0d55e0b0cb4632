// Random cases of the ONNX operator Attention. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_VECTOR_DRAW_HPP
#define HEED_TESTS_SUPPORT_VECTOR_DRAW_HPP

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "random.hpp"
#include "vector_reference.hpp"

namespace heed_test {

class vector_draw {
 public:
  explicit vector_draw(uint64_t seed) : r_(seed) {}

  // The first cases are large, the rest are small ones and larger ones.
  reference_case draw(int32_t index) {
    c_.type = r_.chance(80) ? "f32" : r_.chance(85) ? "f16" : "f64";
    c_.rough = c_.type == "f16";
    shape(index);
    attributes();
    if (r_.chance(60)) mask();
    fill();
    if (r_.chance(50)) poison();
    c_.compute();
    return c_;
  }

 private:
  struct family {
    int32_t percent, q_low, q_high, kv_low, kv_high, dim_high, heads_high, batch_high;
  };

  void shape(int32_t index) {
    static const family first[] = {{0, 300, 300, 1500, 1500, 64, 2, 1}, {0, 20, 20, 60, 60, 256, 2, 2}};
    static const family families[] = {{60, 1, 12, 1, 40, 20, 3, 3},
                                      {75, 1, 6, 1000, 1500, 40, 2, 2},
                                      {85, 150, 300, 1, 60, 20, 2, 1},
                                      {100, 1, 5, 1, 60, 256, 2, 2}};
    const int32_t kind = r_.between(0, 99);
    const family *f = families;
    while (f->percent <= kind) ++f;
    if (index < 2) f = &first[index];
    c_.batch = r_.between(1, f->batch_high);
    c_.n_kv_heads = r_.between(1, f->heads_high);
    c_.n_heads = c_.n_kv_heads * (index < 2 ? 2 : r_.between(1, 4));
    c_.n_q = r_.size(f->q_low, f->q_high);
    c_.n_kv = r_.size(f->kv_low, f->kv_high);
    c_.head_dim = index == 1 ? 256 : r_.size(1, f->dim_high);
    c_.v_dim = r_.chance(40) ? c_.head_dim : r_.size(1, f->dim_high);
    c_.flat = r_.chance(40);
    c_.has_past = r_.chance(35);
    c_.n_past = c_.has_past ? r_.between(0, c_.n_kv - 1) : 0;
  }

  void attributes() {
    c_.causal = r_.chance(40);
    c_.has_scale = r_.chance(30);
    c_.scale = r_.chance(5) ? 0.0f : r_.chance(20) ? -0.3f : 0.01f + std::fabs(r_.bell());
    static const std::vector<float> caps = {0.5f, 2, 30, 50};
    c_.softcap = r_.chance(70) ? 0 : r_.pick(caps);
    c_.left_window = r_.chance(70) ? -1 : r_.size(0, c_.n_kv);
    c_.right_window = r_.chance(75) ? -1 : r_.size(0, c_.n_kv);
    c_.wants_scores = r_.chance(50);
    c_.mode = r_.between(0, 3);
    c_.wants_present = r_.chance(30);
    if (r_.chance(c_.has_past ? 10 : 40)) {
      c_.lengths_type = r_.chance(80) ? "i64" : "i32";
      for (int32_t b = 0; b < c_.batch; ++b) c_.lengths.push_back(r_.chance(20) ? c_.n_kv : r_.between(0, c_.n_kv));
    }
  }

  void mask() {
    static const std::vector<std::string> types = {"bool", "bool", "f32", "f32", "f16", "f64"};
    reference_mask &m = c_.mask;
    m.type = r_.pick(types);
    const int32_t full[] = {c_.batch, c_.n_heads, c_.n_q};
    m.dims = {r_.chance(75) ? c_.n_kv : r_.between(1, c_.n_kv)};
    for (int32_t rank = r_.between(0, 3), n = 0; n < rank; ++n)
      m.dims.insert(m.dims.begin(), r_.chance(30) ? 1 : full[2 - n]);
    size_t count = 1;
    for (const int32_t d : m.dims) count *= size_t(d);
    const int32_t hidden_percent = r_.between(0, 3) * 25, row_percent = r_.between(0, 2) * 10;
    const float level = r_.chance(20) ? 0.0f : r_.chance(20) ? 100.0f : 1.0f;
    const size_t n_keys = size_t(m.dims.back());
    for (size_t first = 0; first < count; first += n_keys)
      mask_row(n_keys, hidden_percent, r_.chance(row_percent), level);
  }

  // Single keys and a run of them are hidden, or the whole row is.
  void mask_row(size_t n_keys, int32_t percent, bool all, float level) {
    reference_mask &m = c_.mask;
    static const std::vector<double> nearly = {-1e4, -65504, -1e9, -3.4028234663852886e38, -1e300};
    const double never = r_.chance(70) ? hidden : as_type(m.type, r_.pick(nearly));
    size_t run = r_.next() % n_keys, end = r_.chance(50) ? run : run + r_.next() % n_keys;
    for (size_t j = 0; j < n_keys; ++j) {
      const bool hides = all || r_.chance(percent) || (run <= j && j < end);
      if (m.type == "bool")
        m.values.push_back(!hides);
      else
        m.values.push_back(hides ? never : as_type(m.type, level * r_.bell()));
      c_.rough = c_.rough || (hides && never != hidden);
    }
  }

  std::vector<double> numbers(int32_t n_heads, int32_t n_rows, int32_t dim, double level, double centre) {
    std::vector<double> all, middle(static_cast<size_t>(dim));
    for (int32_t g = 0; g < c_.batch * n_heads; ++g) {
      for (double &x : middle) x = centre * r_.bell();
      for (int32_t i = 0; i < n_rows * dim; ++i)
        all.push_back(as_type(c_.type, level * r_.bell() + middle[size_t(i % dim)]));
    }
    return all;
  }

  // Scores from nearly 0 to the hundreds, either far apart, where one key takes the weight, or near each other.
  void fill() {
    static const std::vector<double> levels = {0.3, 2, 2, 30, 300};
    const double level = r_.pick(levels),
                 used = c_.has_scale ? std::fabs(double(c_.scale)) : 1 / std::sqrt(c_.head_dim);
    const double usual = used * 1.3 * std::sqrt(double(c_.head_dim));
    const double factor = usual > 0 ? std::min(level / usual, 2000.0) : 1;
    const bool near = r_.chance(40);
    c_.q = numbers(c_.n_heads, c_.n_q, c_.head_dim, factor, 0);
    if (r_.chance(5)) c_.q[r_.next() % c_.q.size()] = std::nan("");
    c_.k = numbers(c_.n_kv_heads, c_.n_kv, c_.head_dim, near ? 1 / std::max(level, 1.0) : 1, near ? 1 : 0);
    c_.v = numbers(c_.n_kv_heads, c_.n_kv, c_.v_dim, r_.chance(20) ? 50 : 1, r_.chance(20) ? 1 : 0);
  }

  // What no query of a group sees is no number, or one that would show.
  void poison() {
    static const std::vector<double> poisons = {std::nan(""), -hidden, hidden, 1e30, -1e30};
    for (int32_t b = 0; b < c_.batch; ++b)
      for (int32_t g = 0; g < c_.n_kv_heads; ++g)
        for (int32_t j = 0; j < c_.n_kv; ++j) {
          if (is_seen(b, g, j)) continue;
          const size_t row = (size_t(b) * size_t(c_.n_kv_heads) + size_t(g)) * size_t(c_.n_kv) + size_t(j);
          const double x = as_type(c_.type, r_.pick(poisons));
          if (r_.chance(70)) std::fill_n(&c_.k[row * size_t(c_.head_dim)], c_.head_dim, x);
          if (r_.chance(70)) std::fill_n(&c_.v[row * size_t(c_.v_dim)], c_.v_dim, x);
        }
  }
  bool is_seen(int32_t b, int32_t g, int32_t j) const {
    const int32_t n = c_.n_heads / c_.n_kv_heads;
    for (int32_t h = g * n; h < (g + 1) * n; ++h)
      for (int32_t i = 0; i < c_.n_q; ++i)
        if (c_.bias(b, h, i, j) != hidden) return true;
    return false;
  }

  random_source r_;
  reference_case c_ = {};
};

}  // namespace heed_test

#endif
