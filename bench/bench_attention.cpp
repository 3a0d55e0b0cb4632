// attention/<shape>/<kernel>/threads:1, and threads:2/openmp, threads:2/heed on two threads;
// first_call/<shape>/<kernel>, cold_heads/<shape>/<kernel>, layer/<shape>/<kernel>. Over lengths, for plot.sh:
// prompt/<n>/<kernel>, one head over n rows, d 64; context/<n>/<kernel>, one query against n keys, d 128.
// SPDX-License-Identifier: MIT
#include <cstring>
#include <memory>

#include "measure.hpp"

#ifdef HEED_BENCH_OPENMP
#include <heed/openmp.h>
#endif
#ifdef HEED_BENCH_THREADS
#include <heed/threads.h>
#endif

namespace heed_bench {
namespace {

struct attention_data {
  explicit attention_data(const heed_shape &s, int32_t n_threads = 1)
      : q(heed_shape_q_floats(&s)),
        k(heed_shape_kv_floats(&s)),
        v(heed_shape_kv_floats(&s)),
        out(heed_shape_q_floats(&s)),
        workspace(static_cast<size_t>(n_threads) * HEED_WORKSPACE_BYTES(s.head_dim, s.head_dim) / 4) {}
  heed_attention call(const heed_shape &s) const {
    return heed_shape_call(&s, q.get(), k.get(), v.get(), out.get(), workspace.memory());
  }
  buffer q, k, v, out, workspace;
};

work attention_work(const heed_shape &s, int32_t n_threads) {
  work w;
  w.flop = heed_shape_flop(&s);
  w.bytes = heed_shape_bytes(&s);
  w.n_threads = n_threads;
  if (heed_shape_is_decode(&s) && n_threads == 1) w.resident = 8 * heed_shape_kv_floats(&s);
  return w;
}

void attention(benchmark::State &state, const heed_shape &s, const char *kernel) {
  const attention_data data(s);
  const heed_attention call = data.call(s);
  run(state, kernel, attention_work(s, 1), [&] { return heed_attention_run(&call); });
}

void register_lengths() {
  for (int32_t i = 0; i < heed_isa_count(); ++i) {
    const char *kernel = heed_isa_name(i);
    const auto add = [&](const char *group, const heed_shape &s) {
      benchmark::RegisterBenchmark((std::string(group) + std::to_string(s.n_kv) + "/" + kernel).c_str(), attention, s,
                                   kernel);
    };
    if (std::strncmp(kernel, "scalar", 6) == 0) continue;  // the reference is not to be fast
    for (int32_t n = 16; n <= 2048; n *= 2) add("prompt/", {"", "", 1, 1, n, n, 64, 0});
    for (int32_t n = 64; n <= 65536; n *= 2) add("context/", {"", "", 1, 1, 1, n, 128, 0});
  }
}

[[maybe_unused]] void attention_on(const heed_executor &executor, benchmark::State &state, const heed_shape &s,
                                   const char *kernel) {
  const attention_data data(s, executor.n_workers);
  heed_attention call = data.call(s);
  call.executor = &executor;
  run(state, kernel, attention_work(s, executor.n_workers), [&] { return heed_attention_run(&call); });
}

#ifdef HEED_BENCH_OPENMP
void attention_openmp(benchmark::State &state, const heed_shape &s, const char *kernel) {
  heed_executor executor;
  heed_openmp_executor(2, &executor);
  attention_on(executor, state, s, kernel);
}
#endif

#ifdef HEED_BENCH_THREADS
void attention_threads(benchmark::State &state, const heed_shape &s, const char *kernel) {
  static heed_threads threads;
  heed_executor executor;
  if (heed_threads_start(&threads, 2) != HEED_OK || heed_threads_executor(&threads, &executor) != HEED_OK)
    return state.SkipWithError("no threads");
  attention_on(executor, state, s, kernel);
  heed_threads_stop(&threads);
}
#endif

// After other work: the caches hold 64 MB of something else. first_call: one call. cold_heads: of 64 calls, each with
// tensors of its own, the mean. Manual time; the counter us is a median.
void after_other_work(benchmark::State &state, const heed_shape &s, const char *kernel, size_t n_calls) {
  std::vector<std::unique_ptr<attention_data>> heads;
  for (size_t i = 0; i < n_calls; ++i) heads.push_back(std::make_unique<attention_data>(s));
  constexpr size_t n_other = size_t{16} << 20;
  const buffer other(n_other);
  std::vector<double> seconds;
  heed_isa_use(kernel);
  for (auto _ : state) {
    for (size_t j = 0; j < n_other; j += 16) other.get()[j] += 1.0f;
    const double start = heed_seconds();
    for (const auto &head : heads) {
      heed_attention call = head->call(s);
      call.workspace = heads[0]->workspace.memory();
      if (heed_attention_run(&call) != HEED_OK) state.SkipWithError("the call failed");
    }
    seconds.push_back((heed_seconds() - start) / static_cast<double>(n_calls));
    state.SetIterationTime(seconds.back());
  }
  heed_isa_use(nullptr);
  state.counters["us"] = 1e6 * heed_median(seconds.data(), static_cast<int>(seconds.size()));
}

// A square self-attention layer with output projection, no biases.
struct layer_shape {
  const char *name;
  int32_t n, dim, n_heads;
};
constexpr layer_shape layer_shapes[] = {{"98x64h1", 98, 64, 1}, {"197x192h3", 197, 192, 3}};

void layer(benchmark::State &state, const layer_shape &s, const char *kernel) {
  const size_t n = static_cast<size_t>(s.n), dim = static_cast<size_t>(s.dim);
  const int32_t head_dim = s.dim / s.n_heads;
  const buffer x(n * dim), y(n * dim), wq(dim * dim), wk(dim * dim), wv(dim * dim), wo(dim * dim);
  const buffer memory(HEED_ATTENTION_LAYER_BYTES(n, s.n_heads, s.n_heads, head_dim, head_dim) / 4);
  heed_attention_layer l = heed_attention_layer_default(s.dim, s.n_heads);
  const auto square = [&](const buffer &w) {
    return heed_weights_of(w.get(), nullptr, HEED_F32, HEED_IN_OUT, s.dim, s.dim);
  };
  l.wq = square(wq), l.wk = square(wk), l.wv = square(wv), l.wo = square(wo);
  const double tokens = s.n, width = s.dim;
  work w;
  w.flop = 4 * 2 * tokens * width * width + 4 * tokens * tokens * width;
  w.bytes = 4 * (2 * tokens * width + 4 * width * width);
  run(state, kernel, w, [&] {
    return heed_attention_layer_run(&l, heed_matrix_of(x.get(), s.n, s.dim), heed_matrix_out_of(y.get(), s.n, s.dim),
                                    memory.memory(), nullptr);
  });
}

}  // namespace

void register_attention() {
  for (const heed_shape &s : heed_shapes)
    for (int32_t i = 0; i < heed_isa_count(); ++i) {
      const char *kernel = heed_isa_name(i);
      const std::string name = std::string("attention/") + s.name + "/" + kernel + "/threads:";
      benchmark::RegisterBenchmark((name + "1").c_str(), attention, s, kernel);
#ifdef HEED_BENCH_OPENMP
      if (i == 0) benchmark::RegisterBenchmark((name + "2/openmp").c_str(), attention_openmp, s, kernel);
#endif
#ifdef HEED_BENCH_THREADS
      if (i == 0) benchmark::RegisterBenchmark((name + "2/heed").c_str(), attention_threads, s, kernel);
#endif
    }
  for (const heed_shape *s : {&heed_shapes[0], &heed_shapes[5]})
    for (int32_t i = 0; i < heed_isa_count(); ++i)
      for (const size_t n_calls : {1, 64})
        benchmark::RegisterBenchmark(
            (std::string(n_calls == 1 ? "first_call/" : "cold_heads/") + s->name + "/" + heed_isa_name(i)).c_str(),
            after_other_work, *s, heed_isa_name(i), n_calls)
            ->Iterations(21)
            ->UseManualTime();
  register_lengths();
  for (const layer_shape &s : layer_shapes)
    for (int32_t i = 0; i < heed_isa_count(); ++i)
      benchmark::RegisterBenchmark((std::string("layer/") + s.name + "/" + heed_isa_name(i)).c_str(), layer, s,
                                   heed_isa_name(i));
}

}  // namespace heed_bench
