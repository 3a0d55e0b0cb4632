// heed.hpp: caches, weights, norms, activations, rotary embedding and layers give what the C interface gives.
// SPDX-License-Identifier: MIT
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

class cpp_block : public kernel_test {
 protected:
  random_source r_{1};
};

TEST_P(cpp_block, rows) {
  float x[3][21], up[3][21], weight[21], bias[21], expected[3][21], found[3][21];
  fill(r_, &x), fill(r_, &up), fill(r_, &weight), fill(r_, &bias);
  const heed_matrix c_x = heed_matrix_of(x[0], 3, 21), c_up = heed_matrix_of(up[0], 3, 21);
  const heed_matrix_out c_y = heed_matrix_out_of(expected[0], 3, 21);
  for (heed_norm *f : {heed_rms_norm, heed_layer_norm}) {
    ASSERT_EQ(f(c_x, nullptr, nullptr, 1e-5f, c_y, nullptr), HEED_OK);
    ASSERT_TRUE(heed::norm(f, x, found));
    EXPECT_TRUE(same_bytes(expected, found));
    ASSERT_EQ(f(c_x, weight, nullptr, 1e-3f, c_y, nullptr), HEED_OK);
    ASSERT_TRUE(heed::norm(f, x, weight, found, 1e-3f));
    EXPECT_TRUE(same_bytes(expected, found));
    ASSERT_EQ(f(c_x, weight, bias, 1e-5f, c_y, nullptr), HEED_OK);
    ASSERT_TRUE(heed::norm(f, x, weight, bias, found));
    EXPECT_TRUE(same_bytes(expected, found));
    EXPECT_EQ(heed::norm(f, x, found, -1).code(), HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_EPS));
  }
  for (heed_activation *f : {heed_gelu, heed_gelu_tanh, heed_silu, heed_relu}) {
    ASSERT_EQ(f(c_x, heed_matrix(), c_y, nullptr), HEED_OK);
    ASSERT_TRUE(heed::activate(f, x, found));
    EXPECT_TRUE(same_bytes(expected, found));
    ASSERT_EQ(f(c_x, c_up, c_y, nullptr), HEED_OK);
    ASSERT_TRUE(heed::activate(f, x, up, found));
    EXPECT_TRUE(same_bytes(expected, found));
  }
  ASSERT_EQ(heed_add(c_x, c_up, c_y, nullptr), HEED_OK);
  ASSERT_TRUE(heed::add(x, up, x)) << "in place";
  EXPECT_TRUE(same_bytes(expected, x));
}

TEST_P(cpp_block, rotary_embedding) {
  float x[4][2][10], expected[4][2][10], found[4][2][10];
  const float frequencies[3] = {1, 0.25f, 0.125f};
  const int32_t positions[4] = {5, 0, -7, 100000};
  fill(r_, &x);
  heed_rope c;
  ASSERT_EQ(heed_rope_init(&c, HEED_ROPE_HALVES), HEED_OK);
  c.base = 500, c.scale = 0.5f, c.rotary_dim = 8;
  heed::rope rope(HEED_ROPE_HALVES);
  rope.base(500).scale(0.5f).rotary_dim(8);
  const auto c_apply = [&](int32_t position, const int32_t *each) {
    return heed_rope_apply(&c, heed_token_major(x[0][0], 4, 2, 10), 4, 2, 10, position, each,
                           heed_token_major_out(expected[0][0], 4, 2, 10), nullptr);
  };
  ASSERT_EQ(c_apply(77, nullptr), HEED_OK);
  ASSERT_TRUE(rope.apply(x, 77, found));
  EXPECT_TRUE(same_bytes(expected, found));
  c.inverse_frequencies = frequencies, c.rotary_dim = 6;
  rope.inverse_frequencies(frequencies);
  ASSERT_EQ(c_apply(0, positions), HEED_OK);
  ASSERT_TRUE(rope.apply(x, positions, found));
  EXPECT_TRUE(same_bytes(expected, found));
}

