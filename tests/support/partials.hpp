// Two partial results in watched memory. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_PARTIALS_HPP
#define HEED_TESTS_SUPPORT_PARTIALS_HPP

#include "option_set.hpp"
#include "partial_flaws.hpp"

namespace heed_test {

class partial_test : public ::testing::Test {
 protected:
  using P = heed_partial;
  static constexpr int32_t batch = 2, heads = 4, kv_heads = 2, n_q = 5, n_kv = 7, dim = 8, v_dim = 6;
  static constexpr size_t n_floats = HEED_PARTIAL_BYTES(batch, heads, n_q, v_dim) / sizeof(float);
  static constexpr size_t workspace_bytes = HEED_WORKSPACE_BYTES(dim, v_dim);

  void SetUp() override {
    make(total_, total_data_, 0);
    make(part_, part_data_, 0);
  }
  // As init makes it; then it holds n_keys keys of the numbers that lie in the arena.
  void make(P *p, float *data, int32_t first_key, int32_t n_keys = 0) {
    ASSERT_EQ(heed_partial_init(p, batch, heads, n_q, v_dim, first_key, floats(data)), HEED_OK);
    p->n_keys = n_keys;
  }
  static heed_memory floats(float *data, size_t count = n_floats) {
    return heed_memory_of(data, count * sizeof(float));
  }
  heed_memory workspace() const { return heed_memory_of(workspace_, workspace_bytes); }
  heed_tensor_out out() const { return heed_token_major_out(out_, n_q, heads, v_dim); }

  arena memory_;
  float *room_ = memory_.take(1024);
  float *in_ = memory_.take(1024);
  P *total_ = new (memory_.take_aligned(16)) P(), *part_ = new (memory_.take_aligned(16)) P();
  float *behind_ = memory_.take(1024);
  float *total_data_ = memory_.take(n_floats), *part_data_ = memory_.take(n_floats), *out_ = memory_.take(1024);
  unsigned char *workspace_ = reinterpret_cast<unsigned char *>(memory_.take_aligned(workspace_bytes / 4));
  option_set set_{&memory_, {batch, heads, n_q, n_kv}};
};

}  // namespace heed_test

#endif
