// heed.hpp: caches, weights, norms, activations, rotary embedding and layers give what the C interface gives.
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

TEST_P(cpp_layers, rows) {
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
  for (heed_activation *f : {heed_gelu, heed_gelu_tanh, heed_silu, heed_relu, heed_tanh, heed_sigmoid}) {
    ASSERT_EQ(f(c_x, heed_no_matrix(), c_y, nullptr), HEED_OK);
    ASSERT_TRUE(heed::activate(f, x, found));
    EXPECT_TRUE(same_bytes(expected, found));
    ASSERT_EQ(f(c_x, c_up, c_y, nullptr), HEED_OK);
    ASSERT_TRUE(heed::activate(f, x, up, found));
    EXPECT_TRUE(same_bytes(expected, found));
  }
  ASSERT_EQ(heed_group_norm(c_x, weight, bias, 1, 1e-5f, c_y, nullptr), HEED_OK);
  ASSERT_TRUE(heed::group_norm(x, weight, bias, 1, found));
  EXPECT_TRUE(same_bytes(expected, found));
  ASSERT_EQ(heed_mean_rows(c_x, expected[0], nullptr), HEED_OK);
  ASSERT_TRUE(heed::mean_rows(x, found[0]));
  EXPECT_TRUE(same_bytes(expected[0], found[0]));
  int32_t greatest[sizeof x / sizeof *x], two[sizeof x / sizeof *x][2];
  float values[sizeof x / sizeof *x][2];
  ASSERT_TRUE(heed::argmax(x, greatest));
  ASSERT_TRUE(heed::largest(x, two, values));
  for (size_t i = 0; i < sizeof x / sizeof *x; ++i) {
    EXPECT_EQ(two[i][0], greatest[i]);
    EXPECT_EQ(values[i][1], x[i][two[i][1]]);
  }
  heed::sampler<sizeof x[0] / sizeof x[0][0]> sampler;
  sampler.top_k = 1;
  int32_t token = -1;
  ASSERT_TRUE(sampler.sample(x[0], 0.9f, token));
  EXPECT_EQ(token, greatest[0]);
  ASSERT_EQ(heed_add(c_x, c_up, c_y, nullptr), HEED_OK);
  ASSERT_TRUE(heed::add(x, up, x)) << "in place";
  EXPECT_TRUE(same_bytes(expected, x));
}

