// Norms, activations, sums, rotary embedding, narrow numbers, projections and layers under a fuzzer.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_FUZZ_BLOCK_HPP
#define HEED_TESTS_SUPPORT_FUZZ_BLOCK_HPP

#include "fuzz_call.hpp"
#include "fuzz_options.hpp"

namespace heed_test {

// An input that now and then is the output itself, with its stride or another.
inline heed_matrix input_of(fuzz_bytes *in, fuzz_memory *memory, int32_t n, int32_t dim, const heed_matrix_out &y) {
  if (in->byte() % 4) return memory->matrix(n, dim);
  return {y.data, n, dim, in->rarely() ? in->stride(dim) : y.row_stride};
}
inline const float *floats_or_null(fuzz_bytes *in, fuzz_memory *memory, int32_t n) {
  return in->byte() % 2 ? nullptr : memory->tensor({1}, {0}, n, false);
}

inline void fuzz_rows(fuzz_bytes *in) {
  fuzz_memory memory(in);
  const int32_t n = in->size(), dim = in->size();
  if (too_much(double(n) * dim * 40)) return;
  const heed_matrix_out y = memory.matrix_out(n, in->rarely() ? in->size() : dim);
  const heed_matrix x = input_of(in, &memory, n, dim, y);
  heed_executor executor;
  const heed_executor *e = executor_of(in, &executor);
  const uint8_t which = in->byte() % 7;
  if (which < 2) {
    heed_norm *const norm = which ? heed_layer_norm : heed_rms_norm;
    const float *weight = floats_or_null(in, &memory, dim), *bias = floats_or_null(in, &memory, dim);
    const float eps = in->byte() < 200 ? 1e-5f : in->number();
    return check(in, &memory, [=] { return norm(x, weight, bias, eps, y, e); });
  }
  heed_activation *const functions[] = {heed_gelu, heed_gelu_tanh, heed_silu, heed_relu, heed_add};
  heed_activation *const f = functions[which - 2];
  heed_matrix other = {};
  if (f == heed_add || in->byte() % 2) other = input_of(in, &memory, in->rarely() ? in->size() : n, dim, y);
  check(in, &memory, [=] { return f(x, other, y, e); });
}

inline void fuzz_rope(fuzz_bytes *in) {
  fuzz_memory memory(in);
  const int32_t n = in->size(), heads = in->size(), dim = in->rarely() ? in->size() : 2 * (1 + in->byte() % 70);
  if (too_much(double(n) * heads * dim * 10)) return;
  const heed_rope *rope = rope_of(in, &memory, dim);
  const heed_tensor_out y = tensor_of<heed_tensor_out>(in, &memory, 1, heads, n, dim, true);
  heed_tensor x = {y.data, y.batch_stride, y.head_stride, y.row_stride};
  if (in->byte() % 4) x = tensor_of<heed_tensor>(in, &memory, 1, heads, n, dim, false);
  const int32_t position = in->byte() % 2 ? in->byte() : in->word();
  const int32_t *positions = nullptr;
  if (in->byte() % 4 == 0) positions = static_cast<int32_t *>(memory.array({1}, {0}, n, sizeof(int32_t), false));
  heed_executor executor;
  const heed_executor *e = executor_of(in, &executor);
  check(in, &memory, [=] { return heed_rope_apply(rope, x, n, heads, dim, position, positions, y, e); });
}

inline int32_t format_of(fuzz_bytes *in) { return in->rarely() ? in->word() : in->byte() % 4; }
inline size_t bytes_of_format(int32_t format) { return HEED_FORMAT_BYTES(format); }

inline void fuzz_formats(fuzz_bytes *in) {
  fuzz_memory memory(in);
  const int32_t n = in->size(), dim = in->size(), format = format_of(in);
  if (too_much(double(n) * dim)) return;
  const uint8_t which = in->byte() % 3;
  if (which == 0) {
    const heed_matrix x = memory.matrix(n, dim);
    const ptrdiff_t stride = in->stride(dim);
    void *y = memory.array({n}, {stride}, dim, bytes_of_format(format), true);
    float *scales = memory.tensor({1}, {0}, n, true);
    return check(in, &memory, [=] { return heed_narrow(x, format, y, stride, scales); });
  }
  if (which == 1) {
    const heed_matrix_out y = memory.matrix_out(n, dim);
    const ptrdiff_t stride = in->stride(dim);
    const void *x = memory.array({n}, {stride}, dim, bytes_of_format(format), false);
    const float *scales = memory.tensor({1}, {0}, n, false);
    return check(in, &memory, [=] { return heed_widen(x, stride, scales, format, y); });
  }
  const heed_matrix w = memory.matrix(n, dim);
  const int32_t layout = in->flag();
  void *q = memory.array({n}, {dim}, dim, 1, true);
  float *scales = memory.tensor({1}, {0}, layout == HEED_IN_OUT ? dim : n, true);
  check(in, &memory, [=] { return heed_quantize_weights(w, layout, static_cast<int8_t *>(q), scales); });
}

inline heed_weights weights_of(fuzz_bytes *in, fuzz_memory *memory, int32_t n_in, int32_t n_out) {
  heed_weights w = {nullptr, nullptr, format_of(in), in->flag(), n_in, n_out, 0};
  const bool out_in = w.layout == HEED_OUT_IN;
  const int32_t rows = out_in ? n_out : n_in, dim = out_in ? n_in : n_out;
  w.row_stride = in->stride(dim);
  w.data = memory->array({rows}, {w.row_stride}, dim, bytes_of_format(w.format), false);
  if (w.format == HEED_INT8) w.scales = memory->tensor({1}, {0}, n_out, false);
  return w;
}

inline void fuzz_project(fuzz_bytes *in) {
  fuzz_memory memory(in);
  const int32_t n = in->byte() % 2 ? 1 : in->size(), n_in = in->size(), n_out = in->size();
  if (too_much(double(n) * n_in * n_out)) return;
  const heed_matrix x = memory.matrix(n, in->rarely() ? in->size() : n_in);
  const heed_matrix_out y = memory.matrix_out(n, in->rarely() ? in->size() : n_out);
  const heed_weights all = weights_of(in, &memory, n_in, n_out), *w = in->rarely() ? nullptr : &all;
  const float *bias = floats_or_null(in, &memory, n_out);
  heed_executor executor;
  const heed_executor *e = executor_of(in, &executor);
  check(in, &memory, [=] { return heed_project(x, w, bias, y, e); });
}

// Two pieces of a sequence through a layer, with a cache or without.
class block_life {
 public:
  explicit block_life(fuzz_bytes *in) : in_(in), memory_(in) {
    heed_block &b = b_;
    b.struct_size = in->rarely() ? uint32_t(in->word()) : uint32_t(sizeof b);
    const auto small = [in](int32_t most) { return in->rarely() ? in->size() : 1 + in->byte() % most; };
    b.model_dim = small(30), b.n_kv_heads = small(2), b.hidden_dim = small(40);
    b.n_heads = in->rarely() ? in->size() : (1 + in->byte() % 3) * (b.n_kv_heads & 0xff);
    b.head_dim = in->rarely() ? in->size() : 2 * (1 + in->byte() % 10), b.v_dim = small(20);
    const double q = double(b.n_heads) * b.head_dim, k = double(b.n_kv_heads) * b.head_dim,
                 v = double(b.n_kv_heads) * b.v_dim, context = double(b.n_heads) * b.v_dim;
    n_ = in->byte() < 128 ? 1 : in->size();
    if (!(q > 0 && k > 0 && v > 0 && context > 0 && n_ > 0 && b.model_dim > 0 && b.hidden_dim > 0) ||
        too_much(n_ * (q + k + v + context + b.hidden_dim) * 64) || q + k + v + context > 4000)
      return;
    drawn_ = true;
    draw_parts(int32_t(q), int32_t(k), int32_t(v), int32_t(context));
    draw_memory();
  }
  void run() {
    if (drawn_) check(in_, &memory_, [this] { return live(); });
  }

