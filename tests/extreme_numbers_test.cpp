// Parameters and keys at the ends of the range: what is accepted keeps the stated bounds, all else is refused with
// nothing written. SPDX-License-Identifier: MIT
#include <cmath>

#include "support/floats.hpp"
#include "support/flushing.hpp"
#include "support/kernels.hpp"

namespace heed_test {
namespace {

class extreme_numbers : public kernel_test {};

struct capped_score {
  heed_status status;
  float score, out;
};
// One query with a score of `wanted` for its second key, and of 0 for its first.
capped_score run_capped(float scale, float cap, double wanted) {
  HEED_MEMORY(workspace, HEED_WORKSPACE_BYTES(1, 1));
  const float q[1] = {1}, k[2] = {0, static_cast<float>(wanted / double(scale))}, v[2] = {0, 1};
  float scores[2] = {9, 9}, out[1] = {9};
  heed_softcap softcap;
  EXPECT_EQ(heed_softcap_init(&softcap, cap), HEED_OK);
  heed_scores kept;
  EXPECT_EQ(heed_scores_init(&kept, HEED_SCORES_CAPPED, {scores, 0, 0, 2}), HEED_OK);
  heed_options options = heed_options_default();
  options.softcap = &softcap, options.scores = &kept;
  heed_attention call = heed_attention_of(q, k, v, 1, 2, 1, 1, 1, out, workspace);
  call.scale = scale, call.options = &options;
  const heed_status status = heed_attention_run(&call);
  return {status, scores[1], out[0]};
}

TEST_P(extreme_numbers, a_softcap_keeps_its_bound_or_is_refused) {
  int n_accepted = 0, n_refused = 0;
  for (const float scale : {0x1p-126f, 1e-30f, 1e-10f, 1e-5f, 0.01f, 0.088388f, 1.0f, 1e5f, 1e30f})
    for (const float cap : {0x1p-126f, 1e-30f, 1e-5f, 0.5f, 50.0f, 1e10f, 1e30f, 1e38f, 2e38f})
      for (const double wanted : {1e-3, 3.0, -20.0}) {
        if (!std::isfinite(static_cast<float>(wanted / double(scale)))) continue;
        const capped_score found = run_capped(scale, cap, wanted);
        const double factor = double(scale) / cap;
        if (factor < 0x1p-126 || factor >= 0x1p128) {
          EXPECT_EQ(found.status, HEED_STATUS(factor < 1 ? HEED_OUT_OF_RANGE : HEED_NOT_FINITE, HEED_ARG_SOFTCAP));
          EXPECT_EQ(found.score, 9) << "nothing is written";
          EXPECT_EQ(found.out, 9);
          n_refused++;
          continue;
        }
        n_accepted++;
        ASSERT_EQ(found.status, HEED_OK) << scale << ' ' << cap;
        const double exact = cap * std::tanh(wanted / cap);
        // tanh, the quotient scale / cap, the dot product, cap * log2(e) and back: 7 units and 6 roundings.
        const double bound = 13 * 0x1p-24 * std::fabs(exact) + cap * 0x1p-149;
        EXPECT_LE(std::fabs(found.score - exact), bound) << scale << ' ' << cap << ' ' << wanted;
        EXPECT_NEAR(found.out, 1 / (1 + std::exp(-exact)), 1e-5) << scale << ' ' << cap << ' ' << wanted;
      }
  EXPECT_GT(n_accepted, 100);
  EXPECT_GT(n_refused, 20);
}

// Of the score's quotient by the cap every size, down to where it is subnormal: what is flushed on the way is too little
// to show.
TEST_P(extreme_numbers, a_softcap_keeps_its_bound_where_subnormal_numbers_are_flushed) {
  for (int32_t e = 2; e >= -124; --e)
    for (const float m : {1.0f, -1.37f, 1.71f}) {
      const double wanted = std::ldexp(double(m), e), exact = std::tanh(wanted);
      const flushing scope;
      const capped_score found = run_capped(1, 1, wanted);
      ASSERT_EQ(found.status, HEED_OK);
      EXPECT_LE(std::fabs(found.score - exact), 13 * 0x1p-24 * std::fabs(exact)) << wanted;
    }
}

// With a default scale it is that scale that is divided by the cap.
TEST_P(extreme_numbers, a_softcap_with_the_default_scale) {
  HEED_MEMORY(workspace, HEED_WORKSPACE_MIN_BYTES(4, 1));
  const float q[4] = {1, 1, 1, 1}, v[1] = {1};
  heed_options options = heed_options_default();
  heed_softcap softcap;
  float out[1];
  heed_attention call = heed_attention_of(q, q, v, 1, 1, 1, 1, 4, out, workspace);
  call.v_dim = 1, call.options = &options, options.softcap = &softcap;
  ASSERT_EQ(heed_softcap_init(&softcap, 0x1p125f), HEED_OK);
  EXPECT_EQ(heed_attention_run(&call), HEED_OK) << "1/2 / 2^125 is the least normal number";
  softcap.cap = 0x1.000002p125f;
  EXPECT_EQ(heed_attention_run(&call), HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_SOFTCAP));
}

// Keys that are finite, and not when they are turned: a cache of int8 has no scale for them, other formats keep
// infinity.
TEST_P(extreme_numbers, keys_that_turn_infinite) {
  HEED_MEMORY(memory, HEED_CACHE_BYTES(4, 1, 2, 3, 1, HEED_F32));
  heed_rope rope;
  ASSERT_EQ(heed_rope_init(&rope, HEED_ROPE_INTERLEAVED), HEED_OK);
  const float v[4] = {1, 1, 1, 1};
  for (int32_t i = 0; i < 8; ++i)
    for (const float size : {0x1p126f, 0x1.6p127f, 0x1.8p127f, 3e38f}) {  // times sin 1 + cos 1 = 1.38 at position 1
      const int32_t dtype = i / 2, head = i % 2;
      heed_cache_shape shape = heed_cache_shape_default(4, 2, 3);
      shape.v_dim = 1, shape.dtype = dtype;
      heed_cache cache;
      ASSERT_EQ(heed_cache_init(&cache, &shape, memory), HEED_OK);
      rope.rotary_dim = 2;
      const float small[6] = {1, 1, 1, 1, 1, 1};
      ASSERT_EQ(heed_cache_append(&cache, 0, {small, 0, 3, 3}, {v, 0, 1, 1}, 1, &rope), HEED_OK);
      const std::vector<unsigned char> before(memory_bytes, memory_bytes + memory.bytes);
      const float large[6] = {head == 0 ? size : 1, head == 0 ? size : 1, 1,
                              head == 1 ? size : 1, head == 1 ? size : 1, 1};
      const heed_status status = heed_cache_append(&cache, 0, {large, 0, 3, 3}, {v, 0, 1, 1}, 1, &rope);
      if (dtype == HEED_INT8 && size >= 0x1.8p127f) {
        EXPECT_EQ(status, HEED_STATUS(HEED_NOT_FINITE, HEED_ARG_K)) << size;
        EXPECT_TRUE(std::equal(before.begin(), before.end(), memory_bytes)) << "the cache is as it was";
      } else {
        EXPECT_EQ(status, HEED_OK) << dtype << ' ' << size;
        EXPECT_EQ(heed_cache_length(&cache, 0), 2);
      }
    }
}

// Inputs to the end of the stated range, all products of a block with its greatest number.
TEST_P(extreme_numbers, products_with_scales_keep_their_bound) {
  constexpr int32_t n_in = 96, n_out = 5;
  HEED_MEMORY(packed, 8192);
  for (const int32_t dtype : {HEED_INT8, HEED_Q8_0, HEED_Q4_0})
    for (const int32_t k : {-14, 0, 10})
      for (const int32_t size : {-100, -60, 0, 60, 100, 105, 116}) {
        const float number = dtype == HEED_Q4_0 ? -8.0f : 127.0f;
        const std::vector<float> x(n_in, std::ldexp(1.0f, size)), w(n_in * n_out, std::ldexp(number, k));
        const double exact = std::ldexp(double(number) * n_in, size + k);
        if (std::fabs(exact) > 0x1.fffffep127) continue;
        heed_weights weights;
        ASSERT_EQ(
            heed_weights_pack(heed_weights_of(w.data(), nullptr, HEED_F32, HEED_OUT_IN, n_in, n_out), dtype, packed),
            HEED_OK);
        ASSERT_EQ(heed_weights_open(&weights, packed.data, packed.bytes), HEED_OK);
        float y[n_out];
        ASSERT_EQ(
            heed_linear(heed_matrix_of(x.data(), 1, n_in), weights, nullptr, heed_matrix_out_of(y, 1, n_out), nullptr),
            HEED_OK);
        const double bound = 1.5 * (n_in + 1) * 0x1p-24 * std::fabs(exact);
        for (const float found : y)
          EXPECT_LE(std::fabs(found - exact), bound) << "format " << dtype << ", 2^" << size << " by 2^" << k;
      }
}

HEED_TEST_EVERY_KERNEL(extreme_numbers);

}  // namespace
}  // namespace heed_test
