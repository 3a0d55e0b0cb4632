// heed_compile on ONNX graphs: which functions of heed their patterns become, where values lie, and what is refused.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <unistd.h>

#include "convert.hpp"
#include "onnx/operators.hpp"
#include "onnx/run_steps.hpp"
#include "support/published_graphs.hpp"

namespace {

using namespace heed_compile;
using published_graphs::builder;
namespace onnx = import_files::onnx;

class file_of {
 public:
  explicit file_of(const heed_import::bytes &content)
      : path_((std::filesystem::temp_directory_path() / ("graph_" + std::to_string(::getpid()) + ".onnx")).string()) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char *>(content.data()), static_cast<std::streamsize>(content.size()));
  }
  ~file_of() { std::filesystem::remove(path_); }
  const std::string &path() const { return path_; }

 private:
  std::string path_;
};

struct made {
  std::unique_ptr<graph_model> model;
  graph net;
  steps program;
};
std::unique_ptr<made> made_of(const heed_import::bytes &content, bool keeps_known_answers = true) {
  const file_of file(content);
  auto m = std::make_unique<made>();
  m->model = read_graph(file.path(), {});
  m->net = prepared(*m->model);
  lower_choices how;
  how.keeps_known_answers = keeps_known_answers;
  m->program = lowered(m->net, how);
  return m;
}

std::map<std::string, int> functions_of(const steps &p) {
  std::map<std::string, int> counts;
  for (const step &s : p.list) {
    ++counts[s.function];
    for (const argument &a : s.arguments)
      if (a.is == argument::what::name) ++counts[a.name];
  }
  return counts;
}

TEST(CompileOnnx, PiecesOfABertBecomeFunctionsOfHeed) {
  const auto m = made_of(published_graphs::bert());
  std::map<std::string, int> of = functions_of(m->program);
  EXPECT_EQ(of["heed_graph_attend"], 2);
  EXPECT_EQ(of["heed_layer_norm"], 5);
  EXPECT_EQ(of["heed_gelu"], 2);
  EXPECT_EQ(of["heed_graph_linear"], 2 * 6 + 2);
  EXPECT_EQ(of["heed_graph_rows_of"], 2);
  EXPECT_EQ(of["heed_graph_copy"], 0) << "heads are strides";
  EXPECT_EQ(of["heed_graph_softmax"], 0);
  EXPECT_EQ(of["heed_graph_reduce"], 0);
}

TEST(CompileOnnx, AVisionTransformer) {
  const auto m = made_of(published_graphs::vit());
  std::map<std::string, int> of = functions_of(m->program);
  EXPECT_EQ(of["heed_graph_attend"], 2);
  EXPECT_EQ(of["heed_graph_norm"], 5);
  EXPECT_EQ(of["heed_gelu"], 2);
  // Pixels of patches, and two parts of the sequence.
  EXPECT_EQ(of["heed_graph_copy"], 3);
  for (const heed_graph_attention &a : m->program.attentions) EXPECT_EQ(a.scale, HEED_SCALE_DEFAULT);
}

TEST(CompileOnnx, ADecoderIsCausalGroupedAndTied) {
  const auto m = made_of(published_graphs::gpt());
  std::map<std::string, int> of = functions_of(m->program);
  EXPECT_EQ(of["heed_graph_attend"], 2);
  EXPECT_EQ(of["heed_rms_norm"], 5);
  EXPECT_EQ(of["heed_silu"], 2);
  ASSERT_EQ(m->program.attentions.size(), 1u) << "layers share their counts";
  const heed_graph_attention &a = m->program.attentions[0];
  EXPECT_EQ(a.n_kv_heads, 2);
  EXPECT_EQ(a.n_heads, 4);
  EXPECT_EQ(a.causal, 1);
  EXPECT_EQ(a.mask, HEED_GRAPH_NO_MASK);
  int n_tables = 0;
  for (const file_constant &c : m->program.constants) n_tables += c.is_matrix && c.make && c.n_out == 61;
  EXPECT_EQ(n_tables, 1) << "the table of tokens is the last projection";
}

