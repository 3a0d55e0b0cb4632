// model/<model>/<numbers>/<how they lie>/threads:<1 or 2>: whole models of random weights on the best kernel of this machine.
// bert: 6 layers of 384, 128 rows; kwt: 12 layers of 64, 99 rows. token_15m, token_110m: the next token after 32, of decoders
// of Llama's kind (6 layers of 288, 12 of 768), with 32000 logits; prompt_15m, prompt_110m: their first 128 tokens, in one
// call. Weights are packed; `integers`: rows are quantised on their way into products (heed_weights_in_integers).
// SPDX-License-Identifier: MIT
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

#include <algorithm>
#include <optional>

#include "heed/int_products.h"
#include "measure.hpp"

#ifdef HEED_BENCH_THREADS
#include <heed/threads.h>
#endif

namespace heed_bench {
namespace {

struct model_shape {
  const char *name;
  int32_t n_layers, dim, n_heads, ffn_dim, n_logits, n_rows, n_before;  // n_logits: 0 for encoders
  bool is_decoder() const { return n_logits > 0; }
};
constexpr model_shape model_shapes[] = {
    {"bert", 6, 384, 12, 1536, 0, 128, 0},           {"kwt", 12, 64, 1, 256, 0, 99, 0},
    {"token_15m", 6, 288, 6, 768, 32000, 1, 32},     {"prompt_15m", 6, 288, 6, 768, 32000, 128, 0},
    {"token_110m", 12, 768, 12, 2048, 32000, 1, 32}, {"prompt_110m", 12, 768, 12, 2048, 32000, 128, 0},
};
constexpr int32_t most_tokens = 256;

struct model_format {
  const char *name;
  int32_t dtype;
  bool in_integers;
};
constexpr model_format model_formats[] = {
    {"f32/packed", HEED_F32, false},    {"f16/packed", HEED_F16, false},    {"int8/packed", HEED_INT8, false},
    {"q8_0/packed", HEED_Q8_0, false},  {"q4_0/packed", HEED_Q4_0, false},  {"int8/integers", HEED_INT8, true},
    {"q8_0/integers", HEED_Q8_0, true}, {"q4_0/integers", HEED_Q4_0, true},
};

size_t product_of(int32_t a, int32_t b) { return static_cast<size_t>(a) * static_cast<size_t>(b); }

class model {
 public:
  model(const model_shape &s, const model_format &f, int32_t n_workers)
      : shape_(s),
        format_(f),
        floats_(product_of(s.dim, std::max(s.ffn_dim, s.n_logits))),
        scale_(static_cast<size_t>(s.dim)),
        x_(product_of(s.n_rows, s.dim)),
        y_(product_of(s.n_rows, s.dim)),
        logits_(static_cast<size_t>(std::max(s.n_logits, 1))) {
    for (size_t i = 0; i < floats_.size(); ++i) floats_.get()[i] *= 0.05f;
    layers_.reserve(static_cast<size_t>(s.n_layers));
    for (int32_t l = 0; l < s.n_layers; ++l) layers_.push_back(std::make_unique<layer>());
    if (s.is_decoder()) heed_rope_init(&rope_, HEED_ROPE_INTERLEAVED);
    for (auto &l : layers_) make(*l);
    if (s.is_decoder()) classifier_ = packed(s.dim, s.n_logits);
    const int32_t head_dim = s.dim / s.n_heads;
    const size_t least = heed_transformer_layer_bytes(&layers_[0]->of, s.n_rows);
    workspace_.emplace((least + static_cast<size_t>(n_workers - 1) * HEED_WORKSPACE_BYTES(head_dim, head_dim)) / 4);
  }

  heed_status run(const heed_executor *executor) {
    const int32_t n = shape_.n_rows;
    heed_matrix x = heed_matrix_of(x_.get(), n, shape_.dim);
    heed_status status = HEED_OK;
    for (size_t l = 0; l < layers_.size() && status == HEED_OK; ++l) {
      status = heed_transformer_layer_run(&layers_[l]->of, x, heed_matrix_out_of(y_.get(), n, shape_.dim),
                                          workspace_->memory(), executor);
      x.data = y_.get();
      if (shape_.is_decoder()) heed_cache_truncate(&layers_[l]->cache, 0, shape_.n_before);
    }
    if (status != HEED_OK || !shape_.is_decoder()) return status;
    float *const last = y_.get() + product_of(n - 1, shape_.dim);
    status = heed_rms_norm(heed_matrix_of(last, 1, shape_.dim), scale_.get(), nullptr, 1e-5f,
                           heed_matrix_out_of(last, 1, shape_.dim), executor);
    if (status != HEED_OK) return status;
    return heed_linear(heed_matrix_of(last, 1, shape_.dim), classifier_, nullptr,
                       heed_matrix_out_of(logits_.get(), 1, shape_.n_logits), executor);
  }

