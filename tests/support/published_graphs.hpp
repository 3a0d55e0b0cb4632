// Small ONNX graphs as exporters write them, with weights that look random. SPDX-License-Identifier: MIT
#ifndef HEED_TEST_PUBLISHED_GRAPHS_HPP
#define HEED_TEST_PUBLISHED_GRAPHS_HPP

#include <cmath>

#include "support/graph_builder.hpp"
#include "support/operator_graphs.hpp"

namespace published_graphs {

// ------------------------------------------------------------------------------------------- parts as torch exports them

inline std::string linear(builder &b, const std::string &x, const std::string &name, int64_t n_in, int64_t n_out) {
  const std::string w = b.weight(name + ".weight", {n_in, n_out}), bias = b.weight(name + ".bias", {n_out});
  return b.node("Add", {bias, b.node("MatMul", {x, w})});
}

inline std::string norm_in_pieces(builder &b, const std::string &x, const std::string &name, int64_t dim) {
  const std::string mean = b.node("ReduceMean", {x}, onnx::of_integers("axes", {-1}));
  const std::string difference = b.node("Sub", {x, mean}), square = b.node("Pow", {difference, b.number(2)});
  const std::string variance = b.node("ReduceMean", {square}, onnx::of_integers("axes", {-1}));
  const std::string root = b.node("Sqrt", {b.node("Add", {variance, b.number(1e-5f)})});
  const std::string normed = b.node("Div", {difference, root});
  const std::string scaled = b.node("Mul", {normed, b.weight(name + ".weight", {dim}, 0.2f, 1)});
  return b.node("Add", {scaled, b.weight(name + ".bias", {dim}, 0.1f)});
}

inline std::string rms_norm_in_pieces(builder &b, const std::string &x, const std::string &name, int64_t dim) {
  const std::string square = b.node("Pow", {x, b.number(2)});
  const std::string mean = b.node("ReduceMean", {square}, onnx::of_integers("axes", {-1}));
  const std::string root = b.node("Sqrt", {b.node("Add", {mean, b.number(1e-6f)})});
  const std::string normed = b.node("Mul", {x, b.node("Reciprocal", {root})});
  return b.node("Mul", {b.weight(name + ".weight", {dim}, 0.2f, 1), normed});
}

inline std::string gelu_in_pieces(builder &b, const std::string &x) {
  const std::string inner = b.node("Erf", {b.node("Div", {x, b.number(1.41421354f)})});
  return b.node("Mul", {b.node("Mul", {x, b.node("Add", {inner, b.number(1)})}), b.number(0.5f)});
}

inline std::string gelu_tanh_in_pieces(builder &b, const std::string &x) {
  const std::string cube = b.node("Mul", {b.node("Pow", {x, b.number(3)}), b.number(0.044715f)});
  const std::string inner = b.node("Mul", {b.node("Add", {x, cube}), b.number(0.797884583f)});
  const std::string factor = b.node("Add", {b.node("Tanh", {inner}), b.number(1)});
  return b.node("Mul", {b.node("Mul", {x, b.number(0.5f)}), factor});
}

// (1, n, heads * dim) as (1, heads, n, dim), or turned.
inline std::string heads_of(builder &b, const std::string &x, int64_t n, int64_t heads, int64_t dim, const dims &perm) {
  const std::string four = b.node("Reshape", {x, b.integers({1, n, heads, dim})});
  return b.node("Transpose", {four}, onnx::of_integers("perm", perm));
}

// Mask: empty, or what is added to the scores.
inline std::string self_attention(builder &b, const std::string &x, const std::string &name, int64_t n, int64_t heads,
                                  int64_t dim, const std::string &mask) {
  const int64_t all = heads * dim;
  const std::string q = heads_of(b, linear(b, x, name + ".query", all, all), n, heads, dim, {0, 2, 1, 3});
  const std::string k = heads_of(b, linear(b, x, name + ".key", all, all), n, heads, dim, {0, 2, 3, 1});
  const std::string v = heads_of(b, linear(b, x, name + ".value", all, all), n, heads, dim, {0, 2, 1, 3});
  std::string scores = b.node("Div", {b.node("MatMul", {q, k}), b.number(std::sqrt(static_cast<float>(dim)))});
  if (!mask.empty()) scores = b.node("Add", {scores, mask});
  const std::string weights = b.node("Softmax", {scores}, onnx::of_integer("axis", -1));
  const std::string context =
      b.node("Transpose", {b.node("MatMul", {weights, v})}, onnx::of_integers("perm", {0, 2, 1, 3}));
  return linear(b, b.node("Reshape", {context, b.integers({1, n, all})}), name + ".output", all, all);
}

// BERT with its mask, token types, pooler and classes. Norms and gelu are in pieces.
inline bytes bert() {
  builder b(14);
  const int64_t n = 12, heads = 4, dim = 8, all = 32;
  const std::string ids = b.input("input_ids", {1, n}, of_int64), mask = b.input("attention_mask", {1, n}, of_int64);
  const std::string types = b.input("token_type_ids", {1, n}, of_int64);
  const std::string words = b.node("Gather", {b.weight("embeddings.word", {99, all}), ids});
  const std::string kinds = b.node("Gather", {b.weight("embeddings.type", {2, all}), types});
  std::string x = b.node("Add", {b.node("Add", {words, kinds}), b.weight("embeddings.position", {1, n, all})});
  x = norm_in_pieces(b, x, "embeddings.norm", all);
  const std::string wide = b.node("Cast", {b.node("Unsqueeze", {mask, b.integers({1, 2})})}, onnx::of_integer("to", 1));
  const std::string added = b.node("Mul", {b.node("Sub", {b.number(1), wide}), b.number(-3.40282347e+38f)});
  for (int layer = 0; layer < 2; ++layer) {
    const std::string name = "layer." + std::to_string(layer);
    x = norm_in_pieces(b, b.node("Add", {self_attention(b, x, name, n, heads, dim, added), x}), name + ".norm1", all);
    const std::string inner = gelu_in_pieces(b, linear(b, x, name + ".intermediate", all, 64));
    x = norm_in_pieces(b, b.node("Add", {linear(b, inner, name + ".down", 64, all), x}), name + ".norm2", all);
  }
  const std::string first = b.node("Gather", {x, b.integers({0}, true)}, onnx::of_integer("axis", 1));
  const std::string pooled =
      b.node("Tanh", {b.node("Gemm", {first, b.weight("pooler.weight", {all, all}), b.weight("pooler.bias", {all})},
                             onnx::of_integer("transB", 1))});
  b.node("Gemm", {pooled, b.weight("classes.weight", {3, all}), b.weight("classes.bias", {3})},
         onnx::of_integer("transB", 1), "logits");
  b.output("logits");
  return b.file();
}

// ViT: patches by a convolution, a class token, norms as one operator, scores scaled on both sides.
inline bytes vit() {
  builder b(17);
  const int64_t heads = 2, dim = 16, all = 32, n = 17;
  const std::string pixels = b.input("pixel_values", {1, 3, 16, 16});
  const std::string patches =
      b.node("Conv", {pixels, b.weight("patches.weight", {all, 3, 4, 4}), b.weight("patches.bias", {all})},
             add(onnx::of_integers("strides", {4, 4}), onnx::of_integers("kernel_shape", {4, 4})));
  const std::string rows = b.node("Transpose", {b.node("Reshape", {patches, b.integers({1, all, 16})})},
                                  onnx::of_integers("perm", {0, 2, 1}));
  std::string x = b.node("Concat", {b.weight("class_token", {1, 1, all}), rows}, onnx::of_integer("axis", 1));
  x = b.node("Add", {x, b.weight("positions", {1, n, all})});
  const auto norm = [&](const std::string &of, const std::string &name) {
    return b.node("LayerNormalization",
                  {of, b.weight(name + ".weight", {all}, 0.2f, 1), b.weight(name + ".bias", {all})},
                  onnx::of_integer("axis", -1));
  };
  for (int layer = 0; layer < 2; ++layer) {
    const std::string name = "blocks." + std::to_string(layer), own = norm(x, name + ".norm1");
    const std::string qkv =
        b.node("Reshape", {linear(b, own, name + ".qkv", all, 3 * all), b.integers({1, n, 3, heads, dim})});
    const std::string turned = b.node("Transpose", {qkv}, onnx::of_integers("perm", {2, 0, 3, 1, 4}));
    const auto part = [&](int64_t i) {
      return b.node("Gather", {turned, b.integers({i}, true)}, onnx::of_integer("axis", 0));
    };
    const std::string scale = b.number(std::sqrt(1 / std::sqrt(static_cast<float>(dim))));
    const std::string q = b.node("Mul", {part(0), scale});
    const std::string k =
        b.node("Mul", {b.node("Transpose", {part(1)}, onnx::of_integers("perm", {0, 1, 3, 2})), scale});
    const std::string weights = b.node("Softmax", {b.node("MatMul", {q, k})}, onnx::of_integer("axis", -1));
    const std::string context =
        b.node("Transpose", {b.node("MatMul", {weights, part(2)})}, onnx::of_integers("perm", {0, 2, 1, 3}));
    x = b.node("Add", {x, linear(b, b.node("Reshape", {context, b.integers({1, n, all})}), name + ".proj", all, all)});
    const std::string inner = gelu_in_pieces(b, linear(b, norm(x, name + ".norm2"), name + ".fc1", all, 64));
    x = b.node("Add", {x, linear(b, inner, name + ".fc2", 64, all)});
  }
  const std::string first = b.node("Slice", {norm(x, "norm"), b.integers({0}), b.integers({1}), b.integers({1})});
  b.node("MatMul", {b.node("Squeeze", {first, b.integers({1})}), b.weight("head", {all, 10})}, {}, "logits");
  b.output("logits");
  return b.file();
}

// A decoder: causal mask, RMS norms, rotations in pieces, grouped keys, a gated layer; the last projection is the table of tokens.
inline bytes gpt() {
  builder b(17);
  const int64_t n = 10, heads = 4, kv_heads = 2, dim = 8, all = 32, n_tokens = 61;
  const std::string ids = b.input("tokens", {1, n}, of_int64);
  std::vector<float> table, turned(static_cast<size_t>(n_tokens * all)), hides, cosines, sines;
  for (int64_t i = 0; i < n_tokens * all; ++i) table.push_back(static_cast<float>(i * 37 % 101 - 50) / 90.0f);
  for (int64_t t = 0; t < n_tokens; ++t)
    for (int64_t i = 0; i < all; ++i)
      turned[static_cast<size_t>(i * n_tokens + t)] = table[static_cast<size_t>(t * all + i)];
  for (int64_t q = 0; q < n; ++q)
    for (int64_t k = 0; k < n; ++k) hides.push_back(k > q ? -3.40282347e+38f : 0.0f);
  for (int64_t q = 0; q < n; ++q)
    for (int64_t i = 0; i < dim; ++i) {
      const double angle = static_cast<double>(q) *
                           std::pow(10000.0, -2.0 * static_cast<double>(i % (dim / 2)) / static_cast<double>(dim));
      cosines.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(std::sin(angle)));
    }
  const std::string cosine = b.floats("cosines", {1, 1, n, dim}, cosines),
                    sine = b.floats("sines", {1, 1, n, dim}, sines);
  const std::string mask = b.floats("mask", {1, 1, n, n}, hides);
  std::string x = b.node("Gather", {b.floats("tokens.weight", {n_tokens, all}, table), ids});
  const auto rotated = [&](const std::string &of) {
    const auto half = [&](int64_t from, int64_t to) {
      return b.node("Slice", {of, b.integers({from}), b.integers({to}), b.integers({3})});
    };
    const std::string other =
        b.node("Concat", {b.node("Neg", {half(dim / 2, dim)}), half(0, dim / 2)}, onnx::of_integer("axis", -1));
    return b.node("Add", {b.node("Mul", {of, cosine}), b.node("Mul", {other, sine})});
  };
  const auto repeated = [&](const std::string &of) {
    const std::string five = b.node("Unsqueeze", {of, b.integers({2})});
    const std::string wide = b.node("Expand", {five, b.integers({1, kv_heads, heads / kv_heads, n, dim})});
    return b.node("Reshape", {wide, b.integers({1, heads, n, dim})});
  };
  const auto product = [&](const std::string &of, const std::string &name, int64_t n_in, int64_t n_out) {
    return b.node("MatMul", {of, b.weight(name, {n_in, n_out})});
  };
  for (int layer = 0; layer < 2; ++layer) {
    const std::string name = "layers." + std::to_string(layer), own = rms_norm_in_pieces(b, x, name + ".norm1", all);
    const std::string q = rotated(heads_of(b, product(own, name + ".q", all, all), n, heads, dim, {0, 2, 1, 3}));
    const std::string k =
        rotated(heads_of(b, product(own, name + ".k", all, kv_heads * dim), n, kv_heads, dim, {0, 2, 1, 3}));
    const std::string v = heads_of(b, product(own, name + ".v", all, kv_heads * dim), n, kv_heads, dim, {0, 2, 1, 3});
    const std::string turned_k = b.node("Transpose", {repeated(k)}, onnx::of_integers("perm", {0, 1, 3, 2}));
    const std::string scores =
        b.node("Mul", {b.node("MatMul", {q, turned_k}), b.number(1 / std::sqrt(static_cast<float>(dim)))});
    const std::string weights = b.node("Softmax", {b.node("Add", {scores, mask})}, onnx::of_integer("axis", -1));
    const std::string context =
        b.node("Transpose", {b.node("MatMul", {weights, repeated(v)})}, onnx::of_integers("perm", {0, 2, 1, 3}));
    x = b.node("Add", {x, product(b.node("Reshape", {context, b.integers({1, n, all})}), name + ".o", all, all)});
    const std::string inner = rms_norm_in_pieces(b, x, name + ".norm2", all),
                      gate = product(inner, name + ".gate", all, 48);
    const std::string silu = b.node("Mul", {gate, b.node("Sigmoid", {gate})});
    x = b.node("Add",
               {x, product(b.node("Mul", {silu, product(inner, name + ".up", all, 48)}), name + ".down", 48, all)});
  }
  b.node("MatMul", {rms_norm_in_pieces(b, x, "norm", all), b.floats("onnx::MatMul_900", {all, n_tokens}, turned)}, {},
         "logits");
  b.output("logits");
  return b.file();
}