TEST(CompileOnnx, ConvolutionsArePicturesOrSignals) {
  const auto m = made_of(published_graphs::convolutions());
  std::map<std::string, int> of = functions_of(m->program);
  EXPECT_EQ(of["heed_graph_convolve"], 2);
  EXPECT_EQ(of["heed_graph_linear"], 7);
  EXPECT_EQ(of["heed_graph_group_norm"], 1);
  EXPECT_EQ(of["HEED_GRAPH_HARD_SWISH"], 1);
  EXPECT_EQ(of["heed_graph_mean_rows"], 3) << "GlobalAveragePool, and two means of a signal";
}

// Channels that a convolution has laid side by side stay so until rows of time or of pixels are wanted.
TEST(CompileOnnx, ElementwiseResultsLieAsTheirOperands) {
  builder b;
  int n_weights = 0;
  const auto conv = [&](const std::string &x, const published_graphs::dims &w) {
    return b.node("Conv", {x, b.weight("w" + std::to_string(n_weights++), w)});
  };
  std::string x = b.node("HardSwish", {conv(b.input("x", {1, 3, 6, 5}), {16, 3, 3, 3})});
  x = b.node("Relu", {b.node("Mul", {x, b.weight("factor", {16, 1, 1})})});
  x = b.node("Add", {x, conv(x, {16, 16, 1, 1})});
  x = b.node("Sigmoid", {b.node("Clip", {b.node("Neg", {x}), b.number(-1), b.number(1)})});
  b.node("GlobalAveragePool", {conv(x, {8, 16, 1, 1})}, {}, "y");
  b.output("y");
  std::map<std::string, int> of = functions_of(made_of(b.file())->program);
  EXPECT_EQ(of["heed_graph_copy"], 1) << "the windows of the first convolution";
}

double first_of(const steps &p, const std::string &name) {
  for (const file_constant &c : p.constants)
    if (c.name == name) return static_cast<double>(heed_import::floats_of(c.make()).at(0));
  return std::nan("");
}

TEST(CompileOnnx, ScalesOfChannelsGoIntoTheWeights) {
  builder b;
  const auto of_conv = [](builder &c, const std::string &x) {
    return c.node("Conv", {x, c.floats("w", {2, 1, 1, 1}, {3, 5}), c.floats("bias", {2}, {1, 2})});
  };
  std::string y = of_conv(b, b.input("x", {1, 1, 2, 2}));
  y = b.node("BatchNormalization", {y, b.floats("weight", {2}, {2, 2}), b.floats("b", {2}, {0.5f, 0}),
                                    b.floats("mean", {2}, {1, 1}), b.floats("var", {2}, {3.99999f, 1})});
  y = b.node("Sub", {b.node("Div", {y, b.floats("by", {1, 2, 1, 1}, {0.5f, 1})}), b.number(1)});
  b.node("Add", {y, b.number(0.25f)}, {}, "y");
  b.output("y");
  const auto m = made_of(b.file());
  std::map<std::string, int> of = functions_of(m->program);
  EXPECT_EQ(of["heed_graph_combine"], 0);
  EXPECT_EQ(of["heed_graph_linear"], 1);
  EXPECT_NEAR(first_of(m->program, "w"), 3 * 1.0 / 0.5, 1e-5);
  EXPECT_NEAR(first_of(m->program, m->net.nodes.at(0).name + "_bias"), ((1 - 1) * 1.0 + 0.5) / 0.5 - 1 + 0.25, 1e-5);

  builder product;
  std::string z = product.node("MatMul", {product.input("x", {2, 3}), product.weight("w", {3, 4})});
  z = product.node("Mul", {product.weight("factors", {4}), z});
  product.node("Add", {z, product.weight("summands", {4})}, {}, "y");
  product.output("y");
  of = functions_of(made_of(product.file())->program);
  EXPECT_EQ(of["heed_graph_combine"], 0);
  EXPECT_EQ(of["heed_graph_linear"], 1);
}

