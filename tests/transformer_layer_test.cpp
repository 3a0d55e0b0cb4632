// A transformer layer is the composition of the public functions, to the bit, on every kernel; with a cache, whatever
// pieces its rows come in. SPDX-License-Identifier: MIT
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
    t.norm_first = i % 2, t.norm = heed_rms_norm, t.activation = heed_silu;
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

TEST(transformer_layer_bytes, are_those_of_the_macro) {
  random_source r(3);
  for (int32_t i = 0; i < 300; ++i) {
    random_layer l(r, true, false);
    const heed_attention_layer &a = l.attention;
    heed_transformer_layer t = l.transformer;
    t.attention = &a;
    const int32_t n = r.size(1, 1000);
    EXPECT_EQ(heed_transformer_layer_bytes(&t, n),
              HEED_TRANSFORMER_LAYER_BYTES(n, a.model_dim, a.n_heads, a.n_kv_heads, a.head_dim, a.v_dim, t.hidden_dim,
                                           t.w_gate.data != nullptr));
    EXPECT_EQ(heed_transformer_layer_bytes(&t, 0), 0u);
    t.hidden_dim = 0;
    EXPECT_EQ(heed_transformer_layer_bytes(&t, n), 0u);
    t = l.transformer;
    EXPECT_EQ(heed_transformer_layer_bytes(&t, n), 0u) << "no attention layer";
  }
  EXPECT_EQ(heed_transformer_layer_bytes(nullptr, 1), 0u);
}

HEED_TEST_EVERY_KERNEL(transformer_layer);

}  // namespace
}  // namespace heed_test
