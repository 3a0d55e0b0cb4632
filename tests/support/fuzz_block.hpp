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
  const int32_t stored_rows = in->rarely() ? in->size() : n;
  if (which == 0) {
    const heed_matrix x = memory.matrix(n, dim);
    heed_narrow_matrix_out y = {nullptr, nullptr, format, stored_rows, dim, in->stride(dim)};
    y.data = memory.array({stored_rows}, {y.row_stride}, dim, bytes_of_format(format), true);
    y.scales = memory.tensor({1}, {0}, stored_rows, true);
    return check(in, &memory, [=] { return heed_narrow(x, y); });
  }
  if (which == 1) {
    const heed_matrix_out y = memory.matrix_out(n, dim);
    heed_narrow_matrix x = {nullptr, nullptr, format, stored_rows, dim, in->stride(dim)};
    x.data = memory.array({stored_rows}, {x.row_stride}, dim, bytes_of_format(format), false);
    x.scales = memory.tensor({1}, {0}, stored_rows, false);
    return check(in, &memory, [=] { return heed_widen(x, y); });
  }
  const heed_matrix w = memory.matrix(n, dim);
  const int32_t layout = in->flag();
  void *q = memory.array({n}, {dim}, dim, 1, true);
  float *scales = memory.tensor({1}, {0}, layout == HEED_IN_OUT ? dim : n, true);
  check(in, &memory, [=] { return heed_weights_quantize(w, layout, static_cast<int8_t *>(q), scales); });
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
  const heed_weights w = weights_of(in, &memory, n_in, n_out);
  const float *bias = floats_or_null(in, &memory, n_out);
  heed_executor executor;
  const heed_executor *e = executor_of(in, &executor);
  check(in, &memory, [=] { return heed_project(x, w, bias, y, e); });
}

// Two pieces of a sequence through an attention layer or the transformer layer around it, with a cache or without.
class block_life {
 public:
  explicit block_life(fuzz_bytes *in) : in_(in), memory_(in), whole_(in->byte() % 3 != 0) {
    if (in->rarely()) l_.struct_size = uint32_t(in->word());
    if (in->rarely()) t_.struct_size = uint32_t(in->word());
    const auto small = [in](int32_t most) { return in->rarely() ? in->size() : 1 + in->byte() % most; };
    l_.model_dim = l_.out_dim = small(30), l_.n_kv_heads = small(2), t_.hidden_dim = small(40);
    l_.n_heads = in->rarely() ? in->size() : (1 + in->byte() % 3) * (l_.n_kv_heads & 0xff);
    l_.head_dim = in->rarely() ? in->size() : 2 * (1 + in->byte() % 10), l_.v_dim = small(20);
    const double q = double(l_.n_heads) * l_.head_dim, k = double(l_.n_kv_heads) * l_.head_dim,
                 v = double(l_.n_kv_heads) * l_.v_dim, context = double(l_.n_heads) * l_.v_dim;
    n_ = in->byte() < 128 ? 1 : in->size();
    if (!(q > 0 && k > 0 && v > 0 && context > 0 && n_ > 0 && l_.model_dim > 0 && t_.hidden_dim > 0) ||
        too_much(n_ * (q + k + v + context + t_.hidden_dim) * 64) || q + k + v + context > 4000)
      return;
    drawn_ = true;
    draw_attention(int32_t(q), int32_t(k), int32_t(v), int32_t(context));
    if (whole_) draw_feed_forward();
    draw_memory();
  }
  void run() {
    if (drawn_) check(in_, &memory_, [this] { return live(); });
  }