TEST_P(cpp_block, projections) {
  float x[3][5], in_out[5][7], out_in[7][5], bias[7], scales[7], expected[3][7], found[3][7];
  int8_t q_in_out[5][7], q_out_in[7][5];
  uint16_t halves[5][7], halves_out_in[7][5];
  fill(r_, &x), fill(r_, &in_out), fill(r_, &bias);
  for (int i = 0; i < 35; ++i) out_in[i % 7][i / 7] = in_out[i / 7][i % 7];
  const auto c_project = [&](const void *data, int32_t format, const float *b) {
    const heed_weights w = heed_weights_of(data, format, HEED_IN_OUT, 5, 7, scales);
    return heed_project(heed_matrix_of(x[0], 3, 5), &w, b, heed_matrix_out_of(expected[0], 3, 7), nullptr);
  };
  ASSERT_EQ(c_project(in_out, HEED_F32, nullptr), HEED_OK);
  ASSERT_TRUE(heed::project(x, heed::in_out(in_out), found));
  EXPECT_TRUE(same_bytes(expected, found));
  ASSERT_TRUE(heed::project(x, heed::out_in(out_in), found));
  EXPECT_TRUE(same_bytes(expected, found));
  ASSERT_EQ(heed_quantize_weights(heed_matrix_of(in_out[0], 5, 7), HEED_IN_OUT, q_in_out[0], scales), HEED_OK);
  for (int i = 0; i < 35; ++i) q_out_in[i % 7][i / 7] = q_in_out[i / 7][i % 7];
  ASSERT_EQ(c_project(q_in_out, HEED_INT8, bias), HEED_OK);
  ASSERT_TRUE(heed::project(x, heed::in_out(q_in_out, scales), bias, found));
  EXPECT_TRUE(same_bytes(expected, found));
  ASSERT_TRUE(heed::project(x, heed::out_in(q_out_in, scales), bias, found));
  EXPECT_TRUE(same_bytes(expected, found));
  ASSERT_EQ(heed_narrow(heed_matrix_of(in_out[0], 5, 7), HEED_F16, halves, 7, nullptr), HEED_OK);
  for (int i = 0; i < 35; ++i) halves_out_in[i % 7][i / 7] = halves[i / 7][i % 7];
  ASSERT_EQ(c_project(halves, HEED_F16, nullptr), HEED_OK);
  ASSERT_TRUE(heed::project(x, heed::in_out<HEED_F16>(halves), found));
  EXPECT_TRUE(same_bytes(expected, found));
  ASSERT_TRUE(heed::project(x, heed::out_in<HEED_F16>(halves_out_in), found));
  EXPECT_TRUE(same_bytes(expected, found));
}

TEST_P(cpp_block, caches) {
  static heed::cache<100, 2, 6, 3> linear;
  static heed::ring_cache<64, 2, 6, 3, HEED_INT8, 2, 10> ring;
  static_assert(sizeof linear.bytes() == HEED_CACHE_BYTES(HEED_CACHE_LINEAR, 100, 0, 0, 1, 2, 6, 3, HEED_F32), "");
  static_assert(sizeof ring.bytes() == HEED_CACHE_BYTES(HEED_CACHE_RING, 64, 2, 10, 1, 2, 6, 3, HEED_INT8), "");
  static_assert(!std::is_copy_constructible<decltype(linear)>::value, "it points into itself");
  static heed::workspace<6, 3> scratch;
  static float q[5][4][6], k[30][2][6], v[30][2][3], out[5][4][3], expected[5][4][3], lse[4][5], c_lse[4][5];
  fill(r_, &q), fill(r_, &k), fill(r_, &v);
  // Without rotary embedding a cache of the same tokens is the plain call.
  ASSERT_TRUE(linear.begin());
  EXPECT_EQ(linear.append(k, v).code(), HEED_OK);
  EXPECT_EQ(linear.length(), 30);
  heed::attention_options causal;
  causal.causal = true;
  ASSERT_EQ(heed::attention(q, linear, out, scratch, causal).code(), HEED_OK);
  causal.causal_offset = 25;
  ASSERT_EQ(heed::attention(q, k, v, expected, scratch, causal).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(expected, out));
  heed::options<4, 5, 100> of_cache;
  of_cache.softcap(2).lse(lse).causal = true;
  heed::options<4, 5, 30> of_rows;
  of_rows.softcap(2).lse(c_lse);
  of_rows.causal = true, of_rows.causal_offset = 25;
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

  // A ring, turned on the way in, saved and opened again.
  const heed::rope turn(HEED_ROPE_INTERLEAVED);
  static heed::ring_cache<64, 2, 6, 3, HEED_INT8, 2, 10> copy;
  ASSERT_TRUE(ring.begin());
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.append(k, v, turn));
  EXPECT_EQ(ring.length(), 120);
  ASSERT_EQ(heed::attention(q, ring, expected, scratch, {}).code(), HEED_OK);
  ASSERT_TRUE(ring.seal());
  std::memcpy(copy.bytes(), ring.bytes(), sizeof ring.bytes());
  ASSERT_TRUE(copy.open());
  ASSERT_EQ(heed::attention(q, copy, out, scratch, {}).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(expected, out));
  copy.bytes()[copy.n_bytes - 1] ^= 1;
  EXPECT_EQ(copy.open().code(), HEED_STATUS(HEED_DAMAGED, HEED_ARG_BUFFER));
}

