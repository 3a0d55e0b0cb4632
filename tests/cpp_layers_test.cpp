// heed.hpp: caches give what the C interface gives, and views of arrays reach weights, layers and rope.
// SPDX-License-Identifier: MIT
#include <cstring>
#include <type_traits>

#include "heed/heed.hpp"
#include "support/data.hpp"
#include "support/kernels.hpp"

namespace heed_test {
namespace {

template <typename T>
void fill(random_source &r, T *array) {
  float *first = reinterpret_cast<float *>(array);
  for (size_t i = 0; i < sizeof *array / sizeof(float); ++i) first[i] = r.bell();
}
template <typename T>
bool same_bytes(const T &a, const T &b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

class cpp_layers : public kernel_test {
 protected:
  random_source r_{1};
};

// The same projection by views of every kind of weights, and by the C functions.
TEST_P(cpp_layers, weights) {
  float x[3][5], in_out[5][7], out_in[7][5], bias[7], scales[7], expected[3][7], found[3][7];
  int8_t q_in_out[5][7], q_out_in[7][5];
  heed::half halves[5][7];
  heed::bfloat16 brains[7][5];
  fill(r_, &x), fill(r_, &in_out), fill(r_, &bias);
  for (int i = 0; i < 35; ++i) out_in[i % 7][i / 7] = in_out[i / 7][i % 7];
  ASSERT_EQ(heed_convert_from_f32(heed::rows(in_out), heed::rows(halves)), HEED_OK);
  ASSERT_EQ(heed_convert_from_f32(heed::rows(out_in), heed::rows(brains)), HEED_OK);
  ASSERT_EQ(heed_weights_quantize(heed::rows(in_out), HEED_IN_OUT, q_in_out[0], scales), HEED_OK);
  for (int i = 0; i < 35; ++i) q_out_in[i % 7][i / 7] = q_in_out[i / 7][i % 7];
  const struct {
    heed_weights view, c;
  } cases[] = {
      {heed::in_out(in_out), heed_weights_of(in_out, nullptr, HEED_F32, HEED_IN_OUT, 5, 7)},
      {heed::out_in(out_in), heed_weights_of(out_in, nullptr, HEED_F32, HEED_OUT_IN, 5, 7)},
      {heed::in_out(halves), heed_weights_of(halves, nullptr, HEED_F16, HEED_IN_OUT, 5, 7)},
      {heed::out_in(brains), heed_weights_of(brains, nullptr, HEED_BF16, HEED_OUT_IN, 5, 7)},
      {heed::in_out(q_in_out, scales), heed_weights_of(q_in_out, scales, HEED_INT8, HEED_IN_OUT, 5, 7)},
      {heed::out_in(q_out_in, scales), heed_weights_of(q_out_in, scales, HEED_INT8, HEED_OUT_IN, 5, 7)},
  };
  for (const auto &c : cases) {
    ASSERT_EQ(heed_linear(heed_matrix_of(x[0], 3, 5), c.c, bias, heed_matrix_out_of(expected[0], 3, 7), nullptr),
              HEED_OK);
    ASSERT_EQ(heed_linear(heed::rows(x), c.view, bias, heed::rows(found), nullptr), HEED_OK);
    EXPECT_TRUE(same_bytes(expected, found)) << c.c.dtype << " " << c.c.layout;
  }
}

TEST_P(cpp_layers, packed_weights_and_typed_rows) {
  static heed::memory<HEED_WEIGHTS_PACKED_BYTES(HEED_F16, 5, 7)> packed;
  static_assert(packed.n_bytes == sizeof packed.bytes, "");
  float x[3][5], w[7][5], rounded[7][5], expected[3][7], found[3][7];
  heed::half halves[7][5];
  fill(r_, &x), fill(r_, &w);
  ASSERT_EQ(heed_weights_pack(heed::out_in(w), HEED_F16, packed), HEED_OK);
  heed_weights view;
  ASSERT_EQ(heed_weights_open(&view, packed.bytes, packed.n_bytes), HEED_OK);
  ASSERT_EQ(heed_linear(heed::rows(x), view, nullptr, heed::rows(found), nullptr), HEED_OK);
  ASSERT_EQ(heed_convert_from_f32(heed::rows(w), heed::rows(halves)), HEED_OK);
  ASSERT_EQ(heed_convert_to_f32(heed::rows(halves), heed::rows(rounded)), HEED_OK);
  ASSERT_EQ(heed_linear(heed::rows(x), heed::out_in(rounded), nullptr, heed::rows(expected), nullptr), HEED_OK);
  EXPECT_TRUE(same_bytes(expected, found));
}

TEST_P(cpp_layers, caches) {
  static heed::cache<100, 2, 6, 3> linear;
  static heed::ring_cache<64, 2, 6, 3, HEED_INT8, 2, 10> ring;
  static_assert(sizeof linear.bytes() == HEED_CACHE_BYTES(100, 1, 2, 6, 3, HEED_F32), "");
  static_assert(sizeof ring.bytes() == HEED_RING_BYTES(64, 2, 10, 1, 2, 6, 3, HEED_INT8), "");
  static_assert(!std::is_copy_constructible<decltype(linear)>::value, "it points into itself");
  static heed::workspace<6, 3> scratch;
  static float q[5][4][6], k[30][2][6], v[30][2][3], out[5][4][3], expected[5][4][3], lse[4][5], c_lse[4][5];
  fill(r_, &q), fill(r_, &k), fill(r_, &v);
  // Without rotary embedding a cache of the same tokens is the plain call.
  ASSERT_TRUE(linear.begin());
  EXPECT_EQ(linear.append(k, v).code(), HEED_OK);
  EXPECT_EQ(linear.length(), 30);
  heed::attention_options newest;
  newest.causal = true, newest.position = 25;
  ASSERT_EQ(heed::attention(q, linear, out, scratch).code(), HEED_OK);
  ASSERT_EQ(heed::attention(q, k, v, expected, scratch, newest).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(expected, out)) << "attention over a cache is causal";
  heed::options<4, 5, 100> of_cache;
  of_cache.softcap(2).lse(lse);
  heed::options<4, 5, 30> of_rows;
  of_rows.softcap(2).lse(c_lse);
  of_rows.causal = true, of_rows.position = 25;
  ASSERT_EQ(heed::attention(q, linear, out, scratch, of_cache).code(), HEED_OK);
  ASSERT_EQ(heed::attention(q, k, v, expected, scratch, of_rows).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(expected, out));
  EXPECT_TRUE(same_bytes(c_lse, lse));
  EXPECT_TRUE(linear.truncate(7));
  EXPECT_EQ(linear.length(), 7);
  EXPECT_TRUE(linear.reset());
  EXPECT_EQ(linear.length(), 0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(linear.append(k, v));
  EXPECT_EQ(linear.append(k, v).code(), HEED_STATUS(HEED_FULL, HEED_ARG_CACHE));

  // A ring whose keys are rotated on the way in, saved and loaded again.
  heed_rope rope;
  ASSERT_EQ(heed_rope_init(&rope, HEED_ROPE_INTERLEAVED), HEED_OK);
  static heed::ring_cache<64, 2, 6, 3, HEED_INT8, 2, 10> copy;
  ASSERT_TRUE(ring.begin());
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.append(k, v, &rope));
  EXPECT_EQ(ring.length(), 120);
  ASSERT_EQ(heed::attention(q, ring, expected, scratch).code(), HEED_OK);
  ASSERT_TRUE(ring.save());
  std::memcpy(copy.bytes(), ring.bytes(), sizeof ring.bytes());
  ASSERT_TRUE(copy.load());
  ASSERT_EQ(heed::attention(q, copy, out, scratch).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(expected, out));
  copy.bytes()[copy.n_bytes - 1] ^= 1;
  EXPECT_EQ(copy.load().code(), HEED_STATUS(HEED_CORRUPT, HEED_ARG_MEMORY));
}

// A decoder layer by views and objects, and the same by the C functions.
TEST_P(cpp_layers, decoder_layer) {
  static struct {
    float x[3][12], norm1[12], norm2[12], wq[12][12], wk[12][12], wv[12][12], wo[12][12], up[20][12], down[12][20];
  } a;
  fill(r_, &a);
  static heed::cache<9, 2, 6> kv, c_kv;
  static heed::memory<HEED_TRANSFORMER_LAYER_BYTES(3, 12, 2, 2, 20, 0)> scratch;
  float expected[3][12], found[3][12];
  heed_rope rope;
  ASSERT_EQ(heed_rope_init(&rope, HEED_ROPE_HALVES), HEED_OK);
  heed_attention_layer attention = heed_attention_layer_default(12, 2);
  attention.wq = heed::out_in(a.wq), attention.wk = heed::out_in(a.wk);
  attention.wv = heed::in_out(a.wv), attention.wo = heed::in_out(a.wo);
  attention.rope = &rope, attention.cache = kv, attention.causal = 1;
  heed_transformer_layer layer = heed_transformer_layer_default(&attention, 20, heed_rms_norm, heed_silu);
  layer.norm_first = 1, layer.norm1_weight = a.norm1, layer.norm2_weight = a.norm2;
  layer.w_up = heed::out_in(a.up), layer.w_down = heed::out_in(a.down);

  heed_attention_layer c_attention = attention;
  c_attention.wq = heed_weights_of(a.wq, nullptr, HEED_F32, HEED_OUT_IN, 12, 12);
  c_attention.wk = heed_weights_of(a.wk, nullptr, HEED_F32, HEED_OUT_IN, 12, 12);
  c_attention.wv = heed_weights_of(a.wv, nullptr, HEED_F32, HEED_IN_OUT, 12, 12);
  c_attention.wo = heed_weights_of(a.wo, nullptr, HEED_F32, HEED_IN_OUT, 12, 12);
  c_attention.cache = c_kv;
  heed_transformer_layer c = layer;
  c.attention = &c_attention;
  c.w_up = heed_weights_of(a.up, nullptr, HEED_F32, HEED_OUT_IN, 12, 20);
  c.w_down = heed_weights_of(a.down, nullptr, HEED_F32, HEED_OUT_IN, 20, 12);
  ASSERT_TRUE(kv.begin());
  ASSERT_TRUE(c_kv.begin());
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(heed_transformer_layer_run(&c, heed_matrix_of(a.x[0], 3, 12), heed_matrix_out_of(expected[0], 3, 12),
                                         heed_memory_of(scratch.bytes, scratch.n_bytes), nullptr),
              HEED_OK);
    ASSERT_EQ(heed_transformer_layer_run(&layer, heed::rows(a.x), heed::rows(found), scratch, nullptr), HEED_OK);
    EXPECT_TRUE(same_bytes(expected, found));
  }
  EXPECT_EQ(kv.length(), 9);
  // The shape of a view is a fact that the layer compares.
  float narrow[3][11];
  EXPECT_EQ(heed_transformer_layer_run(&layer, heed::rows(narrow), heed::rows(found), scratch, nullptr),
            HEED_STATUS(HEED_SHAPE_MISMATCH, HEED_ARG_X));
}

HEED_TEST_EVERY_KERNEL(cpp_layers);

}  // namespace
}  // namespace heed_test
