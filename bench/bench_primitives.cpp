// dot/<n>/<kernel>, softmax/<rows>x<columns>/<kernel>, weighted_sum/<n>x<n_kv>x<v_dim>/<kernel>,
// linear/<n>x<in>x<out>/<kernel>, project/<n>x<in>x<out>/<format>/<layout>/<kernel>,
// conv/<1|2|3>/<kernel>: the convolutions of Moonshine Tiny. SPDX-License-Identifier: MIT
#include "measure.hpp"

namespace heed_bench {
namespace {

// Two loads per multiply-add: the limit is the read bandwidth of the first cache.
void dot(benchmark::State &state, int32_t n, const char *kernel) {
  const size_t size = static_cast<size_t>(n);
  const buffer a(size), b(size);
  float result = 0;
  work w;
  w.flop = 2.0 * n;
  w.bytes = 8.0 * n;
  w.resident = 8 * size;
  run(state, kernel, w, [&] { return heed_dot(a.get(), b.get(), n, &result); });
}

// of_peak counts every vector operation of an element as one multiply-add: scale, maximum, subtract, compare with the
// cut-off, exp2 (add, subtract, subtract, 6 multiply-adds, shift, multiply), sum, divide by the total: 17.
void softmax(benchmark::State &state, int32_t n, const char *kernel) {
  const double size = static_cast<double>(n) * n;
  const buffer x(static_cast<size_t>(size)), y(static_cast<size_t>(size));
  work w;
  w.flop = 2 * 17 * size;
  w.bytes = 8 * size;
  run(state, kernel, w,
      [&] { return heed_softmax(heed_matrix_of(x.get(), n, n), 0.125f, heed_matrix_out_of(y.get(), n, n), nullptr); });
}

struct product_shape {
  int32_t n, depth, n_out;
};

work product_work(const product_shape &s) {
  const double n = s.n, depth = s.depth, n_out = s.n_out;
  work w;
  w.flop = 2 * n * depth * n_out;
  w.bytes = 4 * (n * depth + depth * n_out + n * n_out);
  if (s.n == 1) w.resident = 4 * static_cast<size_t>(s.depth) * static_cast<size_t>(s.n_out);
  return w;
}

struct product_data {
  explicit product_data(const product_shape &s)
      : a(static_cast<size_t>(s.n) * static_cast<size_t>(s.depth)),
        b(static_cast<size_t>(s.depth) * static_cast<size_t>(s.n_out)),
        out(static_cast<size_t>(s.n) * static_cast<size_t>(s.n_out)) {}
  buffer a, b, out;
};

void weighted_sum(benchmark::State &state, const product_shape &s, const char *kernel) {
  const product_data d(s);
  run(state, kernel, product_work(s), [&] {
    return heed_weighted_sum(heed_matrix_of(d.a.get(), s.n, s.depth), heed_matrix_of(d.b.get(), s.depth, s.n_out),
                             heed_matrix_out_of(d.out.get(), s.n, s.n_out), nullptr);
  });
}

void linear(benchmark::State &state, const product_shape &s, const char *kernel) {
  const product_data d(s);
  const buffer bias(static_cast<size_t>(s.n_out));
  run(state, kernel, product_work(s), [&] {
    return heed_linear(heed_matrix_of(d.a.get(), s.n, s.depth),
                       heed_weights_of_matrix(heed_matrix_of(d.b.get(), s.depth, s.n_out)), bias.get(),
                       heed_matrix_out_of(d.out.get(), s.n, s.n_out), nullptr);
  });
}

// Weights as they are stored; any bytes will do for f16 and bf16 that are neither NaN nor infinity.
void project(benchmark::State &state, const product_shape &s, int32_t dtype, int32_t layout, const char *kernel) {
  const product_data d(s);
  const size_t n_weights = static_cast<size_t>(s.depth) * static_cast<size_t>(s.n_out);
  const size_t bytes = n_weights * HEED_DTYPE_BYTES(dtype);
  const buffer scales(static_cast<size_t>(s.n_out)), stored((bytes + 3) / 4);
  if (dtype != HEED_F32 && dtype != HEED_INT8)
    heed_convert_from_f32(heed_matrix_of(d.b.get(), s.depth, s.n_out),
                          heed_typed_matrix_out_of(stored.get(), nullptr, dtype, s.depth, s.n_out));
  const heed_weights w = heed_weights_of(stored.get(), scales.get(), dtype, layout, s.depth, s.n_out);
  work todo = product_work(s);
  todo.bytes += static_cast<double>(bytes) - 4.0 * static_cast<double>(n_weights);
  if (s.n == 1) todo.resident = (bytes + 1023) / 1024 * 1024;
  run(state, kernel, todo, [&] {
    return heed_linear(heed_matrix_of(d.a.get(), s.n, s.depth), w, nullptr,
                       heed_matrix_out_of(d.out.get(), s.n, s.n_out), nullptr);
  });
}

// A convolution over time: overlapping rows of (kernel x channels) numbers, against linear of the same shape.
struct convolution {
  const char *name;
  int32_t n, kernel, stride, channels, n_out;
};
void convolve(benchmark::State &state, const convolution &c, const char *kernel) {
  const product_shape s = {c.n, c.kernel * c.channels, c.n_out};
  const product_data d(s);
  const heed_weights w = heed_weights_of(d.b.get(), nullptr, HEED_F32, HEED_IN_OUT, s.depth, s.n_out);
  const heed_matrix x = heed_matrix_of(d.a.get(), (c.n - 1) * c.stride + c.kernel, c.channels);
  run(state, kernel, product_work(s), [&] {
    return heed_linear(heed_windows_of(x, c.kernel, c.stride), w, nullptr,
                       heed_matrix_out_of(d.out.get(), s.n, s.n_out), nullptr);
  });
}

std::string text(const product_shape &s) {
  return std::to_string(s.n) + "x" + std::to_string(s.depth) + "x" + std::to_string(s.n_out);
}

void register_on(const char *kernel) {
  const std::string end = std::string("/") + kernel;
  for (int32_t n : {1024, 4096})
    benchmark::RegisterBenchmark(("dot/" + std::to_string(n) + end).c_str(), dot, n, kernel);
  for (int32_t n : {98, 1500}) {
    const std::string size = std::to_string(n) + "x" + std::to_string(n);
    benchmark::RegisterBenchmark(("softmax/" + size + end).c_str(), softmax, n, kernel);
  }
  for (const product_shape &s : {product_shape{98, 98, 64}, product_shape{512, 512, 64}})
    benchmark::RegisterBenchmark(("weighted_sum/" + text(s) + end).c_str(), weighted_sum, s, kernel);
  for (const product_shape &s : {product_shape{98, 64, 64}, product_shape{512, 512, 512}, product_shape{512, 768, 3072},
                                 product_shape{1, 1024, 1024}})
    benchmark::RegisterBenchmark(("linear/" + text(s) + end).c_str(), linear, s, kernel);
  // Moonshine's stem for two seconds, and linear of the second's shape beside it.
  for (const convolution &c : {convolution{"1", 499, 127, 64, 1, 288}, convolution{"2", 165, 7, 3, 288, 576},
                               convolution{"3", 82, 3, 2, 576, 288}})
    benchmark::RegisterBenchmark((std::string("conv/") + c.name + end).c_str(), convolve, c, kernel);
  benchmark::RegisterBenchmark(("linear/165x2016x576" + end).c_str(), linear, product_shape{165, 2016, 576}, kernel);
  static const char *const formats[] = {"f32", "f16", "bf16", "int8"}, *const layouts[] = {"in_out", "out_in"};
  for (const product_shape &s : {product_shape{98, 64, 64}, product_shape{512, 512, 512}, product_shape{4, 512, 512},
                                 product_shape{1, 64, 64}, product_shape{1, 64, 172}, product_shape{1, 172, 64},
                                 product_shape{1, 64, 512}, product_shape{1, 1024, 1024}, product_shape{1, 4096, 4096}})
    for (int32_t dtype = HEED_F32; dtype <= HEED_INT8; ++dtype)
      for (int32_t layout = HEED_IN_OUT; layout <= HEED_OUT_IN; ++layout)
        benchmark::RegisterBenchmark(
            ("project/" + text(s) + "/" + formats[dtype] + "/" + layouts[layout] + end).c_str(), project, s, dtype,
            layout, kernel);
}

}  // namespace

void register_primitives() {
  for (int32_t i = 0; i < heed_isa_count(); ++i) register_on(heed_isa_name(i));
}

}  // namespace heed_bench
