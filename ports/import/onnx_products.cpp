// See onnx_products.hpp. Sources: onnx.ai/onnx/operators, and ONNX Runtime's docs/ContribOperators.md.
// SPDX-License-Identifier: MIT
#include "onnx_products.hpp"

namespace heed_import {
namespace {

using side = onnx_side;

struct rule {
  const char *operation;
  size_t input;
  onnx_product product;
};

const rule rules[] = {
    {"MatMul", 0, {side::rows, -1, -1}},
    {"MatMul", 1, {side::last, -1, -1}},
    {"MatMulInteger", 0, {side::rows, -1, 2}},
    {"MatMulInteger", 1, {side::last, -1, 3}},
    {"QLinearMatMul", 0, {side::rows, 1, 2}},
    {"QLinearMatMul", 3, {side::last, 4, 5}},
    {"DynamicQuantizeMatMul", 1, {side::last, 2, 3}},
    {"MatMulIntegerToFloat", 0, {side::rows, 2, 4}},
    {"MatMulIntegerToFloat", 1, {side::last, 3, 5}},
    {"Gemm", 0, {side::left, -1, -1}},
    {"Gemm", 1, {side::right, -1, -1}},
    {"FusedGemm", 0, {side::left, -1, -1}},
    {"FusedGemm", 1, {side::right, -1, -1}},
    {"QGemm", 0, {side::left, 1, 2}},
    {"QGemm", 3, {side::right, 4, 5}},
    {"FusedMatMul", 0, {side::left, -1, -1}},
    {"FusedMatMul", 1, {side::right, -1, -1}},
    {"TransposeMatMul", 0, {side::left, -1, -1}},
    {"TransposeMatMul", 1, {side::right, -1, -1}},
    {"Conv", 1, {side::first, -1, -1}},
    {"FusedConv", 1, {side::first, -1, -1}},
    {"DeformConv", 1, {side::first, -1, -1}},
    {"ConvInteger", 1, {side::first, -1, 3}},
    {"QLinearConv", 3, {side::first, 4, 5}},
    {"ConvTranspose", 1, {side::second, -1, -1}},
    {"LSTM", 1, {side::second, -1, -1}},
    {"LSTM", 2, {side::second, -1, -1}},
    {"GRU", 1, {side::second, -1, -1}},
    {"GRU", 2, {side::second, -1, -1}},
    {"RNN", 1, {side::second, -1, -1}},
    {"RNN", 2, {side::second, -1, -1}},
    {"Gather", 0, {side::axis, -1, -1}},
    {"QAttention", 1, {side::last, 4, 7}},
    {"EmbedLayerNormalization", 2, {side::first, -1, -1}},
    {"EmbedLayerNormalization", 3, {side::first, -1, -1}},
    {"EmbedLayerNormalization", 4, {side::first, -1, -1}},
};

bool is_one_of(const std::string &operation, std::initializer_list<const char *> list) {
  for (const char *const name : list) {
    if (operation == name) return true;
  }
  return false;
}

// Of com.microsoft: their inputs are activations, masks, tables of angles and vectors.
bool has_no_weights(const std::string &operation) {
  return is_one_of(operation, {"BiasAdd",
                               "BiasGelu",
                               "BiasSoftmax",
                               "BiasSplitGelu",
                               "FastGelu",
                               "Gelu",
                               "GroupQueryAttention",
                               "MultiHeadAttention",
                               "QuickGelu",
                               "RotaryEmbedding",
                               "SimplifiedLayerNormalization",
                               "SkipGroupNorm",
                               "SkipLayerNormalization",
                               "SkipSimplifiedLayerNormalization",
                               "QuantizeLinear",
                               "DequantizeLinear",
                               "QLinearAdd",
                               "QLinearMul",
                               "QLinearSigmoid",
                               "QLinearSoftmax"});
}

bool packs_integers(const std::string &operation) {
  for (const char *const part : {"NBits", "Bnb4", "FpQ4", "BlockQuantized", "MoE"}) {
    if (operation.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

onnx_product onnx_product_of(const onnx_node &n, size_t input) {
  const bool of_onnx = n.domain.empty() || n.domain == "ai.onnx";
  for (const rule &r : rules) {
    if (n.operation == r.operation && input == r.input) return r.product;
  }
  if (packs_integers(n.operation)) return {side::packed, -1, -1};
  if (is_one_of(n.operation, {"Einsum", "Loop", "Scan"})) return {side::unknown, -1, -1};
  if (of_onnx) return {};
  if (n.operation == "Attention" && input == 1) return {side::last, -1, -1};
  for (const rule &r : rules) {
    if (n.operation == r.operation) return {};  // another input of an operation that is known
  }
  return {has_no_weights(n.operation) || n.operation == "Attention" ? side::none : side::unknown, -1, -1};
}

}  // namespace heed_import