TEST(CompileOnnx, ScalesStayThatAreNotOfChannelsOrHaveOtherReaders) {
  const auto combines = [](const builder &b) {
    const auto m = made_of(b.file());
    EXPECT_DOUBLE_EQ(first_of(m->program, "w"), 3);
    return functions_of(m->program)["heed_graph_combine"];
  };
  const auto product = [](builder &b) {
    return b.node("MatMul", {b.input("x", {2, 2}), b.floats("w", {2, 2}, {3, 1, 4, 1})}, {}, "product");
  };
  builder rows;  // a factor of rows
  rows.node("Mul", {product(rows), rows.floats("factor", {2, 1}, {2, 3})}, {}, "y");
  rows.output("y");
  EXPECT_EQ(combines(rows), 1);
  builder read_twice;
  read_twice.node("Mul", {product(read_twice), read_twice.number(2)}, {}, "y");
  read_twice.output("y");
  read_twice.output("product");
  EXPECT_EQ(combines(read_twice), 1);
  builder infinite;
  infinite.node("Div", {product(infinite), infinite.number(0)}, {}, "y");
  infinite.output("y");
  EXPECT_EQ(combines(infinite), 1);
  builder divisor;
  divisor.node("Div", {divisor.number(2), product(divisor)}, {}, "y");
  divisor.output("y");
  EXPECT_EQ(combines(divisor), 1);
  builder wider;  // the sum has more rows than the product
  wider.node("Mul", {product(wider), wider.floats("factor", {3, 1, 1}, {2, 3, 4})}, {}, "y");
  wider.output("y");
  EXPECT_EQ(combines(wider), 1);
}

// Values that live at the same time have places of their own.
TEST(CompileOnnx, PlacesDoNotOverlap) {
  for (const bool keeps : {false, true})
    for (const auto &f : published_graphs::all()) {
      const auto m = made_of(f.content, keeps);
      const steps &p = m->program;
      std::vector<std::pair<int, int>> lives(p.storages.size(), {1 << 30, -1});
      for (int i = 0; i < static_cast<int>(p.list.size()); ++i)
        for (const argument &a : p.list[static_cast<size_t>(i)].arguments)
          if (a.is == argument::what::pointer) {
            auto &[first, last] = lives[static_cast<size_t>(a.index)];
            first = std::min(first, i), last = std::max(last, i);
          }
      int64_t all = 0;
      for (size_t i = 0; i < p.storages.size(); ++i) {
        const storage &one = p.storages[i];
        if (one.where != place::memory || lives[i].second < 0) continue;
        const int64_t n = one.count * (one.kind == element::booleans ? 1 : 4);
        all += n;
        ASSERT_GE(one.address, 0) << f.name;
        ASSERT_EQ(one.address % HEED_ALIGNMENT, 0);
        ASSERT_LE(one.address + n, p.workspace_address);
        for (size_t k = i + 1; k < p.storages.size(); ++k) {
          const storage &other = p.storages[k];
          if (other.where != place::memory || lives[k].second < 0) continue;
          const int64_t n_other = other.count * (other.kind == element::booleans ? 1 : 4);
          // Where one is read for the last time the other may be written in its place.
          const bool together = lives[i].first < lives[k].second && lives[k].first < lives[i].second;
          const bool overlaps = one.address < other.address + n_other && other.address < one.address + n;
          EXPECT_FALSE(together && overlaps) << f.name << ": " << one.name << " and " << other.name;
        }
      }
      EXPECT_LT(p.workspace_address, all) << f.name << ": places are used again";
    }
}

std::string refusal_of(const heed_import::bytes &content) {
  try {
    made_of(content);
  } catch (const refusal &error) {
    return error.what();
  }
  return "";
}

TEST(CompileOnnx, NodesThatAreNotKnownAreRefusedByName) {
  builder b;
  const std::string x = b.input("x", {1, 1, 4, 4});
  b.node("Det", {x}, {}, "determinants");
  b.output("determinants");
  EXPECT_NE(refusal_of(b.file()).find("determinants"), std::string::npos) << refusal_of(b.file());
  builder c;
  c.node("Pad", {c.input("x", {1, 4}), c.integers({0, 1, 0, 1}), c.number(0)}, heed_import::bytes(), "padded");
  c.output("padded");
  EXPECT_EQ(refusal_of(c.file()), "");
}