// Convolutions of pictures and of time, groups, pools, batch norm, padding, statistics: what stands around transformers.
inline bytes convolutions() {
  builder b(17);
  const std::string picture = b.input("picture", {1, 3, 13, 11});
  const auto conv = [&](const std::string &x, const std::string &name, const dims &w, int64_t group,
                        const dims &strides, const dims &pads) {
    return b.node(
        "Conv", {x, b.weight(name + ".weight", w), b.weight(name + ".bias", {w[0]})},
        add(onnx::of_integers("strides", strides), onnx::of_integers("pads", pads), onnx::of_integer("group", group)));
  };
  std::string x = conv(picture, "conv1", {8, 3, 3, 3}, 1, {1, 1}, {1, 1, 1, 1});
  x = b.node("BatchNormalization", {x, b.weight("bn.weight", {8}, 0.2f, 1), b.weight("bn.bias", {8}),
                                    b.weight("bn.mean", {8}), b.weight("bn.var", {8}, 0.3f, 1)});
  x = b.node("Relu", {x});
  x = b.node("MaxPool", {x}, add(onnx::of_integers("kernel_shape", {2, 2}), onnx::of_integers("strides", {2, 2})));
  x = conv(x, "depthwise", {8, 1, 3, 3}, 8, {1, 1}, {1, 1, 1, 1});
  x = b.node("Clip", {x, b.number(0), b.number(6)});
  // A block as networks for phones have it: a hard swish in pieces between learned scales, and a residual connection.
  std::string wide = conv(x, "expand", {20, 8, 1, 1}, 1, {1, 1}, {0, 0, 0, 0});
  wide = b.node("Add", {b.node("Mul", {b.number(0.8f), wide}), b.weight("shift", {20, 1, 1})});
  const std::string inside = b.node("Clip", {b.node("Add", {wide, b.number(3)}), b.number(0), b.number(6)});
  wide = b.node("Div", {b.node("Mul", {wide, inside}), b.number(6)});
  const std::string filtered = conv(wide, "depthwise2", {20, 1, 3, 3}, 20, {1, 1}, {1, 1, 1, 1});
  const std::string gate = b.node(
      "Sigmoid", {conv(b.node("GlobalAveragePool", {filtered}), "gate", {20, 20, 1, 1}, 1, {1, 1}, {0, 0, 0, 0})});
  wide = b.node("Add", {wide, b.node("Mul", {filtered, gate})});
  x = b.node("Concat", {x, wide}, onnx::of_integer("axis", 1));
  x = conv(x, "pointwise", {12, 28, 1, 1}, 1, {1, 1}, {0, 0, 0, 0});
  x = b.node("AveragePool", {x},
             add(onnx::of_integers("kernel_shape", {3, 3}), onnx::of_integers("strides", {1, 1}),
                 onnx::of_integers("pads", {1, 1, 1, 1})));
  const std::string flat = b.node("Reshape", {x, b.integers({1, 12, 30})});
  std::string t = conv(flat, "time1", {16, 12, 3}, 1, {1}, {1, 1});
  t = b.node("LeakyRelu", {t});
  t = conv(t, "time2", {16, 16, 4}, 1, {2}, {0, 0});
  t = b.node("InstanceNormalization", {t, b.weight("in.weight", {16}, 0.2f, 1), b.weight("in.bias", {16})});
  const std::string mean = b.node("ReduceMean", {t}, onnx::of_integers("axes", {2}));
  const std::string deviation =
      b.node("Sqrt", {b.node("ReduceMean", {b.node("Mul", {t, t})}, onnx::of_integers("axes", {2}))});
  std::string pooled = b.node("Flatten", {b.node("Concat", {mean, deviation}, onnx::of_integer("axis", 1))});
  pooled = b.node("Exp", {b.node("Neg", {b.node("Abs", {pooled})})});
  b.node("Gemm", {pooled, b.weight("head.weight", {5, 32}), b.weight("head.bias", {5})}, onnx::of_integer("transB", 1),
         "scores");
  b.node("ArgMax", {"scores"}, onnx::of_integer("axis", 1), "best");
  b.output("scores");
  b.output("best");
  return b.file();
}

struct file {
  std::string name;
  bytes content;
};
inline std::vector<file> all() {
  return {{"bert_graph", bert()},         {"vit_graph", vit()},
          {"gpt_graph", gpt()},           {"conv_graph", convolutions()},
          {"einsum_graph", einsums()},    {"grow_graph", growing_pictures()},
          {"places_graph", places()},     {"narrow_graph", narrow_weights()},
          {"embedded_graph", embedded()}, {"recurrent_graph", recurrent()},
          {"formulas_graph", formulas()}, {"quantized_graph", quantized_rows()}};
}

}  // namespace published_graphs

#endif
