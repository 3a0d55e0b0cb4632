// A transformer layer is the composition of the public functions, to the bit, on every kernel; with a cache, whatever
// pieces its rows come in. SPDX-License-Identifier: MIT
#include "support/blocks.hpp"
#include "support/fence.hpp"
#include "support/floats.hpp"
#include "support/kernels.hpp"
#include "support/refusal.hpp"

namespace heed_test {
namespace {

class transformer : public kernel_test {
 protected:
  // Rows [0, n) of x by one call, in place if wanted.
  static std::vector<float> run(const random_block &l, const std::vector<float> &x, int32_t n, bool in_place,
                                const heed_executor *executor, bool least) {
    const int32_t dim = l.block.model_dim;
    const fenced_floats from(slot_q, x.size(), unwritten_bits), to(slot_out, x.size(), unwritten_bits),
        activations(slot_activations, l.n_activations(n), unwritten_bits);
    std::copy(x.begin(), x.end(), from.data());
    const size_t bytes = least ? heed_workspace_min_bytes(l.block.head_dim, l.block.v_dim)
                               : heed_workspace_bytes(l.block.head_dim, l.block.v_dim);
    const fenced_bytes workspace(slot_workspace, bytes);
    float *y = in_place ? from.data() : to.data();
    const heed_status status =
        heed_block_run(&l.block, heed_matrix_of(from.data(), n, dim), heed_matrix_out_of(y, n, dim), activations.data(),
                       activations.count(), workspace.data(), bytes, executor);
    EXPECT_EQ(status, HEED_OK) << heed_status_argument(status) << ": " << heed_status_text(status);
    EXPECT_TRUE(from.guard_intact() && to.guard_intact() && activations.guard_intact() && workspace.guard_intact());
    return {y, y + x.size()};
  }
};

TEST_P(transformer, an_encoder_layer_equals_its_parts) {
  for (int32_t i = 0; i < repetitions(150) && !HasFailure(); ++i) {
    random_source r(700000 + uint64_t(i));
    random_block l(r, false);
    const int32_t n = r.size(1, 60);
    heed_softcap softcap;
    heed_softcap_init(&softcap, 2.0f);
    heed_options options = HEED_OPTIONS;
    options.softcap = &softcap;
    if (r.chance(50)) l.block.options = &options;
    const std::vector<float> x = bell_floats(r, size_t(n) * size_t(l.block.model_dim));
    const std::vector<float> expected = compose(l.block, x, n, nullptr, l.block.options);
    thread_executor threads(r.between(1, 3));
    EXPECT_TRUE(same_bits(expected, run(l, x, n, r.chance(50), r.chance(30) ? threads.get() : nullptr, r.chance(30))))
        << "seed " << i;
  }
}

// A layer turns whole heads, where heed_cache_append has room for HEED_CACHE_MAX_ROTARY_DIM; an int8 cache refuses keys
// that turn infinite, and y is as it was.
TEST_P(transformer, wide_heads_and_keys_that_turn_infinite) {
  constexpr int32_t dim = 260;
  static float weights[dim * dim], norm[dim], x[2 * dim], y[2 * dim];
  static float activations[HEED_BLOCK_ACTIVATIONS(2, dim, 1, 1, dim, dim, dim, 0)];
  HEED_ALIGNED static unsigned char workspace[HEED_WORKSPACE_MIN_BYTES(dim, dim)], buffer[1 << 18];
  for (int32_t i = 0; i < dim; ++i) weights[i * dim + i] = norm[i] = 1, x[i] = x[dim + i] = float(i % 7);
  heed_rope rope;
  ASSERT_EQ(heed_rope_init(&rope, HEED_ROPE_HALVES), HEED_OK);
  heed_block b = {};
  b.struct_size = sizeof b, b.model_dim = b.head_dim = b.v_dim = b.hidden_dim = dim, b.n_heads = b.n_kv_heads = 1;
  b.causal = b.norm_first = 1, b.eps = 1e-5f, b.norm = heed_rms_norm, b.activation = heed_relu, b.rope = &rope;
  b.wq = b.wk = b.wv = b.wo = b.w_up = b.w_down = heed_weights_of(weights, HEED_F32, HEED_OUT_IN, dim, dim, nullptr);
  heed_cache_shape shape = HEED_CACHE_SHAPE;
  shape.capacity = 4, shape.head_dim = shape.v_dim = dim, shape.format = HEED_INT8;
  heed_cache cache;
  ASSERT_EQ(heed_cache_init(&cache, &shape, buffer, sizeof buffer), HEED_OK);
  b.cache = &cache;
  const auto run = [&] {
    return heed_block_run(&b, heed_matrix_of(x, 2, dim), heed_matrix_out_of(y, 2, dim), activations,
                          sizeof activations / sizeof *activations, workspace, sizeof workspace, nullptr);
  };
  ASSERT_EQ(status_name(run()), "HEED_OK");
  const std::vector<float> before(y, y + 2 * dim);
  std::vector<float> large(dim, 3e38f);
  b.bk = large.data();
  EXPECT_EQ(run(), HEED_STATUS(HEED_NOT_FINITE, HEED_ARG_K));
  EXPECT_EQ(heed_cache_length(&cache, 0), 2);
  EXPECT_TRUE(same_bits(before, std::vector<float>(y, y + 2 * dim)));
}

TEST_P(transformer, a_decoder_layer_equals_its_parts_in_any_pieces) {
  for (int32_t i = 0; i < repetitions(100) && !HasFailure(); ++i) {
    random_source r(800000 + uint64_t(i));
    random_block l(r, true);
    const int32_t n = r.size(1, 80), format = r.between(HEED_F32, HEED_INT8), dim = l.block.model_dim;
    heed_ranges ranges;
    heed_ranges_init(&ranges);
    ranges.left_window = r.between(0, 40);
    heed_options options = HEED_OPTIONS;
    options.ranges = &ranges;
    if (r.chance(50)) l.block.options = &options;
    const std::vector<float> x = bell_floats(r, size_t(n) * size_t(dim));
    owned_cache whole(n, l.block, format), pieces(n, l.block, format);
    const std::vector<float> expected = compose(l.block, x, n, &whole.cache, l.block.options);
    l.block.cache = &pieces.cache;
    std::vector<float> actual;
    for (int32_t t = 0, piece; t < n; t += piece) {
      piece = std::min(n - t, r.chance(50) ? 1 : r.between(1, 20));
      const std::vector<float> part(x.begin() + ptrdiff_t(t) * dim, x.begin() + ptrdiff_t(t + piece) * dim);
      for (const float y : run(l, part, piece, r.chance(50), nullptr, r.chance(30))) actual.push_back(y);
    }
    EXPECT_TRUE(same_bits(expected, actual)) << "seed " << i;
    EXPECT_EQ(heed_cache_length(&pieces.cache, 0), n);
  }
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

TEST_P(transformer, a_status_of_the_callers_norm_or_activation_is_returned) {
  for (int32_t i = 0; i < 24; ++i) {
    random_source r(900000 + uint64_t(i));
    random_block l(r, false);
    heed_block &b = l.block;
    b.norm_first = i % 2, b.norm = heed_rms_norm, b.activation = heed_silu;
    const std::vector<float> x = bell_floats(r, size_t(b.model_dim) * 5), expected = run(l, x, 5, false, nullptr, true);
    b.norm = own_norm, b.activation = own_activation;
    n_norms_left = n_activations_left = -1;
    EXPECT_TRUE(same_bits(expected, run(l, x, 5, false, nullptr, true))) << "seed " << i;
    const auto status = [&](int norms, int activations) {
      n_norms_left = norms, n_activations_left = activations;
      std::vector<float> y(x.size()), rows(l.n_activations(5));
      const fenced_bytes workspace(slot_workspace, HEED_WORKSPACE_BYTES(20, 20));
      return heed_block_run(&b, heed_matrix_of(x.data(), 5, b.model_dim), heed_matrix_out_of(y.data(), 5, b.model_dim),
                            rows.data(), rows.size(), workspace.data(), workspace.count(), nullptr);
    };
    EXPECT_EQ(status(0, -1), status_of_norm) << "the first norm, seed " << i;
    EXPECT_EQ(status(1, -1), status_of_norm) << "the second norm, seed " << i;
    EXPECT_EQ(status(-1, 0), status_of_activation) << "seed " << i;
  }
}

// What an int8 cache cannot hold is found before y and the cache are written.
TEST_P(transformer, keys_and_values_that_int8_cannot_hold) {
  for (const bool in_values : {false, true}) {
    random_source r(900000);
    random_block l(r, true);
    const int32_t n = 3, dim = l.block.model_dim;
    const std::vector<float> x = bell_floats(r, size_t(n) * size_t(dim)),
                             bias(size_t(l.block.n_kv_heads * std::max(l.block.head_dim, l.block.v_dim)), infinity);
    owned_cache cache(2 * n, l.block, HEED_INT8);
    l.block.cache = &cache.cache;
    run(l, x, n, false, nullptr, false);
    (in_values ? l.block.bv : l.block.bk) = bias.data();
    std::vector<float> y(x.size(), 7.0f), activations(l.n_activations(n));
    const fenced_bytes workspace(slot_workspace, heed_workspace_bytes(l.block.head_dim, l.block.v_dim));
    EXPECT_EQ(heed_block_run(&l.block, heed_matrix_of(x.data(), n, dim), heed_matrix_out_of(y.data(), n, dim),
                             activations.data(), activations.size(), workspace.data(), workspace.count(), nullptr),
              HEED_STATUS(HEED_NOT_FINITE, in_values ? HEED_ARG_V : HEED_ARG_K));
    EXPECT_EQ(y, std::vector<float>(x.size(), 7.0f));
    EXPECT_EQ(heed_cache_length(&cache.cache, 0), n);
  }
}

HEED_TEST_EVERY_KERNEL(transformer);

}  // namespace
}  // namespace heed_test
