// Random transformer layers with all that they point to, and the public functions that they are made of.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_BLOCKS_HPP
#define HEED_TESTS_SUPPORT_BLOCKS_HPP

#include <cstring>
#include <list>
#include <vector>

#include "data.hpp"
#include "executors.hpp"
#include "heed/heed.h"

namespace heed_test {

// A cache of one sequence with its buffer.
class owned_cache {
 public:
  owned_cache(int32_t capacity, const heed_block &b, int32_t format) {
    heed_cache_shape shape = HEED_CACHE_SHAPE;
    shape.capacity = capacity;
    shape.n_kv_heads = b.n_kv_heads;
    shape.head_dim = b.head_dim;
    shape.v_dim = b.v_dim;
    shape.format = format;
    buffer_.assign(heed_cache_bytes(&shape) / 4 + 32, -1.0f);
    const uintptr_t address = reinterpret_cast<uintptr_t>(buffer_.data());
    void *memory = reinterpret_cast<void *>((address + 63) / 64 * 64);
    if (heed_cache_init(&cache, &shape, memory, heed_cache_bytes(&shape)) != HEED_OK) std::abort();
  }
  heed_cache cache;

 private:
  std::vector<float> buffer_;
};

// The block of all random layers points into memory of its own: neither copied nor moved.
class random_block {
 public:
  explicit random_block(random_source &r, bool decoder) : r_(r) {
    std::memset(&block, 0, sizeof block);
    block.struct_size = sizeof block;
    block.n_kv_heads = r.between(1, 2);
    block.n_heads = block.n_kv_heads * r.between(1, 3);
    block.head_dim = 2 * r.between(1, 10);
    block.v_dim = r.chance(50) ? block.head_dim : r.between(1, 20);
    block.model_dim = r.size(1, 70);
    block.hidden_dim = r.size(1, 90);
    block.causal = decoder || r.chance(50);
    block.norm_first = r.chance(50);
    block.scale = r.chance(50) ? HEED_SCALE_DEFAULT : 0.3f;
    block.eps = 1e-5f;
    block.norm = r.chance(50) ? heed_rms_norm : heed_layer_norm;
    heed_activation *const activations[] = {heed_gelu, heed_gelu_tanh, heed_silu, heed_relu};
    block.activation = activations[r.between(0, 3)];
    block.norm1_weight = some(block.model_dim), block.norm1_bias = some(block.model_dim);
    block.norm2_weight = some(block.model_dim), block.norm2_bias = some(block.model_dim);
    const int32_t q = block.n_heads * block.head_dim, k = block.n_kv_heads * block.head_dim,
                  v = block.n_kv_heads * block.v_dim, context = block.n_heads * block.v_dim;
    draw(block.model_dim, q, &block.wq, &block.bq);
    draw(block.model_dim, k, &block.wk, &block.bk);
    draw(block.model_dim, v, &block.wv, &block.bv);
    draw(context, block.model_dim, &block.wo, &block.bo);
    draw(block.model_dim, block.hidden_dim, &block.w_up, &block.b_up);
    if (r.chance(50)) draw(block.model_dim, block.hidden_dim, &block.w_gate, &block.b_gate);
    draw(block.hidden_dim, block.model_dim, &block.w_down, &block.b_down);
    if (decoder ? r.chance(80) : r.chance(30)) {
      heed_rope_init(&rope_, r.between(0, 1));
      if (r.chance(50)) rope_.rotary_dim = 2 * r.between(1, block.head_dim / 2);
      block.rope = &rope_;
    }
  }
  random_block(const random_block &) = delete;
  random_block &operator=(const random_block &) = delete;

  size_t n_activations(int32_t n) const {
    return HEED_BLOCK_ACTIVATIONS(n, block.model_dim, block.n_heads, block.n_kv_heads, block.head_dim, block.v_dim,
                                  block.hidden_dim, block.w_gate.data != nullptr);
  }

  heed_block block;

 private:
  const float *some(int32_t n) {
    if (r_.chance(30)) return nullptr;
    floats_.push_back(bell_floats(r_, size_t(n)));
    return floats_.back().data();
  }
  void draw(int32_t n_in, int32_t n_out, heed_weights *w, const float **bias) {
    floats_.push_back(bell_floats(r_, size_t(n_in) * size_t(n_out)));
    for (float &x : floats_.back()) x *= 0.3f;
    const std::vector<float> &numbers = floats_.back();
    const int32_t layout = r_.between(0, 1), format = r_.between(HEED_F32, HEED_INT8);
    const int32_t rows = layout == HEED_IN_OUT ? n_in : n_out, dim = layout == HEED_IN_OUT ? n_out : n_in;
    const heed_matrix all = heed_matrix_of(numbers.data(), rows, dim);
    *w = heed_weights_of(numbers.data(), format, layout, n_in, n_out, nullptr);
    if (format != HEED_F32) {
      bytes_.emplace_back(numbers.size() * HEED_FORMAT_BYTES(format) + 2);
      w->data = bytes_.back().data();
    }
    if (format == HEED_INT8) {
      floats_.emplace_back(size_t(n_out));
      w->scales = floats_.back().data();
      heed_quantize_weights(all, layout, reinterpret_cast<int8_t *>(bytes_.back().data()), floats_.back().data());
    } else if (format != HEED_F32) {
      heed_narrow(all, format, bytes_.back().data(), dim, nullptr);
    }
    *bias = some(n_out);
  }

