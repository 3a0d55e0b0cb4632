// A transformer layer is the composition of the public functions, to the bit, on every kernel; with a cache, whatever
// pieces its rows come in. SPDX-License-Identifier: MIT
#include <list>

#include "support/executors.hpp"
#include "support/kernels.hpp"
#include "support/layer_checks.hpp"

namespace heed_test {
namespace {

class transformer_layer : public kernel_test {};

TEST_P(transformer_layer, equals_its_parts) {
  for (uint64_t i = 0; i < uint64_t(repetitions(150)) && !HasFailure(); ++i) check_parts(true, 700000 + i);
}

TEST_P(transformer_layer, with_a_cache_equals_its_parts) {
  for (uint64_t i = 0; i < uint64_t(repetitions(150)) && !HasFailure(); ++i) check_cached(true, 710000 + i);
}

TEST_P(transformer_layer, any_pieces_give_the_rows_of_the_whole) {
  for (uint64_t i = 0; i < uint64_t(repetitions(100)) && !HasFailure(); ++i) check_pieces(true, 720000 + i);
}

TEST_P(transformer_layer, keys_and_values_that_int8_cannot_hold) {
  for (uint64_t i = 0; i < 20 && !HasFailure(); ++i) check_what_int8_cannot_hold(true, 730000 + i);
}

// Functions of the caller's in place of heed's: they work, or fail after so many calls.
int n_norms_left, n_activations_left;
constexpr heed_status status_of_norm = HEED_STATUS(HEED_NOT_FINITE, HEED_ARG_WEIGHT),
                      status_of_activation = HEED_STATUS(HEED_OVERLAP, HEED_ARG_UP);
heed_status own_norm(heed_matrix x, const float *weight, const float *bias, float eps, heed_matrix_out y,
                     const heed_executor *executor) {
  return n_norms_left-- == 0 ? status_of_norm : heed_rms_norm(x, weight, bias, eps, y, executor);
}
heed_status own_activation(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor) {
  return n_activations_left-- == 0 ? status_of_activation : heed_silu(x, up, y, executor);
}

TEST_P(transformer_layer, a_status_of_the_callers_norm_or_activation_is_returned) {
  for (int32_t i = 0; i < 24; ++i) {
    random_source r(740000 + uint64_t(i));
    random_layer l(r, true, false);
    heed_transformer_layer &t = l.transformer;
    t.norm_first = i % 2, t.parallel = 0, t.norm = heed_rms_norm, t.activation = heed_silu;
    const floats x = bell_floats(r, size_t(l.attention.model_dim) * 5), expected = run_layer(l, x, 5, {}, nullptr).y;
    t.norm = own_norm, t.activation = own_activation;
    n_norms_left = n_activations_left = -1;
    EXPECT_TRUE(same_bits(expected, run_layer(l, x, 5, {}, nullptr).y)) << "seed " << i;
    const auto status = [&](int norms, int activations) {
      n_norms_left = norms, n_activations_left = activations;
      floats y(x.size());
      const fenced_bytes memory(slot_activations, l.bytes_besides_workspace(5) + HEED_WORKSPACE_BYTES(34, 34));
      return l.run(view(x, 5), view(&y, 5), heed_memory_of(memory.data(), memory.count()), nullptr);
    };
    EXPECT_EQ(status(0, -1), status_of_norm) << "the first norm, seed " << i;
    EXPECT_EQ(status(1, -1), status_of_norm) << "the second norm, seed " << i;
    EXPECT_EQ(status(-1, 0), status_of_activation) << "seed " << i;
  }
}

// A layer of the size of KWT-1's in memory of exactly its size. On several threads it runs in stripes of rows if norm
// and activation are heed's: three calls of the executor.
struct small_layer {
  static constexpr int32_t n = 99, dim = 64, heads = 2, head_dim = 32, most_workers = 7;
  explicit small_layer(bool norm_first, bool gated) : hidden(gated ? 88 : 256) {
    const auto weights = [&](int32_t in, int32_t out) {
      numbers.push_back(bell_floats(r, size_t(in) * size_t(out)));
      for (float &w : numbers.back()) w *= 0.125f;
      return heed_weights_of(numbers.back().data(), nullptr, HEED_F32, HEED_OUT_IN, in, out);
    };
    const auto row = [&](int32_t m) {
      numbers.push_back(bell_floats(r, size_t(m)));
      return numbers.back().data();
    };
    a = heed_attention_layer_default(dim, heads);
    a.wq = weights(dim, dim), a.wk = weights(dim, dim), a.wv = weights(dim, dim), a.wo = weights(dim, dim);
    a.bq = row(dim), a.bk = row(dim), a.bo = row(dim);
    t = heed_transformer_layer_default(&a, hidden, norm_first ? heed_rms_norm : heed_layer_norm,
                                       gated ? heed_silu : heed_gelu_tanh);
    t.norm_first = norm_first;
    t.w_up = weights(dim, hidden), t.w_down = weights(hidden, dim);
    if (gated) t.w_gate = weights(dim, hidden), t.b_gate = row(hidden);
    t.b_up = row(hidden), t.norm1_weight = row(dim), t.norm2_weight = row(dim), t.norm2_bias = row(dim);
    x = bell_floats(r, size_t(n) * dim);
  }
  floats run(const heed_executor *executor, bool in_place) {
    const fenced_floats in(slot_q, x.size(), unread_bits), out(slot_out, x.size(), unwritten_bits);
    const fenced_floats &y = in_place ? in : out;
    std::copy(x.begin(), x.end(), in.data());
    const fenced_bytes memory(slot_activations, heed_transformer_layer_bytes(&t, n) +
                                                    (most_workers - 1) * heed_workspace_bytes(head_dim, head_dim));
    expect_done(heed_transformer_layer_run(&t, heed_matrix_of(in.data(), n, dim), heed_matrix_out_of(y.data(), n, dim),
                                           heed_memory_of(memory.data(), memory.count()), executor));
    EXPECT_TRUE(in.guard_intact() && out.guard_intact() && memory.guard_intact());
    return floats(y.data(), y.data() + x.size());
  }
  random_source r{5};
  std::list<floats> numbers;
  int32_t hidden;
  heed_attention_layer a;
  heed_transformer_layer t;
  floats x;
};

TEST_P(transformer_layer, stripes_of_rows_change_no_bit) {
  for (int kind = 0; kind < 8; ++kind) {
    small_layer l(kind & 1, kind & 2);
    const bool in_place = kind & 4;
    const floats expected = l.run(nullptr, in_place);
    for (const int32_t workers : {1, 2, 3, 4, 7}) {
      thread_executor threads(workers);
      reverse_executor reverse(workers);
      interleaved_executor interleaved(workers);
      for (const test_executor *executor :
           {static_cast<test_executor *>(&threads), static_cast<test_executor *>(&reverse),
            static_cast<test_executor *>(&interleaved)})
        EXPECT_TRUE(same_bits(expected, l.run(executor->get(), in_place))) << workers << " workers, kind " << kind;
      if (workers > 1 && workers < 5) {
        EXPECT_EQ(reverse.runs(), 3) << workers << " workers, kind " << kind;
      }
    }
  }
}

// Functions of the caller's are called once, with all rows, whatever the executor.
TEST_P(transformer_layer, functions_of_the_callers_see_all_rows) {
  small_layer l(true, true);
  const floats expected = l.run(nullptr, false);
  l.t.norm = own_norm, l.t.activation = own_activation;
  reverse_executor executor(2);
  n_norms_left = n_activations_left = 100;
  EXPECT_TRUE(same_bits(expected, l.run(executor.get(), false)));
  EXPECT_EQ(n_norms_left, 98);
  EXPECT_EQ(n_activations_left, 99);
  EXPECT_GT(executor.runs(), 3);
}

// An executor that breaks its contract: what types.h promises then.
TEST_P(transformer_layer, stripes_that_run_twice_or_never) {
  using pieces = wrong_executor::pieces;
  for (const bool norm_first : {false, true}) {
    small_layer l(norm_first, false);
    const floats expected = l.run(nullptr, false);
    wrong_executor twice(2, [](int32_t n_tasks, const pieces &piece) {
      for (int32_t i = 0; i < 2 * n_tasks; ++i) piece(i % n_tasks, i % 2);
    });
    EXPECT_TRUE(same_bits(expected, l.run(twice.get(), false)));
    wrong_executor astray(2, [](int32_t n_tasks, const pieces &piece) {
      for (int32_t i = 0; i < n_tasks; ++i) piece(i, 0), piece(-1 - i, 1), piece(n_tasks + i, 1), piece(i, 2 + i);
    });
    EXPECT_TRUE(same_bits(expected, l.run(astray.get(), false)));
    wrong_executor idle(2, [](int32_t, const pieces &) {});
    for (const float y : l.run(idle.get(), false)) ASSERT_EQ(bits_of(y), unwritten_bits);
  }
}

TEST(transformer_layer_bytes, are_those_of_the_macro) {
  random_source r(3);
  for (int32_t i = 0; i < 300; ++i) {
    random_layer l(r, true, false);
    const heed_attention_layer &a = l.attention;
    heed_transformer_layer t = l.transformer;
    t.attention = &a;
    const int32_t n = r.size(1, 1000);
    const bool gated = t.w_gate.data || t.ffn_order;
    const size_t of_macro =
        HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(n, a.model_dim, a.n_heads, a.n_kv_heads, a.head_dim, a.v_dim,
                                              t.ffn_dim + (t.parallel ? a.model_dim : 0), gated);
    EXPECT_LE(heed_transformer_layer_bytes(&t, n), of_macro);
    if (!t.parallel || !gated) {
      EXPECT_EQ(heed_transformer_layer_bytes(&t, n), of_macro);
    }
    EXPECT_EQ(heed_transformer_layer_bytes(&t, 0), 0u);
    t.ffn_dim = 0;
    EXPECT_EQ(heed_transformer_layer_bytes(&t, n), 0u);
    t = l.transformer;
    EXPECT_EQ(heed_transformer_layer_bytes(&t, n), 0u) << "no attention layer";
  }
  EXPECT_EQ(heed_transformer_layer_bytes(nullptr, 1), 0u);
}

HEED_TEST_EVERY_KERNEL(transformer_layer);

}  // namespace
}  // namespace heed_test
