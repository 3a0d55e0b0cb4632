// Runs norms, activations, sums and rotary embedding in fenced memory, with gaps between rows, in place, in threads.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_ROWS_HPP
#define HEED_TESTS_SUPPORT_ROWS_HPP

#include <string>
#include <vector>

#include "primitives.hpp"

namespace heed_test {

struct named_activation {
  const char *name;
  heed_activation *call;
};
constexpr named_activation activations[] = {{"gelu", heed_gelu}, {"gelu_tanh", heed_gelu_tanh},
                                            {"silu", heed_silu}, {"relu", heed_relu},
                                            {"tanh", heed_tanh}, {"sigmoid", heed_sigmoid}};
struct named_norm {
  const char *name;
  heed_norm *call;
};
constexpr named_norm norms[] = {
    {"rms_norm", heed_rms_norm}, {"layer_norm", heed_layer_norm}, {"l2_norm", heed_l2_norm}};

constexpr heed_matrix no_matrix = {nullptr, 0, 0, 0};

// How a call is made; no bit depends on it.
struct rows_setting {
  int32_t padding = 0, other_padding = 0;
  int in_place = 0;  // 1: y is x, 2: y is up or b
  const heed_executor *executor = nullptr;
};

// Rows in the memory of the result, which then replaces them.
inline matrix take_rows(const placement &p, const fenced_floats &memory) {
  return {p.n_rows, p.dim, gather(p, memory)};
}

// f(x, other, y), where `other` may be empty (n_rows 0).
template <typename Call>
matrix run_elements(Call call, const matrix &x, const matrix &other, const rows_setting &s) {
  const matrix &replaced = s.in_place == 2 ? other : x;
  const placement p = rows_of(replaced, s.padding);
  const fenced_floats memory(slot_out, p.extent(), unwritten_bits);
  if (s.in_place != 0) scatter(p, replaced.values, memory.data());
  const heed_matrix same = {memory.data(), p.n_rows, p.dim, p.row_stride};
  const heed_matrix left = s.in_place == 1 ? same : put(slot_q, x, s.other_padding);
  const heed_matrix right = other.n_rows == 0 ? no_matrix
                            : s.in_place == 2 ? same
                                              : put(slot_k, other, s.other_padding);
  EXPECT_EQ(call(left, right, heed_matrix_out{memory.data(), p.n_rows, p.dim, p.row_stride}, s.executor), HEED_OK);
  return take_rows(p, memory);
}
inline matrix run_activation(heed_activation *f, const matrix &x, const matrix &up = {}, const rows_setting &s = {}) {
  return run_elements(f, x, up, s);
}
inline matrix run_add(const matrix &a, const matrix &b, const rows_setting &s = {}) {
  return run_elements(heed_add, a, b, s);
}

// Rows that are hard for norms: a large mean, a tiny spread, outliers, also where a row begins, few values in all.
inline void make_hard_for_norms(random_source &r, std::vector<float> *x) {
  const int32_t kind = r.between(0, 4);
  const float offset = std::ldexp(1 + r.uniform() / 2, r.between(-3, 23)), spread = std::ldexp(1.0f, r.between(-12, 0));
  for (float &xi : *x) {
    if (kind == 0) xi += offset;
    if (kind == 1) xi = offset + xi * spread;
    if (kind == 2) xi = r.chance(2) ? xi * 1000 : xi;
    if (kind == 3) xi = offset * (1 + static_cast<float>(r.between(0, 3)) * 0x1p-23f);
  }
  if (kind >= 2 && r.chance(50)) x->front() += offset * 2;
}

// weight and bias: empty, or as long as a row.
inline matrix run_norm(heed_norm *f, const matrix &x, const std::vector<float> &weight, const std::vector<float> &bias,
                       float eps, const rows_setting &s = {}) {
  const float *w = fenced_copy(slot_k, weight), *b = fenced_copy(slot_v, bias);
  const auto call = [=](heed_matrix in, heed_matrix, heed_matrix_out y, const heed_executor *executor) {
    return f(in, w, b, eps, y, executor);
  };
  return run_elements(call, x, {}, s);
}

// Rotary embedding of x (n, n_heads, head_dim), which has the placement `from`; the result as plain rows.
struct rope_problem {
  int32_t n = 1, n_heads = 1, head_dim = 2, position = 0;
  std::vector<int32_t> positions;  // (n, n_axes); empty: from `position` on
  std::vector<uint8_t> axes;       // of each pair; empty: one axis
  int32_t n_axes = 1;
  std::vector<float> inverse_frequencies;
  int32_t style = HEED_ROPE_INTERLEAVED, rotary_dim = 0;
  float base = 10000, scale = 1, factor = 1;
  std::vector<float> x;  // (n_heads, n, head_dim)

  int32_t turned() const { return rotary_dim == 0 ? head_dim : rotary_dim; }
  int32_t position_of(int32_t t, int32_t pair) const {
    const int32_t axis = axes.empty() ? 0 : axes[size_t(pair)];
    return positions.empty() ? position + t : positions[size_t(t * n_axes + axis)];
  }
  // Where the elements of pair i lie.
  int32_t first_of(int32_t i) const { return style == HEED_ROPE_INTERLEAVED ? 2 * i : i; }
  int32_t second_of(int32_t i) const { return style == HEED_ROPE_INTERLEAVED ? 2 * i + 1 : i + turned() / 2; }
  std::string text() const {
    return std::to_string(n) + " tokens, " + std::to_string(n_heads) + " heads of " + std::to_string(head_dim) + ", " +
           std::to_string(turned()) + " turned, style " + std::to_string(style) + ", " + std::to_string(n_axes) +
           " axes";
  }
};

struct rope_setting {
  layout x_layout = layout::token_major, y_layout = layout::token_major;
  int32_t padding = 0;
  bool in_place = false;
  const heed_executor *executor = nullptr;
};

inline heed_rope rope_of(const rope_problem &p) {
  heed_rope rope;
  EXPECT_EQ(heed_rope_init(&rope, p.style), HEED_OK);
  rope.rotary_dim = p.rotary_dim, rope.base = p.base, rope.scale = p.scale, rope.factor = p.factor;
  rope.inverse_frequencies = fenced_copy(slot_k, p.inverse_frequencies);
  if (p.n_axes > 1) rope.n_axes = p.n_axes, rope.axes = p.axes.data();
  return rope;
}

inline std::vector<float> run_rope(const rope_problem &p, const rope_setting &s = {}) {
  const heed_rope rope = rope_of(p);
  const placement from = place(s.x_layout, s.padding, 1, p.n_heads, p.n, p.head_dim);
  const placement to = s.in_place ? from : place(s.y_layout, s.padding, 1, p.n_heads, p.n, p.head_dim);
  const fenced_floats x(slot_q, from.extent(), unread_bits), y(slot_out, to.extent(), unwritten_bits);
  scatter(from, p.x, (s.in_place ? y : x).data());
  EXPECT_EQ(heed_rope_apply(&rope, input_view(from, (s.in_place ? y : x).data()), p.n, p.n_heads, p.head_dim,
                            p.position, fenced_copy(slot_v, p.positions), output_view(to, y.data()), s.executor),
            HEED_OK)
      << p.text();
  return gather(to, y);
}

}  // namespace heed_test

#endif
