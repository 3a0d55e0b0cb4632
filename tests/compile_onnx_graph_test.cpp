// heed_compile reads graphs of ONNX: shapes, constants, functions, branches, weights; and refuses what is damaged or hostile.
// SPDX-License-Identifier: MIT
#include "support/onnx_model.hpp"

#ifdef HEED_IMPORT_ONNX
#include <cmath>
#include <filesystem>

#include "onnx/graph.hpp"
#include "onnx/operators.hpp"

namespace {

using namespace heed_compile;
using namespace onnx_models;
namespace fs = std::filesystem;

// A folder that goes when the test ends.
class compile_onnx_graph : public testing::Test {
 protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("heed_onnx." + std::to_string(getpid()));
    fs::create_directories(folder / "model");
    usual_numbers = most_numbers;
    most_numbers = 1 << 20;
  }
  void TearDown() override {
    fs::remove_all(folder);
    most_numbers = usual_numbers;
  }
  void write(const std::string &name, const bytes &file) const {
    std::ofstream out(folder / name, std::ios::binary);
    out.write(reinterpret_cast<const char *>(file.data()), std::streamsize(file.size()));
  }
  std::unique_ptr<graph_model> read(const bytes &file, const graph_choices &how = {}) const {
    write("model/m.onnx", file);
    return read_graph((folder / "model" / "m.onnx").string(), how);
  }
  // What it says of a file, behind the path.
  std::string refusal_of(const bytes &file, const graph_choices &how = {}) const {
    try {
      read(file, how);
      return "";
    } catch (const refusal &error) {
      const std::string why = error.what(), path = (folder / "model" / "m.onnx").string() + ": ";
      EXPECT_EQ(why.substr(0, path.size()), path);
      return why.substr(path.size());
    }
  }
  fs::path folder;
  int64_t usual_numbers = 0;
};

shared_array numbers(const shape &dims, const std::vector<double> &list) {
  array a;
  a.dims = dims;
  a.numbers = list;
  return std::make_shared<const array>(std::move(a));
}

std::vector<double> outputs_of(const graph &net, const std::vector<shared_array> &inputs) {
  std::vector<double> found;
  evaluate_graph(net, inputs, [&](int value, const array &a) {
    if (value == net.outputs[0]) found = a.numbers;
  });
  return found;
}

const graph_value &output_of(const graph_model &m) { return m.net.values[size_t(m.net.outputs[0])]; }

// What exporters compute of shapes is a constant; the batch is 1.
TEST_F(compile_onnx_graph, computes_all_shapes) {
  graph_choices how;
  how.shapes["tokens"] = {5};
  const auto m = read(small_transformer(), how);
  EXPECT_EQ(m->net.opset, 17);
  EXPECT_EQ(m->net.values[size_t(m->net.inputs[0])].dims, (shape{1, 5, 4}));
  EXPECT_EQ(output_of(*m).dims, (shape{1, 5, 4}));
  for (const graph_node &n : m->net.nodes)
    EXPECT_TRUE(n.operation != "Shape" && n.operation != "Gather" && n.operation != "Concat");
  EXPECT_EQ(m->net.nodes.size(), 18u);
  std::vector<double> x;
  for (int i = 0; i < 20; ++i) x.push_back(0.1 * (i * 7 % 11) - 0.5);
  EXPECT_EQ(outputs_of(m->net, {numbers({1, 5, 4}, x)}).size(), 20u);
  how.shapes = {{"x", {2, 3, 4}}};
  EXPECT_EQ(output_of(*read(small_transformer(), how)).dims, (shape{2, 3, 4}));
}

