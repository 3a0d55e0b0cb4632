// feature/<shape>/<feature>/<kernel>: attention with an option. Counters as of attention/..., and ratio: the time of
// the plain call of the same visible work divided by the time with the feature; 1 is a feature that costs nothing.
//   masks, softcap, alibi, sinks, lse   plain: the same call without it
//   causal, window, all                 plain: every pair of the shape, its time times the share that is visible
// Targets: 0.90 for causal, window, sinks and lse, 0.80 for masks and alibi, 0.70 for softcap, 0.60 for all.
// The two calls alternate for half a second, and each counts with its least time: neighbours on a shared machine slow
// both, and only ever add. The ratio of a call to itself is then 0.98 to 1.02 where times vary by a tenth.
// window/<T>/<W>/<kernel>: T queries that see W keys before them and themselves; us_per_query is constant in T.
// hidden_blocks/<shape>/<pattern>/<kernel>: a boolean mask that hides 7/8; cost is the share of the plain call's time.
// SPDX-License-Identifier: MIT
#include <time.h>

#include <algorithm>
#include <cmath>

#include "measure.hpp"

namespace heed_bench {
namespace {

enum part : unsigned {
  part_causal = 1,
  part_window = 2,
  part_boolean_mask = 4,
  part_additive_mask = 8,
  part_softcap = 16,
  part_alibi = 32,
  part_sinks = 64,
  part_lse = 128,
  part_ranges = part_causal | part_window
};

struct feature {
  const char *name;
  unsigned parts;
};
constexpr feature features[] = {
    {"causal", part_causal},
    {"window", part_window},
    {"boolean_mask", part_boolean_mask},
    {"additive_mask", part_additive_mask},
    {"softcap", part_softcap},
    {"alibi", part_alibi},
    {"sinks", part_sinks},
    {"lse", part_lse},
    {"all", part_ranges | part_additive_mask | part_softcap | part_alibi | part_sinks | part_lse},
};

// A prompt sees 256 keys before it, with wide heads 512, a new token 1024. An encoder sees as many after it.
int32_t left_window(const heed_shape &s) { return heed_shape_is_decode(&s) ? 1024 : s.head_dim > 64 ? 512 : 256; }
int32_t right_window(const heed_shape &s) { return heed_shape_is_decode(&s) || s.causal ? 0 : left_window(s); }

// Keys in the ranges of each query, over all heads; the queries are the newest tokens.
double pairs_of(const heed_shape &s, bool causal, int32_t left, int32_t right) {
  double pairs = 0;
  for (int32_t i = 0; i < s.n_q; ++i) {
    const int32_t p = i + s.n_kv - s.n_q;
    const int32_t first = left < 0 ? 0 : std::max(0, p - left);
    const int32_t last = std::min({s.n_kv, causal ? p + 1 : s.n_kv, right < 0 ? s.n_kv : p + right + 1});
    pairs += last - first;
  }
  return pairs * s.n_heads;
}

// A call with features, and all that it points to.
class featured_call {
 public:
  featured_call(const heed_shape &s, unsigned parts)
      : shape_(s),
        q_(heed_shape_q_floats(&s)),
        k_(heed_shape_kv_floats(&s)),
        v_(heed_shape_kv_floats(&s)),
        out_(heed_shape_q_floats(&s)),
        workspace_(HEED_WORKSPACE_BYTES(s.head_dim, s.head_dim) / 4) {
    call = plain();
    call.position = s.n_kv - s.n_q;
    call.options = &options_;
    if (parts & part_causal) call.causal = 1;
    if (parts & part_window) set_window(left_window(s), right_window(s));
    if (parts & part_boolean_mask) set_random_mask();
    if (parts & part_additive_mask) set_additive_mask();
    if (parts & part_softcap) set_softcap();
    if (parts & part_alibi) set_alibi();
    if (parts & part_sinks) set_sinks();
    if (parts & part_lse) set_lse();
  }
  featured_call(const featured_call &) = delete;
  featured_call &operator=(const featured_call &) = delete;

