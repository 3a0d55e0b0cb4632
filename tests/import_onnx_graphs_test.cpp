// heed_import follows the weights of ONNX models: for every form of graph, rows times the imported weights are what the graph
// itself computes, in double. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>

#include "support/import_files.hpp"

#ifdef HEED_IMPORT_ONNX
namespace {

using namespace heed_import;
using namespace import_files;
using onnx::names;
using protobuf::text;

// A graph of one weight that grows at its end. Each step writes a node, and does to `dims` and `numbers` what it means. `axis`
// says where the dimension of the scales is, if there are several.
class graph {
 public:
  // W (4, 4): every number differs. Floats, or bytes with scales and zero points.
  explicit graph(bool quantized) : quantized_(quantized) {
    for (int i = 0; i < 16; ++i) numbers.push_back(i * 5 % 17 - 8);
    if (!quantized) {
      add_tensor("W", {4, 4}, 1, floats(std::vector<float>(numbers.begin(), numbers.end())));
    } else {
      add_tensor("W", {4, 4}, 3, bytes(numbers.begin(), numbers.end()));
    }
  }
  std::vector<int64_t> dims = {4, 4};
  std::vector<double> numbers;
  std::string value = "W";
  int axis = -1;

  void same(const std::string &operation) { step(operation, {value}); }
  void transpose(const std::vector<int64_t> &order) {
    std::vector<int64_t> to;
    for (const int64_t from : order) to.push_back(dims[size_t(from)]);
    std::vector<double> turned;
    std::vector<int64_t> at(dims.size());  // of the output
    for (size_t k = 0; k < numbers.size(); ++k) {
      size_t rest = k;
      for (size_t d = dims.size(); d > 0; --d) at[d - 1] = int64_t(rest) % to[d - 1], rest /= size_t(to[d - 1]);
      std::vector<int64_t> from(dims.size());
      for (size_t d = 0; d < dims.size(); ++d) from[size_t(order[d])] = at[d];
      int64_t offset = 0;
      for (size_t d = 0; d < dims.size(); ++d) offset = offset * dims[d] + from[d];
      turned.push_back(numbers[size_t(offset)]);
    }
    numbers = turned, dims = to;
    step("Transpose", {value}, onnx::of_integers("perm", order));
  }
  void reshape(const std::string &operation, const std::vector<int64_t> &to, const std::vector<int64_t> &list, const char *attribute) {
    dims = to;
    if (attribute != nullptr) return step(operation, {value}, onnx::of_integers(attribute, list));
    const std::string shape = value + "_" + operation;
    add_tensor(shape, {list.size()}, 7, onnx::int64s(list));
    step(operation, {value, shape});
  }
  // One scale, or four along a dimension.
  void scale_numbers(int along) {
    const std::vector<float> scales = along < 0 ? std::vector<float>{0.5f} : std::vector<float>{1, 0.5f, 4, 2};
    const bytes zeros = along < 0 ? bytes{3} : bytes{1, 0, 255, 2};
    const std::vector<uint64_t> shape(along < 0 ? 0 : 1, 4);
    add_tensor("scales", shape, 1, floats(scales));
    add_tensor("zeros", shape, 3, zeros);
    for (size_t i = 0; i < numbers.size(); ++i) {
      int64_t stride = 1;
      for (size_t d = size_t(along + 1); d < dims.size(); ++d) stride *= dims[d];
      const size_t k = along < 0 ? 0 : size_t(int64_t(i) / stride % dims[size_t(along)]);
      numbers[i] = (numbers[i] - int8_t(zeros[k])) * double(scales[k]);
    }
    axis = along;
  }
  void dequantize(int along, bool from_the_end) {
    scale_numbers(along);
    const int64_t said = from_the_end ? along - int64_t(dims.size()) : along;
    step("DequantizeLinear", {value, "scales", "zeros"}, along < 0 || said == 1 ? bytes() : onnx::of_integer("axis", said));
  }
  void read(const std::string &operation, const names &inputs, const bytes &attributes = {}, const std::string &domain = "") {
    add(content_, text(1, onnx::node(operation, inputs, attributes, {"y"}, domain)));
  }
  void add_tensor(const std::string &name, const std::vector<uint64_t> &shape, uint64_t type, const bytes &raw) {
    add(content_, text(5, onnx::initializer(name, shape, type, raw)));
  }
  bytes file() const { return onnx::model_of(content_); }
  bool is_quantized() const { return quantized_; }