TEST_F(compile_onnx_graph, asks_for_dimensions_that_it_does_not_know) {
  EXPECT_EQ(refusal_of(small_transformer()),
            "leaves sizes of its inputs open, x (batch x tokens x 4). Say them: --shape tokens=N");
  const auto why = [&](const std::string &name, const std::vector<int64_t> &dims) {
    return refusal_of(small_transformer(), {{{name, dims}}, {}, {}});
  };
  EXPECT_EQ(why("x", {1, 3}), "input x has 3 dimensions: x (batch x tokens x 4)");
  EXPECT_EQ(why("x", {1, 3, 5}), "input x has 4, not 5, as its dimension 2");
  EXPECT_EQ(why("x", {1, -3, 4}), "tokens must be from 1 to 2147483647");
  EXPECT_EQ(why("x", {1, 1 << 20, 4}), "input x has too many numbers: 1 x 1048576 x 4");
  EXPECT_EQ(why("words", {4}), "there is no input and no dimension words; the inputs are x (batch x tokens x 4)");
  EXPECT_EQ(why("tokens", {4, 4}), "the dimension tokens needs one number");
  const bytes unnamed = model(17, input("x", is_float, {"", ""}), step(node("Relu", {"x"}, {}, {"y"})), output("y"));
  EXPECT_EQ(refusal_of(unnamed), "leaves sizes of its inputs open, x (? x ?). Say them: --shape x=N,N,...");
  const bytes shapeless = model(17, text(11, add(text(1, std::string("x")), text(2, text(1, number(1, 1))))),
                                step(node("Relu", {"x"}, {}, {"y"})), output("y"));
  EXPECT_EQ(refusal_of(shapeless), "leaves sizes of its inputs open, x. Say them: --shape x=N,N,...");
  const bytes two = model(17, input("a", is_float, {"n"}), input("b", is_float, {"n"}),
                          step(node("Add", {"a", "b"}, {}, {"y"})), output("y"));
  const bytes three = model(17, input("a", is_float, {"n", "m"}), input("b", is_float, {"batch_size", "n"}),
                            input("c", is_float, {"", ""}), step(node("Relu", {"a"}, {}, {"y"})), output("y"));
  EXPECT_EQ(refusal_of(three),
            "leaves sizes of its inputs open, a (n x m), b (batch_size x n), c (? x ?). Say them: --shape c=N,N,... "
            "--shape m=N --shape n=N");
  EXPECT_EQ(refusal_of(two, {{{"a", {3}}, {"b", {4}}}, {}, {}}), "the dimension n has two sizes, 3 and 4");
  EXPECT_EQ(output_of(*read(two, {{{"a", {3}}}, {}, {}})).dims, shape{3});
}

TEST_F(compile_onnx_graph, refuses_what_depends_on_numbers_of_an_input) {
  const bytes places = model(17, input("x", is_float, {4}), step(node("NonZero", {"x"}, {}, {"y"})), output("y"));
  const std::string why = refusal_of(places);
  EXPECT_EQ(why.substr(0, 78), "output y: the shape of y depends on the numbers of x, which depend on input x.");
  graph_choices how;
  how.values["x"] = 1;
  EXPECT_EQ(output_of(*read(places, how)).constant->numbers, (std::vector<double>{0, 1, 2, 3}));
  how.values = {{"z", 1}};
  EXPECT_EQ(refusal_of(places, how), "there is no input z; the inputs are x (4)");
  const bytes shaped = model(17, input("x", is_float, {4}), input("s", is_int64, {2}),
                             step(node("Reshape", {"x", "s"}, {}, {"y"})), output("y"));
  EXPECT_NE(refusal_of(shaped).find("depends on the numbers of s"), std::string::npos);
}

// A branch calls its values as its node does.
TEST_F(compile_onnx_graph, takes_branches_whose_condition_is_constant) {
  const auto branch = [](const char *operation) { return add(step(node(operation, {"x"}, {}, {"y"})), output("y")); };
  const auto choose = [&](bool has_else) {
    bytes attributes = of_graph("then_branch", branch("Relu"));
    if (has_else) add(attributes, of_graph("else_branch", branch("Neg")));
    return model(17, input("x", is_float, {2}), input("c", is_bool, {}), step(node("If", {"c"}, attributes, {"y"})),
                 output("y"));
  };
  graph_choices how;
  how.values["c"] = 0;
  const auto m = read(choose(true), how);
  ASSERT_EQ(m->net.nodes.size(), 1u);
  EXPECT_EQ(m->net.nodes[0].operation, "Neg");
  EXPECT_EQ(outputs_of(m->net, {numbers({2}, {1, -2})}), (std::vector<double>{-1, 2}));
  EXPECT_EQ(refusal_of(choose(false), how), "node y (If): has no branch for its condition");
  EXPECT_EQ(refusal_of(choose(true)),
            "node y (If): its condition c depends on input c, so the program would have to choose. Make it a constant: "
            "--value NAME=NUMBER");
}

