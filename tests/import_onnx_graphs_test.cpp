// Which tensors heed_import finds in the graphs of an ONNX model, and what it refuses to guess. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>

#include "support/onnx_graph.hpp"

#ifdef HEED_IMPORT_ONNX
namespace {

using namespace heed_import;
using namespace import_files;
using onnx::names;
using protobuf::text;

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
  EXPECT_EQ(unsure([](graph &g) {
              g.read("Mystery", {"x", "W"}, {}, "org.example");
            }),
            "it is not known what Mystery does with it");
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
  EXPECT_EQ(
      refused([](graph &g) {
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
  EXPECT_EQ(refused([](graph &g) {
              g.read("DequantizeLinear", {"W", "computed"});
            }),
            "has a scale or a zero point that the model computes: DequantizeLinear");
  EXPECT_EQ(refused([](graph &g) {
              g.read("MatMulNBits", {"x", "W", "scales"}, {}, "com.microsoft");
            }),
            "is packed by MatMulNBits, which heed has not");
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
    add(g, text(5, onnx::initializer(name, {2, 2}, 3, {1, 2, 3, 4})),
        text(1, onnx::node("DequantizeLinear", {name, "s", "z"}, {}, {name + std::string("'")})));
  }
  add(g, text(5, onnx::initializer("s", {}, 1, floats({0.5f}))), text(5, onnx::initializer("z", {}, 3, {1})));
  const bytes file = onnx::model_of(g);
  const tensors t(read_onnx({file.data(), file.size()}));
  for (const char *const name : {"a", "b"}) EXPECT_EQ(floats_of(t.of(name)), (std::vector<float>{0, 0.5f, 1, 1.5f}));
  EXPECT_THROW(t.of("s"), std::runtime_error);
}

TEST(import_onnx_graphs, reads_nodes_of_constants) {
  bytes g;
  add(g, text(1, onnx::node("Constant", {},
                            onnx::of_tensor("value", onnx::initializer("other", {2, 2}, 1, floats({1, 2, 3, 4}))),
                            {"W"})));
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
    const bytes read = turned ? onnx::node("Gemm", {"x", "W"}, onnx::of_integer("transB", 1), {"y"})
                              : onnx::node("MatMul", {"x", "W"}, {}, {"y"});
    return add(text(1, read), text(1, onnx::node("MatMul", {"y", "outer"}, {}, {"z"})),
               text(5, onnx::initializer("W", {2, 2}, 1, floats({f, f, f, f}))));
  };
  const bytes choose = add(onnx::node("If", {"c"}, onnx::of_graph("then_branch", branch(1, false)), {"z"}),
                           onnx::of_graph("else_branch", branch(2, true)));
  bytes g = add(text(1, add(bytes(choose), text(3, "choose"))), text(1, choose), text(1, choose),
                text(5, onnx::initializer("outer", {2, 2}, 1, floats({3, 3, 3, 3}))));
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
  EXPECT_EQ(refusal(add(bytes(w), text(1, onnx::node("Identity", {"v"}, {}, {"v"})))),
            "v: is read before a node makes it: the file is damaged");
  bytes turned = w;
  add(turned, text(1, onnx::node("MatMul", {"x", "late"}, {}, {"y"})),
      text(1, onnx::node("Identity", {"W"}, {}, {"late"})));
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