  heed_attention plain() const {
    return heed_shape_call(&shape_, q_.get(), k_.get(), v_.get(), out_.get(), workspace_.memory());
  }
  double pairs() const {
    return pairs_of(shape_, call.causal, options_.ranges ? ranges_.left_window : -1,
                    options_.ranges ? ranges_.right_window : -1);
  }
  void set_window(int32_t left, int32_t right) {
    heed_ranges_init(&ranges_);
    ranges_.left_window = left;
    ranges_.right_window = right;
    options_.ranges = &ranges_;
  }
  // One mask (n_q, n_kv) for all heads.
  template <class Attends>
  void set_boolean_mask(Attends attends) {
    attend_.resize(n_mask());
    for (int32_t i = 0; i < shape_.n_q; ++i)
      for (int32_t j = 0; j < shape_.n_kv; ++j)
        attend_[static_cast<size_t>(i) * static_cast<size_t>(shape_.n_kv) + static_cast<size_t>(j)] = attends(i, j);
    heed_mask_init_boolean(&mask_, attend_.data(), shape_.n_kv, 0, 0, shape_.n_kv);
    options_.mask = &mask_;
  }

  heed_attention call;

 private:
  size_t n_mask() const { return static_cast<size_t>(shape_.n_q) * static_cast<size_t>(shape_.n_kv); }
  float *filled(size_t n) {
    arrays_.emplace_back(n);
    return arrays_.back().get();
  }
  void set_random_mask() {
    const buffer random(n_mask());
    const float *x = random.get();
    set_boolean_mask([&](int32_t, int32_t) { return *x++ > 0.0f; });
  }
  void set_additive_mask() {
    heed_mask_init_additive(&mask_, filled(n_mask()), shape_.n_kv, 0, 0, shape_.n_kv);
    options_.mask = &mask_;
  }
  void set_softcap() {
    heed_softcap_init(&softcap_, 1.0f);  // scores of these shapes are about that large
    options_.softcap = &softcap_;
  }
  void set_alibi() {
    float *slopes = filled(static_cast<size_t>(shape_.n_heads));
    for (int32_t h = 0; h < shape_.n_heads; ++h)
      slopes[h] = std::exp2(-8.0f * static_cast<float>(h + 1) / static_cast<float>(shape_.n_heads));
    heed_alibi_init(&alibi_, slopes);
    options_.alibi = &alibi_;
  }
  void set_sinks() {
    heed_sinks_init(&sinks_, filled(static_cast<size_t>(shape_.n_heads)));
    options_.sinks = &sinks_;
  }
  void set_lse() {
    float *lse = filled(static_cast<size_t>(shape_.n_heads) * static_cast<size_t>(shape_.n_q));
    heed_lse_init(&lse_, heed_head_major_out(lse, shape_.n_q, shape_.n_heads, 1));
    options_.lse = &lse_;
  }

