// published_graphs FOLDER: writes small ONNX graphs as exporters write them: a BERT, a ViT, a GPT, a convolutional network and others; a
// convolutional network of TensorFlow Lite; and two graphs of TensorFlow.js: FOLDER/layer, a layer of an encoder, and FOLDER/text, which
// takes tokens as a sparse tensor, with its vocabulary.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdio>
#include <fstream>

#include "support/published_graphs.hpp"
#include "support/tfjs_model.hpp"
#include "support/tflite_file.hpp"

namespace {

tflite_tensor floats(const std::string &name, const std::vector<int32_t> &shape, bool is_constant) {
  std::vector<float> numbers;
  int32_t n = is_constant ? 1 : 0;
  for (const int32_t d : shape) n *= d;
  for (int32_t i = 0; i < n; ++i) numbers.push_back(static_cast<float>((i * 37 + 11) % 64 - 32) / 64.0f);
  return {name, shape, 0, tflite_data(numbers)};
}

// As networks for keywords are: a convolution, one of each channel, a linear layer of all, and softmax.
std::string keywords() {
  const std::vector<tflite_tensor> tensors = {
      floats("sound", {1, 16, 16, 1}, false),  floats("conv", {8, 3, 3, 1}, true),
      floats("conv_bias", {8}, true),          floats("wide", {1, 16, 16, 8}, false),
      floats("depthwise", {1, 3, 3, 8}, true), floats("depthwise_bias", {8}, true),
      floats("narrow", {1, 8, 8, 8}, false),   floats("classes", {5, 512}, true),
      floats("classes_bias", {5}, true),       floats("logits", {1, 5}, false),
      floats("words", {1, 5}, false)};
  // Options: SAME, strides, and ReLU6 of the first one, and channels and ReLU of the second.
  return tflite_file(tensors,
                     {{3, {0, 1, 2}, {3}, {{0, 1, 0}, {1, 4, 1}, {2, 4, 1}, {3, 1, 3}}},
                      {4, {3, 4, 5}, {6}, {{0, 1, 0}, {1, 4, 2}, {2, 4, 2}, {3, 4, 1}, {4, 1, 1}}},
                      {9, {6, 7, 8}, {9}, {{0, 1, 0}}},
                      {25, {9}, {10}, {{0, 4, tflite_float(1)}}}},
                     {0}, {10})
      .text();
}

int written(const std::string &path, const char *data, size_t n) {
  std::ofstream out(path, std::ios::binary);
  out.write(data, static_cast<std::streamsize>(n));
  if (out.flush()) return 0;
  return std::fprintf(stderr, "%s: cannot be written\n", path.c_str()), 1;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) return std::fputs("published_graphs FOLDER\n", stderr), 2;
  const std::string folder = std::string(argv[1]) + "/", own = keywords();
  int status = written(folder + "keywords_graph.tflite", own.data(), own.size());
  for (const published_graphs::file &f : published_graphs::all())
    status |= written(folder + f.name + ".onnx", reinterpret_cast<const char *>(f.content.data()), f.content.size());
  tfjs_text::model(4, tfjs_text::feed_forward).write(folder + "text");
  tfjs_text::layer().write(folder + "layer");
  const std::string words =
      R"([["?",0],["<s>",0],["</s>",0],["x",0],["y",0],["z",0],["a",-2],["\u2581a",-1],["b",-2.5]])";
  return status | written(folder + "text/vocab.json", words.data(), words.size());
}
