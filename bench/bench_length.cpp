// prompt/<n>/<kernel>: one head of self-attention over n rows, d 64. context/<n>/<kernel>: one query against n keys, d
// 128, with the counter ns_per_key. Whether time has steps: bench/plot.sh draws it. SPDX-License-Identifier: MIT
#include <cstring>

#include "measure.hpp"

namespace heed_bench {
namespace {

void attend(benchmark::State &state, const heed_shape &s, const char *kernel) {
  const buffer q(heed_shape_q_floats(&s)), k(heed_shape_kv_floats(&s)), v(heed_shape_kv_floats(&s)),
      out(heed_shape_q_floats(&s));
  const size_t workspace_bytes = HEED_WORKSPACE_BYTES(s.head_dim, s.head_dim);
  const buffer workspace(workspace_bytes / 4);
  const heed_attention call =
      heed_shape_call(&s, q.get(), k.get(), v.get(), out.get(), workspace.get(), workspace_bytes);
  work w;
  w.flop = heed_shape_flop(&s);
  w.bytes = heed_shape_bytes(&s);
  if (heed_shape_is_decode(&s)) w.resident = 8 * heed_shape_kv_floats(&s);
  run(state, kernel, w, [&] { return heed_attention_run(&call); });
  if (heed_shape_is_decode(&s)) state.counters["ns_per_key"] = 1e3 * state.counters["us"] / s.n_kv;
}

}  // namespace

void register_length() {
  const auto add = [](const char *group, const heed_shape &s, int32_t n) {
    for (int32_t i = 0; i < heed_kernel_count(); ++i) {
      const char *kernel = heed_kernel_name(i);
      if (std::strncmp(kernel, "scalar", 6) == 0) continue;  // the reference is not to be fast
      benchmark::RegisterBenchmark((std::string(group) + "/" + std::to_string(n) + "/" + kernel).c_str(), attend, s,
                                   kernel);
    }
  };
  for (int32_t n = 16; n <= 2048; n *= 2) add("prompt", {"", "", 1, 1, n, n, 64, 0}, n);
  for (int32_t n = 64; n <= 65536; n *= 2) add("context", {"", "", 1, 1, 1, n, 128, 0}, n);
}

}  // namespace heed_bench
