// rows/<in>x<out>/<numbers>/<how they lie>/<near|memory>/<kernel>: a product of 1 to 64 rows, for jumps. Numbers are f32, f16,
// bf16, int8, uint8 (with zero points), q8_0 or q4_0. They lie as in_out, out_in (q8_0 and q4_0: as in a GGUF file) or packed;
// `integers`: packed, and rows are quantised (heed_weights_in_integers); `int_*`: int8 to int8 (heed_int_linear). Weights stay in
// the nearest cache that holds them, or come from memory. All numbers of rows take turns; us_N is the best of them for N rows.
// A fall: N rows take more than 1.05 times as long as more rows. A rise: a row of N takes more than 1.1 times as long as one of
// N - 1. The label lists both.
// SPDX-License-Identifier: MIT
#include <array>
#include <cstdio>
#include <cstring>

#include "heed/int_products.h"
#include "measure.hpp"

namespace heed_bench {
namespace {

constexpr int32_t most_rows = 64, most_turns = 15, least_turns = 7;  // the least where they take seconds
constexpr size_t beyond_caches = size_t{128} << 20;                  // bytes of all copies of weights
constexpr double most_fall = 1.05, most_rise = 1.1;

enum class form { in_out, out_in, packed, integers, int_in_out, int_out_in, int_packed };
constexpr const char *form_names[] = {"in_out",     "out_in",     "packed",    "integers",
                                      "int_in_out", "int_out_in", "int_packed"};
constexpr int32_t dtypes[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8, HEED_UINT8, HEED_Q8_0, HEED_Q4_0};
constexpr const char *dtype_names[] = {"f32", "f16", "bf16", "int8", "uint8", "q8_0", "q4_0"};

bool of_integer_kernel(form f) { return f >= form::integers; }
bool is_packed(form f) { return f == form::packed || f == form::integers || f == form::int_packed; }
bool in_blocks(int32_t dtype) { return dtype == HEED_Q8_0 || dtype == HEED_Q4_0; }

bool exists(form f, int32_t dtype) {
  if (f == form::in_out) return !in_blocks(dtype);
  if (f == form::integers) return dtype == HEED_INT8 || dtype == HEED_UINT8 || in_blocks(dtype);
  if (f > form::integers) return dtype == HEED_INT8;
  return true;
}

struct rows_case {
  int32_t n_in, n_out, dtype;
  form how;
  bool from_memory;
  size_t n_weights() const { return static_cast<size_t>(n_in) * static_cast<size_t>(n_out); }
  size_t bytes() const {
    if (is_packed(how)) return heed_weights_packed_bytes(dtype, n_in, n_out);
    if (dtype == HEED_Q8_0) return n_weights() / 32 * 34;
    if (dtype == HEED_Q4_0) return n_weights() / 32 * 18;
    return n_weights() * HEED_DTYPE_BYTES(dtype);
  }
};

// Copies of weights that lie in one buffer: more than the caches hold, or one.
class projection {
 public:
  explicit projection(const rows_case &c)
      : c_(c),
        n_copies_(c.from_memory && c.bytes() < beyond_caches ? beyond_caches / c.bytes() + 1 : 1),
        copy_floats_((c.bytes() + 63) / 64 * 16),
        stored_(copy_floats_ * n_copies_),
        scales_(static_cast<size_t>(c.n_out)),
        zero_points_(static_cast<size_t>(c.n_out)),
        x_(most_rows * static_cast<size_t>(c.n_in)),
        y_(most_rows * static_cast<size_t>(c.n_out)),
        multipliers_(static_cast<size_t>(c.n_out), heed_multiplier_of(0x1p-11f)) {
    for (size_t copy = 0; copy < n_copies_; copy++) weights_.push_back(made(stored_.get() + copy * copy_floats_, copy));
  }