// What has to become a constant is named, also where nodes lie between it and the condition.
TEST_F(compile_onnx_graph, names_the_inputs_of_a_condition) {
  const bytes branch = add(step(node("Relu", {"x"}, {}, {"y"})), output("y"));
  bytes branches = of_graph("then_branch", branch);
  add(branches, of_graph("else_branch", branch));
  const bytes asks =
      model(17, input("x", is_float, {2}), input("rate", is_int64, {}), input("other", is_int64, {}),
            step(node("Mul", {"rate", "other"}, {}, {"p"})), step(node("Equal", {"p", "other"}, {}, {"c"})),
            step(node("If", {"c"}, branches, {"y"})), output("y"));
  EXPECT_EQ(refusal_of(asks).substr(0, 64), "node y (If): its condition c depends on inputs rate, other, so t");
  graph_choices how;
  how.values["other"] = 1;
  EXPECT_EQ(refusal_of(asks, how).substr(0, 59), "node y (If): its condition c depends on input rate, so the ");
}

// Twice(v) of a domain of its own, whose attribute says the factor.
TEST_F(compile_onnx_graph, puts_functions_in) {
  const bytes constant =
      node("Constant", {},
           text(5, add(text(1, std::string("value_float")), text(21, std::string("factor")), number(20, 1))), {"f"});
  bytes function = add(text(1, std::string("Twice")), text(4, std::string("v")), text(5, std::string("w")),
                       text(6, std::string("factor")));
  add(function, text(7, constant), text(7, node("Mul", {"v", "f"}, {}, {"w"})), text(9, number(2, 17)),
      text(10, std::string("own")));
  const auto whole = [&](const bytes &body) {
    bytes file = model(17, input("x", is_float, {2}), step(node("Twice", {"x"}, of_float("factor", 3), {"a"}, "own")),
                       step(node("Twice", {"a"}, of_float("factor", 0.5f), {"y"}, "own")), output("y"));
    return add(file, text(25, body));
  };
  const auto m = read(whole(function));
  EXPECT_EQ(m->net.nodes.size(), 2u);
  EXPECT_EQ(outputs_of(m->net, {numbers({2}, {1, 2})}), (std::vector<double>{1.5, 3}));
  bytes circle = add(text(1, std::string("Twice")), text(4, std::string("v")), text(5, std::string("w")),
                     text(10, std::string("own")));
  add(circle, text(7, node("Twice", {"v"}, {}, {"w"}, "own")));
  EXPECT_EQ(refusal_of(whole(circle)), "has graphs and functions in each other, more than 16 deep");
}

// Integers with scales stay integers, also turned and reshaped.
TEST_F(compile_onnx_graph, keeps_quantised_weights) {
  const auto with = [](const bytes &more, const bytes &numbers, const bytes &scales, uint64_t n) {
    return model(
        17, input("x", is_float, {1, 3}), with_tensor(initializer("q", {2, 3}, is_int8, numbers)),
        with_tensor(initializer("s", n == 1 ? std::vector<uint64_t>{} : std::vector<uint64_t>{n}, is_float, scales)),
        more, step(node("MatMul", {"x", "w"}, {}, {"y"})), output("y"));
  };
  const bytes q = {1, 2, 3, 255, 254, 253};
  const bytes turned = add(step(node("DequantizeLinear", {"q", "s"}, of_integer("axis", 0), {"d"})),
                           step(node("Transpose", {"d"}, {}, {"w"})));
  const auto m = read(with(turned, q, floats({0.5f, 2}), 2));
  ASSERT_EQ(m->net.nodes.size(), 1u);
  const graph_value &w = m->net.values[size_t(m->net.nodes[0].inputs[1])];
  ASSERT_NE(w.weight, nullptr);
  EXPECT_EQ(w.dims, (shape{3, 2}));
  EXPECT_EQ(w.weight->dtype, HEED_FILE_I8);
  EXPECT_EQ(w.weight->layout, HEED_IN_OUT);
  EXPECT_EQ(w.weight->scales, (std::vector<float>{0.5f, 2}));
  EXPECT_EQ(numbers_of(w)->numbers, (std::vector<double>{0.5, -2, 1, -4, 1.5, -6}));
  EXPECT_EQ(outputs_of(m->net, {numbers({1, 3}, {1, 0, 1})}), (std::vector<double>{2, -8}));
  EXPECT_EQ(refusal_of(with(turned, q, floats({0.5f, INFINITY}), 2)), "has a scale that is not finite");
  EXPECT_EQ(refusal_of(with(turned, q, floats({1, 2, 3}), 3)),
            "node d (DequantizeLinear): has more or fewer scales than its axis");
}

