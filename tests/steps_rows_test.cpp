// Each step of each kernel's tables against the scalar's, alone, as in steps_test.cpp: products and rows.
// SPDX-License-Identifier: MIT
#include "support/step_suite.hpp"

namespace heed_test {
namespace {

class steps_of_rows : public steps {};
HEED_TEST_EVERY_KERNEL(steps_of_rows);

// ------------------------------------------------------------------------------------------------------- narrow rows

TEST_P(steps_of_rows, narrow_row_and_magnitude) {
  for (int32_t n : {1, 3, 15, 16, 17, 31, 33, 64, 100})
    for (int32_t dtype = stored_f16; dtype <= stored_int8; dtype++) {
      step_check check("narrow_row, format " + std::to_string(dtype) + ", n " + std::to_string(n));
      guarded<float> x(static_cast<size_t>(n), 1);
      guarded<unsigned char> y(x.size() * (dtype == stored_int8 ? 1 : 2)), expected(y.size());
      fill(x.data(), x.size(), 40);
      scores_of(k_)->narrow_row(x.data(), n, dtype, 4.0f / 127, y.data());
      scores_of(ref_)->narrow_row(x.data(), n, dtype, 4.0f / 127, expected.data());
      for (size_t i = 0; i < y.size(); i++) check.that(y.data()[i] == expected.data()[i], "byte " + std::to_string(i));
      check.that(y.intact(), "wrote outside the row");
      check.equal("magnitude", scores_of(ref_)->magnitude(x.data(), n), scores_of(k_)->magnitude(x.data(), n));
    }
}

// ---------------------------------------------------------------------------------------------------------- products

struct product_shape {
  int32_t n_rows, depth, n_cols;
};
constexpr product_shape products[] = {{1, 1, 1},
                                      {1, 3, 15},
                                      {1, 64, 128},
                                      {2, 7, 16},
                                      {2, 9, 17},
                                      {3, 33, 31},
                                      {4, 16, 64},
                                      {5, 20, 65},
                                      {6, 8, 48},
                                      {7, 65, 33},
                                      {8, 12, 96},
                                      {9, 5, 130},
                                      {13, 40, 3},
                                      {16, 96, 40},
                                      {17, 2, 63},
                                      {24, 100, 24},
                                      {1, 200, 7},
                                      {2, 130, 80},
                                      {1, 31, 256},
                                      {12, 1, 100},
                                      // strips of 16 and 32 of depth, blocks of 256 columns, tiles of 2, 3, 4, 6 rows
                                      {2, 47, 70},
                                      {3, 33, 150},
                                      {5, 34, 130},
                                      {6, 64, 128},
                                      {7, 31, 80},
                                      {8, 33, 145},
                                      {10, 36, 68},
                                      {11, 17, 300},
                                      {12, 40, 272},
                                      {15, 12, 257},
                                      {24, 33, 65},
                                      {25, 50, 70},
                                      // floats of more than 256 KB
                                      {3, 300, 250},
                                      {4, 272, 247},
                                      {5, 280, 260},
                                      {7, 290, 256},
                                      {8, 270, 271},
                                      // outputs in registers: some registers and a rest, steps of depth and a rest
                                      {1, 47, 24},
                                      {1, 15, 9},
                                      {1, 100, 31},
                                      {1, 33, 17},
                                      {2, 18, 33},
                                      {3, 19, 40},
                                      {8, 13, 24}};

TEST_P(steps_of_rows, dot) {
  step_check check("dot");
  for (int32_t n : {1, 2, 15, 16, 63, 64, 65, 127, 128, 129, 300}) {
    guarded<float> a(static_cast<size_t>(n), 1), b(a.size(), 2);
    fill(a.data(), a.size(), 50), fill(b.data(), b.size(), 51);
    check.equal("n " + std::to_string(n), products_of(ref_)->dot(a.data(), b.data(), n),
                products_of(k_)->dot(a.data(), b.data(), n));
  }
}

TEST_P(steps_of_rows, linear_and_project) {
  for (const product_shape &p : products)
    for (int32_t dtype = stored_f32; dtype <= stored_int8; dtype++)
      for (const bool out_in : {false, true}) {
        step_check check("product " + std::to_string(p.n_rows) + " x " + std::to_string(p.depth) + " x " +
                         std::to_string(p.n_cols) + ", format " + std::to_string(dtype) + (out_in ? ", out_in" : ""));
        const size_t n_w = static_cast<size_t>(p.depth) * static_cast<size_t>(p.n_cols);
        guarded<float> x(static_cast<size_t>(p.n_rows) * static_cast<size_t>(p.depth), 1), w(n_w, 3), scales(n_w + 64),
            bias(static_cast<size_t>(p.n_cols), 2), y(static_cast<size_t>(p.n_rows) * static_cast<size_t>(p.n_cols), 1),
            expected(y.size());
        fill(x.data(), x.size(), 60), fill(w.data(), n_w, 61), fill(bias.data(), bias.size(), 62);
        fill(scales.data(), scales.size(), 63);
        if (dtype != stored_f32) {
          auto *to = reinterpret_cast<unsigned char *>(w.data());
          std::vector<float> numbers(n_w);
          fill(numbers.data(), n_w, 64);
          scores_of(ref_)->narrow_row(numbers.data(), static_cast<int32_t>(n_w), dtype, 4.0f / 127, to);
        }
        const auto run = [&](const kernel *k, guarded<float> &to) {
          const linear_block b = {x.data(),  p.depth,  w.data(), p.n_cols, p.n_rows % 2 ? bias.data() : nullptr,
                                  to.data(), p.n_cols, p.n_rows, p.depth,  p.n_cols};
          if (dtype == stored_f32 && !out_in)
            products_of(k)->linear(b);
          else
            project_of(k)->project(b, {w.data(), scales.data(), out_in ? p.depth : p.n_cols, dtype, out_in});
        };
        run(k_, y), run(ref_, expected);
        for (size_t i = 0; i < y.size(); i++) check.equal("y " + std::to_string(i), expected.data()[i], y.data()[i]);
        check.that(y.intact(), "wrote outside y");
      }
}

// How few rows take weights depends on how far apart the rows of w lie: beyond 2, 8 and 16 MB in all.
TEST_P(steps_of_rows, linear_of_large_weights) {
  constexpr int32_t depth = 43, most_rows = 12, n_cols = 150;
  constexpr ptrdiff_t widest = 105000;
  std::vector<float> x(most_rows * depth), w(depth * widest), bias(n_cols);
  fill(x.data(), x.size(), 65), fill(bias.data(), bias.size(), 66);
  for (const ptrdiff_t stride : {ptrdiff_t{13000}, ptrdiff_t{50000}, widest}) {
    for (int32_t i = 0; i < depth; i++) fill(w.data() + i * stride, n_cols, 67 + i);
    for (int32_t n_rows = 1; n_rows <= most_rows; n_rows++) {
      step_check check("linear " + std::to_string(n_rows) + ", stride " + std::to_string(stride));
      guarded<float> y(static_cast<size_t>(n_rows) * n_cols, 1), expected(y.size());
      const auto run = [&](const kernel *k, guarded<float> &to) {
        products_of(k)->linear({x.data(), depth, w.data(), stride, n_rows % 2 ? bias.data() : nullptr, to.data(),
                                n_cols, n_rows, depth, n_cols});
      };
      run(k_, y), run(ref_, expected);
      for (size_t i = 0; i < y.size(); i++) check.equal("y " + std::to_string(i), expected.data()[i], y.data()[i]);
      check.that(y.intact(), "wrote outside y");
    }
  }
}

// -------------------------------------------------------------------------------------------------------------- rows

TEST_P(steps_of_rows, norms) {
  for (const bool layer : {false, true})
    for (int32_t dim : {1, 3, 15, 16, 17, 63, 64, 65, 100, 130, 768}) {
      step_check check((layer ? "layer_norm, dim " : "rms_norm, dim ") + std::to_string(dim));
      const size_t n = 3 * static_cast<size_t>(dim);
      guarded<float> x(n, 1), weight(n, 2), bias(n, 3), y(n, 1), expected(n);
      fill(x.data(), n, 70), fill(weight.data(), n, 71), fill(bias.data(), n, 72);
      const auto run = [&](const kernel *k, guarded<float> &to) {
        (layer ? row_steps_of(k)->layer_norm : row_steps_of(k)->rms_norm)(
            {x.data(), dim, dim % 2 || dim >= 256 ? weight.data() : nullptr, dim % 3 ? bias.data() : nullptr, 1e-5f,
             to.data(), dim, 3, dim, dim % 5 == 0 ? 1 : dim, dim % 4 == 3});
      };
      run(k_, y), run(ref_, expected);
      for (size_t i = 0; i < n; i++) check.equal("element " + std::to_string(i), expected.data()[i], y.data()[i]);
      check.that(y.intact(), "wrote outside y");
    }
}

TEST_P(steps_of_rows, elements) {
  const struct {
    const char *name;
    void (*row_steps::*step)(const element_rows &);
    bool binary;
  } all[] = {{"gelu", &row_steps::gelu, false}, {"gelu_tanh", &row_steps::gelu_tanh, false},
             {"silu", &row_steps::silu, false}, {"relu", &row_steps::relu, false},
             {"tanh", &row_steps::tanh, false}, {"sigmoid", &row_steps::sigmoid, false},
             {"add", &row_steps::add, true}};
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
          (row_steps_of(k)->*f.step)(
              {x.data(), dim + 1, gated ? other.data() : nullptr, dim, to.data(), dim + 1, 3, dim});
        };
        run(k_, y), run(ref_, expected);
        for (size_t i = 0; i < n; i++) check.equal("element " + std::to_string(i), expected.data()[i], y.data()[i]);
        check.that(y.intact(), "wrote outside y");
      }
}

TEST_P(steps_of_rows, rope) {
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
        row_steps_of(k)->rope({frequencies, n_pairs, halves ? 17 : 1, 1000, nullptr, x.data(), n_heads * dim, dim,
                               to.data(), n_heads * dim, dim, n_tokens, n_heads, n_pairs % 2 ? 1.0f : 1.3f});
      };
      run(k_, y), run(ref_, expected);
      for (size_t i = 0; i < n; i++) check.equal("element " + std::to_string(i), expected.data()[i], y.data()[i]);
      check.that(y.intact(), "wrote outside y");
    }
}

}  // namespace
}  // namespace heed_test