TEST(CompileOnnx, OutputsWithoutNumbersAreLeftOut) {
  builder b;
  const std::string x = b.input("x", {4, 8});
  b.node("Slice", {x, b.integers({0}), b.integers({0}), b.integers({0})}, {}, "none");
  b.output("none");
  b.node("Neg", {x}, {}, "y");
  b.output("y");
  const auto m = made_of(b.file());
  ASSERT_EQ(m->model->net.outputs.size(), 2u) << "who asks for them has them";
  ASSERT_EQ(m->program.outputs.size(), 1u);
  EXPECT_EQ(m->program.storages[static_cast<size_t>(m->program.outputs[0])].count, 32);
}

TEST(CompileOnnx, EinsumsBecomeProductsAndAttention) {
  const auto m = made_of(published_graphs::einsums());
  std::map<std::string, int> of = functions_of(m->program);
  EXPECT_EQ(of["heed_graph_attend"], 1);
  EXPECT_EQ(of["heed_graph_softmax"], 0);
  EXPECT_EQ(of["heed_graph_linear"], 7) << "q, k, v, o, a constant on the left, and two on the right";
}

// A graph of one node that reads x (2, 3, 3), a constant and an input of integers.
std::string refusal_of_node(const std::string &operation, const onnx::names &inputs,
                            const import_files::bytes &how = {}) {
  builder b(18);
  b.input("x", {2, 3, 3});
  b.input("kernels", {3, 2, 2});
  b.input("vector", {3});
  b.input("i", {2, 1}, published_graphs::of_int64);
  b.weight("w", {3, 3});
  b.weight("kernel", {3, 2, 2});
  b.table("far", {1, 1}, {2});
  b.table("places", {2, 1}, {1, 1});
  b.table("beyond", {2, 1}, {1, 2});
  b.table("sizes", {3}, {2, 3, 2});
  b.packed("packed", {9, 1, 8});
  b.input("bytes", {9, 1, 8}, published_graphs::of_uint8);
  b.input("four", {2, 3, 1, 4});
  b.weight("angles", {2, 2});
  b.weight("gates", {1, 4, 3});
  b.weight("state", {1, 4, 1});
  b.weight("peepholes", {1, 3});
  b.input("states", {1, 4, 1});
  const std::string own = "com.microsoft.";
  const bool is_own = operation.compare(0, own.size(), own) == 0;
  b.node(is_own ? operation.substr(own.size()) : operation, inputs, how, "y", is_own ? "com.microsoft" : "");
  b.output("y");
  return refusal_of(b.file());
}

