// Keys and values of more than the second-level cache holds, which kernels fetch one block ahead: the bits of the
// reference, in every format and for few rows and many, from a cache, as narrow tensors and as rows of floats.
// SPDX-License-Identifier: MIT
#include "support/cached_runs.hpp"
#include "support/data.hpp"
#include "support/narrow_tensors.hpp"

namespace heed_test {
namespace {

// head_dim and v_dim leave a part of a register; rows make tiles of 4, 2 and 1, and one whose queries are lanes.
constexpr int32_t dim = 133, v_dim = 131, rows[] = {1, 7, 40};

// As many keys as are far, the last of them no whole block.
int32_t far_keys(int32_t dtype) { return 512 * 1024 / ((dim + v_dim) * HEED_DTYPE_BYTES(dtype)) + 70; }

class far_bits : public reference_or_self_test {
 protected:
  static problem far_problem(random_source &r, int32_t n_q, int32_t n_kv) {
    problem p;
    p.n_q = n_q, p.n_kv = n_kv, p.head_dim = dim, p.v_dim = v_dim;
    fill_typical(r, &p);
    return p;
  }
  attention_result by_reference(const problem &p) const {
    const kernel_scope scope(reference_);
    return run(p, plain_setting(p, false));
  }
};

TEST_P(far_bits, floats) {
  random_source r(900000);
  for (const int32_t n_q : rows) {
    const problem p = far_problem(r, n_q, far_keys(HEED_F32));
    EXPECT_TRUE(same_results(by_reference(p), run(p))) << p.text();
  }
}

// Windows that begin and end in many blocks.
TEST_P(far_bits, windows) {
  random_source r(905000);
  for (const int32_t left : {0, 20, 100}) {
    problem p = far_problem(r, 100, far_keys(HEED_F32));
    p.causal = 1, p.causal_offset = 300, p.options.ranges = true, p.options.left_window = left;
    EXPECT_TRUE(same_results(by_reference(p), run(p))) << p.text();
  }
}

TEST_P(far_bits, narrow_tensors) {
  random_source r(910000);
  for (const int32_t dtype : {HEED_F16, HEED_BF16, HEED_INT8})
    for (const int32_t n_q : {1, 7}) {
      problem p = far_problem(r, n_q, far_keys(dtype));
      const narrow_problem numbers(&p, {own, dtype, dtype, own});
      EXPECT_TRUE(same_results(by_reference(p), run_narrow(p, {}, numbers))) << p.text() << numbers.formats.text();
    }
}

TEST_P(far_bits, caches) {
  random_source r(920000);
  for (const int32_t dtype : {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8}) {
    const int32_t n = far_keys(dtype);
    const heed_cache_shape s = cache_shape(HEED_CACHE_LINEAR, n, 1, dim, v_dim, dtype);
    const cache_memory memory(slot_cache, s, false);
    heed_cache cache;
    ASSERT_EQ(heed_cache_init(&cache, &s, heed_memory_of(memory.data(), memory.count())), HEED_OK);
    cache_model model(1, sequence_model(s));
    const tokens t = {n, bell_floats(r, size_t(n) * dim), bell_floats(r, size_t(n) * v_dim)};
    ASSERT_EQ(append(&cache, 0, t), HEED_OK);
    model[0].append(t, nullptr);
    for (const int32_t n_q : rows) {
      if (n_q > 7 && dtype != HEED_F32) continue;
      problem p = problem_over(s, model, 1, n_q, n);
      p.q = bell_floats(r, p.q_floats());
      EXPECT_TRUE(same_results(by_reference(as_tensors(p, s, model)), run_cached(p, {}, &cache, true).result))
          << text_of(s) << p.text();
    }
  }
}

HEED_TEST_EVERY_KERNEL(far_bits);

}  // namespace
}  // namespace heed_test
