// integers/<shape>/<kernel>: attention in integers beside f32 of the same width, in the same run, in turns: so a busy
// machine slows both. us and f32_us are medians, times_f32 is the median of ratios of neighbours. Of new tokens:
// of_bandwidth, the share of what reading as many bytes of keys and values takes.
// SPDX-License-Identifier: MIT
#include <heed/integers.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "measure.hpp"

namespace heed_bench {
namespace {

struct int_data {
  explicit int_data(const heed_shape &s)
      : q(heed_shape_q_floats(&s)),
        k(heed_shape_kv_floats(&s)),
        v(heed_shape_kv_floats(&s)),
        out(heed_shape_q_floats(&s)),
        workspace(
            std::max(HEED_WORKSPACE_BYTES(s.head_dim, s.head_dim), HEED_INT_WORKSPACE_BYTES(s.head_dim, s.head_dim)) /
            4),
        q8(bytes_of(q, heed_shape_q_floats(&s))),
        k8(bytes_of(k, heed_shape_kv_floats(&s))),
        v8(bytes_of(v, heed_shape_kv_floats(&s))),
        out8(heed_shape_q_floats(&s) / 4 + 1) {}
  static int8_t *bytes(const buffer &b) { return reinterpret_cast<int8_t *>(b.get()); }
  static buffer bytes_of(const buffer &from, size_t n) {
    buffer to(n / 4 + 1);
    for (size_t i = 0; i < n; ++i) bytes(to)[i] = static_cast<int8_t>(std::lrint(from.get()[i] * 127));
    return to;
  }
  heed_attention of_floats(const heed_shape &s) const {
    return heed_shape_call(&s, q.get(), k.get(), v.get(), out.get(), workspace.memory());
  }
  heed_int_attention of_integers(const heed_shape &s) {
    heed_int_attention call = heed_int_attention_of(bytes(q8), bytes(k8), bytes(v8), s.n_q, s.n_kv, s.n_heads,
                                                    s.n_kv_heads, s.head_dim, bytes(out8), workspace.memory());
    const auto head_major = [&](auto &tensor, int32_t n) {
      tensor.row_stride = s.head_dim;
      tensor.head_stride = static_cast<ptrdiff_t>(n) * s.head_dim;
    };
    head_major(call.q, s.n_q), head_major(call.k, s.n_kv), head_major(call.v, s.n_kv), head_major(call.out, s.n_q);
    call.causal = s.causal;
    call.score = heed_multiplier_of(1.44269504f / (127 * 127 * std::sqrt(static_cast<float>(s.head_dim))));
    call.value = heed_multiplier_of(1.0f);
    return call;
  }
  buffer q, k, v, out, workspace, q8, k8, v8, out8;
};

// The f32 kernel of as many lanes.
const char *float_kernel(const char *kernel) {
  if (std::strcmp(kernel, "avx512vnni") == 0) return "avx512";
  if (std::strncmp(kernel, "avx", 3) == 0) return "avx2";
  if (std::strncmp(kernel, "neon", 4) == 0) return "neon";
  return "fma";
}

template <class Call>
double time_of(Call call, int64_t n) {
  const double start = heed_seconds();
  for (int64_t i = 0; i < n; ++i) call();
  return (heed_seconds() - start) / static_cast<double>(n);
}

void integers(benchmark::State &state, const heed_shape &s, const char *kernel) {
  int_data data(s);
  const heed_attention floats = data.of_floats(s);
  const heed_int_attention call = data.of_integers(s);
  const auto run_floats = [&] { return heed_attention_run(&floats); };
  const auto run_integers = [&] { return heed_int_attention_run(&call); };
  if (heed_isa_use(float_kernel(kernel)) != HEED_OK) heed_isa_use(nullptr);
  if (heed_int_isa_use(kernel) != HEED_OK || run_floats() != HEED_OK || run_integers() != HEED_OK)
    return state.SkipWithError("a call failed");
  work w;
  w.flop = heed_shape_flop(&s);
  w.bytes = heed_shape_bytes(&s) / 4;
  if (heed_shape_is_decode(&s)) w.resident = 2 * heed_shape_kv_floats(&s);
  limits machine(heed_isa_current(), w);
  const int64_t n = batch_size(time_of(run_integers, 1)), n_floats = batch_size(time_of(run_floats, 1));
  std::vector<double> seconds, of_floats, ratios;
  machine.sample();
  for (auto _ : state) {
    run_floats();  // which would find its tensors in no cache after the other's
    of_floats.push_back(time_of(run_floats, n_floats));
    run_integers();
    seconds.push_back(time_of(run_integers, n));
    state.SetIterationTime(seconds.back());
    ratios.push_back(of_floats.back() / seconds.back());
  }
  machine.sample();
  const auto median = [](std::vector<double> &x) { return heed_median(x.data(), static_cast<int32_t>(x.size())); };
  state.counters["least_us"] = 1e6 * *std::min_element(seconds.begin(), seconds.end());
  state.counters["f32_least_us"] = 1e6 * *std::min_element(of_floats.begin(), of_floats.end());
  state.counters["f32_us"] = 1e6 * median(of_floats);
  state.counters["times_f32"] = median(ratios);
  report(state, w, seconds, machine);
  heed_isa_use(nullptr);
  heed_int_isa_use(nullptr);
}

}  // namespace

void register_integers() {
  for (const heed_shape &s : heed_shapes)
    for (int32_t i = 0; i < heed_int_isa_count(); ++i) {
      const char *kernel = heed_int_isa_name(i);
      benchmark::RegisterBenchmark((std::string("integers/") + s.name + "/" + kernel).c_str(), integers, s, kernel)
          ->UseManualTime();
    }
}

}  // namespace heed_bench
