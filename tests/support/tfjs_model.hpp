// Graph models of TensorFlow.js: model.json and its shards. SPDX-License-Identifier: MIT
#ifndef HEED_TEST_TFJS_MODEL_HPP
#define HEED_TEST_TFJS_MODEL_HPP

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

class tfjs_model {
 public:
  using dims = std::vector<int64_t>;
  std::string quantization;  // of the next weight, as JSON

  void input(const std::string &name, const std::string &type, const dims &shape) {
    std::string list;
    for (const int64_t dim : shape) list += (list.empty() ? "" : ",") + ("{\"size\":\"" + std::to_string(dim) + "\"}");
    node("Placeholder", name, {},
         "\"dtype\":{\"type\":\"" + type + "\"},\"shape\":{\"shape\":{\"dim\":[" + list + "]}}");
  }
  void weight(const std::string &name, const std::string &type, const dims &shape, const std::string &bytes) {
    std::string list;
    for (const int64_t dim : shape) list += (list.empty() ? "" : ",") + std::to_string(dim);
    weights +=
        (weights.empty() ? "" : ",") + ("{\"name\":\"" + name + "\",\"dtype\":\"" + type + "\",\"shape\":[" + list +
                                        "]" + (quantization.empty() ? "" : ",\"quantization\":" + quantization) + "}");
    quantization.clear();
    numbers += bytes;
    node("Const", name, {}, "\"dtype\":{\"type\":1}");
  }
  void floats(const std::string &name, const dims &shape, const std::vector<float> &all) {
    weight(name, "float32", shape, bytes_of(all));
  }
  void integers(const std::string &name, const dims &shape, const std::vector<int32_t> &all) {
    weight(name, "int32", shape, bytes_of(all));
  }
  // attributes: as JSON, without the braces.
  void node(const std::string &operation, const std::string &name, const std::vector<std::string> &inputs,
            const std::string &attributes = "") {
    std::string list;
    for (const std::string &input : inputs) list += (list.empty() ? "\"" : ",\"") + input + "\"";
    nodes += (nodes.empty() ? "" : ",") + ("{\"name\":\"" + name + "\",\"op\":\"" + operation + "\",\"input\":[" +
                                           list + "],\"attr\":{" + attributes + "}}");
  }
  std::string json(size_t n_shards = 2) const {
    std::string paths;
    for (size_t i = 0; i < n_shards; ++i) paths += (i == 0 ? "\"shard" : ",\"shard") + std::to_string(i) + "\"";
    return "{\"format\":\"graph-model\",\"modelTopology\":{\"node\":[" + nodes +
           "]},\"weightsManifest\":[{\"paths\":[" + paths + "],\"weights\":[" + weights + "]}]}";
  }
  // Writes FOLDER/model.json, and its shards as many equal parts. Returns the path of model.json.
  std::string write(const std::string &folder, size_t n_shards = 2) const {
    std::filesystem::create_directories(folder);
    const size_t part = (numbers.size() + n_shards - 1) / n_shards;
    for (size_t i = 0; i < n_shards; ++i)
      std::ofstream(folder + "/shard" + std::to_string(i), std::ios::binary)
          << (i * part < numbers.size() ? numbers.substr(i * part, part) : "");
    std::ofstream(folder + "/model.json", std::ios::binary) << json(n_shards);
    return folder + "/model.json";
  }

  template <class T>
  static std::string bytes_of(const std::vector<T> &all) {  // on a little-endian computer
    std::string bytes(all.size() * sizeof(T), 0);
    if (!all.empty()) std::memcpy(&bytes[0], all.data(), bytes.size());
    return bytes;
  }

  std::string nodes, weights, numbers;
};

