// heed_import follows the weights of ONNX models: for every form of graph, rows times the imported weights are what the graph
// itself computes, in double. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "support/onnx_graph.hpp"

#ifdef HEED_IMPORT_ONNX
namespace {

using namespace heed_import;
using namespace import_files;
using onnx::names;

// What reads the weight, and whether its outputs lie along the last dimension.
struct reader {
  const char *operation;
  bool last;
  void (*read)(graph &);
};

const reader float_readers[] = {
    {"MatMul", true,
     [](graph &g) {
       g.read("MatMul", {"x", g.value});
     }},
    {"MatMul, left", false,
     [](graph &g) {
       g.read("MatMul", {g.value, "x"});
     }},
    {"Gemm", true,
     [](graph &g) {
       g.read("Gemm", {"x", g.value, "b"});
     }},
    {"Gemm, transB", false,
     [](graph &g) {
       g.read("Gemm", {"x", g.value}, onnx::of_integer("transB", 1));
     }},
    {"Gemm, left", false,
     [](graph &g) {
       g.read("Gemm", {g.value, "x"});
     }},
    {"Gemm, left, transA", true,
     [](graph &g) {
       g.read("Gemm", {g.value, "x"}, onnx::of_integer("transA", 1));
     }},
    {"FusedMatMul, transB", false,
     [](graph &g) {
       g.read("FusedMatMul", {"x", g.value}, onnx::of_integer("transB", 1), "com.microsoft");
     }},
    {"Attention of com.microsoft", true,
     [](graph &g) {
       g.read("Attention", {"x", g.value, "b"}, {}, "com.microsoft");
     }},
    {"Gather", false,
     [](graph &g) {
       g.read("Gather", {g.value, "ids"});
     }},
    {"Gather, axis -1", true,
     [](graph &g) {
       g.read("Gather", {g.value, "ids"}, onnx::of_integer("axis", -1));
     }},
    {"Conv", false,
     [](graph &g) {
       g.reshape("Unsqueeze", {4, 4, 1}, {-1}, nullptr);
       g.read("Conv", {"x", g.value});
     }},
};

const reader byte_readers[] = {
    {"QLinearMatMul", true,
     [](graph &g) {
       g.read("QLinearMatMul", {"x", "xs", "xz", g.value, "scales", "zeros", "ys", "yz"});
     }},
    {"QLinearMatMul, left", false,
     [](graph &g) {
       g.read("QLinearMatMul", {g.value, "scales", "zeros", "x", "xs", "xz", "ys", "yz"});
     }},
    {"DynamicQuantizeMatMul", true,
     [](graph &g) {
       g.read("DynamicQuantizeMatMul", {"x", g.value, "scales", "zeros"}, {}, "com.microsoft");
     }},
    {"MatMulIntegerToFloat", true,
     [](graph &g) {
       g.read("MatMulIntegerToFloat", {"x", g.value, "xs", "scales", "xz", "zeros"}, {}, "com.microsoft");
     }},
    {"QGemm", true,
     [](graph &g) {
       g.read("QGemm", {"x", "xs", "xz", g.value, "scales", "zeros"}, {}, "com.microsoft");
     }},
    {"QGemm, transB", false,
     [](graph &g) {
       g.read("QGemm", {"x", "xs", "xz", g.value, "scales", "zeros"}, onnx::of_integer("transB", 1), "com.microsoft");
     }},
    {"QLinearConv", false,
     [](graph &g) {
       g.read("QLinearConv", {"x", "xs", "xz", g.value, "scales", "zeros", "ys", "yz"});
     }},
    {"QAttention", true,
     [](graph &g) {
       g.read("QAttention", {"x", g.value, "b", "xs", "scales", "m", "xz", "zeros"}, {}, "com.microsoft");
     }},
};

std::string refusal_of(const tensor &t) { return t.refused + t.unsure; }

// Rows of the identity times W are what the graph makes of them: W itself, as (in, out).
void expect_product(const graph &g, bool last, bool is_refused = false) {
  const bytes file = g.file();
  const tensors read(read_onnx({file.data(), file.size()}));
  const tensor &t = read.of("W");
  if (is_refused) {
    EXPECT_NE(t.refused, "");
    return;
  }
  ASSERT_EQ(refusal_of(t), "");
  std::vector<float> identity(16);
  for (size_t i = 0; i < 4; ++i) identity[5 * i] = 1;
  const std::vector<float> y = import_files::product(t, identity, 4, 4);
  for (size_t in = 0; in < 4; ++in) {
    for (size_t out = 0; out < 4; ++out) {
      EXPECT_EQ(double(y[4 * in + out]), g.numbers[last ? 4 * in + out : 4 * out + in]) << in << " " << out;
    }
  }
}

TEST(import_onnx_products, gives_the_products_of_floats) {
  for (const reader &r : float_readers) {
    for (int way = 0; way < 49; ++way) {
      SCOPED_TRACE(std::string(r.operation) + ", way " + std::to_string(way));
      graph g(false);
      walk(g, way, true);
      r.read(g);
      expect_product(g, r.last);
    }
  }
}

TEST(import_onnx_products, gives_the_products_of_dequantized_bytes) {
  int n_refused = 0;
  for (const reader &r : float_readers) {
    for (int way = 0; way < 49 * 49; way += heed_test::repetitions(100) < 100 ? 101 : 11) {
      for (const int along : {-1, 0, 1}) {
        SCOPED_TRACE(std::string(r.operation) + ", way " + std::to_string(way) + ", scales along " +
                     std::to_string(along));
        graph g(true);
        walk(g, way % 49, false);
        g.dequantize(along, way % 2 == 1);
        walk(g, way / 49, true);
        const bool is_refused = g.axis >= 0 && (g.axis == 1) != r.last;  // scales of inputs
        r.read(g);
        n_refused += is_refused;
        expect_product(g, r.last, is_refused);
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(n_refused, 0);
}

TEST(import_onnx_products, gives_the_products_of_bytes) {
  for (const reader &r : byte_readers) {
    for (int way = 0; way < 49; ++way) {
      for (const int along : {-1, r.last ? 1 : 0}) {
        SCOPED_TRACE(std::string(r.operation) + ", way " + std::to_string(way) + ", scales along " +
                     std::to_string(along));
        graph g(true);
        walk(g, way, false);
        g.scale_numbers(along);
        r.read(g);
        expect_product(g, r.last);
      }
    }
  }
}

// MatMulInteger multiplies integers less their zero points; scales come by name.
TEST(import_onnx_products, gives_the_products_of_integers) {
  for (const bool left : {false, true}) {
    graph g(true);
    g.add_tensor("zeros", {4}, 3, {1, 0, 255, 2});
    g.read("MatMulInteger", left ? names{"W", "x", "zeros", "xz"} : names{"x", "W", "xz", "zeros"});
    const int zeros[] = {1, 0, -1, 2};
    for (size_t i = 0; i < 16; ++i) g.numbers[i] -= zeros[left ? i / 4 : i % 4];
    expect_product(g, !left);
  }
}

}  // namespace
#endif