TEST_P(cpp_block, layers) {
  constexpr int dim = 12, heads = 2, head_dim = 6, hidden = 20;
  static float x[3][dim], found[3][dim], expected[3][dim], n1[dim], n2[dim], w[4][dim][dim], up[hidden][dim],
      gate[hidden][dim], down[dim][hidden], up_bias[hidden];
  fill(r_, &x), fill(r_, &n1), fill(r_, &n2), fill(r_, &w), fill(r_, &up), fill(r_, &gate), fill(r_, &down);
  fill(r_, &up_bias);
  static heed::cache<9, heads, head_dim> kv, c_kv;
  static heed::block_memory<4, dim, heads, heads, head_dim, hidden> memory;
  const heed::rope turn(HEED_ROPE_HALVES);
  heed::block<dim, heads, heads, head_dim, hidden> layer(heed_rms_norm, true);
  layer.norm_weights(n1, n2).norm_biases(n2, n1).turn(turn).keep(kv);
  layer.attention(heed::out_in(w[0]), heed::in_out(w[1]), heed::out_in(w[2]), heed::in_out(w[3]));
  layer.attention_biases(n1, n2, n1, n2);
  layer.feed_forward(heed_silu, heed::out_in(up), heed::out_in(down)).gate(heed::out_in(gate));

  heed_block c = {};
  c.struct_size = sizeof c;
  c.model_dim = dim, c.n_heads = c.n_kv_heads = heads, c.head_dim = c.v_dim = head_dim, c.hidden_dim = hidden;
  c.causal = c.norm_first = 1, c.eps = 1e-5f, c.norm = heed_rms_norm, c.activation = heed_silu;
  c.norm1_weight = c.norm2_bias = n1, c.norm2_weight = c.norm1_bias = n2;
  c.bq = c.bv = n1, c.bk = c.bo = n2;
  c.wq = heed_weights_of(w[0], HEED_F32, HEED_OUT_IN, dim, dim, nullptr);
  c.wk = heed_weights_of(w[1], HEED_F32, HEED_IN_OUT, dim, dim, nullptr);
  c.wv = heed_weights_of(w[2], HEED_F32, HEED_OUT_IN, dim, dim, nullptr);
  c.wo = heed_weights_of(w[3], HEED_F32, HEED_IN_OUT, dim, dim, nullptr);
  c.w_up = heed_weights_of(up, HEED_F32, HEED_OUT_IN, dim, hidden, nullptr);
  c.w_gate = heed_weights_of(gate, HEED_F32, HEED_OUT_IN, dim, hidden, nullptr);
  c.w_down = heed_weights_of(down, HEED_F32, HEED_OUT_IN, hidden, dim, nullptr);
  c.rope = turn.c_rope(), c.cache = c_kv.c_cache();
  ASSERT_TRUE(kv.begin());
  ASSERT_TRUE(c_kv.begin());
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(
        heed_block_run(&c, heed_matrix_of(x[0], 3, dim), heed_matrix_out_of(expected[0], 3, dim), memory.activations,
                       memory.n_floats, memory.scratch.bytes, memory.scratch.n_bytes, nullptr),
        HEED_OK);
    ASSERT_EQ(layer.run(x, found, memory).code(), HEED_OK);
    EXPECT_TRUE(same_bytes(expected, found));
  }
  EXPECT_EQ(kv.length(), 9);
  EXPECT_EQ(layer.run(x, found, memory).code(), HEED_STATUS(HEED_FULL, HEED_ARG_CACHE));

  // An encoder's.
  heed::block<dim, heads, heads, head_dim, hidden> encoder(heed_layer_norm, false);
  encoder.attention(heed::out_in(w[0]), heed::in_out(w[1]), heed::out_in(w[2]), heed::in_out(w[3]));
  encoder.feed_forward(heed_gelu, heed::out_in(up), heed::out_in(down)).feed_forward_biases(up_bias, n1);
  c.rope = nullptr, c.cache = nullptr, c.causal = c.norm_first = 0, c.norm = heed_layer_norm;
  c.activation = heed_gelu, c.w_gate = {}, c.b_up = up_bias, c.b_down = n1;
  c.bq = c.bk = c.bv = c.bo = c.norm1_weight = c.norm2_weight = c.norm1_bias = c.norm2_bias = nullptr;
  ASSERT_EQ(heed_block_run(&c, heed_matrix_of(x[0], 3, dim), heed_matrix_out_of(expected[0], 3, dim),
                           memory.activations, memory.n_floats, memory.scratch.bytes, memory.scratch.n_bytes, nullptr),
            HEED_OK);
  ASSERT_EQ(encoder.run(x, found, memory).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(expected, found));
}

HEED_TEST_EVERY_KERNEL(cpp_block);

}  // namespace
}  // namespace heed_test