// A quantised table whose rows are gathered before they become floats: as Moonshine's embedding.
TEST_F(compile_onnx_graph, gathers_rows_of_a_quantised_table) {
  const auto with = [](uint64_t n_scales, int64_t axis) {
    const std::vector<float> scales(n_scales, 0.5f);
    return model(17, input("i", is_int64, {2}), with_tensor(initializer("q", {3, 2}, is_uint8, {1, 2, 3, 4, 5, 255})),
                 with_tensor(initializer("s", n_scales == 1 ? std::vector<uint64_t>{} : std::vector<uint64_t>{n_scales},
                                         is_float, floats(scales))),
                 step(node("Gather", {"q", "i"}, of_integer("axis", axis), {"rows"})),
                 step(node("DequantizeLinear", {"rows", "s"}, of_integer("axis", 1), {"y"})), output("y"));
  };
  const auto m = read(with(1, 0));
  ASSERT_EQ(m->net.nodes.size(), 1u);
  EXPECT_EQ(m->net.nodes[0].operation, "Gather");
  const graph_value &table = m->net.values[size_t(m->net.nodes[0].inputs[0])];
  ASSERT_NE(table.weight, nullptr);
  EXPECT_EQ(table.weight->dtype, HEED_FILE_U8);
  EXPECT_EQ(table.weight->scales, (std::vector<float>{0.5f}));
  array rows;
  rows.kind = element::integers;
  rows.dims = {2};
  rows.numbers = {2, 0};
  EXPECT_EQ(outputs_of(m->net, {std::make_shared<const array>(rows)}), (std::vector<double>{2.5, 127.5, 0.5, 1}));
  // Scales of columns, and columns that are gathered, stay as they are.
  EXPECT_EQ(read(with(2, 0))->net.nodes.size(), 2u);
  EXPECT_EQ(read(with(1, 1))->net.nodes.size(), 2u);
}

TEST_F(compile_onnx_graph, reads_external_data_of_its_folder_alone) {
  const auto with = [](const std::string &location, const std::string &offset, const std::string &length) {
    const auto entry = [](const std::string &key, const std::string &value) {
      return text(13, add(text(1, key), text(2, value)));
    };
    bytes w = add(number(1, 2), number(2, is_float), text(8, std::string("w")), number(14, 1));
    add(w, entry("location", location), entry("offset", offset));
    if (!length.empty()) add(w, entry("length", length));
    return model(17, input("x", is_float, {2}), with_tensor(w), step(node("Add", {"x", "w"}, {}, {"y"})), output("y"));
  };
  fs::create_directories(folder / "model" / "parts");
  write("model/parts/w.bin", floats({9, 1, 2}));
  write("outside.bin", floats({9, 1, 2}));
  for (const std::string length : {"8", ""}) {
    const auto m = read(with("parts/w.bin", "4", length));
    EXPECT_EQ(outputs_of(m->net, {numbers({2}, {0, 0})}), (std::vector<double>{1, 2}));
    ASSERT_EQ(m->paths.size(), 2u);
    EXPECT_EQ(m->paths[1], (folder / "model" / "parts/w.bin").string());
  }
  for (const std::string location :
       {"../outside.bin", "parts/../../outside.bin", "/etc/passwd", "C:w.bin", "parts\\w.bin", ""})
    EXPECT_EQ(refusal_of(with(location, "0", "8")),
              "w: its external data lies at " + location + ", which is not in the folder of the model");
  const std::string data = (folder / "model" / "parts/w.bin").string(), none = (folder / "model" / "none").string();
  EXPECT_EQ(refusal_of(with("none", "0", "8")), "w: its numbers lie in " + none + ", which cannot be opened");
  EXPECT_EQ(refusal_of(with("parts/w.bin", "8", "8")),
            "w: its external data lies beyond the end of " + data + ", which has 12 bytes");
  EXPECT_EQ(refusal_of(with("parts/w.bin", "999999999999999999", "8")),
            "w: its external data lies beyond the end of " + data + ", which has 12 bytes");
  EXPECT_EQ(refusal_of(with("parts/w.bin", "0", "12")), "w: its external data has 12 bytes, its shape needs 8");
  EXPECT_EQ(refusal_of(with("parts/w.bin", "-4", "8")), "w: the offset of its external data is no number of bytes: -4");
}