TEST(CompileOnnx, FormsThatAreNotKnownAreRefusedByName) {
  const auto expect = [](const std::string &why, const std::string &operation, const onnx::names &inputs,
                         const import_files::bytes &how = {}) {
    const std::string said = refusal_of_node(operation, inputs, how);
    EXPECT_NE(said.find("node y (" + operation + ")"), std::string::npos) << said;
    EXPECT_NE(said.find(why), std::string::npos) << operation << " " << why << ": " << said;
  };
  const auto equation = [](const std::string &text) { return onnx::of_text("equation", text); };
  expect("takes a diagonal", "Einsum", {"x", "w"}, equation("bii,ij->bj"));
  expect("one or two inputs", "Einsum", {"x", "w", "w"}, equation("bij,jk,kl->bil"));
  expect("more or fewer inputs", "Einsum", {"x"}, equation("bij,jk->bik"));
  expect("differ", "Einsum", {"x", "w"}, equation("bij,bk->ik"));
  expect("has a mode that is not known", "Resize", {"x", "", "", "sizes"}, onnx::of_text("mode", "best"));
  expect("antialias", "Resize", {"x", "", "", "sizes"},
         import_files::add(onnx::of_text("mode", "linear"), onnx::of_integer("antialias", 1)));
  expect("coordinate_transformation_mode", "Resize", {"x", "", "", "sizes"},
         onnx::of_text("coordinate_transformation_mode", "sideways"));
  expect("constant weights", "ConvTranspose", {"x", "kernels"});
  expect("no matrices", "Gemm", {"vector", "w"}, onnx::of_integer("transA", 1));
  expect("stride", "ConvTranspose", {"x", "kernel"}, onnx::of_integers("strides", {0}));
  expect("index that is not in its dimension", "GatherND", {"x", "far"});
  expect("batch_dims", "GatherND", {"x", "i"}, onnx::of_integer("batch_dims", 3));
  expect("index that is not in its dimension", "ScatterND", {"x", "far", "x"});
  expect("more or fewer updates", "ScatterND", {"x", "i", "w"});
  expect("reductions none and add", "ScatterND", {"x", "places", "x"}, onnx::of_text("reduction", "mul"));
  const auto few_bits = [](int64_t k, int64_t n, int64_t block) {
    return import_files::add(onnx::of_integer("K", k), onnx::of_integer("N", n), onnx::of_integer("block_size", block));
  };
  const std::string nbits = "com.microsoft.MatMulNBits";
  expect("constant weights", nbits, {"x", "bytes", "w"}, few_bits(3, 9, 16));
  expect("more or fewer weights", nbits, {"x", "packed", "w"}, few_bits(3, 8, 16));
  expect("more or fewer scales", nbits, {"x", "packed", "kernel"}, few_bits(3, 9, 16));
  expect("not positive", nbits, {"x", "packed", "w"}, few_bits(3, int64_t{1} << 60, 16));
  expect("g_idx", nbits, {"x", "packed", "w", "", "places"}, few_bits(3, 9, 16));
  expect("layout=1", "LSTM", {"x", "gates", "state"}, onnx::of_integer("layout", 1));
  expect("the activation Relu where Tanh is usual", "LSTM", {"x", "gates", "state"},
         onnx::of_texts("activations", {"Sigmoid", "Relu", "Tanh"}));
  expect("peepholes", "LSTM", {"x", "gates", "state", "", "", "", "", "peepholes"});
  expect("different lengths", "LSTM", {"x", "gates", "state", "", "places"});
  expect("constant weights", "LSTM", {"x", "gates", "states"});
  expect("clips", "LSTM", {"x", "gates", "state"}, onnx::of_float("clip", 1));
  expect("weights that do not fit", "GRU", {"x", "gates", "state"});
  expect("position beyond its table", "RotaryEmbedding", {"four", "angles", "angles", "beyond"});
  expect("half of what it rotates", "RotaryEmbedding", {"four", "angles", "angles", "i"},
         onnx::of_integer("rotary_embedding_dim", 2));
}

// Rows of indices for dimensions of 3 and 4: the program refuses what is in none of them by the name of its input, and the
// numbers of the known answers are in both.
TEST(CompileOnnx, IndicesOfSeveralDimensionsAreCompared) {
  builder b;
  b.node("GatherND", {b.input("x", {3, 4, 5}), b.input("points", {2, 6, 2}, published_graphs::of_int64)}, {}, "y");
  b.output("y");
  const auto m = made_of(b.file());
  ASSERT_EQ(m->program.checks.size(), 2u);
  const index_check &all = m->program.checks[0], &known = m->program.checks[1];
  EXPECT_TRUE(all.is_refused && all.input == 1 && all.least == -4 && all.most == 3);
  EXPECT_TRUE(!known.is_refused && known.input == 1 && known.least == -3 && known.most == 2);
}

