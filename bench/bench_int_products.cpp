// integers_products/<n>x<in>x<out>/<what>/<kernel of integers>: f32 (packed, by the kernel of floats of the same width, so
// that of_peak is the ratio to it at its best), int8 to int8 in each layout, rows of floats times packed int8, Q8_0 and
// Q4_0 (heed_weights_in_integers). integers_products/encoder/<f32|int8>/<kernel>: 6 layers of 384, 128 rows, as in a small
// BERT. SPDX-License-Identifier: MIT
#include <cstring>

#include "heed/int_products.h"
#include "measure.hpp"

namespace heed_bench {
namespace {

struct int_shape {
  int32_t n, n_in, n_out;
  double work() const { return static_cast<double>(n) * n_in * n_out; }
};

// The kernel of floats with registers of the same width.
const char *floats_beside(const char *kernel) {
  const char *const best = heed_isa_name(0);
  const bool wide = std::strncmp(kernel, "avx512", 6) == 0, half = std::strncmp(kernel, "avx", 3) == 0;
  for (int32_t i = 0; i < heed_isa_count(); ++i)
    if (std::strcmp(heed_isa_name(i), wide ? "avx512" : half ? "avx2" : best) == 0) return heed_isa_name(i);
  return best;
}

// Weights of any format, packed; numbers in [-1, 1).
class packed_weights {
 public:
  packed_weights(int32_t dtype, int32_t n_in, int32_t n_out)
      : memory_(heed_weights_packed_bytes(dtype, n_in, n_out) / sizeof(float)) {
    const buffer numbers(static_cast<size_t>(n_in) * static_cast<size_t>(n_out));
    const heed_weights plain = heed_weights_of(numbers.get(), nullptr, HEED_F32, HEED_IN_OUT, n_in, n_out);
    const heed_memory to = memory_.memory();
    if (heed_weights_pack(plain, dtype, to) != HEED_OK || heed_weights_open(&w, to.data, to.bytes) != HEED_OK)
      std::abort();
  }
  packed_weights &in_integers() {
    if (heed_weights_in_integers(&w, w) != HEED_OK) std::abort();
    return *this;
  }
  heed_weights w;