  heed_shape shape_;
  buffer q_, k_, v_, out_, workspace_;
  heed_options options_ = heed_options_default();
  heed_ranges ranges_;
  heed_mask mask_;
  heed_softcap softcap_;
  heed_alibi alibi_;
  heed_sinks sinks_;
  heed_lse lse_;
  std::vector<uint8_t> attend_;
  std::vector<buffer> arrays_;
};

// Seconds of one call: the least of many, each over a batch.
struct least {
  double featured, plain;
};

// Of this thread on a processor: a call of 100 ms hardly ever runs without a break where others want the core, too.
double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double seconds_of(const heed_attention &call, int64_t batch) {
  const double start = thread_seconds();
  for (int64_t i = 0; i < batch; ++i) heed_attention_run(&call);
  return (thread_seconds() - start) / static_cast<double>(batch);
}

// Alternates the two calls for half a second, at least 5 times, and reports on the first.
least alternate(benchmark::State &state, const char *kernel, const work &w, const heed_attention &featured,
                const heed_attention &plain) {
  least best = {1e9, 1e9};
  if (heed_isa_use(kernel) != HEED_OK || heed_attention_run(&plain) != HEED_OK ||
      heed_attention_run(&featured) != HEED_OK) {
    state.SkipWithError("the call failed");
    return best;
  }
  limits machine(kernel, w);
  const int64_t batch = batch_size(seconds_of(featured, 1)), plain_batch = batch_size(seconds_of(plain, 1));
  std::vector<double> seconds;
  machine.sample();
  for (auto _ : state) {
    const double end = thread_seconds() + 0.5;
    while (thread_seconds() < end || seconds.size() < 5) {
      seconds.push_back(seconds_of(featured, batch));
      best.featured = std::min(best.featured, seconds.back());
      best.plain = std::min(best.plain, seconds_of(plain, plain_batch));
    }
  }
  machine.sample();
  report(state, w, seconds, machine);
  heed_isa_use(nullptr);
  return best;
}

work work_of(const heed_shape &s, double pairs) {
  work w;
  w.flop = 4.0 * s.head_dim * pairs;
  w.bytes = heed_shape_bytes(&s);
  return w;
}

void run_feature(benchmark::State &state, heed_shape s, const feature &f, const char *kernel) {
  const featured_call data(s, f.parts);
  heed_attention plain = data.plain();
  double share = 1;
  if (f.parts & part_ranges) {
    plain.causal = 0;
    share = data.pairs() / pairs_of(s, false, -1, -1);
  }
  const least best = alternate(state, kernel, work_of(s, data.pairs()), data.call, plain);
  state.counters["ratio"] = best.plain * share / best.featured;
}

heed_shape square(int32_t n, int32_t n_heads) { return {"", "", n_heads, n_heads, n, n, 64, 0}; }

void window(benchmark::State &state, int32_t n, int32_t size, const char *kernel) {
  const heed_shape s = square(n, 1);
  featured_call data(s, part_causal);
  data.set_window(size, -1);
  const least best = alternate(state, kernel, work_of(s, data.pairs()), data.call, data.call);
  state.counters["us_per_query"] = 1e6 * std::min(best.featured, best.plain) / n;
}

// Eight sequences packed into one, or one that fills an eighth of its room.
void hidden_blocks(benchmark::State &state, heed_shape s, bool diagonal, const char *kernel) {
  featured_call data(s, 0);
  const int32_t eighth = s.n_kv / 8;
  data.set_boolean_mask([&](int32_t i, int32_t j) { return diagonal ? i / eighth == j / eighth : j < eighth; });
  const least best = alternate(state, kernel, work_of(s, data.pairs() / 8), data.call, data.plain());
  state.counters["cost"] = best.featured / best.plain;
}

template <class... Arguments>
void add(const std::string &name, Arguments... arguments) {
  benchmark::RegisterBenchmark(name.c_str(), arguments...);
}

void register_on(const char *kernel) {
  const std::string end = std::string("/") + kernel;
  for (const heed_shape &s : heed_shapes)
    for (const char *name : {"P3", "P4", "P5", "D2", "D3"})
      if (std::string(name) == s.name)
        for (const feature &f : features)
          add("feature/" + std::string(name) + "/" + f.name + end, run_feature, s, f, kernel);
  for (const int32_t n : {1024, 2048, 4096, 8192, 16384})
    for (const int32_t size : {256, 1024})
      add("window/" + std::to_string(n) + "/" + std::to_string(size) + end, window, n, size, kernel);
  add("hidden_blocks/2048x2048/diagonal" + end, hidden_blocks, square(2048, 8), true, kernel);
  add("hidden_blocks/2048x2048/padding" + end, hidden_blocks, square(2048, 8), false, kernel);
  add("hidden_blocks/1x8192/padding" + end, hidden_blocks, heed_shape{"", "", 32, 8, 1, 8192, 128, 0}, false, kernel);
}

}  // namespace

void register_features() {
  for (int32_t i = 0; i < heed_isa_count(); ++i)
    if (std::string(heed_isa_name(i)).rfind("scalar", 0) != 0) register_on(heed_isa_name(i));  // not made for speed
}

}  // namespace heed_bench