  heed_status run(int32_t n_rows) {
    next_ = (next_ + 1) % n_copies_;
    if (c_.how > form::integers)
      return heed_int_linear(heed_int_matrix_of(x_.get(), HEED_INT8, n_rows, c_.n_in, 0), weights_[next_], nullptr,
                             multipliers_.data(), heed_int_matrix_out_of(y_.get(), HEED_INT8, n_rows, c_.n_out, 0),
                             nullptr);
    return heed_linear(heed_matrix_of(x_.get(), n_rows, c_.n_in), weights_[next_], nullptr,
                       heed_matrix_out_of(y_.get(), n_rows, c_.n_out), nullptr);
  }

 private:
  rows_case c_;
  size_t n_copies_, copy_floats_, next_ = 0;
  buffer stored_, scales_, zero_points_, x_, y_;
  std::vector<heed_multiplier> multipliers_;
  std::vector<heed_weights> weights_;

  heed_weights made(float *to, size_t copy) const {
    if (!is_packed(c_.how)) return plain(to);
    const auto *first = stored_.get();
    heed_weights w;
    if (copy > 0)
      std::memcpy(to, first, c_.bytes());
    else
      pack(to);
    if (heed_weights_open(&w, to, c_.bytes()) != HEED_OK) std::abort();
    if (c_.how == form::integers && heed_weights_in_integers(&w, w) != HEED_OK) std::abort();
    return w;
  }
  void pack(float *to) const {
    const buffer numbers(c_.n_weights());
    heed_weights w = heed_weights_of(numbers.get(), nullptr, HEED_F32, HEED_IN_OUT, c_.n_in, c_.n_out);
    if (c_.dtype == HEED_UINT8) {
      w = heed_weights_of(numbers.get(), scales_.get(), HEED_UINT8, HEED_IN_OUT, c_.n_in, c_.n_out);
      w = heed_weights_with_zero_points(w, zero_points_.get(), c_.n_out);
    }
    if (heed_weights_pack(w, c_.dtype, heed_memory_of(to, c_.bytes())) != HEED_OK) std::abort();
  }
  heed_weights plain(float *to) const {
    if (in_blocks(c_.dtype)) {
      const size_t block = c_.dtype == HEED_Q8_0 ? 34 : 18;
      const uint16_t scale = 0x2000;
      for (size_t at = 0; at < c_.bytes(); at += block) std::memcpy(reinterpret_cast<char *>(to) + at, &scale, 2);
      return heed_weights_of_blocks(to, c_.dtype, c_.n_in, c_.n_out);
    }
    const int32_t layout = c_.how == form::out_in || c_.how == form::int_out_in ? HEED_OUT_IN : HEED_IN_OUT;
    if (c_.dtype == HEED_F16 || c_.dtype == HEED_BF16) {
      const buffer numbers(c_.n_weights());
      const heed_typed_matrix_out stored = heed_typed_matrix_out_of(to, nullptr, c_.dtype, c_.n_in, c_.n_out);
      if (heed_convert_from_f32(heed_matrix_of(numbers.get(), c_.n_in, c_.n_out), stored) != HEED_OK) std::abort();
    }
    const heed_weights w = heed_weights_of(to, scales_.get(), c_.dtype, layout, c_.n_in, c_.n_out);
    return c_.dtype == HEED_UINT8 ? heed_weights_with_zero_points(w, zero_points_.get(), c_.n_out) : w;
  }
};

double seconds_of(projection &p, int32_t n_rows) {
  double start = heed_seconds();
  p.run(n_rows);
  const int64_t batch = batch_size(heed_seconds() - start);
  start = heed_seconds();
  for (int64_t i = 0; i < batch; i++) p.run(n_rows);
  return (heed_seconds() - start) / static_cast<double>(batch);
}

// Marks of one kind, how often each kind was found, and the worst of them.
class marks {
 public:
  void add(int32_t of, int32_t than, double times) {
    char text[48];
    std::snprintf(text, sizeof text, " %d > %d %.2f", of, than, times);
    list_ += text;
    n_++;
    if (times > worst_) worst_ = times, at_ = of;
  }
  void report(benchmark::State &state, const std::string &name, std::string *label) const {
    state.counters[name + "s"] = n_;
    state.counters[name] = worst_;
    state.counters[name + "_at"] = at_;
    if (n_ > 0) *label += (label->empty() ? "" : "; ") + name + "s" + list_;
  }