 private:
  void step(const std::string &operation, const names &inputs, const bytes &attributes = {}) {
    value += "'";
    add(content_, text(1, onnx::node(operation, inputs, attributes, {value})));
  }
  bytes content_;
  bool quantized_;
};

// What reads the weight, and whether its outputs lie along the last dimension.
struct reader {
  const char *operation;
  bool last;
  void (*read)(graph &);
};

const reader float_readers[] = {
    {"MatMul", true, [](graph &g) { g.read("MatMul", {"x", g.value}); }},
    {"MatMul, left", false, [](graph &g) { g.read("MatMul", {g.value, "x"}); }},
    {"Gemm", true, [](graph &g) { g.read("Gemm", {"x", g.value, "b"}); }},
    {"Gemm, transB", false, [](graph &g) { g.read("Gemm", {"x", g.value}, onnx::of_integer("transB", 1)); }},
    {"Gemm, left", false, [](graph &g) { g.read("Gemm", {g.value, "x"}); }},
    {"Gemm, left, transA", true, [](graph &g) { g.read("Gemm", {g.value, "x"}, onnx::of_integer("transA", 1)); }},
    {"FusedMatMul, transB", false, [](graph &g) { g.read("FusedMatMul", {"x", g.value}, onnx::of_integer("transB", 1), "com.microsoft"); }},
    {"Attention of com.microsoft", true, [](graph &g) { g.read("Attention", {"x", g.value, "b"}, {}, "com.microsoft"); }},
    {"Gather", false, [](graph &g) { g.read("Gather", {g.value, "ids"}); }},
    {"Gather, axis -1", true, [](graph &g) { g.read("Gather", {g.value, "ids"}, onnx::of_integer("axis", -1)); }},
    {"Conv", false, [](graph &g) {
       g.reshape("Unsqueeze", {4, 4, 1}, {-1}, nullptr);
       g.read("Conv", {"x", g.value});
     }},
};

const reader byte_readers[] = {
    {"QLinearMatMul", true, [](graph &g) { g.read("QLinearMatMul", {"x", "xs", "xz", g.value, "scales", "zeros", "ys", "yz"}); }},
    {"QLinearMatMul, left", false, [](graph &g) { g.read("QLinearMatMul", {g.value, "scales", "zeros", "x", "xs", "xz", "ys", "yz"}); }},
    {"DynamicQuantizeMatMul", true, [](graph &g) { g.read("DynamicQuantizeMatMul", {"x", g.value, "scales", "zeros"}, {}, "com.microsoft"); }},
    {"MatMulIntegerToFloat", true, [](graph &g) { g.read("MatMulIntegerToFloat", {"x", g.value, "xs", "scales", "xz", "zeros"}, {}, "com.microsoft"); }},
    {"QGemm", true, [](graph &g) { g.read("QGemm", {"x", "xs", "xz", g.value, "scales", "zeros"}, {}, "com.microsoft"); }},
    {"QGemm, transB", false, [](graph &g) { g.read("QGemm", {"x", "xs", "xz", g.value, "scales", "zeros"}, onnx::of_integer("transB", 1), "com.microsoft"); }},
    {"QLinearConv", false, [](graph &g) { g.read("QLinearConv", {"x", "xs", "xz", g.value, "scales", "zeros", "ys", "yz"}); }},
    {"QAttention", true, [](graph &g) { g.read("QAttention", {"x", g.value, "b", "xs", "scales", "m", "xz", "zeros"}, {}, "com.microsoft"); }},
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

// Steps between the weight and its reader: digits of `way`, to the base of 7.
void walk(graph &g, int way, bool with_scales) {
  for (int k = 0; k < 2; ++k, way /= 7) {
    switch (way % 7) {
      case 1:
        g.same("Identity");
        break;
      case 2:
        if (g.is_quantized() && !with_scales) g.same("Identity");
        else g.same("Cast");
        break;
      case 3:
        if (g.axis >= 0) g.axis = 1 - g.axis;
        g.transpose({1, 0});
        break;
      case 4:
        g.reshape("Reshape", {1, 4, 4}, {1, 4, -1}, nullptr);
        g.reshape("Squeeze", {4, 4}, {0}, "axes");
        break;
      case 5:
        g.reshape("Unsqueeze", {4, 1, 4}, {1}, "axes");
        if (g.axis >= 0) g.axis = 1 - g.axis;
        g.transpose({2, 1, 0});
        g.reshape("Reshape", {4, 4}, {0, -1}, nullptr);
        break;
      case 6:
        g.reshape("Flatten", {4, 4}, {}, "none");
        break;
      default:
        break;
    }
  }
}

TEST(import_onnx_graphs, gives_the_products_of_floats) {
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

TEST(import_onnx_graphs, gives_the_products_of_dequantized_bytes) {
  int n_refused = 0;
  for (const reader &r : float_readers) {
    for (int way = 0; way < 49 * 49; way += heed_test::repetitions(100) < 100 ? 101 : 11) {
      for (const int along : {-1, 0, 1}) {
        SCOPED_TRACE(std::string(r.operation) + ", way " + std::to_string(way) + ", scales along " + std::to_string(along));
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

TEST(import_onnx_graphs, gives_the_products_of_bytes) {
  for (const reader &r : byte_readers) {
    for (int way = 0; way < 49; ++way) {
      for (const int along : {-1, r.last ? 1 : 0}) {
        SCOPED_TRACE(std::string(r.operation) + ", way " + std::to_string(way) + ", scales along " + std::to_string(along));
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
TEST(import_onnx_graphs, gives_the_products_of_integers) {
  for (const bool left : {false, true}) {
    graph g(true);
    g.add_tensor("zeros", {4}, 3, {1, 0, 255, 2});
    g.read("MatMulInteger", left ? names{"W", "x", "zeros", "xz"} : names{"x", "W", "xz", "zeros"});
    const int zeros[] = {1, 0, -1, 2};
    for (size_t i = 0; i < 16; ++i) g.numbers[i] -= zeros[left ? i / 4 : i % 4];
    expect_product(g, !left);
  }
}

const tensor &read_w(const bytes &file, std::unique_ptr<tensors> &keep) {
  keep = std::make_unique<tensors>(read_onnx({file.data(), file.size()}));
  return keep->of("W");
}

TEST(import_onnx_graphs, is_unsure_where_readers_differ) {
  std::unique_ptr<tensors> keep;
  const auto unsure = [&](void (*grow)(graph &)) {
    graph g(false);
    grow(g);
    const bytes file = g.file();
    return read_w(file, keep).unsure;
  };
  EXPECT_EQ(unsure([](graph &) {}), "");
  EXPECT_EQ(unsure([](graph &g) {  // an embedding that also makes the logits
              g.read("Gather", {"W", "ids"});
              g.transpose({1, 0});
              g.read("MatMul", {"x", g.value});
            }),
            "");
  EXPECT_EQ(unsure([](graph &g) {
              g.read("MatMul", {"x", "W"});
              g.read("Gemm", {"x", "W"}, onnx::of_integer("transB", 1));
            }),
            "Gemm and MatMul have their outputs along different dimensions of it");
  EXPECT_EQ(unsure([](graph &g) {
              g.same("Neg");
              g.read("MatMul", {"x", g.value});
            }),
            "Neg changes it before MatMul reads it");
  EXPECT_EQ(unsure([](graph &g) {
              g.reshape("Reshape", {2, 8}, {2, 8}, nullptr);
              g.read("MatMul", {"x", g.value});
            }),
            "Reshape changes it before MatMul reads it");
  EXPECT_EQ(unsure([](graph &g) {
              g.reshape("Reshape", {1, 4, 4}, {1, 4, 4}, nullptr);
              g.read("LSTM", {"x", g.value});
            }),
            "");
  EXPECT_EQ(unsure([](graph &g) { g.read("Mystery", {"x", "W"}, {}, "org.example"); }), "it is not known what Mystery does with it");
  EXPECT_EQ(unsure([](graph &g) { g.read("Einsum", {"x", "W"}); }), "it is not known what Einsum does with it");
  EXPECT_EQ(unsure([](graph &g) { g.read("Add", {"x", "W"}); }), "");
}

TEST(import_onnx_graphs, refuses_scales_that_heed_has_not) {
  std::unique_ptr<tensors> keep;
  const auto refused = [&](void (*grow)(graph &)) {
    graph g(true);
    grow(g);
    const bytes file = g.file();
    return read_w(file, keep).refused;
  };
  EXPECT_EQ(refused([](graph &g) {
              g.add_tensor("s", {2, 4}, 1, floats(std::vector<float>(8, 1)));
              g.read("DequantizeLinear", {"W", "s"}, add(onnx::of_integer("axis", 0), onnx::of_integer("block_size", 2)));
            }),
            "has scales for blocks of inputs, which heed has not");
  EXPECT_EQ(refused([](graph &g) {
              g.add_tensor("s", {3}, 1, floats({1, 2, 3}));
              g.read("DequantizeLinear", {"W", "s"});
            }),
            "has 3 scales, neither one nor one for each output");
  EXPECT_EQ(refused([](graph &g) {
              g.add_tensor("s", {4}, 1, floats({1, 2, 3, 4}));
              g.read("DequantizeLinear", {"W", "s"}, onnx::of_integer("axis", 7));
            }),
            "has 4 scales, neither one nor one for each output");
  EXPECT_EQ(refused([](graph &g) { g.read("DequantizeLinear", {"W", "computed"}); }),
            "has a scale or a zero point that the model computes: DequantizeLinear");
  EXPECT_EQ(refused([](graph &g) { g.read("MatMulNBits", {"x", "W", "scales"}, {}, "com.microsoft"); }), "is packed by MatMulNBits, which heed has not");
  EXPECT_EQ(refused([](graph &g) {
              g.add_tensor("s", {}, 1, floats({INFINITY}));
              g.read("DequantizeLinear", {"W", "s"});
            }),
            "has a scale that is not finite");
}

// Two weights with one scale, which quantisers share.
TEST(import_onnx_graphs, shares_scales) {
  bytes g;
  for (const char *const name : {"a", "b"}) {
    add(g, text(5, onnx::initializer(name, {2, 2}, 3, {1, 2, 3, 4})), text(1, onnx::node("DequantizeLinear", {name, "s", "z"}, {}, {name + std::string("'")})));
  }
  add(g, text(5, onnx::initializer("s", {}, 1, floats({0.5f}))), text(5, onnx::initializer("z", {}, 3, {1})));
  const bytes file = onnx::model_of(g);
  const tensors t(read_onnx({file.data(), file.size()}));
  for (const char *const name : {"a", "b"}) EXPECT_EQ(floats_of(t.of(name)), (std::vector<float>{0, 0.5f, 1, 1.5f}));
  EXPECT_THROW(t.of("s"), std::runtime_error);
}

TEST(import_onnx_graphs, reads_nodes_of_constants) {
  bytes g;
  add(g, text(1, onnx::node("Constant", {}, onnx::of_tensor("value", onnx::initializer("other", {2, 2}, 1, floats({1, 2, 3, 4}))), {"W"})));
  add(g, text(1, onnx::node("Constant", {}, text(5, add(text(1, "value_floats"), text(7, floats({5, 6})))), {"b"})));
  add(g, text(1, onnx::node("Constant", {}, text(5, add(text(1, "value_float"), protobuf::fixed(2, 7))), {"single"})));
  add(g, text(1, onnx::node("Constant", {}, onnx::of_integers("value_ints", {1, 2}), {"shape"})));
  add(g, text(1, onnx::node("MatMul", {"x", "W"}, {}, {"y"})));
  const bytes file = onnx::model_of(g);
  const tensors t(read_onnx({file.data(), file.size()}));
  EXPECT_EQ(t.of("W").layout, HEED_IN_OUT);
  EXPECT_EQ(t.numbers_of("W"), floats({1, 2, 3, 4}));
  EXPECT_EQ(t.numbers_of("b"), floats({5, 6}));
  EXPECT_THROW(t.of("single"), std::runtime_error);
  EXPECT_THROW(t.of("shape"), std::runtime_error);
}

TEST(import_onnx_graphs, tells_branches_apart) {
  const auto branch = [](float f, bool turned) {
    const bytes read = turned ? onnx::node("Gemm", {"x", "W"}, onnx::of_integer("transB", 1), {"y"}) : onnx::node("MatMul", {"x", "W"}, {}, {"y"});
    return add(text(1, read), text(1, onnx::node("MatMul", {"y", "outer"}, {}, {"z"})), text(5, onnx::initializer("W", {2, 2}, 1, floats({f, f, f, f}))));
  };
  const bytes choose = add(onnx::node("If", {"c"}, onnx::of_graph("then_branch", branch(1, false)), {"z"}), onnx::of_graph("else_branch", branch(2, true)));
  bytes g = add(text(1, add(bytes(choose), text(3, "choose"))), text(1, choose), text(1, choose), text(5, onnx::initializer("outer", {2, 2}, 1, floats({3, 3, 3, 3}))));
  const bytes file = onnx::model_of(g);
  const tensors t(read_onnx({file.data(), file.size()}));
  EXPECT_EQ(t.of("choose.then_branch.W").layout, HEED_IN_OUT);
  EXPECT_EQ(t.of("choose.else_branch.W").layout, HEED_OUT_IN);
  EXPECT_EQ(t.numbers_of("choose.else_branch.W"), floats({2, 2, 2, 2}));
  EXPECT_EQ(t.of("If.then_branch.W").layout, HEED_IN_OUT);
  EXPECT_EQ(t.of("If.then_branch.5.W").layout, HEED_IN_OUT);
  EXPECT_EQ(t.of("outer").layout, HEED_IN_OUT);
}

// Long chains and circles end.
TEST(import_onnx_graphs, does_no_harm_with_odd_graphs) {
  const auto refusal = [](const bytes &g) { return import_files::refusal_of(read_onnx, onnx::model_of(g)); };
  const bytes w = text(5, onnx::initializer("W", {2, 2}, 1, floats({1, 2, 3, 4})));
  EXPECT_EQ(refusal(add(bytes(w), text(1, onnx::node("Identity", {"v"}, {}, {"v"})))), "v: is read before a node makes it: the file is damaged");
  bytes turned = w;
  add(turned, text(1, onnx::node("MatMul", {"x", "late"}, {}, {"y"})), text(1, onnx::node("Identity", {"W"}, {}, {"late"})));
  EXPECT_EQ(refusal(turned), "late: is read before a node makes it: the file is damaged");
  bytes chain = w;
  std::string value = "W";
  for (int i = 0; i < 20000; ++i) {
    const std::string next = "v" + std::to_string(i);
    add(chain, text(1, onnx::node(i % 2 == 0 ? "Identity" : "Transpose", {value}, {}, {next})));
    value = next;
  }
  EXPECT_EQ(refusal(add(chain, text(1, onnx::node("MatMul", {"x", value}, {}, {"y"})))), "");
  graph g(true);
  walk(g, 30, false);
  g.dequantize(1, true);
  walk(g, 40, true);
  g.read("MatMul", {"x", g.value});
  import_files::expect_no_harm(read_onnx, g.file());
}

}  // namespace
#endif