// Blocks of 4 bits stay as they are where Q4_0 has them: the zero point 8, scales of f16, blocks of 32.
TEST(CompileOnnx, WeightsOfFewBitsKeepTheirNumbers) {
  const auto m = made_of(published_graphs::narrow_weights());
  int n_products = 0;
  for (const graph_node &n : m->model->net.nodes) {
    if (n.operation != "com.microsoft.MatMulNBits") continue;
    const std::string &name = m->model->net.values[static_cast<size_t>(n.inputs[1])].name;
    const auto c = std::find_if(m->program.constants.begin(), m->program.constants.end(),
                                [&](const file_constant &one) { return one.is_matrix && one.source == name; });
    ASSERT_NE(c, m->program.constants.end());
    const tensor t = c->make();
    EXPECT_EQ(t.dtype, name == "q.weight" ? int32_t{HEED_Q4_0} : int32_t{HEED_F32});
    array one;  // rows of the identity
    one.dims = {c->n_in, c->n_in};
    for (int64_t i = 0; i < c->n_in * c->n_in; ++i) one.numbers.push_back(i % (c->n_in + 1) == 0);
    graph_node alone = n;
    alone.inputs.resize(4, no_value);
    std::vector<shared_array> kept;
    std::vector<const array *> given = {&one};
    for (size_t i = 1; i < 4; ++i) {
      kept.push_back(alone.inputs[i] == no_value
                         ? nullptr
                         : numbers_of(m->model->net.values[static_cast<size_t>(alone.inputs[i])]));
      given.push_back(kept.back().get());
    }
    const array expected = evaluate(alone, 23, given)[0];
    const std::vector<float> found = heed_import::floats_of(t);
    for (int32_t i = 0; i < c->n_in; ++i)
      for (int32_t o = 0; o < c->n_out; ++o)
        ASSERT_EQ(static_cast<double>(found[static_cast<size_t>(o * c->n_in + i)]),
                  expected.numbers[static_cast<size_t>(i * c->n_out + o)])
            << name;
    ++n_products;
  }
  EXPECT_EQ(n_products, 3);
  // Positions are compared by the names of their inputs: 11 rows of angles, and 5 rows from the first on.
  for (const int input : {1, 2}) {
    const input_range known = range_of_input(m->program, input);
    EXPECT_EQ(known.least, 0);
    EXPECT_EQ(known.count, input == 1 ? 11 : 7);
  }
}

TEST(CompileOnnx, QuantisedProductsKeepTheirBytes) {
  builder b;
  b.node("DynamicQuantizeMatMul",
         {b.input("x", {2, 3, 16}), b.packed("w", {16, 5}, published_graphs::of_int8),
          b.weight("scales", {5}, 0.002f, 0.01f), "", b.weight("bias", {5})},
         {}, "y", "com.microsoft");
  b.output("y");
  const auto m = made_of(b.file());
  std::map<std::string, int> of = functions_of(m->program);
  EXPECT_EQ(of["heed_graph_linear"], 1);
  EXPECT_EQ(m->program.list.size(), 1u);
  for (const file_constant &c : m->program.constants)
    EXPECT_EQ(c.make().dtype, c.is_matrix ? int32_t{HEED_FILE_I8} : int32_t{HEED_F32});
}

// Between QuantizeLinear and DequantizeLinear only the range is kept; the weights keep their bytes.
TEST(CompileOnnx, QuantisedOperatorsBecomeThoseOfFloats) {
  builder b;
  const auto zero = [&](const std::string &name, uint8_t number) {
    return b.byte(name, published_graphs::of_uint8, number);
  };
  const std::string scale = b.number(0.02f), x_zero = zero("x zero", 128), y_scale = b.number(0.1f),
                    y_zero = zero("y zero", 100);
  const std::string q = b.node("QuantizeLinear", {b.input("x", {3, 16}), scale, x_zero});
  const std::string product = b.node("QLinearMatMul", {q, scale, x_zero, b.packed("w", {16, 8}), b.number(0.01f),
                                                       zero("w zero", 120), y_scale, y_zero});
  b.node("DequantizeLinear", {product, y_scale, y_zero}, {}, "y");
  b.output("y");
  const auto m = made_of(b.file());
  std::map<std::string, int> of = functions_of(m->program);
  EXPECT_EQ(of["heed_graph_linear"], 1);
  EXPECT_EQ(of["heed_graph_combine"], 4) << "two ranges";
  EXPECT_EQ(m->program.list.size(), 5u);
  for (const file_constant &c : m->program.constants)
    EXPECT_EQ(c.make().dtype, c.is_matrix ? int32_t{HEED_FILE_U8} : int32_t{HEED_F32});
}

