// A good call of either layer in watched memory, to be made wrong. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_LAYER_FLAWS_HPP
#define HEED_TESTS_SUPPORT_LAYER_FLAWS_HPP

#include <string>

#include "cache_flaws.hpp"
#include "executors.hpp"

namespace heed_test {

struct layer_arguments {
  heed_attention_layer attention;
  heed_transformer_layer transformer;  // around it
  heed_matrix x;
  heed_matrix_out y;
  heed_memory memory;
  const heed_executor *executor;
};

// Weights of a layer, and the bias that goes with them.
struct layer_weights {
  const char *text;
  heed_argument w_name, b_name;
  heed_weights &(*w)(layer_arguments &);
  const float *&(*b)(layer_arguments &);
};

class layer_flaws : public ::testing::Test {
 protected:
  using A = layer_arguments;
  using change = std::function<void(A &)>;
  static constexpr int32_t n = 3, model_dim = 6, heads = 4, kv_heads = 2, dim = 4, v_dim = 3, hidden = 7, capacity = 8;
  static constexpr size_t workspace_bytes = HEED_WORKSPACE_BYTES(dim, v_dim);
  static constexpr size_t cache_bytes =
      HEED_RING_BYTES(capacity, 64, 64, 2, kv_heads + 1, dim + 1, v_dim + 1, HEED_F32);

  explicit layer_flaws(bool transformer) : is_transformer_(transformer), out_dim_(transformer ? model_dim : 5) {}
  void SetUp() override {
    ASSERT_EQ(heed_rope_init(&rope_, HEED_ROPE_HALVES), HEED_OK);
    shape_.v_dim = v_dim;
    make_cache(shape_);
  }
  void make_cache(const heed_cache_shape &shape) {
    ASSERT_LE(heed_cache_bytes(&shape), cache_bytes);
    ASSERT_EQ(heed_cache_init(&cache_, &shape, heed_memory_of(of_cache_, heed_cache_bytes(&shape))), HEED_OK);
  }
  // All that there may be: rope, a cache, biases, norms, a gate.
  void make_good(A *a) {
    const auto weights = [&](int32_t n_in, int32_t n_out) {
      return heed_weights_of(floats_, nullptr, HEED_F32, HEED_OUT_IN, n_in, n_out);
    };
    heed_attention_layer &l = a->attention;
    l = heed_attention_layer_default(model_dim, heads);
    l.n_kv_heads = kv_heads, l.head_dim = dim, l.v_dim = v_dim, l.out_dim = out_dim_, l.causal = 1;
    l.wq = weights(model_dim, heads * dim), l.wk = weights(model_dim, kv_heads * dim);
    l.wv = weights(model_dim, kv_heads * v_dim), l.wo = weights(heads * v_dim, out_dim_);
    l.bq = l.bk = l.bv = l.bo = floats_;
    l.rope = &rope_, l.cache = &cache_;
    heed_transformer_layer &t = a->transformer;
    t = heed_transformer_layer_default(&l, hidden, heed_layer_norm, heed_gelu);
    t.norm1_weight = t.norm1_bias = t.norm2_weight = t.norm2_bias = floats_;
    t.w_up = t.w_gate = weights(model_dim, hidden), t.w_down = weights(hidden, model_dim);
    t.b_up = t.b_gate = t.b_down = floats_;
    a->x = heed_matrix_of(x_, n, model_dim), a->y = heed_matrix_out_of(y_, n, out_dim_);
    a->memory = heed_memory_of(room_, besides_workspace() + workspace_bytes);
    a->executor = nullptr;
  }
  static size_t attention_bytes() {
    return HEED_ATTENTION_LAYER_BYTES(n, heads, kv_heads, dim, v_dim) - workspace_bytes;
  }
  size_t besides_workspace() const {
    return is_transformer_
               ? HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(n, model_dim, heads, kv_heads, dim, v_dim, hidden, 1) -
                     workspace_bytes
               : attention_bytes();
  }
  heed_status call(const A &a) const {
    return is_transformer_ ? heed_transformer_layer_run(&a.transformer, a.x, a.y, a.memory, a.executor)
                           : heed_attention_layer_run(&a.attention, a.x, a.y, a.memory, a.executor);
  }
  void refuses(heed_fault fault, heed_argument argument, const std::string &what, const change &apply) {
    A a;
    make_good(&a);
    apply(a);
    memory_.refuses([&] { return call(a); }, fault, argument, what);
  }
  // The cache is empty then.
  void accepts(const std::string &what, const change &apply) {
    A a;
    make_good(&a);
    apply(a);
    EXPECT_EQ(status_name(call(a)), "HEED_OK") << what;
    ASSERT_EQ(heed_cache_reset(&cache_), HEED_OK);
  }