 private:
  void draw_attention(int32_t q, int32_t k, int32_t v, int32_t context) {
    l_.causal = in_->flag(), l_.scale = in_->scale();
    l_.wq = weights_of(in_, &memory_, l_.model_dim, q), l_.wk = weights_of(in_, &memory_, l_.model_dim, k);
    l_.wv = weights_of(in_, &memory_, l_.model_dim, v);
    const bool with_wo = whole_ ? !in_->rarely() : in_->byte() % 2;
    if (!whole_) l_.out_dim = !with_wo ? context : in_->byte() % 2 ? 1 + in_->byte() % 30 : in_->size();
    if (with_wo) l_.wo = weights_of(in_, &memory_, context, l_.out_dim);
    l_.bq = floats_or_null(in_, &memory_, q), l_.bv = floats_or_null(in_, &memory_, v);
    if (with_wo || in_->rarely()) l_.bo = floats_or_null(in_, &memory_, l_.out_dim);
    if (in_->byte() % 2) l_.rope = rope_of(in_, &memory_, l_.head_dim);
  }
  void draw_feed_forward() {
    t_.norm_first = in_->flag();
    t_.eps = in_->byte() < 230 ? 1e-5f : in_->number();
    t_.norm = in_->rarely() ? nullptr : in_->byte() % 2 ? heed_rms_norm : heed_layer_norm;
    heed_activation *const functions[] = {heed_gelu, heed_gelu_tanh, heed_silu, heed_relu};
    t_.activation = in_->rarely() ? nullptr : functions[in_->byte() % 4];
    for (const float **p : {&t_.norm1_weight, &t_.norm1_bias, &t_.norm2_weight, &t_.norm2_bias, &t_.b_down})
      *p = floats_or_null(in_, &memory_, l_.model_dim);
    t_.w_up = weights_of(in_, &memory_, l_.model_dim, t_.hidden_dim);
    if (in_->byte() % 2) t_.w_gate = weights_of(in_, &memory_, l_.model_dim, t_.hidden_dim);
    t_.w_down = weights_of(in_, &memory_, t_.hidden_dim, l_.model_dim);
  }
  void draw_memory() {
    y_ = memory_.matrix_out(n_, in_->rarely() ? in_->size() : l_.out_dim);
    x_ = input_of(in_, &memory_, n_, in_->rarely() ? in_->size() : l_.model_dim, y_);
    const size_t most = whole_ ? HEED_TRANSFORMER_LAYER_BYTES(n_, l_.model_dim, l_.n_heads, l_.n_kv_heads, l_.head_dim,
                                                              l_.v_dim, t_.hidden_dim, t_.w_gate.data != nullptr)
                               : HEED_ATTENTION_LAYER_BYTES(n_, l_.n_heads, l_.n_kv_heads, l_.head_dim, l_.v_dim);
    const size_t activations = most - HEED_WORKSPACE_BYTES(l_.head_dim, l_.v_dim);
    const size_t bytes = activations + workspace_bytes_of(in_, l_.head_dim, l_.v_dim);
    room_ = heed_memory_of(memory_.buffer(bytes, false), in_->rarely() ? activations : bytes);
    e_ = executor_of(in_, &executor_);
    // Pieces for a worker that is not there are left out, and what a layer makes of them may be anything.
    if (executor_.n_workers > 0) executor_.n_workers = 3;
    if (in_->byte() % 2) draw_cache();
    const int32_t n_kv = buffer_.data ? 2 * n_ : n_;  // the second piece sees both
    if (in_->byte() % 2) l_.options = fuzz_options(in_, &memory_, 1, l_.n_heads, n_, n_kv).draw(false);
  }
  void draw_cache() {
    shape_ = heed_cache_shape_default(1 + in_->byte() % 100, in_->rarely() ? 3 : l_.n_kv_heads, l_.head_dim);
    shape_.kind = in_->byte() % 2, shape_.format = in_->byte() % 4, shape_.v_dim = l_.v_dim;
    if (shape_.kind == HEED_CACHE_RING) shape_.spare = in_->byte() % 40, shape_.pinned = in_->byte() % 10;
    const size_t bytes = heed_cache_bytes(&shape_);
    if (bytes == 0 || bytes > 1 << 17) return;
    buffer_ = heed_memory_of(memory_.buffer(bytes, false), bytes);
    if (!in_->rarely()) l_.causal = 1;
  }
  heed_status live() {
    if (buffer_.data) {
      if (heed_cache_init(&cache_, &shape_, buffer_) != HEED_OK) fail("a good cache is refused");
      l_.cache = &cache_;
    }
    const heed_status first = step();
    if (first == HEED_OK) step();  // may be refused: what the first wrote stays
    return first;
  }
  heed_status step() {
    const int32_t before = buffer_.data ? heed_cache_length(&cache_, 0) : 0;
    const std::vector<uint8_t> written = memory_.contents();
    const heed_status status =
        whole_ ? heed_transformer_layer_run(&t_, x_, y_, room_, e_) : heed_attention_layer_run(&l_, x_, y_, room_, e_);
    // Of a prompt in pieces some are there before one that an int8 cache cannot hold: the results of these count.
    const bool in_pieces = buffer_.data && shape_.kind == HEED_CACHE_RING && n_ > shape_.spare + 1;
    if (in_pieces && HEED_STATUS_FAULT(status) == HEED_NOT_FINITE) return HEED_OK;
    if (status != HEED_OK && memory_.contents() != written) fail("a refused layer wrote");
    if (buffer_.data && heed_cache_length(&cache_, 0) != before + (status == HEED_OK ? n_ : 0)) fail("wrong length");
    return status;
  }

  fuzz_bytes *in_;
  fuzz_memory memory_;
  const bool whole_;
  bool drawn_ = false;
  heed_attention_layer l_ = heed_attention_layer_default(1, 1);
  heed_transformer_layer t_ = heed_transformer_layer_default(&l_, 1, nullptr, nullptr);
  int32_t n_ = 0;
  heed_matrix x_;
  heed_matrix_out y_;
  heed_memory room_ = {}, buffer_ = {};
  heed_executor executor_;
  const heed_executor *e_ = nullptr;
  heed_cache_shape shape_;
  heed_cache cache_ = {};
};

}  // namespace heed_test

#endif
