// heed_compile on ONNX graphs: which functions of heed their patterns become, where values lie, and what is refused.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <unistd.h>

#include "onnx/steps.hpp"
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
  m->net = fused(m->model->net);
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
