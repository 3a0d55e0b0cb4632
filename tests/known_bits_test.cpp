// Fixed numbers for the bits of what no hand works out: a change of the arithmetic that kernels and reference share, as
// of a constant or of the order of two roundings, shows here alone. One digest for each arithmetic, the same on every
// machine. SPDX-License-Identifier: MIT
#include "support/digest.h"
#include "support/kernels.hpp"

namespace heed_test {
namespace {

HEED_MEMORY(workspace, HEED_WORKSPACE_BYTES(24, 24));

class known_bits : public kernel_test {
 protected:
  static std::vector<float> draw(size_t n) {
    std::vector<float> x(n);
    fill(x.data(), static_cast<int32_t>(n));
    return x;
  }
  static void add(const std::vector<float> &x) {
    for (const float y : x) digest = (digest ^ ::bits_of(y)) * 1099511628211u;
  }
  static void expect(uint64_t with_fma, uint64_t without_fma) {
    const bool has_fma = heed_isa_arithmetic(heed_isa_current()) == HEED_ARITHMETIC_FMA;
    EXPECT_EQ(digest, has_fma ? with_fma : without_fma) << std::hex << digest;
  }
};

TEST_P(known_bits, attention_with_every_option) {
  constexpr int32_t n_heads = 4, n_kv_heads = 2, n_q = 40, n_kv = 200, dim = 24;
  digest_begin();
  const std::vector<float> q = draw(n_heads * n_q * dim), k = draw(n_kv_heads * n_kv * dim),
                           v = draw(n_kv_heads * n_kv * dim), slopes = draw(n_heads), sink_logits = draw(n_heads);
  std::vector<float> bias = draw(n_q * n_kv), out(n_heads * n_q * dim), lse(n_heads * n_q), sums(n_heads * n_kv),
                     top(n_heads * n_q * 3);
  std::vector<int32_t> keys(top.size());
  for (size_t i = 0; i < bias.size(); i += 7) bias[i] = -std::numeric_limits<float>::infinity();
  heed_ranges ranges;
  heed_mask mask;
  heed_softcap softcap;
  heed_alibi alibi;
  heed_sinks sinks;
  heed_lse lse_object;
  heed_column_sums column_sums;
  heed_topk_weights topk_weights;
  heed_ranges_init(&ranges);
  ranges.left_window = 90, ranges.pinned = 3;
  heed_mask_init_additive(&mask, bias.data(), n_kv, 0, 0, n_kv);
  heed_softcap_init(&softcap, 0.7f);
  heed_alibi_init(&alibi, slopes.data());
  heed_sinks_init(&sinks, sink_logits.data());
  heed_lse_init(&lse_object, heed_head_major_out(lse.data(), n_q, n_heads, 1));
  heed_column_sums_init(&column_sums, {sums.data(), 0, n_kv, 0});
  heed_topk_weights_init(&topk_weights, 3, top.data(), keys.data());
  heed_options options = heed_options_default();
  options.ranges = &ranges, options.mask = &mask, options.softcap = &softcap, options.alibi = &alibi;
  options.sinks = &sinks, options.lse = &lse_object, options.column_sums = &column_sums,
  options.topk_weights = &topk_weights;
  heed_attention call =
      heed_attention_of(q.data(), k.data(), v.data(), n_q, n_kv, n_heads, n_kv_heads, dim, out.data(), workspace);
  call.causal = 1, call.position = n_kv - n_q, call.options = &options;
  ASSERT_EQ(heed_attention_run(&call), HEED_OK);
  for (const auto *results : {&out, &lse, &sums, &top}) add(*results);
  for (const int32_t key : keys) digest = (digest ^ static_cast<uint32_t>(key)) * 1099511628211u;
  expect(0x957bd567d7a356ff, 0x0c778d041b6a3d30);
}

TEST_P(known_bits, a_decoder_layer_with_a_cache) {
  constexpr int32_t n = 50, dim = 24, n_heads = 3, head_dim = 8, hidden = 40;
  for (const int32_t dtype : {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8}) {
    if (dtype == HEED_F32) digest_begin();
    heed_cache_shape shape = heed_cache_shape_default(20, n_heads, head_dim);
    shape.kind = HEED_CACHE_RING, shape.pinned = 2, shape.spare = 9, shape.dtype = dtype;
    HEED_MEMORY(kept, HEED_RING_BYTES(20, 2, 9, 1, n_heads, head_dim, head_dim, HEED_F32));
    heed_cache cache;
    ASSERT_EQ(heed_cache_init(&cache, &shape, kept), HEED_OK);
    heed_rope rope;
    heed_rope_init(&rope, dtype % 2);
    std::vector<float> x = draw(n * dim), norm = draw(dim), w = draw(dim * hidden), scales = draw(hidden);
    std::vector<int8_t> w8(w.size());
    heed_attention_layer attention = heed_attention_layer_default(dim, n_heads);
    attention.causal = 1, attention.rope = &rope, attention.cache = &cache;
    attention.wq = heed_weights_of(w.data(), nullptr, HEED_F32, HEED_OUT_IN, dim, dim);
    attention.wk = attention.wv = attention.wo = attention.wq;
    heed_activation *const activations[] = {heed_silu, heed_gelu, heed_gelu_tanh, heed_relu};
    heed_transformer_layer layer = heed_transformer_layer_default(
        &attention, hidden, dtype % 2 ? heed_layer_norm : heed_rms_norm, activations[dtype]);
    layer.norm_first = dtype < 2, layer.norm1_weight = layer.norm2_weight = norm.data();
    ASSERT_EQ(heed_weights_quantize(heed_matrix_of(w.data(), dim, hidden), HEED_IN_OUT, w8.data(), scales.data()),
              HEED_OK);
    layer.w_up = layer.w_gate = heed_weights_of(w8.data(), scales.data(), HEED_INT8, HEED_IN_OUT, dim, hidden);
    layer.w_down = heed_weights_of(w.data(), nullptr, HEED_F32, HEED_OUT_IN, hidden, dim);
    HEED_MEMORY(memory,
                HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(10, dim, n_heads, n_heads, head_dim, head_dim, hidden, 1));
    for (int32_t t = 0; t < n; t += 10) {
      float *rows = x.data() + t * dim;
      ASSERT_EQ(heed_transformer_layer_run(&layer, heed_matrix_of(rows, 10, dim), heed_matrix_out_of(rows, 10, dim),
                                           memory, nullptr),
                HEED_OK);
    }
    add(x);
  }
  expect(0x48131046314a844a, 0xdaaa778424c02c24);
}

HEED_TEST_EVERY_KERNEL(known_bits);

}  // namespace
}  // namespace heed_test