TEST_P(cpp_layers, rotary_embedding) {
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

TEST_P(cpp_layers, packed_weights) {
  static heed::packed_weights<HEED_INT8, 64, 7> memory;
  static heed::packed_weights<HEED_Q4_0, 64, 7> small;
  float x[3][64], w[7][64], bias[7], expected[3][7], found[3][7];
  for (int i = 0; i < 3 * 64; ++i) x[i / 64][i % 64] = float(i % 11) - 5;
  for (int i = 0; i < 7 * 64; ++i) w[i / 64][i % 64] = float(i % 13) - 6;
  for (int i = 0; i < 7; ++i) bias[i] = float(i);
  heed::weights<64, 7> packed = heed::out_in(w);
  ASSERT_TRUE(memory.pack(packed));
  ASSERT_TRUE(memory.view(packed));
  EXPECT_EQ(heed::check(packed).code(), HEED_STATUS(HEED_UNKNOWN_VERSION, HEED_ARG_W));
  ASSERT_TRUE(memory.add_checksum());
  EXPECT_TRUE(heed::check(packed));
  ASSERT_TRUE(heed::project(x, packed, bias, found));
  int8_t q[7][64];
  float scales[7];
  ASSERT_EQ(heed_weights_quantize(heed_matrix_of(w[0], 7, 64), HEED_OUT_IN, q[0], scales), HEED_OK);
  ASSERT_TRUE(heed::project(x, heed::out_in(q, scales), bias, expected));
  EXPECT_EQ(std::memcmp(expected, found, sizeof found), 0);
  heed::weights<64, 8> wide = {};
  EXPECT_EQ(heed::open(wide, memory.bytes, memory.n_bytes).code(), HEED_STATUS(HEED_SHAPE_MISMATCH, HEED_ARG_PACKED));
  EXPECT_EQ(heed::open(packed, memory.bytes, memory.n_bytes - 1).code(), HEED_STATUS(HEED_TOO_SMALL, HEED_ARG_PACKED));
  EXPECT_EQ(wide.c.data, nullptr);
  const unsigned char file[7][2][18] = {};
  const heed::weights<64, 7> blocks = heed::blocks<HEED_Q4_0, 64, 7>(file);
  ASSERT_TRUE(heed::project(x, blocks, bias, expected));
  ASSERT_TRUE(small.pack(blocks));
  ASSERT_TRUE(small.view(packed));
  ASSERT_TRUE(heed::project(x, packed, bias, found));
  EXPECT_EQ(std::memcmp(expected, found, sizeof found), 0);
}

TEST_P(cpp_layers, projections) {
  float x[3][5], in_out[5][7], out_in[7][5], bias[7], scales[7], expected[3][7], found[3][7];
  int8_t q_in_out[5][7], q_out_in[7][5];
  uint16_t halves[5][7], halves_out_in[7][5];
  fill(r_, &x), fill(r_, &in_out), fill(r_, &bias);
  for (int i = 0; i < 35; ++i) out_in[i % 7][i / 7] = in_out[i / 7][i % 7];
  const auto c_project = [&](const void *data, int32_t dtype, const float *b) {
    const heed_weights w = heed_weights_of(data, scales, dtype, HEED_IN_OUT, 5, 7);
    return heed_linear(heed_matrix_of(x[0], 3, 5), w, b, heed_matrix_out_of(expected[0], 3, 7), nullptr);
  };
  ASSERT_EQ(c_project(in_out, HEED_F32, nullptr), HEED_OK);
  ASSERT_TRUE(heed::project(x, heed::in_out(in_out), found));
  EXPECT_TRUE(same_bytes(expected, found));
  ASSERT_TRUE(heed::project(x, heed::out_in(out_in), found));
  EXPECT_TRUE(same_bytes(expected, found));
  ASSERT_EQ(heed_weights_quantize(heed_matrix_of(in_out[0], 5, 7), HEED_IN_OUT, q_in_out[0], scales), HEED_OK);
  for (int i = 0; i < 35; ++i) q_out_in[i % 7][i / 7] = q_in_out[i / 7][i % 7];
  ASSERT_EQ(c_project(q_in_out, HEED_INT8, bias), HEED_OK);
  ASSERT_TRUE(heed::project(x, heed::in_out(q_in_out, scales), bias, found));
  EXPECT_TRUE(same_bytes(expected, found));
  ASSERT_TRUE(heed::project(x, heed::out_in(q_out_in, scales), bias, found));
  EXPECT_TRUE(same_bytes(expected, found));
  ASSERT_EQ(
      heed_convert_from_f32(heed_matrix_of(in_out[0], 5, 7), heed_typed_matrix_out_of(halves, nullptr, HEED_F16, 5, 7)),
      HEED_OK);
  for (int i = 0; i < 35; ++i) halves_out_in[i % 7][i / 7] = halves[i / 7][i % 7];
  ASSERT_EQ(c_project(halves, HEED_F16, nullptr), HEED_OK);
  ASSERT_TRUE(heed::project(x, heed::in_out<HEED_F16>(halves), found));
  EXPECT_TRUE(same_bytes(expected, found));
  ASSERT_TRUE(heed::project(x, heed::out_in<HEED_F16>(halves_out_in), found));
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

  // A ring, turned on the way in, saved and opened again.
  const heed::rope turn(HEED_ROPE_INTERLEAVED);
  static heed::ring_cache<64, 2, 6, 3, HEED_INT8, 2, 10> copy;
  ASSERT_TRUE(ring.begin());
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.append(k, v, turn));
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

// Weights of a layer of 12 numbers with 2 heads of 6; the same arrays serve for all.
struct arrays {
  float x[3][12], n1[12], n2[12], w[4][12][12], up[20][12], gate[20][12], down[12][20], up_bias[20];
};
heed_attention_layer c_attention(const arrays &a) {
  heed_attention_layer c = heed_attention_layer_default(12, 2);
  c.wq = heed_weights_of(a.w[0], nullptr, HEED_F32, HEED_OUT_IN, 12, 12);
  c.wk = heed_weights_of(a.w[1], nullptr, HEED_F32, HEED_IN_OUT, 12, 12);
  c.wv = heed_weights_of(a.w[2], nullptr, HEED_F32, HEED_OUT_IN, 12, 12);
  c.wo = heed_weights_of(a.w[3], nullptr, HEED_F32, HEED_IN_OUT, 12, 12);
  return c;
}
heed_transformer_layer c_transformer(const arrays &a, const heed_attention_layer &attention, heed_norm *norm,
                                     heed_activation *activation) {
  heed_transformer_layer c = heed_transformer_layer_default(&attention, 20, norm, activation);
  c.w_up = heed_weights_of(a.up, nullptr, HEED_F32, HEED_OUT_IN, 12, 20);
  c.w_down = heed_weights_of(a.down, nullptr, HEED_F32, HEED_OUT_IN, 20, 12);
  return c;
}

TEST_P(cpp_layers, attention_layer) {
  static arrays a;
  fill(r_, &a);
  using layer_type = heed::attention_layer<12, 2, 2, 6>;
  static heed::layer_memory<layer_type, 4> memory;
  static_assert(memory.n_bytes == HEED_ATTENTION_LAYER_BYTES(4, 2, 2, 6, 6), "one worker");
  static_assert(heed::layer_memory<layer_type, 4, 3>::n_bytes == memory.n_bytes + 2 * HEED_WORKSPACE_BYTES(6, 6), "");
  float expected[3][12], found[3][12];
  const heed_matrix x = heed_matrix_of(a.x[0], 3, 12);
  heed_attention_layer c = c_attention(a);
  c.causal = 1, c.scale = 0.5f, c.bq = c.bv = a.n1, c.bk = c.bo = a.n2;
  EXPECT_EQ(memory.n_bytes, heed_attention_layer_bytes(&c, 4));
  ASSERT_EQ(heed_attention_layer_run(&c, x, heed_matrix_out_of(expected[0], 3, 12), memory.memory(), nullptr), HEED_OK);
  layer_type layer;
  layer.projections(heed::out_in(a.w[0]), heed::in_out(a.w[1]), heed::out_in(a.w[2]), heed::in_out(a.w[3]));
  layer.biases(a.n1, a.n2, a.n1, a.n2).causal().scale(0.5f);
  ASSERT_EQ(layer.run(a.x, found, memory).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(expected, found));
  layer.scale(0);
  EXPECT_EQ(layer.run(a.x, found, memory).code(), HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_SCALE));

  // Of one key/value head, without wo: the context.
  float w[12][6], bias[6];
  fill(r_, &w), fill(r_, &bias);
  c = heed_attention_layer_default(12, 2);
  c.n_kv_heads = 1, c.bq = a.n1, c.bk = c.bv = bias;
  c.wq = heed_weights_of(a.w[0], nullptr, HEED_F32, HEED_OUT_IN, 12, 12);
  c.wk = c.wv = heed_weights_of(w, nullptr, HEED_F32, HEED_IN_OUT, 12, 6);
  ASSERT_EQ(heed_attention_layer_run(&c, x, heed_matrix_out_of(expected[0], 3, 12), memory.memory(), nullptr), HEED_OK);
  heed::attention_layer<12, 2, 1, 6> context;
  static heed::layer_memory<decltype(context), 3> of_context;
  context.projections(heed::out_in(a.w[0]), heed::in_out(w), heed::in_out(w)).biases(a.n1, bias, bias);
  ASSERT_EQ(context.run(a.x, found, of_context).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(expected, found));
}