 private:
  void draw_parts(int32_t q, int32_t k, int32_t v, int32_t context) {
    heed_block &b = b_;
    b.causal = in_->flag(), b.norm_first = in_->flag(), b.scale = in_->scale();
    b.eps = in_->byte() < 230 ? 1e-5f : in_->number();
    if (!in_->rarely()) b.norm = in_->byte() % 2 ? heed_rms_norm : heed_layer_norm;
    heed_activation *const functions[] = {heed_gelu, heed_gelu_tanh, heed_silu, heed_relu};
    if (!in_->rarely()) b.activation = functions[in_->byte() % 4];
    for (const float **p : {&b.norm1_weight, &b.norm1_bias, &b.norm2_weight, &b.norm2_bias, &b.bo, &b.b_down})
      *p = floats_or_null(in_, &memory_, b.model_dim);
    b.wq = weights_of(in_, &memory_, b.model_dim, q), b.wk = weights_of(in_, &memory_, b.model_dim, k);
    b.wv = weights_of(in_, &memory_, b.model_dim, v), b.wo = weights_of(in_, &memory_, context, b.model_dim);
    b.bq = floats_or_null(in_, &memory_, q), b.bv = floats_or_null(in_, &memory_, v);
    b.w_up = weights_of(in_, &memory_, b.model_dim, b.hidden_dim);
    if (in_->byte() % 2) b.w_gate = weights_of(in_, &memory_, b.model_dim, b.hidden_dim);
    b.w_down = weights_of(in_, &memory_, b.hidden_dim, b.model_dim);
    if (in_->byte() % 2) b.rope = rope_of(in_, &memory_, b_.head_dim);
  }
  void draw_memory() {
    y_ = memory_.matrix_out(n_, in_->rarely() ? in_->size() : b_.model_dim);
    x_ = input_of(in_, &memory_, n_, in_->rarely() ? in_->size() : b_.model_dim, y_);
    n_floats_ = HEED_BLOCK_ACTIVATIONS(n_, b_.model_dim, b_.n_heads, b_.n_kv_heads, b_.head_dim, b_.v_dim,
                                       b_.hidden_dim, b_.w_gate.data != nullptr) -
                (in_->rarely() ? 1 : 0);
    activations_ = static_cast<float *>(memory_.buffer(n_floats_ * 4, false));
    workspace_ = workspace_of(in_, &memory_, b_.head_dim, b_.v_dim, &workspace_bytes_);
    e_ = executor_of(in_, &executor_);
    if (in_->byte() % 2) draw_cache();
    const int32_t n_kv = buffer_ ? 2 * n_ : n_;  // the second piece sees both
    if (in_->byte() % 2) b_.options = fuzz_options(in_, &memory_, 1, b_.n_heads, n_, n_kv).draw(false);
  }
  void draw_cache() {
    shape_ = HEED_CACHE_SHAPE;
    shape_.kind = in_->byte() % 2, shape_.format = in_->byte() % 4, shape_.capacity = 1 + in_->byte() % 100;
    if (shape_.kind == HEED_CACHE_RING) shape_.spare = in_->byte() % 40, shape_.pinned = in_->byte() % 10;
    shape_.n_kv_heads = in_->rarely() ? 3 : b_.n_kv_heads, shape_.head_dim = b_.head_dim, shape_.v_dim = b_.v_dim;
    cache_bytes_ = heed_cache_bytes(&shape_);
    if (cache_bytes_ == 0 || cache_bytes_ > 1 << 17) return;
    buffer_ = memory_.buffer(cache_bytes_, false);
    if (!in_->rarely()) b_.causal = 1;
  }
  heed_status live() {
    if (buffer_) {
      if (heed_cache_init(&cache_, &shape_, buffer_, cache_bytes_) != HEED_OK) fail("a good cache is refused");
      b_.cache = &cache_;
    }
    const heed_status first = step();
    if (first == HEED_OK) step();  // may be refused: what the first wrote stays
    return first;
  }
  heed_status step() {
    const int32_t before = buffer_ ? heed_cache_length(&cache_, 0) : 0;
    const std::vector<uint8_t> written = memory_.contents();
    const heed_status status = heed_block_run(&b_, x_, y_, activations_, n_floats_, workspace_, workspace_bytes_, e_);
    if (status != HEED_OK && memory_.contents() != written) fail("a refused layer wrote");
    if (buffer_ && heed_cache_length(&cache_, 0) != before + (status == HEED_OK ? n_ : 0)) fail("wrong length");
    return status;
  }

  fuzz_bytes *in_;
  fuzz_memory memory_;
  bool drawn_ = false;
  heed_block b_ = {};
  int32_t n_ = 0;
  heed_matrix x_;
  heed_matrix_out y_;
  float *activations_ = nullptr;
  size_t n_floats_ = 0, workspace_bytes_ = 0, cache_bytes_ = 0;
  void *workspace_ = nullptr, *buffer_ = nullptr;
  heed_executor executor_;
  const heed_executor *e_ = nullptr;
  heed_cache_shape shape_;
  heed_cache cache_ = {};
};

}  // namespace heed_test

#endif
