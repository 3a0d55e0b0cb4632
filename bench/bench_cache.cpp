// cache/<shape>/<format>/<kernel>: attention whose keys and values lie in a cache. Counters as of attention/...; bytes
// are those that the format takes. append/<shape>/<format>/<kernel>: one more token, its keys turned, in a ring.
// SPDX-License-Identifier: MIT
#include "measure.hpp"

namespace heed_bench {
namespace {

struct dtype {
  const char *name;
  int32_t number;
};
constexpr dtype formats[] = {{"f32", HEED_F32}, {"f16", HEED_F16}, {"bf16", HEED_BF16}, {"int8", HEED_INT8}};

// A cache that holds the keys and values of a shape.
class full_cache {
 public:
  full_cache(const heed_shape &s, int32_t number, int32_t kind)
      : k_(heed_shape_kv_floats(&s)),
        v_(heed_shape_kv_floats(&s)),
        bytes_(bytes_of(s, number, kind)),
        buffer_(bytes_ / 4) {
    heed_cache_init(&cache, &shape_, buffer_.memory());
    heed_rope_init(&rope, HEED_ROPE_HALVES);
    append(s, s.n_kv, nullptr);
  }
  heed_status append(const heed_shape &s, int32_t n, const heed_rope *with) {
    return heed_cache_append(&cache, 0, heed_head_major(k_.get(), s.n_kv, s.n_kv_heads, s.head_dim),
                             heed_head_major(v_.get(), s.n_kv, s.n_kv_heads, s.head_dim), n, with);
  }
  size_t bytes() const { return bytes_; }

  heed_cache cache;
  heed_rope rope;

 private:
  size_t bytes_of(const heed_shape &s, int32_t number, int32_t kind) {
    shape_ = heed_cache_shape_default(s.n_kv, s.n_kv_heads, s.head_dim);
    shape_.kind = kind;
    shape_.dtype = number;
    return heed_cache_bytes(&shape_);
  }
  heed_cache_shape shape_;
  buffer k_, v_;
  size_t bytes_;
  buffer buffer_;
};

void cached(benchmark::State &state, const heed_shape &s, const dtype &f, const char *kernel) {
  const full_cache data(s, f.number, HEED_CACHE_LINEAR);
  const buffer q(heed_shape_q_floats(&s)), out(heed_shape_q_floats(&s)),
      workspace(HEED_WORKSPACE_BYTES(s.head_dim, s.head_dim) / 4);
  heed_attention call = heed_shape_call(&s, q.get(), nullptr, nullptr, out.get(), workspace.memory());
  call.cache = &data.cache;
  work w;
  w.flop = heed_shape_flop(&s);
  w.bytes = 8.0 * static_cast<double>(heed_shape_q_floats(&s)) + static_cast<double>(data.bytes());
  if (heed_shape_is_decode(&s)) w.resident = data.bytes();
  run(state, kernel, w, [&] { return heed_attention_run(&call); });
}

void append(benchmark::State &state, const heed_shape &s, const dtype &f, const char *kernel) {
  full_cache data(s, f.number, HEED_CACHE_RING);
  work w;
  w.bytes = static_cast<double>(HEED_DTYPE_BYTES(f.number)) * 2.0 * s.n_kv_heads * s.head_dim;
  run(state, kernel, w, [&] { return data.append(s, 1, &data.rope); });
}

}  // namespace

void register_cache() {
  for (const heed_shape &s : heed_shapes)
    for (const dtype &f : formats)
      for (int32_t i = 0; i < heed_isa_count(); ++i) {
        const char *kernel = heed_isa_name(i);
        const std::string end = std::string(s.name) + "/" + f.name + "/" + kernel;
        benchmark::RegisterBenchmark(("cache/" + end).c_str(), cached, s, f, kernel);
        if (heed_shape_is_decode(&s)) benchmark::RegisterBenchmark(("append/" + end).c_str(), append, s, f, kernel);
      }
}

}  // namespace heed_bench