using decoder = heed::transformer_layer<12, 2, 2, 6, 20>;

TEST_P(cpp_layers, decoder_layer) {
  static arrays a;
  fill(r_, &a);
  static heed::cache<9, 2, 6> kv, c_kv;
  static heed::layer_memory<decoder, 4> memory;
  static_assert(memory.n_bytes == HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(4, 12, 2, 2, 6, 6, 20, 1), "one worker");
  static_assert(!std::is_copy_constructible<decoder>::value, "it points into itself");
  float expected[3][12], found[3][12];
  const heed::rope turn(HEED_ROPE_HALVES);
  decoder layer(heed_rms_norm, heed_silu);
  layer.attention.projections(heed::out_in(a.w[0]), heed::in_out(a.w[1]), heed::out_in(a.w[2]), heed::in_out(a.w[3]));
  layer.attention.biases(a.n1, a.n2, a.n1, a.n2).rotate(turn).keep(kv);
  layer.norms_first().eps(1e-3f).norm_weights(a.n1, a.n2).norm_biases(a.n2, a.n1);
  layer.feed_forward(heed::out_in(a.up), heed::out_in(a.down)).gate(heed::out_in(a.gate));

  heed_attention_layer attention = c_attention(a);
  attention.bq = attention.bv = a.n1, attention.bk = attention.bo = a.n2;
  attention.causal = 1, attention.rope = turn.c_rope(), attention.cache = c_kv.c_cache();
  heed_transformer_layer c = c_transformer(a, attention, heed_rms_norm, heed_silu);
  c.norm_first = 1, c.eps = 1e-3f;
  c.norm1_weight = c.norm2_bias = a.n1, c.norm2_weight = c.norm1_bias = a.n2;
  c.w_gate = heed_weights_of(a.gate, nullptr, HEED_F32, HEED_OUT_IN, 12, 20);
  EXPECT_EQ(memory.n_bytes, heed_transformer_layer_bytes(&c, 4));
  ASSERT_TRUE(kv.begin());
  ASSERT_TRUE(c_kv.begin());
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(heed_transformer_layer_run(&c, heed_matrix_of(a.x[0], 3, 12), heed_matrix_out_of(expected[0], 3, 12),
                                         memory.memory(), nullptr),
              HEED_OK);
    ASSERT_EQ(layer.run(a.x, found, memory).code(), HEED_OK);
    EXPECT_TRUE(same_bytes(expected, found));
  }
  EXPECT_EQ(kv.length(), 9);
  EXPECT_EQ(layer.run(a.x, found, memory).code(), HEED_STATUS(HEED_FULL, HEED_ARG_CACHE));
}