 private:
  std::string list_;
  double worst_ = 1;
  int32_t n_ = 0, at_ = 0;
};

void rows(benchmark::State &state, const rows_case &c, const char *kernel) {
  projection p(c);
  const bool integers = of_integer_kernel(c.how);
  if ((integers ? heed_int_isa_use(kernel) : heed_isa_use(kernel)) != HEED_OK || p.run(most_rows) != HEED_OK) {
    state.SkipWithError("the call failed");
    return;
  }
  std::array<double, most_rows + 1> best;
  best.fill(1e9);
  const int32_t n_turns = c.n_weights() > (size_t{1} << 22) ? least_turns : most_turns;
  for (auto _ : state)
    for (int32_t turn = 0; turn < n_turns; turn++)
      for (int32_t n = 1; n <= most_rows; n++) {
        double &least = best[static_cast<size_t>(n)];
        const double seconds = seconds_of(p, n);
        if (seconds < least) least = seconds;
      }
  heed_isa_use(nullptr);
  heed_int_isa_use(nullptr);

  marks falls, rises;
  for (int32_t n = 1; n <= most_rows; n++) {
    const double seconds = best[static_cast<size_t>(n)];
    state.counters["us_" + std::to_string(n)] = 1e6 * seconds;
    int32_t fastest = n;  // of more rows
    for (int32_t m = n + 1; m <= most_rows; m++)
      if (best[static_cast<size_t>(m)] < best[static_cast<size_t>(fastest)]) fastest = m;
    const double fall = seconds / best[static_cast<size_t>(fastest)];
    if (fall > most_fall) falls.add(n, fastest, fall);
    if (n == 1) continue;
    const double rise = seconds / n / (best[static_cast<size_t>(n - 1)] / (n - 1));
    if (rise > most_rise) rises.add(n, n - 1, rise);
  }
  state.counters["us"] = 1e6 * best[1];
  std::string label;
  falls.report(state, "fall", &label);
  rises.report(state, "rise", &label);
  state.SetLabel(label);
}

}  // namespace

void register_rows() {
  // Rows of floats that are a multiple of 4 KB, and that are not, in caches of each level.
  static constexpr int32_t shapes[][2] = {{64, 172},   {512, 1376},  {1024, 1024},
                                          {768, 3072}, {1600, 3136}, {4096, 4096}};
  for (const auto &shape : shapes)
    for (size_t dtype = 0; dtype < std::size(dtypes); dtype++)
      for (size_t f = 0; f < std::size(form_names); f++)
        for (const bool from_memory : {false, true}) {
          const rows_case c = {shape[0], shape[1], dtypes[dtype], static_cast<form>(f), from_memory};
          if (!exists(c.how, c.dtype) || (shape[0] == 4096 && !from_memory)) continue;  // in no cache
          const bool integers = of_integer_kernel(c.how);
          const int32_t n_kernels = integers ? heed_int_isa_count() : heed_isa_count();
          for (int32_t i = 0; i < n_kernels; ++i) {
            const char *const kernel = integers ? heed_int_isa_name(i) : heed_isa_name(i);
            if (std::strncmp(kernel, "scalar", 6) == 0) continue;  // no ways to jump between
            const std::string name = "rows/" + std::to_string(c.n_in) + "x" + std::to_string(c.n_out) + "/" +
                                     dtype_names[dtype] + "/" + form_names[f] + (from_memory ? "/memory/" : "/near/") +
                                     kernel;
            benchmark::RegisterBenchmark(name.c_str(), rows, c, kernel)->Iterations(1)->Repetitions(1);
          }
        }
}

}  // namespace heed_bench