namespace tfjs_text {

// Numbers that are not equal to each other, of both signs.
inline std::vector<float> some(size_t n, float scale = 1) {
  std::vector<float> all;
  for (size_t i = 0; i < n; ++i) all.push_back(scale * (static_cast<float>((i * 37 + 11) % 64) / 32.0f - 1.0f));
  return all;
}

// A text as a sparse tensor, an embedding, and a layer of real tokens alone: as Tensor2Tensor removes and restores padding. The rows that a
// mask keeps go through `layer`, which makes the node "out" of the node "kept". dim: of a row.
template <class F>
tfjs_model model(int64_t dim, F layer) {
  tfjs_model m;
  m.input("indices", "DT_INT64", {-1, 2});
  m.input("values", "DT_INT64", {-1});
  m.floats("table", {9, dim}, some(static_cast<size_t>(9 * dim)));
  m.integers("zero", {}, {0});
  m.integers("one", {}, {1});
  m.integers("ones", {2}, {1, 1});
  m.integers("filling", {}, {-1});
  m.integers("first", {1}, {0});
  m.integers("second", {1}, {1});
  m.integers("third", {1}, {2});
  const std::string int64 = "\"T\":{\"type\":9}", float32 = "\"T\":{\"type\":1}";
  m.node("Max", "last", {"indices", "zero"});
  m.node("AddV2", "shape", {"last", "ones"});
  m.node("SparseToDense", "dense", {"indices", "shape", "values", "filling"}, int64);
  m.node("Greater", "mask", {"dense", "filling"});
  m.node("Where", "where", {"mask"});
  m.node("Cast", "places", {"where"}, "\"DstT\":{\"type\":3}");
  m.node("GatherV2", "rows", {"table", "values", "zero"});
  m.node("Shape", "mask_shape", {"mask"});
  m.node("Shape", "rows_shape", {"rows"});
  m.node("StridedSlice", "row_shape", {"rows_shape", "second", "first", "second"}, "\"end_mask\":{\"i\":\"1\"}");
  m.node("ConcatV2", "all_shape", {"mask_shape", "row_shape", "zero"});
  m.node("ScatterNd", "text", {"places", "rows", "all_shape"}, float32);
  m.node("GatherNd", "kept", {"text", "places"});
  layer(m);
  m.node("Shape", "out_shape", {"out"});
  m.node("StridedSlice", "out_row", {"out_shape", "second", "first", "second"}, "\"end_mask\":{\"i\":\"1\"}");
  m.node("ConcatV2", "back_shape", {"mask_shape", "out_row", "zero"});
  m.node("ScatterNd", "back", {"places", "out", "back_shape"}, float32);
  m.node("Sum", "module/sum", {"back", "one"}, "\"keep_dims\":{\"b\":false}");
  return m;
}

// relu(rows w + b), as a Tensordot of three dimensions, and the place of each row added.
inline void feed_forward(tfjs_model &m) {
  m.floats("w", {4, 3}, some(12, 0.5f));
  m.floats("b", {3}, {0.25f, -0.5f, 0.125f});
  m.integers("places_begin", {2}, {0, 1});
  m.integers("places_end", {2}, {0, 2});
  m.integers("three", {1}, {3});
  m.integers("axes", {2}, {0, 1});
  m.node("StridedSlice", "place", {"where", "places_begin", "places_end", "ones"},
         "\"begin_mask\":{\"i\":\"1\"},\"end_mask\":{\"i\":\"1\"},\"shrink_axis_mask\":{\"i\":\"2\"}");
  m.node("Cast", "place_number", {"place"}, "\"DstT\":{\"type\":1}");
  m.node("ExpandDims", "place_column", {"place_number", "one"});
  m.node("Add", "placed", {"kept", "place_column"});
  m.node("ExpandDims", "wide", {"placed", "zero"});
  m.node("Shape", "wide_shape", {"wide"});
  m.node("GatherV2", "free", {"wide_shape", "axes", "zero"});
  m.node("GatherV2", "bound", {"wide_shape", "third", "zero"});
  m.node("Prod", "n_free", {"free", "first"}, "\"keep_dims\":{\"b\":false}");
  m.node("Prod", "n_bound", {"bound", "first"}, "\"keep_dims\":{\"b\":false}");
  m.node("Pack", "flat_shape", {"n_free", "n_bound"}, "\"axis\":{\"i\":\"0\"}");
  m.node("Reshape", "flat", {"wide", "flat_shape"});
  m.node("MatMul", "product", {"flat", "w"});
  m.node("ConcatV2", "product_shape", {"free", "three", "zero"});
  m.node("Reshape", "wide_product", {"product", "product_shape"});
  m.node("BiasAdd", "biased", {"wide_product", "b"});
  m.node("Relu", "active", {"biased"});
  m.node("Squeeze", "out", {"active"}, "\"squeeze_dims\":{\"list\":{\"i\":[\"0\"]}}");
}

// A layer of an encoder as Tensor2Tensor writes it: norms in pieces, linear layers as convolutions of one pixel and as a Tensordot, heads that
// are split and joined, and a softmax of scores that are a matrix. x: (1, 4, 8), and what is added to the scores: (1, 1, 1, 4).
inline tfjs_model layer() {
  tfjs_model m;
  m.input("x", "DT_FLOAT", {1, 4, 8});
  m.input("padding", "DT_FLOAT", {1, 1, 1, 4});
  m.integers("last", {1}, {-1});
  m.integers("zero", {}, {0});
  m.integers("two", {}, {2});
  m.integers("parts", {3}, {8, 8, 8});
  m.integers("four", {4}, {1, 4, 2, 4});
  m.integers("turn", {4}, {0, 2, 1, 3});
  m.integers("rows", {2}, {-1, 4});
  m.integers("scores_shape", {4}, {1, 2, 4, 4});
  m.integers("joined_shape", {3}, {1, 4, 8});
  m.integers("matrix_shape", {2}, {4, 8});
  m.integers("out_shape", {3}, {1, 4, 5});
  m.floats("eps", {}, {1e-5f}), m.floats("scale", {}, {0.5f});
  m.floats("norm_weight", {8}, some(8)), m.floats("norm_bias", {8}, some(8, 0.25f));
  m.floats("qkv", {1, 1, 8, 24}, some(192, 0.5f)), m.floats("qkv_bias", {24}, some(24, 0.125f));
  m.floats("o", {1, 1, 8, 8}, some(64, 0.5f)), m.floats("o_bias", {8}, some(8, 0.125f));
  m.floats("w", {8, 5}, some(40, 0.5f)), m.floats("b", {5}, some(5));
  const std::string valid = "\"padding\":{\"s\":\"VkFMSUQ=\"}",
                    bias = ",\"fused_ops\":{\"list\":{\"s\":[\"Qmlhc0FkZA==\"]}}", keeps = "\"keep_dims\":{\"b\":true}",
                    squeezes = "\"squeeze_dims\":{\"list\":{\"i\":[\"2\"]}}";
  m.node("Mean", "mean", {"x", "last"}, keeps);
  m.node("SquaredDifference", "square", {"x", "mean"});
  m.node("Mean", "variance", {"square", "last"}, keeps);
  m.node("Add", "more", {"variance", "eps"});
  m.node("Rsqrt", "inverse", {"more"});
  m.node("Sub", "difference", {"x", "mean"});
  m.node("Mul", "factor", {"norm_weight", "inverse"});
  m.node("Mul", "scaled", {"factor", "difference"});
  m.node("Add", "normed", {"scaled", "norm_bias"});
  m.node("ExpandDims", "pixels", {"normed", "two"});
  m.node("_FusedConv2D", "qkv_pixels", {"pixels", "qkv", "qkv_bias"}, valid + bias);
  m.node("Squeeze", "qkv_rows", {"qkv_pixels"}, squeezes);
  m.node("SplitV", "split", {"qkv_rows", "parts", "two"}, "\"num_split\":{\"i\":\"3\"}");
  for (const std::string i : {"", ":1", ":2"}) {
    const std::string name = i.empty() ? "0" : i.substr(1);
    m.node("Reshape", "heads" + name, {"split" + i, "four"});
    m.node("Transpose", "turned" + name, {"heads" + name, "turn"});
  }
  m.node("Mul", "q", {"turned0", "scale"});
  m.node("BatchMatMul", "scores", {"q", "turned1"}, "\"adj_y\":{\"b\":true}");
  m.node("Add", "masked", {"scores", "padding"});
  m.node("Reshape", "score_rows", {"masked", "rows"});
  m.node("Softmax", "soft", {"score_rows"});
  m.node("Reshape", "attention", {"soft", "scores_shape"});
  m.node("BatchMatMul", "attended", {"attention", "turned2"});
  m.node("Transpose", "by_row", {"attended", "turn"});
  m.node("Reshape", "joined", {"by_row", "joined_shape"});
  m.node("ExpandDims", "joined_pixels", {"joined", "two"});
  m.node("Conv2D", "o_pixels", {"joined_pixels", "o"}, valid);
  m.node("BiasAdd", "o_biased", {"o_pixels", "o_bias"});
  m.node("Squeeze", "o_rows", {"o_biased"}, squeezes);
  m.node("AddV2", "sum", {"o_rows", "x"});
  m.node("Reshape", "matrix", {"sum", "matrix_shape"});
  m.node("MatMul", "product", {"matrix", "w"});
  m.node("Reshape", "product_rows", {"product", "out_shape"});
  m.node("BiasAdd", "y", {"product_rows", "b"});
  return m;
}

}  // namespace tfjs_text

#endif