  work limit(int32_t n_threads) const {
    const double dim = shape_.dim, n = shape_.n_rows, keys = shape_.n_before + shape_.n_rows;
    const double in_layer = 4 * dim * dim + (shape_.is_decoder() ? 3 : 2) * dim * shape_.ffn_dim;
    work w;
    w.flop = 2 * n * shape_.n_layers * (in_layer + 2 * keys * dim) + 2 * dim * shape_.n_logits;
    w.bytes = static_cast<double>(weight_bytes_);
    w.n_threads = n_threads;
    if (n == 1 && n_threads == 1) w.resident = weight_bytes_;
    return w;
  }

 private:
  struct layer {
    heed_attention_layer attention;
    heed_transformer_layer of;
    heed_cache cache;
  };

  heed_weights packed(int32_t n_in, int32_t n_out) {
    const size_t bytes = heed_weights_packed_bytes(format_.dtype, n_in, n_out);
    memory_.push_back(std::make_unique<buffer>(bytes / 4));
    heed_weights w = heed_weights_of(floats_.get(), nullptr, HEED_F32, HEED_IN_OUT, n_in, n_out);
    heed_weights_pack(w, format_.dtype, memory_.back()->memory());
    heed_weights_open(&w, memory_.back()->get(), bytes);
    if (format_.in_integers) heed_weights_in_integers(&w, w);
    weight_bytes_ += bytes;
    return w;
  }

  void make(layer &l) {
    const int32_t dim = shape_.dim;
    l.attention = heed_attention_layer_default(dim, shape_.n_heads);
    l.attention.wq = packed(dim, dim), l.attention.wk = packed(dim, dim), l.attention.wv = packed(dim, dim),
    l.attention.wo = packed(dim, dim);
    l.of = heed_transformer_layer_default(&l.attention, shape_.ffn_dim, heed_layer_norm, heed_gelu);
    l.of.w_up = packed(dim, shape_.ffn_dim), l.of.w_down = packed(shape_.ffn_dim, dim);
    l.of.norm1_weight = l.of.norm2_weight = scale_.get();
    if (!shape_.is_decoder()) return;
    l.of.norm = heed_rms_norm, l.of.activation = heed_silu, l.of.norm_first = 1;
    l.of.w_gate = packed(dim, shape_.ffn_dim);
    l.attention.causal = 1, l.attention.rope = &rope_, l.attention.cache = &l.cache;
    const heed_cache_shape shape = heed_cache_shape_default(most_tokens, shape_.n_heads, dim / shape_.n_heads);
    memory_.push_back(std::make_unique<buffer>(heed_cache_bytes(&shape) / 4));
    heed_cache_init(&l.cache, &shape, memory_.back()->memory());
    const heed_tensor before = heed_token_major(floats_.get(), most_tokens, shape_.n_heads, dim / shape_.n_heads);
    heed_cache_append(&l.cache, 0, before, before, shape_.n_before, nullptr);
  }

  model_shape shape_;
  model_format format_;
  buffer floats_, scale_, x_, y_, logits_;
  std::optional<buffer> workspace_;
  std::vector<std::unique_ptr<buffer>> memory_;
  std::vector<std::unique_ptr<layer>> layers_;
  heed_weights classifier_ = {};
  heed_rope rope_ = {};
  size_t weight_bytes_ = 0;
};

// Is there memory for all weights, and for the matrix that they are packed from? Small boards leave large models out.
bool has_memory_for(const model_shape &s, const model_format &f) {
#ifdef _SC_PHYS_PAGES
  const double dim = s.dim, widest = std::max(s.ffn_dim, s.n_logits);
  const double numbers = s.n_layers * dim * (4 * dim + 3 * s.ffn_dim) + dim * s.n_logits;
  const double needed = numbers * HEED_DTYPE_BYTES(f.dtype) + 4 * dim * widest;
  return 2 * needed < static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
#else
  return s.n_layers > 0 && f.name;
#endif
}

void one_thread(benchmark::State &state, const model_shape &s, const model_format &f) {
  if (!has_memory_for(s, f)) return state.SkipWithError("the model needs more than half of the memory");
  model m(s, f, 1);
  run(state, heed_isa_name(0), m.limit(1), [&] { return m.run(nullptr); });
}

#ifdef HEED_BENCH_THREADS
void two_threads(benchmark::State &state, const model_shape &s, const model_format &f) {
  if (!has_memory_for(s, f)) return state.SkipWithError("the model needs more than half of the memory");
  static heed_threads threads;
  heed_executor executor;
  if (heed_threads_start(&threads, 2) != HEED_OK || heed_threads_executor(&threads, &executor) != HEED_OK)
    return state.SkipWithError("no threads");
  model m(s, f, 2);
  run(state, heed_isa_name(0), m.limit(2), [&] { return m.run(&executor); });
  heed_threads_stop(&threads);
}
#endif

}  // namespace

void register_models() {
  for (const model_shape &s : model_shapes)
    for (const model_format &f : model_formats) {
      const std::string name = std::string("model/") + s.name + "/" + f.name + "/threads:";
      benchmark::RegisterBenchmark((name + "1").c_str(), one_thread, s, f);
#ifdef HEED_BENCH_THREADS
      benchmark::RegisterBenchmark((name + "2").c_str(), two_threads, s, f);
#endif
    }
}

}  // namespace heed_bench
