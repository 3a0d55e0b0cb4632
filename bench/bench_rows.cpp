// rows/<in>x<out>/<format>/<layout>/<near|memory>/<kernel>: a projection of 1 to 64 rows, for cliffs. Weights lie in the nearest
// cache that holds them, or come from memory. All numbers of rows take turns, 15 times; us_N is the median of N rows.
// step is the greatest time(n) / time(n + 1), multiple the greatest time(n) / (n time(1)); a cliff is more than 1.05.
// SPDX-License-Identifier: MIT
#include <array>

#include "measure.hpp"

namespace heed_bench {
namespace {

constexpr int32_t most_rows = 64, n_turns = 15;
constexpr size_t beyond_caches = size_t{128} << 20;  // bytes of all copies of weights

struct rows_case {
  int32_t n_in, n_out, dtype, layout;
  bool from_memory;
  size_t weights() const { return static_cast<size_t>(n_in) * static_cast<size_t>(n_out); }
  size_t bytes() const { return weights() * HEED_DTYPE_BYTES(dtype); }
};

class projection {
 public:
  explicit projection(const rows_case &c)
      : c_(c),
        n_copies_(c.from_memory && c.bytes() < beyond_caches ? beyond_caches / c.bytes() + 1 : 1),
        copy_floats_((c.bytes() + 63) / 64 * 16),
        stored_(copy_floats_ * n_copies_),
        scales_(static_cast<size_t>(c.n_out)),
        x_(most_rows * static_cast<size_t>(c.n_in)),
        y_(most_rows * static_cast<size_t>(c.n_out)) {
    if (c.dtype == HEED_F32 || c.dtype == HEED_INT8) return;  // any bytes will do
    const buffer floats(c.weights());
    for (size_t copy = 0; copy < n_copies_; copy++)
      heed_convert_from_f32(heed_matrix_of(floats.get(), c.n_in, c.n_out),
                            heed_typed_matrix_out_of(at(copy), nullptr, c.dtype, c.n_in, c.n_out));
  }
  heed_status run(int32_t n_rows) {
    next_ = (next_ + 1) % n_copies_;
    const heed_weights w = heed_weights_of(at(next_), scales_.get(), c_.dtype, c_.layout, c_.n_in, c_.n_out);
    return heed_linear(heed_matrix_of(x_.get(), n_rows, c_.n_in), w, nullptr,
                       heed_matrix_out_of(y_.get(), n_rows, c_.n_out), nullptr);
  }

 private:
  rows_case c_;
  size_t n_copies_, copy_floats_, next_ = 0;
  buffer stored_, scales_, x_, y_;
  float *at(size_t copy) const { return stored_.get() + copy * copy_floats_; }
};

double seconds_of(projection &p, int32_t n_rows) {
  double start = heed_seconds();
  p.run(n_rows);
  const int64_t batch = batch_size(heed_seconds() - start);
  start = heed_seconds();
  for (int64_t i = 0; i < batch; i++) p.run(n_rows);
  return (heed_seconds() - start) / static_cast<double>(batch);
}

void rows(benchmark::State &state, const rows_case &c, const char *kernel) {
  projection p(c);
  if (heed_isa_use(kernel) != HEED_OK || p.run(most_rows) != HEED_OK) {
    state.SkipWithError("the call failed");
    return;
  }
  std::array<std::array<double, n_turns>, most_rows + 1> seconds;
  for (auto _ : state)
    for (size_t turn = 0; turn < n_turns; turn++)
      for (int32_t n = 1; n <= most_rows; n++) seconds[static_cast<size_t>(n)][turn] = seconds_of(p, n);
  heed_isa_use(nullptr);

  std::array<double, most_rows + 1> median;
  double step = 0, multiple = 0;
  for (size_t n = 1; n <= most_rows; n++) {
    median[n] = heed_median(seconds[n].data(), n_turns);
    state.counters["us_" + std::to_string(n)] = 1e6 * median[n];
    if (n > 1 && median[n - 1] / median[n] > step) {
      step = median[n - 1] / median[n];
      state.counters["step_at"] = static_cast<double>(n - 1);
    }
    if (n > 1 && median[n] / (static_cast<double>(n) * median[1]) > multiple) {
      multiple = median[n] / (static_cast<double>(n) * median[1]);
      state.counters["multiple_at"] = static_cast<double>(n);
    }
  }
  state.counters["us"] = 1e6 * median[1];
  state.counters["step"] = step;
  state.counters["multiple"] = multiple;
}

}  // namespace

void register_rows() {
  static const char *const formats[] = {"f32", "f16", "bf16", "int8"}, *const layouts[] = {"in_out", "out_in"};
  static constexpr int32_t shapes[][2] = {{64, 172}, {512, 1376}, {768, 3072}, {4096, 4096}};
  for (const auto &shape : shapes)
    for (int32_t dtype = HEED_F32; dtype <= HEED_INT8; ++dtype)
      for (int32_t layout = HEED_IN_OUT; layout <= HEED_OUT_IN; ++layout)
        for (const bool from_memory : {false, true})
          for (int32_t i = 0; i < heed_isa_count(); ++i) {
            if (shape[0] == 4096 && !from_memory) continue;  // in no cache
            const rows_case c = {shape[0], shape[1], dtype, layout, from_memory};
            const std::string name = "rows/" + std::to_string(c.n_in) + "x" + std::to_string(c.n_out) + "/" +
                                     formats[dtype] + "/" + layouts[layout] + (from_memory ? "/memory/" : "/near/") +
                                     heed_isa_name(i);
            benchmark::RegisterBenchmark(name.c_str(), rows, c, heed_isa_name(i))->Iterations(1)->Repetitions(1);
          }
}

}  // namespace heed_bench
