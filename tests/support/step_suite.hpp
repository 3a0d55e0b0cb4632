// The suite of tests that compare one step of a kernel with the scalar's. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_STEP_SUITE_HPP
#define HEED_TESTS_SUPPORT_STEP_SUITE_HPP

#include "kernels.hpp"
#include "steps.hpp"

namespace heed_test {

class steps : public reference_test {
 protected:
  void SetUp() override {
    reference_test::SetUp();
    if (IsSkipped()) return;
    k_ = find_kernel(GetParam().c_str());
    ref_ = find_kernel(reference_.c_str());
    if (k_ == ref_) GTEST_SKIP() << "the scalar reference itself";
  }

  // f(bench) for shapes around every boundary: registers, tiles of rows, blocks of keys.
  template <class F>
  void each_block(int32_t dtype, bool keys_are_rows, bool stored, F f) {
    static const block_shape shapes[] = {{1, 1, 1, 1, 0, 64},     {1, 1, 16, 16, 0, 64},  {1, 8, 17, 33, 0, 63},
                                         {2, 1, 3, 5, 0, 1},      {3, 2, 64, 64, 0, 64},  {5, 3, 20, 18, 0, 17},
                                         {4, 1, 7, 16, 0, 16},    {8, 1, 33, 15, 0, 15},  {9, 1, 12, 31, 0, 64},
                                         {16, 1, 5, 47, 0, 64},   {17, 1, 64, 17, 0, 33}, {25, 2, 24, 64, 0, 40},
                                         {33, 1, 66, 20, 0, 64},  {48, 1, 16, 96, 0, 8},  {49, 1, 8, 65, 0, 64},
                                         {31, 3, 130, 130, 0, 9}, {7, 1, 40, 40, 0, 2},   {6, 1, 100, 3, 0, 47}};
    int32_t i = 0;
    for (const block_shape &shape : shapes) {
      block_bench b(shape, dtype, keys_are_rows, static_cast<size_t>(i++ % 4));
      if (stored) b.s.rule = &b.rule;
      f(b);
      if (HasFailure()) return;
    }
  }

  // A step that changes scores in place.
  template <class Step>
  void scores_step(const std::string &name, Step step) {
    each_block(stored_f32, true, false, [&](block_bench &b) { compare_scores(name, b, step); });
  }
  template <class Step>
  void compare_scores(const std::string &name, block_bench &b, Step step) {
    step_check check(name);
    on_every_tile(
        k_, b, check, [&](const tile &t) { step(k_, t, b.block()); }, [&](const tile &t) { step(ref_, t, b.block()); },
        [&](const tile &t, int32_t r, const tile &row, const float *) {
          for (int32_t j = b.c.from; j < b.c.n; j++)
            check.equal(b.c.text() + ", row " + std::to_string(r) + ", key " + std::to_string(j), row.scores[j],
                        score_of(t, r, j));
        });
  }
  // One that goes on with the accumulator. With lanes of one float it has alpha already; where v_dim is no multiple of a
  // register, the last one lies behind the whole ones and holds the row's last columns (close_gap).
  template <class Step>
  void compare_sums(const std::string &name, block_bench &b, Step step) {
    step_check check(name);
    const int32_t lanes = k_->lanes, v_dim = b.c.v_dim;
    const bool has_gap = lanes > 0 && v_dim > lanes && v_dim % lanes != 0;
    const int32_t whole = has_gap ? v_dim / lanes * lanes : v_dim;
    on_every_tile(
        k_, b, check,
        [&](const tile &t) {
          for (int32_t r = 0; r < t.n_rows; r++) {
            float *acc = t.chunk.acc + r * t.acc_stride;
            for (int32_t n = 0; lanes == 0 && n < v_dim; n++) acc[n] *= t.alpha[r];
            const std::vector<float> columns(acc, acc + v_dim);
            for (int32_t i = 0; has_gap && i < lanes; i++)
              acc[whole + i] = columns[static_cast<size_t>(v_dim - lanes + i)];
          }
          step(k_, t, b.block());
        },
        [&](const tile &t) { step(ref_, t, b.block()); },
        [&](const tile &t, int32_t r, const tile &row, const float *) {
          for (int32_t n = 0; n < v_dim; n++)
            check.equal(b.c.text() + ", row " + std::to_string(r) + ", column " + std::to_string(n), row.chunk.acc[n],
                        t.chunk.acc[r * t.acc_stride + (n < whole ? n : whole + n - (v_dim - lanes))]);
        });
  }

  const kernel *k_ = nullptr, *ref_ = nullptr;
};

}  // namespace heed_test

#endif
