// Small ONNX graphs of operators that become others: each has all of a kind. See published_graphs.hpp. SPDX-License-Identifier: MIT
#ifndef HEED_TEST_OPERATOR_GRAPHS_HPP
#define HEED_TEST_OPERATOR_GRAPHS_HPP

#include "support/graph_builder.hpp"

namespace published_graphs {

// Attention by Einsum, as vision transformers have it, and the other forms: outer products, sums, "...", constants on the left.
inline bytes einsums() {
  builder b(17);
  const int64_t n = 6, heads = 2, dim = 4, all = heads * dim;
  const auto einsum = [&](const std::string &equation, const onnx::names &inputs) {
    return b.node("Einsum", inputs, onnx::of_text("equation", equation));
  };
  const std::string x = b.input("x", {1, n, all});
  const auto rows = [&](const std::string &name) {
    return einsum("bnc,hcd->bnhd", {x, b.weight(name, {heads, all, dim})});
  };
  const std::string q = rows("q.weight"), k = rows("k.weight"), v = rows("v.weight");
  const std::string scores = b.node("Mul", {einsum("bqhd, bkhd -> bhqk", {q, k}), b.number(0.5f)});
  const std::string weights = b.node("Softmax", {scores}, onnx::of_integer("axis", -1));
  std::string y = einsum("bhqk,bkhd->bqhd", {weights, v});
  y = einsum("bnhd,hdc->bnc", {y, b.weight("o.weight", {heads, dim, all})});
  y = b.node("Add", {x, y});
  const std::string flat = b.node("Reshape", {y, b.integers({n, all})});
  const std::string turned = einsum("oi,ni", {b.weight("left", {5, all}), flat});  // (n, o)
  const std::string outer = einsum("no,nc->nco", {turned, flat});
  const std::string sums = einsum("...co->c...", {outer});  // over the last letter
  const std::string dots =
      einsum("...i,ij->...j", {b.node("Unsqueeze", {sums, b.integers({0})}), b.weight("dots", {n, 3})});
  b.node("Tanh", {einsum("abc,bd->dca", {dots, b.weight("last", {all, 4})})}, {}, "y");
  b.output("y");
  return b.file();
}

// Pictures that grow: all ways of Resize, and convolutions that go back.
inline bytes growing_pictures() {
  builder b(18);
  std::string x = b.input("x", {1, 4, 5, 6});
  const auto resized = [&](const std::string &of, const std::string &mode, const std::string &coordinates,
                           const dims &sizes, const bytes &more = {}) {
    return b.node("Resize", {of, "", "", b.integers(sizes)},
                  add(onnx::of_text("mode", mode), onnx::of_text("coordinate_transformation_mode", coordinates), more));
  };
  const auto back = [&](const std::string &of, const std::string &name, const dims &w, const bytes &more) {
    const std::string bias = b.weight(name + ".bias", {4});
    return b.node("ConvTranspose", {of, b.weight(name + ".weight", w), bias}, more);
  };
  onnx::names pooled;
  const auto pool = [&](const std::string &of) {
    pooled.push_back(b.node("Flatten", {b.node("GlobalMaxPool", {b.node("Tanh", {of})})}));
    pooled.push_back(b.node("Flatten", {b.node("GlobalAveragePool", {of})}));
  };
  pool(resized(x, "linear", "half_pixel", {1, 4, 10, 9}));
  pool(resized(x, "linear", "align_corners", {1, 4, 3, 12}));
  pool(resized(x, "linear", "asymmetric", {1, 4, 7, 6}));
  pool(resized(x, "cubic", "pytorch_half_pixel", {1, 4, 1, 11}));
  pool(resized(x, "cubic", "half_pixel_symmetric", {1, 4, 8, 4}, onnx::of_integer("exclude_outside", 1)));
  pool(resized(x, "nearest", "tf_half_pixel_for_nn", {7, 11},
               add(onnx::of_integers("axes", {2, 3}), onnx::of_text("nearest_mode", "ceil"))));
  pool(b.node("Resize",
              {x, b.floats("region", {8}, {0, 0, 0.2f, -0.5f, 1, 1, 0.9f, 1.1f}), "", b.integers({1, 4, 4, 5})},
              add(onnx::of_text("mode", "linear"), onnx::of_float("extrapolation_value", 0.25f),
                  onnx::of_text("coordinate_transformation_mode", "tf_crop_and_resize"))));
  pool(b.node("Resize", {x, "", b.floats("scales", {4}, {1, 1, 2, 1.5f})}));
  pool(back(x, "back1", {4, 4, 2, 2}, onnx::of_integers("strides", {2, 2})));
  pool(back(x, "back2", {4, 4, 3, 3},
            add(onnx::of_integers("strides", {2, 3}), onnx::of_integers("pads", {1, 1, 0, 2}),
                onnx::of_integers("output_padding", {1, 2}))));
  pool(back(x, "back3", {4, 2, 3, 2}, add(onnx::of_integers("dilations", {2, 3}), onnx::of_integer("group", 2))));
  pool(back(x, "back4", {4, 4, 2, 5},
            add(onnx::of_integers("strides", {3, 2}), onnx::of_text("auto_pad", "SAME_LOWER"))));
  const std::string line = b.node("Reshape", {x, b.integers({1, 4, 30})});
  pool(b.node("ConvTranspose", {line, b.weight("line.weight", {4, 4, 4})},
              add(onnx::of_integers("strides", {2}), onnx::of_integers("output_shape", {57}))));
  b.node("Tanh", {b.node("Concat", pooled, onnx::of_integer("axis", 1))}, {}, "y");
  b.output("y");
  return b.file();
}

// Places that are constants and places that are inputs.
inline bytes places() {
  builder b(17);
  const std::string x = b.input("x", {3, 4, 5}), points = b.input("points", {2, 6, 2}, of_int64),
                    rows = b.input("rows", {3, 1}, of_int64), kinds = b.input("kinds", {2, 3}, of_int64);
  const std::string hot = b.node("OneHot", {kinds, b.integers({4}, true), b.floats("off and on", {2}, {-0.5f, 2})});
  const std::string across = b.node("OneHot", {b.node("Neg", {kinds}), b.integers({4}), b.floats("two", {2}, {0, 1})},
                                    onnx::of_integer("axis", 0));
  const std::string found = b.node("GatherND", {x, points});  // (2, 6, 5)
  const std::string whole = b.node("GatherND", {x, rows});    // (3, 4, 5)
  const std::string table = b.node("GatherND", {b.weight("table", {9, 5}), rows});
  const std::string own = b.node("GatherND", {found, b.node("Reshape", {kinds, b.integers({2, 3, 1})})},
                                 onnx::of_integer("batch_dims", 1));                                  // (2, 3, 5)
  const std::string known = b.node("GatherND", {x, b.table("known", {3, 2}, {0, 1, 2, -1, -2, 3})});  // (3, 5)
  std::string y =
      b.node("ScatterND", {b.node("Add", {x, whole}), b.table("written", {4, 2}, {0, 1, -1, 2, 1, 1, 0, 1}),
                           b.node("Concat", {known, b.weight("row", {1, 5})}, onnx::of_integer("axis", 0))});
  y = b.node("ScatterND", {y, b.table("added", {2, 1}, {2, 0}), b.weight("updates", {2, 4, 5})},
             onnx::of_text("reduction", "add"));
  y = b.node("ScatterND", {y, b.node("Slice", {points, b.integers({0}), b.integers({1}), b.integers({0})}),
                           b.weight("points' updates", {1, 6, 5})});
  y = b.node("ScatterElements",
             {y, b.node("Reshape", {kinds, b.integers({1, 3, 2})}), b.weight("kinds' updates", {1, 3, 2})},
             add(onnx::of_integer("axis", 2), onnx::of_text("reduction", "add")));
  y = b.node("ScatterND", {y, b.table("twice", {3, 2}, {0, 0, 2, 3, 0, 0}), b.weight("more", {3, 5})},
             onnx::of_text("reduction", "add"));
  onnx::names flat;
  for (const std::string &one : {y, hot, across, found, own, table})
    flat.push_back(b.node("Reshape", {one, b.integers({1, -1})}));
  b.node("Tanh", {b.node("Concat", flat, onnx::of_integer("axis", 1))}, {}, "y");
  b.output("y");
  return b.file();
}

// As ONNX Runtime writes language models: weights of 4 and 8 bits in blocks, and rotations.
inline bytes narrow_weights() {
  builder b(23);
  const int64_t n = 5, all = 64, heads = 4;
  const std::string x = b.input("x", {1, n, all}), positions = b.input("positions", {1, n}, of_int64),
                    first = b.input("first", {1}, of_int64);
  const auto product = [&](const std::string &of, const std::string &name, int64_t n_in, int64_t n_out, int64_t block,
                           int64_t bits, bool has_zeros, const std::string &bias) {
    const int64_t n_blocks = (n_in + block - 1) / block;
    std::vector<float> scales;
    for (int64_t i = 0; i < n_out * n_blocks; ++i)
      scales.push_back(static_cast<float>(i % 13 + 3) / (bits == 8 ? 8192.0f : 512.0f));
    const std::string w = b.packed(name, {n_out, n_blocks, block * bits / 8}),
                      of_blocks = b.floats(name + ".scales", {n_out * n_blocks}, scales),
                      zeros = has_zeros ? b.packed(name + ".zeros", {n_out * ((n_blocks * bits + 7) / 8)}) : "";
    return b.node("MatMulNBits", {of, w, of_blocks, zeros, "", bias},
                  add(onnx::of_integer("K", n_in), onnx::of_integer("N", n_out), onnx::of_integer("bits", bits),
                      onnx::of_integer("block_size", block)),
                  "", "com.microsoft");
  };
  const auto angles = [&](const std::string &name, int64_t half) { return b.weight(name, {11, half}, 1.0f); };
  const std::string q = product(x, "q.weight", all, all, 32, 4, false, "");
  const std::string k = product(x, "k.weight", all, 48, 16, 4, true, b.weight("k.bias", {48}));
  const std::string v = product(x, "v.weight", all, 24, 128, 8, true, "");
  const std::string turned_q = b.node("RotaryEmbedding", {q, angles("cos", 8), angles("sin", 8), positions},
                                      onnx::of_integer("num_heads", heads));
  const std::string turned_k = b.node("RotaryEmbedding", {k, first, angles("cos 4", 4), angles("sin 4", 4)},
                                      add(onnx::of_integer("num_heads", heads), onnx::of_integer("interleaved", 1),
                                          onnx::of_integer("rotary_embedding_dim", 8)),
                                      "", "com.microsoft");
  const std::string four = b.node("Transpose", {b.node("Reshape", {v, b.integers({1, n, heads, 6})})},
                                  onnx::of_integers("perm", {0, 2, 1, 3}));
  const std::string turned_v =
      b.node("RotaryEmbedding", {four, b.weight("cos 3", {1, n, 3}), b.weight("sin 3", {1, n, 3})});
  const std::string rows = b.node("Concat", {turned_q, turned_k, b.node("Reshape", {turned_v, b.integers({1, n, 24})})},
                                  onnx::of_integer("axis", 2));
  b.node("Tanh", {rows}, {}, "y");
  b.output("y");
  return b.file();
}

// Linear layers as ONNX Runtime's quantization tool writes them: rows become uint8 on their way, weights are bytes with a zero point.
inline bytes quantized_rows() {
  builder b(14);
  const int64_t n = 9, all = 72, inner = 100;
  const auto linear = [&](const std::string &x, const std::string &name, int64_t n_in, int64_t n_out, uint64_t type,
                          uint8_t zero) {
    const std::vector<std::string> rows = b.parts("DynamicQuantizeLinear", {x}, 3);
    const std::string w = b.packed(name + "_quantized", {n_in, n_out}, type),
                      z = b.byte(name + "_zero_point", type, zero);
    const std::string sums = b.node("MatMulInteger", {rows[0], w, rows[2], z});
    const std::string scale = b.node("Mul", {rows[1], b.floats(name + "_scale", {}, {0.002f})});
    const std::string floats = b.node("Cast", {sums}, onnx::of_integer("to", of_floats));
    return b.node("Add", {b.weight(name + ".bias", {n_out}), b.node("Mul", {floats, scale})});
  };
  std::string x = b.input("x", {1, n, all});
  x = b.node("Relu", {linear(x, "up.weight", all, inner, of_uint8, 119)});
  x = b.node("Add", {x, b.node("Tanh", {linear(x, "middle.weight", inner, inner, of_int8, 0)})});
  const std::string rows = linear(x, "down.weight", inner, 10, of_int8, 3);
  b.node("Tanh", {b.node("Slice", {rows, b.integers({3}), b.integers({8}), b.integers({1})})}, {}, "y");
  b.output("y");
  return b.file();
}

// A BERT as ONNX Runtime writes it: embeddings with their norm, masks that are the lengths of texts.
inline bytes embedded() {
  builder b(14);
  const int64_t n = 7, all = 16;
  const std::string ids = b.input("ids", {2, n}, of_int64), kinds = b.input("kinds", {2, n}, of_int64),
                    mask = b.input("mask", {2, n}, of_int64);
  const std::vector<std::string> rows =
      b.parts("EmbedLayerNormalization",
              {ids, kinds, b.weight("words", {23, all}), b.weight("places", {9, all}), b.weight("segments", {2, all}),
               b.weight("norm.weight", {all}, 0.2f, 1), b.weight("norm.bias", {all}), mask},
              2, onnx::of_float("epsilon", 1e-6f), "com.microsoft");
  const std::string context =
      b.node("Attention", {rows[0], b.weight("qkv.weight", {all, 3 * all}), b.weight("qkv.bias", {3 * all}), rows[1]},
             onnx::of_integer("num_heads", 2), "", "com.microsoft");
  const std::string kept = b.node("Add", {context, rows[0]});
  const std::string inner =
      b.node("FastGelu", {b.node("MatMul", {kept, b.weight("up", {all, 8})}), b.weight("up.bias", {8})}, {}, "",
             "com.microsoft");
  b.node("Tanh", {b.node("MatMul", {inner, b.weight("down", {8, 3})})}, {}, "y");
  b.output("y");
  return b.file();
}

// Recurrent layers of a sound: both directions, both places of the reset gate, states that come in and go out.
inline bytes recurrent() {
  builder b(17);
  const int64_t n = 7, batch = 2, n_in = 6, hidden = 5;
  const std::string x = b.input("x", {n, batch, n_in}), before = b.input("before", {1, batch, hidden});
  const auto layer = [&](const std::string &operation, const std::string &name, const std::string &of, int64_t from,
                         int64_t directions, const std::string &state, const std::string &way, const bytes &more = {}) {
    const int64_t gates = operation == "LSTM" ? 4 * hidden : 3 * hidden;
    onnx::names inputs = {of,
                          b.weight(name + ".w", {directions, gates, from}),
                          b.weight(name + ".r", {directions, gates, hidden}),
                          b.weight(name + ".b", {directions, 2 * gates}),
                          "",
                          state};
    if (operation == "LSTM") inputs.push_back(state);
    return b.parts(operation, inputs, operation == "LSTM" ? 3 : 2,
                   add(onnx::of_text("direction", way), onnx::of_integer("hidden_size", hidden), more));
  };
  const auto both = layer("LSTM", "lstm", x, n_in, 2, "", "bidirectional");
  const std::string rows = b.node("Reshape", {b.node("Transpose", {both[0]}, onnx::of_integers("perm", {0, 2, 1, 3})),
                                              b.integers({n, batch, 2 * hidden})});
  const auto first =
      layer("GRU", "gru1", rows, 2 * hidden, 1, before, "forward", onnx::of_integer("linear_before_reset", 1));
  const auto second = layer("GRU", "gru2", b.node("Squeeze", {first[0], b.integers({1})}), hidden, 1, "", "reverse");
  const auto last =
      layer("LSTM", "lstm2", b.node("Squeeze", {second[0], b.integers({1})}), hidden, 1, before, "reverse");
  onnx::names flat;
  for (const std::string &one : {last[0], last[1], last[2], second[1], first[1], both[2], both[1]})
    flat.push_back(b.node("Reshape", {one, b.integers({1, -1})}));
  b.node("Tanh", {b.node("Concat", flat, onnx::of_integer("axis", 1))}, {}, "y");
  b.output("y");
  return b.file();
}

// Operators that are a formula of others.
inline bytes formulas() {
  builder b(18);
  const std::string x = b.input("x", {2, 8, 2, 4}), three = b.node("Mul", {x, b.number(3)});
  onnx::names flat;
  const auto keep = [&](const std::string &one) { flat.push_back(b.node("Reshape", {one, b.integers({1, -1})})); };
  const auto own = [&](const std::string &operation, const onnx::names &inputs, const bytes &how) {
    keep(b.node(operation, inputs, how, "", "com.microsoft"));
  };
  for (const std::string one : {"Elu", "Celu"}) keep(b.node(one, {three}, onnx::of_float("alpha", 0.7f)));
  for (const std::string one : {"Selu", "Softsign", "Mish", "ThresholdedRelu"}) keep(b.node(one, {three}));
  keep(b.node("Shrink", {three}, add(onnx::of_float("lambd", 1.5f), onnx::of_float("bias", 0.5f))));
  keep(b.node("Tan", {x}));
  keep(b.node("Mean", {x, three, b.weight("third", {4})}));
  keep(b.node("ReduceLogSum", {b.node("Exp", {x}), b.integers({1, 3})}));
  keep(b.node("Pow", {x, b.integers({3}, true)}));
  keep(b.node("DepthToSpace", {x}, onnx::of_integer("blocksize", 2)));
  keep(b.node("DepthToSpace", {x}, add(onnx::of_integer("blocksize", 2), onnx::of_text("mode", "CRD"))));
  keep(b.node("SpaceToDepth", {x}, onnx::of_integer("blocksize", 2)));
  keep(b.node(
      "ScatterElements",
      {x, b.table("places", {2, 1, 2, 3}, {7, 0, -1, 3, 3, 2, 1, -8, 4, 5, 6, 7}), b.weight("scattered", {2, 1, 2, 3})},
      onnx::of_integer("axis", 1)));
  const std::string rows = b.node("Reshape", {x, b.integers({16, 8})});
  keep(b.node("Gemm", {rows, b.weight("w", {3, 8}), b.weight("c", {16, 1})},
              add(onnx::of_integer("transB", 1), onnx::of_float("alpha", 0.5f), onnx::of_float("beta", -2))));
  own("FusedGemm", {rows, b.weight("v", {8, 3}), b.weight("d", {3})},
      add(onnx::of_text("activation", "LeakyRelu"), onnx::of_float("activation_alpha", 0.2f)));
  own("FusedConv", {x, b.weight("kernel", {4, 8, 1, 3}), b.weight("e", {4})},
      onnx::of_text("activation", "HardSigmoid"));
  own("FusedMatMul", {x, x}, add(onnx::of_integer("transA", 1), onnx::of_float("alpha", 0.25f)));
  own("BiasAdd", {rows, b.weight("f", {8}), rows}, {});
  b.node("Softsign", {b.node("Concat", flat, onnx::of_integer("axis", 1))}, {}, "y");
  b.output("y");
  return b.file();
}

}  // namespace published_graphs

#endif
