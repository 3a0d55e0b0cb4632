// A layer of integers from the words of int_layers.h: one public function after another, each result with the type, the
// zero point and the name that the header states. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_INT_LAYER_PARTS_HPP
#define HEED_TESTS_SUPPORT_INT_LAYER_PARTS_HPP

#include <gtest/gtest.h>

#include <vector>

#include "heed/int_layers.h"
#include "integers.hpp"

namespace heed_test {

// Rows of int8 or int16 that a function gives and the next one takes.
template <class T>
struct int_rows_of {
  int32_t n, dim, zero;
  std::vector<T> numbers;
  int_rows_of(int32_t n_rows, int32_t row_dim, int32_t zero_point)
      : n(n_rows), dim(row_dim), zero(zero_point), numbers(static_cast<size_t>(n) * static_cast<size_t>(dim)) {}
  static constexpr int32_t dtype = sizeof(T) == 1 ? HEED_INT8 : HEED_INT16;
  heed_int_matrix get() const { return heed_int_matrix_of(numbers.data(), dtype, n, dim, zero); }
  heed_int_matrix_out put() { return heed_int_matrix_out_of(numbers.data(), dtype, n, dim, zero); }
};
using bytes_of_rows = int_rows_of<int8_t>;
using words_of_rows = int_rows_of<int16_t>;

// y of all rows of x, which has the format int16. The first row has the position 0.
inline std::vector<int16_t> compose_int_layer(const heed_int_layer &l, heed_int_matrix x) {
  const int32_t n = x.n_rows, q_dim = l.n_heads * l.head_dim, k_dim = l.n_kv_heads * l.head_dim;
  const bool gated = l.w_gate.w.data != nullptr;
  const auto done = [](heed_status status) { EXPECT_EQ(status, HEED_OK); };
  const auto project = [&](const auto &from, const heed_int_projection &by, auto &to) {
    done(heed_int_linear(from.get(), by.w, by.bias, by.multipliers, to.put(), nullptr));
  };
  const auto norm = [&](heed_int_matrix from, const heed_int_norm &by, auto &to) {
    done(l.norm(from, by, to.put(), nullptr));
  };

  bytes_of_rows H(n, l.model_dim, l.h_zero), Q(n, q_dim, l.q_zero), K(n, k_dim, l.k_zero), V(n, k_dim, l.v_zero);
  if (l.norm_first)
    norm(x, l.norm1, H);
  else
    done(heed_int_rescale(x, l.to_h, H.put(), nullptr));
  project(H, l.wq, Q), project(H, l.wk, K), project(H, l.wv, V);
  if (l.rope) done(heed_int_rope_run(l.rope, Q.put(), l.n_heads, 0, nullptr));
  if (l.rope) done(heed_int_rope_run(l.rope, K.put(), l.n_kv_heads, 0, nullptr));

  bytes_of_rows C(n, q_dim, l.c_zero);
  aligned_bytes workspace(heed_int_workspace_bytes(l.head_dim, l.head_dim));
  heed_int_attention call = heed_int_attention_of(Q.numbers.data(), K.numbers.data(), V.numbers.data(), n, n, l.n_heads,
                                                  l.n_kv_heads, l.head_dim, C.numbers.data(), workspace.get());
  call.causal = l.causal, call.score = l.score, call.value = l.value;
  call.q.zero_point = Q.zero, call.k.zero_point = K.zero, call.v.zero_point = V.zero, call.out.zero_point = C.zero;
  done(heed_int_attention_run(&call));

  words_of_rows c(n, l.model_dim, 0), s(n, l.model_dim, 0), a(n, l.model_dim, 0);
  project(C, l.wo, c);
  bytes_of_rows G(n, l.model_dim, l.g_zero);
  if (l.norm_first) {
    done(heed_int_add(x, l.of_x, c.get(), l.of_attention, a.put(), nullptr));
    norm(a.get(), l.norm2, G);
  } else {
    done(heed_int_add(x, l.of_x, c.get(), l.of_attention, s.put(), nullptr));
    norm(s.get(), l.norm1, a);
    done(heed_int_rescale(a.get(), l.to_g, G.put(), nullptr));
  }

  bytes_of_rows U(n, l.ffn_dim, l.u_zero);
  if (gated) {
    bytes_of_rows P(n, l.ffn_dim, l.gate_zero), A(n, l.ffn_dim, l.gate_zero), B(n, l.ffn_dim, l.up_zero);
    project(G, l.w_gate, P);
    done(heed_int_lookup(P.get(), l.activation, A.put(), nullptr));
    project(G, l.w_up, B);
    done(heed_int_multiply(A.get(), B.get(), l.gate, U.put(), nullptr));
  } else {
    bytes_of_rows P(n, l.ffn_dim, l.u_zero);
    project(G, l.w_up, P);
    done(heed_int_lookup(P.get(), l.activation, U.put(), nullptr));
  }

  words_of_rows u(n, l.model_dim, 0), t(n, l.model_dim, 0), y(n, l.model_dim, 0);
  project(U, l.w_down, u);
  if (l.norm_first) {
    done(heed_int_add(a.get(), l.of_a, u.get(), l.of_hidden, y.put(), nullptr));
  } else {
    done(heed_int_add(a.get(), l.of_a, u.get(), l.of_hidden, t.put(), nullptr));
    norm(t.get(), l.norm2, y);
  }
  return y.numbers;
}

}  // namespace heed_test

#endif