// As TensorFlow Lite has the attention of KWT: one head without a dimension, turned twice and flattened on both sides of its softmax.
TEST(CompileOnnx, AttentionIsFoundBehindReshapesAndTransposes) {
  for (const bool is_mixed : {false, true}) {
    builder b(13);
    const int64_t n = 9, dim = 8;
    const std::string x = b.input("x", {n, dim});
    const auto layer = [&](const std::string &name) { return b.node("MatMul", {x, b.weight(name, {dim, dim})}); };
    const auto turned = [&](const std::string &of) {
      return b.node("Transpose", {of}, onnx::of_integers("perm", {1, 0}));
    };
    const auto reshaped = [&](const std::string &of, const published_graphs::dims &to) {
      return b.node("Reshape", {of, b.integers(to)});
    };
    const std::string four =
        b.node("Transpose", {reshaped(layer("k"), {1, 1, n, dim})}, onnx::of_integers("perm", {0, 1, 3, 2}));
    const std::string k = turned(turned(reshaped(four, {dim, n}))), v = turned(turned(layer("v")));
    const std::string scores = b.node("Mul", {b.node("MatMul", {layer("q"), k}), b.number(0.25f)});
    // A reshape that is more than dimensions of 1 is none of these.
    const std::string wide = is_mixed ? reshaped(scores, {n, 3, 3}) : reshaped(scores, {1, 1, n, n});
    const std::string weights = b.node("Softmax", {wide}, onnx::of_integer("axis", -1));
    b.node("MatMul", {reshaped(weights, {n, n}), v}, {}, "y");
    b.output("y");
    std::map<std::string, int> of = functions_of(made_of(b.file())->program);
    EXPECT_EQ(of["heed_graph_attend"], is_mixed ? 0 : 1);
    EXPECT_EQ(of["heed_graph_softmax"], is_mixed ? 1 : 0);
    EXPECT_EQ(of["heed_graph_copy"], 0);
  }
}

// Rows of a layer behind attention: x (1, 6, 8), a norm, a product, a sum with x. Then `cut` of both of its readers.
std::map<std::string, heed_compile::shape> dims_of_layer(
    const std::function<std::string(builder &, const std::string &)> &cut, bool is_output = false) {
  builder b;
  const std::string x = b.input("x", {1, 6, 8});
  const std::string q = published_graphs::linear(b, x, "q", 8, 8), k = published_graphs::linear(b, x, "k", 8, 8);
  const std::string turned = b.node("Transpose", {k}, onnx::of_integers("perm", {0, 2, 1}));
  const std::string mask = b.weight("mask", {6, 6});
  const std::string scores = b.node("Add", {b.node("MatMul", {q, turned}), mask});
  const std::string weights = b.node("Softmax", {scores}, onnx::of_integer("axis", -1));
  const std::string a = b.node("Add", {x, b.node("MatMul", {weights, x}, {}, "attended")}, {}, "a");
  const std::string n = b.node("LayerNormalization", {a, b.weight("norm", {8}), b.weight("shift", {8})}, {}, "n");
  const std::string u = b.node("Relu", {published_graphs::linear(b, n, "up", 8, 16)}, {}, "u");
  const std::string y = b.node("Add", {a, published_graphs::linear(b, u, "down", 16, 8)}, {}, "y");
  b.node("Neg", {cut(b, y)}, {}, "z");
  b.output("z");
  if (is_output) b.output("u");
  const auto m = made_of(b.file());
  std::map<std::string, heed_compile::shape> dims;
  for (const graph_node &node : m->net.nodes)
    dims[node.operation + (node.inputs.size() > 1 && m->net.values[size_t(node.inputs[1])].is_constant
                               ? " " + m->net.values[size_t(node.inputs[1])].name
                               : "")] = m->net.values[size_t(node.outputs[0])].dims;
  return dims;
}