TEST_P(cpp_layers, encoder_layer) {
  static arrays a;
  fill(r_, &a);
  static heed::layer_memory<decoder, 3> memory;
  float expected[3][12], found[3][12];
  decoder layer(heed_layer_norm, heed_gelu);
  layer.attention.projections(heed::out_in(a.w[0]), heed::in_out(a.w[1]), heed::out_in(a.w[2]), heed::in_out(a.w[3]));
  layer.feed_forward(heed::out_in(a.up), heed::out_in(a.down)).feed_forward_biases(a.up_bias, a.n1);
  const heed_attention_layer attention = c_attention(a);
  heed_transformer_layer c = c_transformer(a, attention, heed_layer_norm, heed_gelu);
  c.b_up = a.up_bias, c.b_down = a.n1;
  ASSERT_EQ(heed_transformer_layer_run(&c, heed_matrix_of(a.x[0], 3, 12), heed_matrix_out_of(expected[0], 3, 12),
                                       memory.memory(), nullptr),
            HEED_OK);
  ASSERT_EQ(layer.run(a.x, found, memory).code(), HEED_OK);
  EXPECT_TRUE(same_bytes(expected, found));
}

HEED_TEST_EVERY_KERNEL(cpp_layers);

}  // namespace
}  // namespace heed_test
