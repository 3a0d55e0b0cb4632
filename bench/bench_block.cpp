// rms_norm/<dim>/<kernel>, layer_norm, gelu, gelu_tanh, silu, silu_gated, relu, add (rows of dim floats, as many as the
// first cache holds with their results), rope/<heads>x<head_dim>/<style>/<kernel> (one token); streams/<way>/<kernel>: a
// transformer layer takes one token of each of eight streams (dim 512, hidden 2048, 32 tokens each in the cache), as a batch,
// as eight calls, and, to compare with, as one prompt of eight rows.
// The limit of gelu and silu is arithmetic: of_peak counts every vector operation of an element as one multiply-add
// (processors that have units for sums beside those for products can do more than that). The limit of the others is
// what the first cache reads and writes: of_bandwidth is against copying within it. SPDX-License-Identifier: MIT
#include "measure.hpp"

namespace heed_bench {
namespace {

constexpr int32_t cached_floats = 6144;  // of all arrays: 24 KB

// Operations of an element, in the order of lib/vector/rows/elements.hpp: clamp, exponent 7, polynomial 6, power 4, sum,
// reciprocal 6, product, zero 2; the cubic 3; and of gelu -|x| 2, clamp, split 6, exponent 8, polynomial 6, power 2,
// P and Q 9, quotient 7, product, difference, choice, product, zero 2; of tanh |x| 2, exponent 4, polynomial 6, powers 6,
// 1 - e and 1 + e 3, reciprocal 6, quotient 3, sign 5, small x 5.
constexpr double silu_operations = 28, gelu_tanh_operations = 31, gelu_operations = 46, tanh_operations = 42;

struct rows {
  rows(int32_t dim, int32_t n_arrays)
      : n(cached_floats / n_arrays / dim), dim(dim), x(floats()), other(floats()), y(floats()) {}
  size_t floats() const { return static_cast<size_t>(n) * static_cast<size_t>(dim); }
  heed_matrix in() const { return heed_matrix_of(x.get(), n, dim); }
  heed_matrix gate() const { return heed_matrix_of(other.get(), n, dim); }
  heed_matrix_out out() const { return heed_matrix_out_of(y.get(), n, dim); }
  int32_t n, dim;
  buffer x, other, y;
};

// arrays: how many floats are read or written for each of x.
work work_of(const rows &r, double operations, double arrays) {
  const double n = static_cast<double>(r.floats());
  work w;
  w.flop = 2 * operations * n;
  w.bytes = 4 * arrays * n;
  w.resident = 8 * r.floats() / 1024 * 1024;
  w.copies = true;
  return w;
}

// x is read twice (layer_norm: three times) and the weight once.
void norm(benchmark::State &state, heed_norm *f, int32_t dim, const char *kernel) {
  const rows r(dim, 2);
  run(state, kernel, work_of(r, f == heed_rms_norm ? 4 : 6, f == heed_rms_norm ? 4 : 5),
      [&] { return f(r.in(), r.other.get(), nullptr, 1e-5f, r.out(), nullptr); });
}

void activation(benchmark::State &state, heed_activation *f, double operations, bool gated, int32_t dim,
                const char *kernel) {
  const rows r(dim, gated ? 3 : 2);
  for (size_t i = 0; i < r.floats(); ++i) r.x.get()[i] *= 8;
  run(state, kernel, work_of(r, operations, gated ? 3 : 2),
      [&] { return f(r.in(), gated ? r.gate() : heed_no_matrix(), r.out(), nullptr); });
}

void rope(benchmark::State &state, int32_t n_heads, int32_t head_dim, int32_t style, const char *kernel) {
  const int32_t n_tokens = 2;
  const rows r(n_tokens * n_heads * head_dim, 1);
  heed_rope turn;
  if (heed_rope_init(&turn, style) != HEED_OK) return;
  work w = work_of(r, 2, 2);
  run(state, kernel, w, [&] {
    return heed_rope_apply(&turn, heed_token_major(r.x.get(), n_tokens, n_heads, head_dim), n_tokens, n_heads, head_dim,
                           1000, nullptr, heed_token_major_out(r.y.get(), n_tokens, n_heads, head_dim), nullptr);
  });
}

enum class way { batch, calls, prompt };

void streams(benchmark::State &state, way how, const char *kernel) {
  constexpr int32_t n = 8, dim = 512, hidden = 2048, heads = 8, head_dim = 64, length = 32;
  const auto floats = [](int32_t a, int32_t b) { return static_cast<size_t>(a) * static_cast<size_t>(b); };
  const buffer x(floats(n, dim)), y(floats(n, dim)), wq(floats(dim, dim)), wk(floats(dim, dim)), wv(floats(dim, dim)),
      wo(floats(dim, dim)), up(floats(dim, hidden)), down(floats(dim, hidden)), keys(floats(length, dim));
  const buffer memory(HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(n, dim, heads, heads, head_dim, head_dim, hidden, 0) / 4);
  const int32_t n_caches = how == way::calls ? n : 1;
  heed_cache_shape shape = heed_cache_shape_default(length + n, heads, head_dim);
  shape.n_sequences = how == way::batch ? n : 1;
  std::vector<std::unique_ptr<buffer>> memories;
  std::vector<heed_cache> caches(static_cast<size_t>(n_caches));
  const heed_tensor all = heed_token_major(keys.get(), length, heads, head_dim);
  for (heed_cache &cache : caches) {
    memories.push_back(std::make_unique<buffer>(heed_cache_bytes(&shape) / 4));
    heed_cache_init(&cache, &shape, memories.back()->memory());
    for (int32_t i = 0; i < shape.n_sequences; ++i) heed_cache_append(&cache, i, all, all, length, nullptr);
  }
  heed_attention_layer a = heed_attention_layer_default(dim, heads);
  const auto weights = [](const buffer &w, int32_t in, int32_t out) {
    return heed_weights_of(w.get(), nullptr, HEED_F32, HEED_IN_OUT, in, out);
  };
  a.wq = weights(wq, dim, dim), a.wk = weights(wk, dim, dim), a.wv = weights(wv, dim, dim),
  a.wo = weights(wo, dim, dim);
  a.causal = 1;
  heed_transformer_layer layer = heed_transformer_layer_default(&a, hidden, heed_rms_norm, heed_gelu_tanh);
  layer.norm_first = 1;
  layer.w_up = weights(up, dim, hidden), layer.w_down = weights(down, hidden, dim);
  const int32_t lengths[n] = {1, 1, 1, 1, 1, 1, 1, 1};
  heed_ragged_batch batch;
  heed_ragged_batch_init(&batch, n, lengths);
  if (how == way::batch) a.batch = &batch;
  const int32_t rows = how == way::calls ? 1 : n;
  work w;
  w.flop = 2.0 * n * (4.0 * dim * dim + 2.0 * dim * hidden + 2.0 * length * dim);
  w.bytes = 4.0 * (how == way::calls ? n : 1) * (4.0 * dim * dim + 2.0 * dim * hidden);
  run(state, kernel, w, [&] {
    heed_status status = HEED_OK;
    for (int32_t i = 0; i < n_caches && status == HEED_OK; ++i) {
      a.cache = &caches[static_cast<size_t>(i)];
      const ptrdiff_t at = static_cast<ptrdiff_t>(i) * dim;
      status = heed_transformer_layer_run(&layer, heed_matrix_of(x.get() + at, rows, dim),
                                          heed_matrix_out_of(y.get() + at, rows, dim), memory.memory(), nullptr);
      for (int32_t s = 0; s < shape.n_sequences; ++s) heed_cache_truncate(a.cache, s, length);
    }
    return status;
  });
}

void register_on(const char *kernel) {
  const std::string end = std::string("/") + kernel;
  benchmark::RegisterBenchmark(("streams/batch" + end).c_str(), streams, way::batch, kernel);
  benchmark::RegisterBenchmark(("streams/calls" + end).c_str(), streams, way::calls, kernel);
  benchmark::RegisterBenchmark(("streams/prompt" + end).c_str(), streams, way::prompt, kernel);
  for (const int32_t dim : {64, 768, 2048}) {
    const std::string size = "/" + std::to_string(dim) + end;
    benchmark::RegisterBenchmark(("rms_norm" + size).c_str(), norm, heed_rms_norm, dim, kernel);
    benchmark::RegisterBenchmark(("layer_norm" + size).c_str(), norm, heed_layer_norm, dim, kernel);
    const auto add = [&](const char *name, heed_activation *f, double operations, bool gated) {
      benchmark::RegisterBenchmark((name + size).c_str(), activation, f, operations, gated, dim, kernel);
    };
    if (dim == 64) continue;
    add("gelu", heed_gelu, gelu_operations, false);
    add("gelu_tanh", heed_gelu_tanh, gelu_tanh_operations, false);
    add("silu", heed_silu, silu_operations, false);
    add("silu_gated", heed_silu, silu_operations + 1, true);
    add("relu", heed_relu, 2, false);
    add("tanh", heed_tanh, tanh_operations, false);
    add("sigmoid", heed_sigmoid, silu_operations - 1, false);
    add("add", heed_add, 1, true);
  }
  for (const int32_t head_dim : {64, 128})
    for (const int32_t style : {HEED_ROPE_INTERLEAVED, HEED_ROPE_HALVES})
      benchmark::RegisterBenchmark(
          ("rope/8x" + std::to_string(head_dim) + (style == HEED_ROPE_HALVES ? "/halves" : "/interleaved") + end)
              .c_str(),
          rope, 8, head_dim, style, kernel);
}

}  // namespace

void register_block() {
  for (int32_t i = 0; i < heed_isa_count(); ++i) register_on(heed_isa_name(i));
}

}  // namespace heed_bench