TEST(CompileOnnx, RowsThatNothingReadsAreNotComputed) {
  using dims = heed_compile::shape;
  const auto first = [](builder &b, const std::string &y) {
    return b.node("Gather", {y, b.integers({-6}, true)}, onnx::of_integer("axis", 1));
  };
  std::map<std::string, dims> of = dims_of_layer(first);
  EXPECT_EQ(of["heed.linear up.weight"], (dims{1, 1, 16}));
  EXPECT_EQ(of["heed.linear down.weight"], (dims{1, 1, 8}));
  EXPECT_EQ(of["heed.attention"], (dims{1, 1, 8}));
  EXPECT_EQ(of["heed.linear q.weight"], (dims{1, 1, 8}));
  EXPECT_EQ(of["heed.linear k.weight"], (dims{1, 6, 8})) << "each key is seen";
  const auto middle = [](builder &b, const std::string &y) {
    return b.node("Slice", {y, b.integers({2}), b.integers({5}), b.integers({1})});
  };
  of = dims_of_layer(middle);
  EXPECT_EQ(of["heed.linear up.weight"], (dims{1, 3, 16}));
  EXPECT_EQ(of["heed.linear q.weight"], (dims{1, 3, 8}));
  of = dims_of_layer(middle, true);
  EXPECT_EQ(of["heed.linear up.weight"], (dims{1, 6, 16})) << "another output has all of them";
  EXPECT_EQ(of["heed.linear down.weight"], (dims{1, 3, 8}));
  const auto numbers = [](builder &b, const std::string &y) {
    return b.node("Slice", {y, b.integers({2}), b.integers({5}), b.integers({2})});
  };
  EXPECT_EQ(dims_of_layer(numbers)["heed.linear down.weight"], (dims{1, 6, 8})) << "not rows, but numbers of each";
  const auto second = [](builder &b, const std::string &y) {
    return b.node("Slice", {y, b.integers({0}), b.integers({5}), b.integers({1}), b.integers({2})});
  };
  EXPECT_EQ(dims_of_layer(second)["heed.linear down.weight"], (dims{1, 6, 8})) << "every second one";
}

TEST(CompileOnnx, RecurrentLayersAreOneStepForEachDirection) {
  const auto m = made_of(published_graphs::recurrent());
  std::map<std::string, int> of = functions_of(m->program);
  EXPECT_EQ(of["heed_graph_lstm"], 3);
  EXPECT_EQ(of["heed_graph_gru"], 2);
  EXPECT_EQ(of["heed_graph_linear"], 5) << "of the inputs of all steps";
}

// Bytes beside the names of good files are damaged, one at a time: attributes, shapes, indices. Each becomes a program, or is refused.
TEST(CompileOnnx, DamagedGraphsDoNoHarm) {
  const int64_t usual = most_numbers;
  most_numbers = 1 << 16;
  uint32_t seed = 1;
  for (const auto &f : published_graphs::all()) {
    for (int n = 0; n < 40;) {
      seed = seed * 1664525u + 1013904223u;
      const size_t at = 12 + seed % (f.content.size() - 24);
      const auto letter = [](uint8_t byte) { return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'); };
      const auto begin = f.content.begin() + static_cast<ptrdiff_t>(at);
      if (std::count_if(begin - 12, begin + 12, letter) < 6) continue;
      heed_import::bytes damaged = f.content;
      damaged[at] = static_cast<uint8_t>(damaged[at] ^ (1u << (seed >> 29)));
      refusal_of(damaged);
      ++n;
    }
  }
  most_numbers = usual;
}

// The same nodes with other numbers are no gelu and no norm.
TEST(CompileOnnx, WhatIsAlmostAPatternStaysAsItIs) {
  builder b;
  const std::string x = b.input("x", {4, 8});
  const std::string inner = b.node("Erf", {b.node("Div", {x, b.number(1.5f)})});
  b.node("Mul", {b.node("Mul", {x, b.node("Add", {inner, b.number(1)})}), b.number(0.5f)}, {}, "y");
  b.output("y");
  std::map<std::string, int> of = functions_of(made_of(b.file())->program);
  EXPECT_EQ(of["heed_graph_activation"], 0);
  EXPECT_EQ(of["HEED_GRAPH_ERF"], 1);
  builder c;
  const std::string z = c.input("x", {4, 8});
  const std::string mean = c.node("ReduceMean", {z}, onnx::of_integers("axes", {0}));  // of columns
  const std::string difference = c.node("Sub", {z, mean}), square = c.node("Mul", {difference, difference});
  const std::string variance = c.node("ReduceMean", {square}, onnx::of_integers("axes", {-1}));
  c.node("Div", {difference, c.node("Sqrt", {c.node("Add", {variance, c.number(1e-5f)})})}, {}, "y");
  c.output("y");
  of = functions_of(made_of(c.file())->program);
  EXPECT_EQ(of["heed_layer_norm"], 0);
  EXPECT_EQ(of["heed_rms_norm"], 1) << "of the differences";
}

}  // namespace