TEST_F(compile_onnx_graph, orders_nodes) {
  const auto m = read(model(17, input("x", is_float, {2}), step(node("Neg", {"a"}, {}, {"y"})),
                            step(node("Exp", {"x"}, {}, {"a"})),
                            step(node("Unheard", {"x"}, {}, {"nobody reads this"})), output("y")));
  ASSERT_EQ(m->net.nodes.size(), 2u);
  EXPECT_EQ(m->net.nodes[0].operation, "Exp");
}

TEST_F(compile_onnx_graph, refuses_damaged_graphs_by_name) {
  const auto with = [&](const bytes &nodes) {
    return refusal_of(model(17, input("x", is_float, {2, 3}), nodes, output("y")));
  };
  const auto list = [](const std::vector<int64_t> &integers) {
    return with_tensor(initializer("i", {integers.size()}, is_int64, int64s(integers)));
  };
  const auto alone = [&](const std::string &operation, const bytes &attributes) {
    return with(step(node(operation, {"x"}, attributes, {"y"})));
  };
  const auto pair = [&](const std::string &operation, const std::vector<int64_t> &integers,
                        const bytes &attributes = {}) {
    return with(add(list(integers), step(node(operation, {"x", "i"}, attributes, {"y"}))));
  };
  EXPECT_EQ(with(step(node("Unheard", {"x"}, {}, {"y"}))),
            "node y (Unheard): heed_compile does not know this operator");
  EXPECT_EQ(with(step(node("Relu", {"z"}, {}, {"y"}))),
            "node y (Relu) reads z, which no node makes: the file is damaged");
  EXPECT_EQ(with(step(node("Relu", {}, {}, {"y"}))), "node y (Relu): has no input 0");
  EXPECT_EQ(with({}), "output y: nothing makes it");
  EXPECT_EQ(with(add(step(node("Relu", {"x"}, {}, {"y"})), step(node("Neg", {"x"}, {}, {"y"})))),
            "y: two nodes make this value, the file is damaged");
  EXPECT_EQ(with(add(step(node("Relu", {"b"}, {}, {"y"})), step(node("Neg", {"y"}, {}, {"b"})))),
            "node  (Relu) reads what it makes itself, by way of other nodes: the file is damaged");
  EXPECT_EQ(with(add(step(node("Relu", {"x"}, {}, {"x"})), step(node("Relu", {"x"}, {}, {"y"})))).substr(0, 5),
            "node ");
  EXPECT_EQ(with(step(node("Split", {"x"}, {}, {"y", "b", "c"}))),
            "node y (Split): cannot split its input into equal parts");
  EXPECT_EQ(with(step(node("Relu", {"x"}, {}, {"y", "z"}))), "node y (Relu): has more outputs than this operator");
  EXPECT_EQ(alone("Softmax", of_integer("axis", 2)), "node y (Softmax): has the axis 2, but 2 dimensions");
  EXPECT_EQ(alone("Softmax", of_integer("axis", INT64_MIN)),
            "node y (Softmax): has the axis -9223372036854775808, but 2 dimensions");
  EXPECT_EQ(alone("Transpose", of_integers("perm", {0, 0})), "node y (Transpose): names the axis 0 twice");
  EXPECT_EQ(alone("Transpose", of_integers("perm", {0})),
            "node y (Transpose): has a perm of another number of dimensions than its input");
  EXPECT_EQ(alone("Cast", of_integer("to", 8)), "node y (Cast): has texts, which a program of heed has not");
  EXPECT_EQ(alone("Conv", {}), "node y (Conv): has no input 1");
  EXPECT_EQ(pair("Reshape", {4, -1}), "node y (Reshape): cannot make the shape 4 x -1 of 2 x 3");
  EXPECT_EQ(pair("Reshape", {-1, -1}), "node y (Reshape): has -1 twice in its shape");
  EXPECT_EQ(pair("Reshape", {INT64_MAX, INT64_MAX}), "node y (Reshape): has too many numbers in its shape");
  EXPECT_EQ(pair("Reshape", {-7}), "node y (Reshape): has a negative dimension in its shape");
  EXPECT_EQ(pair("Expand", {-1, 3}).substr(0, 8), "node y (");
  EXPECT_EQ(pair("Expand", {1 << 30, 1, 1}), "node y (Expand): has too many numbers: 1073741824 x 1 x 1");
  EXPECT_EQ(pair("Tile", {INT64_MAX, 1}), "node y (Tile): has a repeat that is negative or too large");
  EXPECT_EQ(pair("Tile", {1 << 19, 1}), "node y (Tile): has too many numbers: 1048576 x 3");
  EXPECT_EQ(pair("Pad", {0, 0, 0, INT64_MAX}), "node y (Pad): has a pad that is too large");
  EXPECT_EQ(pair("Pad", {-2, 0, -2, 0}), "node y (Pad): takes away more than its input has");
  EXPECT_EQ(pair("Unsqueeze", {5}), "node y (Unsqueeze): has the axis 5, but 3 dimensions");
  EXPECT_EQ(pair("Squeeze", {0}), "node y (Squeeze): squeezes a dimension that is not 1");
  EXPECT_EQ(pair("Split", {4, -1}), "node y (Split): splits more than its input has");
  EXPECT_EQ(pair("ReduceSum", {2}), "node y (ReduceSum): has the axis 2, but 2 dimensions");
  EXPECT_EQ(pair("Gather", {7}), "node y (Gather): has an index that is not in its dimension of 2");
  EXPECT_EQ(pair("MatMul", {1, 2}), "node y (MatMul): multiplies matrices that do not fit: 2 x 3 and 2 x 1");
  EXPECT_EQ(with(add(list({1 << 15, 1 << 15}), step(node("ConstantOfShape", {"i"}, {}, {"y"})))),
            "node y (ConstantOfShape): has too many numbers: 32768 x 32768");
  EXPECT_EQ(with(add(list({-1}), step(node("ConstantOfShape", {"i"}, {}, {"y"})))),
            "node y (ConstantOfShape): has the negative dimension -1");
  EXPECT_EQ(with(step(node("Loop", {"x"}, of_graph("body", output("z")), {"y"}))).substr(0, 41),
            "node y (Loop): loops over graphs are not ");
}