  // Every fault of weights, under their own name, and of their bias.
  void refuses_weights(const layer_weights &one, bool required) {
    const auto w = one.w;
    const auto b = one.b;
    const std::string name = one.text;
    const auto refused = [&](heed_fault fault, const char *what, const std::function<void(heed_weights &)> &apply) {
      refuses(fault, one.w_name, name + ": " + what, [&](A &a) { apply(w(a)); });
    };
    using W = heed_weights;
    if (required) refused(HEED_NULL_POINTER, "null", [](W &x) { x.data = nullptr; });
    refused(HEED_MISALIGNED, "misaligned", [](W &x) { x.data = static_cast<const char *>(x.data) + 2; });
    refused(HEED_MISALIGNED, "f16, misaligned",
            [](W &x) { x.dtype = HEED_F16, x.data = static_cast<const char *>(x.data) + 1; });
    refused(HEED_OVERFLOW, "at the top of memory", [](W &x) { x.data = top_of_memory(); });
    refused(HEED_BAD_STRIDE, "stride", [](W &x) { x.row_stride = -1; });
    refused(HEED_OVERFLOW, "stride", [](W &x) { x.row_stride = huge_stride / 2; });
    refused(HEED_SHAPE_MISMATCH, "n_in", [](W &x) { --x.n_in; });
    refused(HEED_SHAPE_MISMATCH, "n_out", [](W &x) { --x.n_out; });
    for (const int32_t wrong : {0, -1, INT32_MIN, beyond_count}) {
      refused(HEED_OUT_OF_RANGE, "n_in", [=](W &x) { x.n_in = wrong; });
      refused(HEED_OUT_OF_RANGE, "n_out", [=](W &x) { x.n_out = wrong; });
    }
    for (const int32_t wrong : {-1, 6, INT32_MAX}) refused(HEED_BAD_DTYPE, "format", [=](W &x) { x.dtype = wrong; });
    for (const int32_t wrong : {-1, 3, INT32_MAX}) refused(HEED_BAD_LAYOUT, "layout", [=](W &x) { x.layout = wrong; });
    refused(HEED_NOT_INITIALIZED, "packed, and not opened", [](W &x) { x.layout = HEED_PACKED; });
    refused(HEED_NOT_INITIALIZED, "blocks, and not made", [](W &x) { x.dtype = HEED_Q4_0; });
    refused(HEED_BAD_SCALES, "no scales", [](W &x) { x.dtype = HEED_INT8; });
    refused(HEED_BAD_SCALES, "scales misaligned",
            [this](W &x) { x.dtype = HEED_INT8, x.scales = misaligned(floats_); });
    refused(HEED_OVERFLOW, "scales at the top of memory",
            [](W &x) { x.dtype = HEED_INT8, x.scales = top_of_memory() + 6; });
    refuses(HEED_OVERLAP, HEED_ARG_Y, name + ": the result lies in it",
            [&](A &a) { w(a).data = y_ + n * out_dim_ - 1; });
    refuses(HEED_OVERLAP, HEED_ARG_Y, name + ": the result lies in its scales",
            [&](A &a) { w(a).dtype = HEED_INT8, w(a).scales = y_ + n * out_dim_ - 1; });
    refuses(HEED_OVERLAP, HEED_ARG_WORKSPACE, name + ": in the memory",
            [&](A &a) { w(a).data = reinterpret_cast<float *>(room_); });
    refuses(HEED_MISALIGNED, one.b_name, name, [&](A &a) { b(a) = misaligned(floats_); });
    refuses(HEED_OVERFLOW, one.b_name, name, [&](A &a) { b(a) = top_of_memory() + 6; });
    refuses(HEED_OVERLAP, HEED_ARG_Y, name + ": the result lies in its bias", [&](A &a) { b(a) = y_ + 1; });
  }

  const bool is_transformer_;
  const int32_t out_dim_;
  arena memory_;
  float *floats_ = memory_.take(256), *x_ = memory_.take(n * model_dim), *y_ = memory_.take(n * heads * v_dim);
  float *room_ = memory_.take_aligned(size_t{1} << 14), *of_cache_ = memory_.take_aligned(cache_bytes / 4);
  heed_rope rope_;
  heed_cache_shape shape_ = heed_cache_shape_default(capacity, kv_heads, dim);
  heed_cache cache_;
};

}  // namespace heed_test

#endif