 private:
  buffer memory_;
};

work work_of(const int_shape &s, double bytes_of_number) {
  work w;
  w.flop = 2 * s.work();
  w.bytes = static_cast<double>(s.n_in) * s.n_out * bytes_of_number;
  if (s.n == 1) w.resident = static_cast<size_t>(w.bytes) / 1024 * 1024;
  return w;
}

void rows_of_floats(benchmark::State &state, int_shape s, int32_t dtype, const char *kernel) {
  if (heed_int_isa_use(kernel) != HEED_OK) return;
  packed_weights weights(dtype, s.n_in, s.n_out);
  if (dtype != HEED_F32) weights.in_integers();
  const buffer x(static_cast<size_t>(s.n) * static_cast<size_t>(s.n_in)),
      y(static_cast<size_t>(s.n) * static_cast<size_t>(s.n_out));
  run(state, floats_beside(kernel),
      work_of(s, dtype == HEED_F32    ? 4
                 : dtype == HEED_Q4_0 ? 0.5625
                                      : 1),
      [&] {
        return heed_linear(heed_matrix_of(x.get(), s.n, s.n_in), weights.w, nullptr,
                           heed_matrix_out_of(y.get(), s.n, s.n_out), nullptr);
      });
}

void rows_of_integers(benchmark::State &state, int_shape s, int32_t layout, const char *kernel) {
  if (heed_int_isa_use(kernel) != HEED_OK) return;
  const packed_weights packed(HEED_INT8, s.n_in, s.n_out);
  const buffer x(static_cast<size_t>(s.n) * static_cast<size_t>(s.n_in)),
      y(static_cast<size_t>(s.n) * static_cast<size_t>(s.n_out));
  heed_weights w = packed.w;
  if (layout != HEED_PACKED) w = heed_weights_of(packed.w.data, nullptr, HEED_INT8, layout, s.n_in, s.n_out);
  const std::vector<heed_multiplier> by(static_cast<size_t>(s.n_out), heed_multiplier_of(0x1p-11f));
  run(state, floats_beside(kernel), work_of(s, 1), [&] {
    return heed_int_linear(heed_int_matrix_of(x.get(), HEED_INT8, s.n, s.n_in, 0), w, nullptr, by.data(),
                           heed_int_matrix_out_of(y.get(), HEED_INT8, s.n, s.n_out, 0), nullptr);
  });
}

void encoder(benchmark::State &state, int32_t dtype, const char *kernel) {
  constexpr int32_t n = 128, dim = 384, hidden = 1536, heads = 12, head_dim = 32, layers = 6;
  if (heed_int_isa_use(kernel) != HEED_OK) return;
  std::vector<packed_weights> weights;
  const auto made = [&](int32_t n_in, int32_t n_out) {
    weights.emplace_back(dtype, n_in, n_out);
    return dtype == HEED_F32 ? weights.back().w : weights.back().in_integers().w;
  };
  const buffer norm(dim), x(static_cast<size_t>(n) * dim), y(static_cast<size_t>(n) * dim),
      memory(HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(n, dim, heads, heads, head_dim, head_dim, hidden, 0) /
             sizeof(float));
  std::vector<heed_attention_layer> attentions(layers);
  std::vector<heed_transformer_layer> all(layers);
  for (int32_t l = 0; l < layers; ++l) {
    attentions[l] = heed_attention_layer_default(dim, heads);
    heed_attention_layer &a = attentions[l];
    a.wq = made(dim, dim), a.wk = made(dim, dim), a.wv = made(dim, dim), a.wo = made(dim, dim);
    all[l] = heed_transformer_layer_default(&a, hidden, heed_layer_norm, heed_gelu);
    all[l].w_up = made(dim, hidden), all[l].w_down = made(hidden, dim);
    all[l].norm1_weight = all[l].norm2_weight = norm.get();
  }
  work w;
  w.flop = 2.0 * layers * n * (4.0 * dim * dim + 2.0 * dim * hidden + 2.0 * n * dim);
  run(state, floats_beside(kernel), w, [&] {
    heed_status status = HEED_OK;
    for (int32_t l = 0; l < layers && status == HEED_OK; ++l)
      status = heed_transformer_layer_run(&all[l], heed_matrix_of(l ? y.get() : x.get(), n, dim),
                                          heed_matrix_out_of(y.get(), n, dim), memory.memory(), nullptr);
    return status;
  });
}

void register_on(const char *kernel) {
  const std::string end = std::string("/") + kernel, group = "integers_products/";
  for (const int_shape &s : {int_shape{512, 768, 3072}, int_shape{128, 384, 1536}, int_shape{128, 384, 384},
                             int_shape{4, 768, 768}, int_shape{1, 4096, 4096}}) {
    const std::string name = group + std::to_string(s.n) + "x" + std::to_string(s.n_in) + "x" + std::to_string(s.n_out);
    for (const int32_t dtype : {HEED_F32, HEED_INT8, HEED_Q8_0, HEED_Q4_0}) {
      const char *const what = dtype == HEED_F32    ? "/f32"
                               : dtype == HEED_INT8 ? "/rows_int8"
                               : dtype == HEED_Q8_0 ? "/rows_q8_0"
                                                    : "/rows_q4_0";
      benchmark::RegisterBenchmark((name + what + end).c_str(), rows_of_floats, s, dtype, kernel);
    }
    for (const int32_t layout : {HEED_PACKED, HEED_OUT_IN, HEED_IN_OUT}) {
      const char *const what = layout == HEED_PACKED ? "/packed" : layout == HEED_OUT_IN ? "/out_in" : "/in_out";
      benchmark::RegisterBenchmark((name + what + end).c_str(), rows_of_integers, s, layout, kernel);
    }
  }
  for (const int32_t dtype : {HEED_F32, HEED_INT8})
    benchmark::RegisterBenchmark((group + "encoder" + (dtype == HEED_F32 ? "/f32" : "/int8") + end).c_str(), encoder,
                                 dtype, kernel);
}

}  // namespace

void register_int_products() {
  for (int32_t i = 0; i < heed_int_isa_count(); ++i) register_on(heed_int_isa_name(i));
}

}  // namespace heed_bench