TEST_F(compile_onnx_graph, refuses_damaged_models) {
  const bytes y = add(step(node("Relu", {"x"}, {}, {"y"})), output("y"));
  const auto with = [&](const bytes &first) { return refusal_of(model(17, first, y)); };
  EXPECT_EQ(with(input("x", is_text, {2})), "input x has texts, which a program of heed has not");
  EXPECT_EQ(with(input("x", 17, {2})), "input x is of ONNX's type 17, which a program of heed has not");
  EXPECT_EQ(with(input("x", 0, {2})), "the file does not say the type of the input x");
  EXPECT_EQ(with(text(11, add(text(1, std::string("x")), text(2, text(4, bytes()))))),
            "input x is a sequence, a map or an optional value, which a program of heed has not");
  EXPECT_EQ(with(input("x", is_float, {1 << 11, 1 << 11})), "input x has too many numbers: 2048 x 2048");
  EXPECT_EQ(with(with_tensor(initializer("x", {2, 3}, is_float, floats({1})))),
            "x: has more or fewer numbers than its shape says");
  EXPECT_EQ(with(with_tensor(initializer("x", {uint64_t(-1)}, is_int64, {}))).substr(0, 9), "tensor x:");
  EXPECT_EQ(with(with_tensor(initializer("x", {3}, is_int64, int64s({1})))),
            "tensor x: x: has more or fewer numbers than its shape says");
  EXPECT_EQ(refusal_of(model(17, input("x", is_float, {2}), step(node("Relu", {"x"}, {}, {"y"})))), "has no outputs");
  EXPECT_EQ(refusal_of(add(number(1, 8), text(7, y))),
            "does not say which version of ONNX's operators it has (opset_import)");
  EXPECT_EQ(refusal_of(model(0, y)), "has version 0 of ONNX's operators");
  EXPECT_EQ(refusal_of(number(1, 8)), "is no ONNX file: it has no graph");
}

// Bytes of a good file are damaged, one at a time: it is read or refused.
TEST_F(compile_onnx_graph, does_no_harm_when_damaged) {
  graph_choices how;
  how.shapes["tokens"] = {3};
  const bytes good = small_transformer();
  EXPECT_EQ(refusal_of(good, how), "");
  for (size_t i = 0; i < good.size(); i += 3) {
    bytes damaged = good;
    damaged[i] = uint8_t(damaged[i] ^ (i % 2 == 0 ? 1 : 128));
    refusal_of(damaged, how);
  }
}

}  // namespace
#endif
