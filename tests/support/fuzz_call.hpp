// One call of the fuzzer, made on a kernel and on the reference of its profile. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_FUZZ_CALL_HPP
#define HEED_TESTS_SUPPORT_FUZZ_CALL_HPP

#include <cstdio>
#include <functional>

#include "fuzz_input.hpp"

namespace heed_test {

inline void fail(const char *what) {
  std::fprintf(stderr, "fuzz: %s on kernel %s\n", what, heed_kernel_current());
  std::abort();
}

// Equal bytes, except that two NaN are equal. Workspaces do not belong to a result and are not in here.
inline bool same_results(const std::vector<uint8_t> &a, const std::vector<uint8_t> &b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i + 4 <= a.size(); i += 4) {
    float x, y;
    std::memcpy(&x, &a[i], 4);
    std::memcpy(&y, &b[i], 4);
    if (std::memcmp(&x, &y, 4) != 0 && (x == x || y == y)) return false;
  }
  return true;
}

inline void check(fuzz_bytes *in, fuzz_memory *memory, const std::function<heed_status()> &call) {
  if (!memory->usable()) return;
  const char *kernel = heed_kernel_name(in->byte() % heed_kernel_count());
  heed_kernel_use(kernel);
  const heed_status status = call();
  if (!heed_status_text(status)[0] || !heed_status_argument(status)[0]) fail("a status without text");
  if (status != HEED_OK && !memory->untouched()) fail("a refused call wrote");
  const std::vector<uint8_t> first = memory->take();
  heed_kernel_use(heed_kernel_profile(kernel) == HEED_PROFILE_FUSED ? "scalar" : "scalar-unfused");
  if (call() != status) fail("another status on the reference");
  if (!same_results(first, memory->take())) fail("other bits than the reference");
}

inline void run_forwards(void *, int32_t n_tasks, heed_task task, void *context) {
  for (int32_t i = 0; i < n_tasks; ++i) task(context, i, i % 3);
}

// null, a good one, or one with a flaw.
inline const heed_executor *executor_of(fuzz_bytes *in, heed_executor *memory) {
  *memory = heed_executor_of(run_forwards, nullptr, 3);
  const uint8_t b = in->byte();
  if (b == 255) memory->struct_size = uint32_t(in->word());
  if (b == 254) memory->n_workers = in->size() % 3;
  if (b == 253) memory->run = nullptr;
  return b < 128 ? nullptr : memory;
}

// Turns any width by any base, scale or frequencies; some have a flaw.
inline const heed_rope *rope_of(fuzz_bytes *in, fuzz_memory *memory, int32_t head_dim) {
  heed_rope *rope = memory->object<heed_rope>();
  heed_rope_init(rope, in->flag());
  if (in->byte() % 2) rope->rotary_dim = in->byte() % 24;
  if (in->byte() % 4 == 0) rope->base = in->number();
  if (in->byte() % 4 == 0) rope->scale = in->number();
  if (in->byte() % 4 == 0)
    rope->inverse_frequencies = memory->tensor({1}, {0}, (rope->rotary_dim ? rope->rotary_dim : head_dim) / 2, false);
  if (in->rarely()) rope->code = nullptr;
  if (in->rarely()) rope->struct_size = uint32_t(in->word());
  return rope;
}

// A workspace between too short and ample; contents are not compared, so it does not count as written.
inline size_t workspace_bytes_of(fuzz_bytes *in, int32_t head_dim, int32_t v_dim) {
  const size_t least = heed_workspace_min_bytes(head_dim, v_dim), most = heed_workspace_bytes(head_dim, v_dim);
  return in->rarely() ? size_t(in->byte()) : least + (most - least) * in->byte() / 96;
}
inline heed_memory workspace_of(fuzz_bytes *in, fuzz_memory *memory, int32_t head_dim, int32_t v_dim) {
  const size_t bytes = workspace_bytes_of(in, head_dim, v_dim);
  return heed_memory_of(memory->buffer(bytes ? bytes : 1, false), bytes);
}

inline bool too_much(double work) { return work > 3e6; }

}  // namespace heed_test

#endif
