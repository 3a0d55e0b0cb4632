// Each step of each kernel's tables against the scalar's, alone: shapes around every boundary, places that are no multiple of a
// register, guards. A step that is wrong is named; a call that is wrong only says that some bits differ.
// SPDX-License-Identifier: MIT
#include "support/step_suite.hpp"

namespace heed_test {
namespace {

HEED_TEST_EVERY_KERNEL(steps);

// ------------------------------------------------------------------------------------------------------- attention

TEST_P(steps, attend) {
  each_block(stored_f32, true, false, [&](block_bench &b) {
    step_check check("attend");
    const auto see = [&](const tile &t) {  // ranges that begin and end ever later
      for (int32_t r = 0; r < t.n_rows; r++) {
        const auto row = static_cast<int32_t>(t.first_row) + r;
        t.first[r] = clamp_to(row / 2 - 3, 0, b.s.n_kv);
        t.last[r] = clamp_to(b.s.n_kv - 20 + row, 1, b.s.n_kv);
      }
    };
    const auto attend = [&](const kernel *k) {
      return [&, k](const tile &t) {
        see(t);
        k->attend(t, 0);
      };
    };
    on_every_tile(k_, b, check, attend(k_), attend(ref_),
                  [&](const tile &t, int32_t r, const tile &row, const float *) {
                    const std::string where = b.c.text() + ", row " + std::to_string(r);
                    check.equal(where + ", m", *row.chunk.m, t.chunk.m[r]);
                    check.equal(where + ", l", *row.chunk.l, t.chunk.l[r]);
                    for (int32_t n = 0; n < b.c.v_dim; n++)
                      check.equal(where + ", acc", row.chunk.acc[n], t.chunk.acc[r * t.acc_stride + n]);
                  });
  });
}

TEST_P(steps, merge) {
  for (const bool first : {true, false})
    each_block(stored_f32, true, false, [&](block_bench &b) {
      step_check check(first ? "merge, the first chunk" : "merge");
      on_every_tile(
          k_, b, check, [&](const tile &t) { k_->merge(t, first); }, [&](const tile &t) { ref_->merge(t, first); },
          [&](const tile &t, int32_t r, const tile &row, const float *out) {
            const std::string where = b.c.text() + ", row " + std::to_string(r);
            check.equal(where + ", m", *row.total.m, t.total.m[r]);
            check.equal(where + ", l", *row.total.l, t.total.l[r]);
            for (int32_t n = 0; n < b.c.v_dim; n++)
              check.equal(where + ", out", row_cursor(b.s, row.first_row).out()[n], out[n]);
          });
    });
}

TEST_P(steps, finish) {
  each_block(stored_f32, true, false, [&](block_bench &b) {
    step_check check("finish");
    on_every_tile(
        k_, b, check, [&](const tile &t) { k_->finish(t, t.chunk); }, [&](const tile &t) { ref_->finish(t, t.chunk); },
        [&](const tile &, int32_t r, const tile &row, const float *out) {
          for (int32_t n = 0; n < b.c.v_dim; n++)
            check.equal(b.c.text() + ", row " + std::to_string(r), row_cursor(b.s, row.first_row).out()[n], out[n]);
        });
  });
}

TEST_P(steps, keep) {
  each_block(stored_f32, true, false, [&](block_bench &b) {
    step_check check("keep");
    const ptrdiff_t n_kv = b.s.n_kv;
    guarded<float> actual(b.rows() * static_cast<size_t>(n_kv), 1), expected(actual.size());
    const auto rows = [&](guarded<float> &to) { return kept_rows{to.data(), 0, n_kv * b.c.n_q, n_kv}; };
    on_every_tile(
        k_, b, check, [&](const tile &t) { k_->keep(t, b.block(), rows(actual), 0.7f); },
        [&](const tile &t) { ref_->keep(t, b.block(), rows(expected), 0.7f); },
        [&](const tile &, int32_t r, const tile &row, const float *) {
          const ptrdiff_t at = row_of(rows(expected), b.s, row_cursor(b.s, row.first_row)) - expected.data() + b.begin;
          for (int32_t j = b.c.from; j < b.c.n; j++)
            check.equal(b.c.text() + ", row " + std::to_string(r), expected.data()[at + j], actual.data()[at + j]);
        });
    check.that(actual.intact(), "wrote outside the rows, " + b.c.text());
  });
}

TEST_P(steps, softmax) {
  step_check check("softmax");
  for (int32_t n : {1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 98, 128, 197, 1000})
    for (const int32_t n_rows : {1, 2, 8, 9, 35})
      for (const float sink : {negative_infinity, 0.5f}) {
        const ptrdiff_t gap = n % 3, stride = n + gap, size = stride * n_rows - gap;
        guarded<float> x(static_cast<size_t>(size), 1), y(x.size(), 3), expected(x.size());
        fill(x.data(), x.size(), 5);
        x.data()[size - 1] = negative_infinity;
        if (n_rows > 2) x.data()[2 * stride - gap - 1] = float_of(0x7fc00000);
        k_->softmax({x.data(), stride, y.data(), stride, n_rows, n, 2.5f, sink});
        ref_->softmax({x.data(), stride, expected.data(), stride, n_rows, n, 2.5f, sink});
        for (int32_t r = 0; r < n_rows; r++)
          for (int32_t i = 0; i < n; i++)
            check.equal(std::to_string(n_rows) + " rows of " + std::to_string(n), expected.data()[r * stride + i],
                        y.data()[r * stride + i]);
        check.that(x.intact() && y.intact(), "wrote outside the rows");
      }
}

// --------------------------------------------------------------------------------------------- options and storage

TEST_P(steps, softcap) {
  scores_step("softcap", [](const kernel *k, const tile &t, const key_block &b) { scores_of(k)->softcap(t, b, 7.5f); });
}
TEST_P(steps, alibi) {
  static const float slopes[8] = {0.5f, -0.25f, 0, 0.03f, 1, 2, 0.7f, 0.1f};
  scores_step("alibi",
              [](const kernel *k, const tile &t, const key_block &b) { scores_of(k)->alibi(t, b, slopes, false, 50); });
  scores_step("symmetric alibi",
              [](const kernel *k, const tile &t, const key_block &b) { scores_of(k)->alibi(t, b, slopes, true, 50); });
}
TEST_P(steps, weights) {
  scores_step("weights", [](const kernel *k, const tile &t, const key_block &b) { scores_of(k)->weights(t, b); });
}

TEST_P(steps, masks) {
  static float additive[64 * 160];
  static uint8_t boolean[64 * 160];
  for (uint32_t i = 0; i < 64 * 160; i++) {
    additive[i] = i % 7 == 3 ? negative_infinity : number_at(30, i);
    boolean[i] = i % 5 != 1;
  }
  scores_step("mask_additive", [](const kernel *k, const tile &t, const key_block &b) {
    scores_of(k)->mask_additive(t, b, {additive, 0, 0, 160});
  });
  scores_step("mask_boolean", [](const kernel *k, const tile &t, const key_block &b) {
    scores_of(k)->mask_boolean(t, b, {boolean, 0, 0, 160});
  });
}

TEST_P(steps, sinks) {
  static const float logits[8] = {1, -2, 0, 3, negative_infinity, 0.5f, 9, -9};
  for (const float *of : {logits, static_cast<const float *>(nullptr)})
    each_block(stored_f32, true, false, [&](block_bench &b) {
      step_check check("sinks");
      on_every_tile(
          k_, b, check, [&](const tile &t) { scores_of(k_)->sinks(t, t.chunk, of); },
          [&](const tile &t) { scores_of(ref_)->sinks(t, t.chunk, of); },
          [&](const tile &t, int32_t r, const tile &row, const float *) {
            const std::string where = b.c.text() + ", row " + std::to_string(r);
            check.equal(where + ", m", *row.chunk.m, t.chunk.m[r]);
            check.equal(where + ", l", *row.chunk.l, t.chunk.l[r]);
            for (int32_t n = 0; n < b.c.v_dim; n++)
              check.equal(where + ", acc", row.chunk.acc[n], t.chunk.acc[r * t.acc_stride + n]);
          });
    });
}

TEST_P(steps, score_stored) {
  for (int32_t dtype = stored_f32; dtype <= stored_int8; dtype++)
    each_block(dtype, false, true, [&](block_bench &b) {
      compare_scores("score_stored, format " + std::to_string(dtype), b,
                     [](const kernel *k, const tile &t, const key_block &x) { scores_of(k)->score_stored(t, x); });
    });
}
TEST_P(steps, score_narrow) {
  for (int32_t dtype = stored_f16; dtype <= stored_int8; dtype++)
    each_block(dtype, true, true, [&](block_bench &b) {
      compare_scores("score_narrow, format " + std::to_string(dtype), b,
                     [](const kernel *k, const tile &t, const key_block &x) { scores_of(k)->score_narrow(t, x); });
    });
}
TEST_P(steps, add_stored) {
  for (int32_t dtype = stored_f32; dtype <= stored_int8; dtype++)
    each_block(dtype, false, true, [&](block_bench &b) {
      compare_sums("add_stored, format " + std::to_string(dtype), b,
                   [](const kernel *k, const tile &t, const key_block &x) {
                     if (scores_of(k)->add_stored) return scores_of(k)->add_stored(t, x);
                     scores_of(k)->add_visible(t, x, nullptr);  // the scalar's, which takes values from anywhere
                   });
    });
}

bool hides(const tile &t, int32_t r, int32_t key) { return ((t.first_row + r) * 3 + key) % 5 == 2; }
TEST_P(steps, add_visible) {
  each_block(stored_f32, true, false, [&](block_bench &b) {
    compare_sums("add_visible", b,
                 [](const kernel *k, const tile &t, const key_block &x) { scores_of(k)->add_visible(t, x, hides); });
  });
  for (int32_t dtype = stored_f32; dtype <= stored_int8; dtype++)
    each_block(dtype, false, true, [&](block_bench &b) {
      compare_sums(
          "add_visible_stored, format " + std::to_string(dtype), b,
          [](const kernel *k, const tile &t, const key_block &x) { scores_of(k)->add_visible_stored(t, x, hides); });
    });
}

TEST_P(steps, values_are_finite) {
  for (const bool spoiled : {false, true})
    each_block(stored_f32, true, false, [&](block_bench &b) {
      if (spoiled) const_cast<float *>(b.s.v.from(b.begin + b.c.n - 1))[b.c.v_dim - 1] = -negative_infinity;
      step_check check("values_are_finite");
      on_every_tile(
          k_, b, check,
          [&](const tile &t) {
            check.that(scores_of(k_)->values_are_finite(t, b.block()) == !spoiled, "wrong answer, " + b.c.text());
          },
          [](const tile &) {}, [](const tile &, int32_t, const tile &, const float *) {});
    });
}

}  // namespace
}  // namespace heed_test
