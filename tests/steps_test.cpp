// Each step of each kernel's tables against the scalar's, alone: shapes around every boundary, places that are no multiple of a
// register, guards. A step that is wrong is named; a call that is wrong only says that some bits differ.
// SPDX-License-Identifier: MIT
#include "support/kernels.hpp"
#include "support/steps.hpp"

namespace heed_test {
namespace {

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
  void each_block(int32_t format, bool keys_are_rows, bool stored, F f) {
    static const block_shape shapes[] = {{1, 1, 1, 1, 0, 64},     {1, 1, 16, 16, 0, 64},  {1, 8, 17, 33, 0, 63},
                                         {2, 1, 3, 5, 0, 1},      {3, 2, 64, 64, 0, 64},  {5, 3, 20, 18, 0, 17},
                                         {4, 1, 7, 16, 0, 16},    {8, 1, 33, 15, 0, 15},  {9, 1, 12, 31, 0, 64},
                                         {16, 1, 5, 47, 0, 64},   {17, 1, 64, 17, 0, 33}, {25, 2, 24, 64, 0, 40},
                                         {33, 1, 66, 20, 0, 64},  {48, 1, 16, 96, 0, 8},  {49, 1, 8, 65, 0, 64},
                                         {31, 3, 130, 130, 0, 9}, {7, 1, 40, 40, 0, 2},   {6, 1, 100, 3, 0, 47}};
    int32_t i = 0;
    for (const block_shape &shape : shapes) {
      block_bench b(shape, format, keys_are_rows, static_cast<size_t>(i++ % 4));
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
HEED_TEST_EVERY_KERNEL(steps);

// ------------------------------------------------------------------------------------------------------- attention

TEST_P(steps, attend) {
  each_block(stored_f32, true, false, [&](block_bench &b) {
    step_check check("attend");
    const auto see = [&](const tile &t) {  // ranges that begin and end ever later
      for (int32_t r = 0; r < t.n_rows; r++) {
        const auto row = static_cast<int32_t>(t.first_row) + r;
        t.first[r] = clamp(row / 2 - 3, 0, b.s.n_kv);
        t.last[r] = clamp(b.s.n_kv - 20 + row, 1, b.s.n_kv);
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
    for (const float sink : {negative_infinity, 0.5f}) {
      guarded<float> x(static_cast<size_t>(n), 1), y(x.size(), 3), expected(x.size());
      fill(x.data(), x.size(), 5);
      k_->softmax(x.data(), y.data(), n, 2.5f, sink);
      ref_->softmax(x.data(), expected.data(), n, 2.5f, sink);
      for (int32_t i = 0; i < n; i++) check.equal("n " + std::to_string(n), expected.data()[i], y.data()[i]);
      check.that(x.intact() && y.intact(), "wrote outside the row");
    }
}

// --------------------------------------------------------------------------------------------- options and storage

TEST_P(steps, softcap) {
  scores_step("softcap", [](const kernel *k, const tile &t, const key_block &b) { scores_of(k)->softcap(t, b, 7.5f); });
}
TEST_P(steps, alibi) {
  static const float slopes[8] = {0.5f, -0.25f, 0, 0.03f, 1, 2, 0.7f, 0.1f};
  scores_step("alibi",
              [](const kernel *k, const tile &t, const key_block &b) { scores_of(k)->alibi(t, b, slopes, 50); });
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
  for (int32_t format = stored_f32; format <= stored_int8; format++)
    each_block(format, false, true, [&](block_bench &b) {
      compare_scores("score_stored, format " + std::to_string(format), b,
                     [](const kernel *k, const tile &t, const key_block &x) { scores_of(k)->score_stored(t, x); });
    });
}
TEST_P(steps, score_narrow) {
  for (int32_t format = stored_f16; format <= stored_int8; format++)
    each_block(format, true, true, [&](block_bench &b) {
      compare_scores("score_narrow, format " + std::to_string(format), b,
                     [](const kernel *k, const tile &t, const key_block &x) { scores_of(k)->score_narrow(t, x); });
    });
}
TEST_P(steps, add_stored) {
  for (int32_t format = stored_f32; format <= stored_int8; format++)
    each_block(format, false, true, [&](block_bench &b) {
      compare_sums("add_stored, format " + std::to_string(format), b,
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
  for (int32_t format = stored_f32; format <= stored_int8; format++)
    each_block(format, false, true, [&](block_bench &b) {
      compare_sums(
          "add_visible_stored, format " + std::to_string(format), b,
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

// ------------------------------------------------------------------------------------------------------- narrow rows

TEST_P(steps, narrow_row_and_magnitude) {
  for (int32_t n : {1, 3, 15, 16, 17, 31, 33, 64, 100})
    for (int32_t format = stored_f16; format <= stored_int8; format++) {
      step_check check("narrow_row, format " + std::to_string(format) + ", n " + std::to_string(n));
      guarded<float> x(static_cast<size_t>(n), 1);
      guarded<unsigned char> y(x.size() * (format == stored_int8 ? 1 : 2)), expected(y.size());
      fill(x.data(), x.size(), 40);
      scores_of(k_)->narrow_row(x.data(), n, format, 4.0f / 127, y.data());
      scores_of(ref_)->narrow_row(x.data(), n, format, 4.0f / 127, expected.data());
      for (size_t i = 0; i < y.size(); i++) check.that(y.data()[i] == expected.data()[i], "byte " + std::to_string(i));
      check.that(y.intact(), "wrote outside the row");
      check.equal("magnitude", scores_of(ref_)->magnitude(x.data(), n), scores_of(k_)->magnitude(x.data(), n));
    }
}

// ---------------------------------------------------------------------------------------------------------- products

struct product_shape {
  int32_t n_rows, depth, n_cols;
};
constexpr product_shape products[] = {{1, 1, 1},     {1, 3, 15},  {1, 64, 128}, {2, 7, 16},   {2, 9, 17},
                                      {3, 33, 31},   {4, 16, 64}, {5, 20, 65},  {6, 8, 48},   {7, 65, 33},
                                      {8, 12, 96},   {9, 5, 130}, {13, 40, 3},  {16, 96, 40}, {17, 2, 63},
                                      {24, 100, 24}, {1, 200, 7}, {2, 130, 80}, {1, 31, 256}, {12, 1, 100}};

TEST_P(steps, dot) {
  step_check check("dot");
  for (int32_t n : {1, 2, 15, 16, 63, 64, 65, 127, 128, 129, 300}) {
    guarded<float> a(static_cast<size_t>(n), 1), b(a.size(), 2);
    fill(a.data(), a.size(), 50), fill(b.data(), b.size(), 51);
    check.equal("n " + std::to_string(n), products_of(ref_)->dot(a.data(), b.data(), n),
                products_of(k_)->dot(a.data(), b.data(), n));
  }
}

TEST_P(steps, linear_and_project) {
  for (const product_shape &p : products)
    for (int32_t format = stored_f32; format <= stored_int8; format++)
      for (const bool out_in : {false, true}) {
        step_check check("product " + std::to_string(p.n_rows) + " x " + std::to_string(p.depth) + " x " +
                         std::to_string(p.n_cols) + ", format " + std::to_string(format) + (out_in ? ", out_in" : ""));
        const size_t n_w = static_cast<size_t>(p.depth) * static_cast<size_t>(p.n_cols);
        guarded<float> x(static_cast<size_t>(p.n_rows) * static_cast<size_t>(p.depth), 1), w(n_w, 3), scales(n_w + 64),
            bias(static_cast<size_t>(p.n_cols), 2), y(static_cast<size_t>(p.n_rows) * static_cast<size_t>(p.n_cols), 1),
            expected(y.size());
        fill(x.data(), x.size(), 60), fill(w.data(), n_w, 61), fill(bias.data(), bias.size(), 62);
        fill(scales.data(), scales.size(), 63);
        if (format != stored_f32) {
          auto *to = reinterpret_cast<unsigned char *>(w.data());
          std::vector<float> numbers(n_w);
          fill(numbers.data(), n_w, 64);
          scores_of(ref_)->narrow_row(numbers.data(), static_cast<int32_t>(n_w), format, 4.0f / 127, to);
        }
        const auto run = [&](const kernel *k, guarded<float> &to) {
          const linear_block b = {x.data(),  p.depth,  w.data(), p.n_cols, p.n_rows % 2 ? bias.data() : nullptr,
                                  to.data(), p.n_cols, p.n_rows, p.depth,  p.n_cols};
          if (format == stored_f32 && !out_in)
            products_of(k)->linear(b);
          else
            project_of(k)->project(b, {w.data(), scales.data(), out_in ? p.depth : p.n_cols, format, out_in});
        };
        run(k_, y), run(ref_, expected);
        for (size_t i = 0; i < y.size(); i++) check.equal("y " + std::to_string(i), expected.data()[i], y.data()[i]);
        check.that(y.intact(), "wrote outside y");
      }
}

// -------------------------------------------------------------------------------------------------------------- rows

TEST_P(steps, norms) {
  for (const bool layer : {false, true})
    for (int32_t dim : {1, 3, 15, 16, 17, 63, 64, 65, 100, 130, 768}) {
      step_check check((layer ? "layer_norm, dim " : "rms_norm, dim ") + std::to_string(dim));
      const size_t n = 3 * static_cast<size_t>(dim);
      guarded<float> x(n, 1), weight(n, 2), bias(n, 3), y(n, 1), expected(n);
      fill(x.data(), n, 70), fill(weight.data(), n, 71), fill(bias.data(), n, 72);
      const auto run = [&](const kernel *k, guarded<float> &to) {
        (layer ? block_of(k)->layer_norm
               : block_of(k)->rms_norm)({x.data(), dim, dim % 2 ? weight.data() : nullptr,
                                         dim % 3 ? bias.data() : nullptr, 1e-5f, to.data(), dim, 3, dim});
      };
      run(k_, y), run(ref_, expected);
      for (size_t i = 0; i < n; i++) check.equal("element " + std::to_string(i), expected.data()[i], y.data()[i]);
      check.that(y.intact(), "wrote outside y");
    }
}

TEST_P(steps, elements) {
  const struct {
    const char *name;
    void (*block_steps::*step)(const element_rows &);
    bool binary;
  } all[] = {{"gelu", &block_steps::gelu, false},
             {"gelu_tanh", &block_steps::gelu_tanh, false},
             {"silu", &block_steps::silu, false},
             {"relu", &block_steps::relu, false},
             {"add", &block_steps::add, true}};
  for (const auto &f : all)
    for (int32_t dim : {1, 5, 16, 17, 47, 64, 65, 127, 200})
      for (const bool gated : {false, true}) {
        if (f.binary && !gated) continue;
        step_check check(std::string(f.name) + (gated ? ", gated, dim " : ", dim ") + std::to_string(dim));
        const size_t n = 3 * static_cast<size_t>(dim + 1);
        guarded<float> x(n, 1), other(n, 2), y(n, 3), expected(n);
        fill(x.data(), n, 80), fill(other.data(), n, 81);
        fill(y.data(), n, 82), fill(expected.data(), n, 82);
        const auto run = [&](const kernel *k, guarded<float> &to) {
          (block_of(k)->*f.step)({x.data(), dim + 1, gated ? other.data() : nullptr, dim, to.data(), dim + 1, 3, dim});
        };
        run(k_, y), run(ref_, expected);
        for (size_t i = 0; i < n; i++) check.equal("element " + std::to_string(i), expected.data()[i], y.data()[i]);
        check.that(y.intact(), "wrote outside y");
      }
}

TEST_P(steps, rope) {
  uint64_t frequencies[most_rope_pairs];
  for (int32_t i = 0; i < most_rope_pairs; i++) frequencies[i] = 0x28be60db9391054aull >> i;
  for (int32_t n_pairs : {1, 2, 3, 4, 7, 8, 15, 16})
    for (const bool halves : {false, true}) {
      step_check check(std::string(halves ? "rope, halves" : "rope, interleaved") + ", pairs " +
                       std::to_string(n_pairs));
      constexpr int32_t n_tokens = 3, n_heads = 2, dim = 40;
      constexpr size_t n = n_tokens * n_heads * dim;
      guarded<float> x(n, 1), y(n, 2), expected(n);
      fill(x.data(), n, 90), fill(y.data(), n, 91), fill(expected.data(), n, 91);
      const auto run = [&](const kernel *k, guarded<float> &to) {
        block_of(k)->rope({frequencies, n_pairs, halves ? 17 : 1, 1000, nullptr, x.data(), n_heads * dim, dim,
                           to.data(), n_heads * dim, dim, n_tokens, n_heads});
      };
      run(k_, y), run(ref_, expected);
      for (size_t i = 0; i < n; i++) check.equal("element " + std::to_string(i), expected.data()[i], y.data()[i]);
      check.that(y.intact(), "wrote outside y");
    }
}

}  // namespace
}  // namespace heed_test