  random_source &r_;
  std::list<std::vector<float>> floats_;
  std::list<std::vector<unsigned char>> bytes_;
  heed_rope rope_;
};

// The same by the functions of the manual, row by row as it says.
inline std::vector<float> compose(const heed_block &b, const std::vector<float> &x, int32_t n, heed_cache *cache,
                                  const heed_options *options) {
  const size_t rows = size_t(n);
  const auto all = [&](const std::vector<float> &m) { return heed_matrix_of(m.data(), n, int32_t(m.size() / rows)); };
  const auto out = [&](std::vector<float> *m) { return heed_matrix_out_of(m->data(), n, int32_t(m->size() / rows)); };
  const auto norm = [&](const std::vector<float> &from, const float *weight, const float *bias) {
    std::vector<float> to(from.size());
    EXPECT_EQ(b.norm(all(from), weight, bias, b.eps, out(&to), nullptr), HEED_OK);
    return to;
  };
  const auto project = [&](const std::vector<float> &from, const heed_weights &w, const float *bias) {
    std::vector<float> to(rows * size_t(w.n_out));
    EXPECT_EQ(heed_project(all(from), &w, bias, out(&to), nullptr), HEED_OK);
    return to;
  };
  const auto add = [&](const std::vector<float> &a, const std::vector<float> &c) {
    std::vector<float> to(a.size());
    EXPECT_EQ(heed_add(all(a), all(c), out(&to), nullptr), HEED_OK);
    return to;
  };
  const std::vector<float> h = b.norm_first ? norm(x, b.norm1_weight, b.norm1_bias) : x;
  std::vector<float> q = project(h, b.wq, b.bq), k = project(h, b.wk, b.bk), v = project(h, b.wv, b.bv);
  const int32_t position = cache ? heed_cache_length(cache, 0) : 0;
  const auto turn = [&](std::vector<float> *m, int32_t n_heads) {
    EXPECT_EQ(heed_rope_apply(b.rope, heed_token_major(m->data(), n, n_heads, b.head_dim), n, n_heads, b.head_dim,
                              position, nullptr, heed_token_major_out(m->data(), n, n_heads, b.head_dim), nullptr),
              HEED_OK);
  };
  if (b.rope) turn(&q, b.n_heads), turn(&k, b.n_kv_heads);
  if (cache) {
    EXPECT_EQ(heed_cache_append(cache, 0, n, heed_token_major(k.data(), n, b.n_kv_heads, b.head_dim),
                                heed_token_major(v.data(), n, b.n_kv_heads, b.v_dim), nullptr),
              HEED_OK);
  }
  std::vector<float> context(rows * size_t(b.n_heads * b.v_dim)), memory(HEED_WORKSPACE_BYTES(20, 20) / 4 + 16);
  void *workspace = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
  heed_attention call = heed_attention_of(n, n, b.n_heads, b.n_kv_heads, b.head_dim, q.data(), k.data(), v.data(),
                                          context.data(), workspace, HEED_WORKSPACE_BYTES(20, 20));
  call.v_dim = b.v_dim, call.causal = b.causal, call.scale = b.scale;
  call.v = heed_token_major(v.data(), n, b.n_kv_heads, b.v_dim);
  call.out = heed_token_major_out(context.data(), n, b.n_heads, b.v_dim);
  heed_options with = HEED_OPTIONS;
  if (options) with = *options;
  with.cache = cache;
  call.options = &with;
  if (cache) call.k = call.v = heed_tensor{nullptr, 0, 0, 0}, call.n_kv = heed_cache_length(cache, 0);
  EXPECT_EQ(heed_attention_run(&call), HEED_OK);
  std::vector<float> a = add(x, project(context, b.wo, b.bo));
  if (!b.norm_first) a = norm(a, b.norm1_weight, b.norm1_bias);
  const std::vector<float> g = b.norm_first ? norm(a, b.norm2_weight, b.norm2_bias) : a;
  const std::vector<float> up = project(g, b.w_up, b.b_up);
  std::vector<float> f(up.size());
  const std::vector<float> gate = b.w_gate.data ? project(g, b.w_gate, b.b_gate) : up;
  EXPECT_EQ(b.activation(all(gate), b.w_gate.data ? all(up) : heed_matrix(), out(&f), nullptr), HEED_OK);
  const std::vector<float> y = add(a, project(f, b.w_down, b.b_down));
  return b.norm_first ? y : norm(y, b.norm2_weight, b.norm2_bias);
}

}  // namespace heed_test

#endif
