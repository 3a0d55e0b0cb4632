// See tflite_weights.hpp. The functions follow the network from its end to its beginning. SPDX-License-Identifier: MIT
#include "tflite_weights.hpp"

#include <cstring>
#include <string>

#include "tflite_walker.hpp"

namespace tflite {
namespace {

// y = x w^T + b. The weights may be computed, as they are where attention multiplies activations.
struct dense {
  int32_t x, w;
  int32_t b;  // -1 for none
};

dense dense_of(const walker &net, int32_t y) {
  const operation &op = net.producer(y, opcode::fully_connected);
  if (net.model().option_u8(op, 1, 0) != 0) net.refuse(y, "its weights are shuffled");
  const int32_t b = op.inputs.size() > 2 ? op.inputs[2] : -1;
  return {net.input(op, 0), net.input(op, 1), b};
}

// Reads weights (n_in, n_out) and, unless b is null, a bias; returns x.
int32_t read_dense(const walker &net, int32_t y, int32_t n_in, int32_t n_out, float *w, float *b, size_t row_stride) {
  const dense d = dense_of(net, y);
  if ((b != nullptr) != (d.b >= 0)) net.refuse(y, b != nullptr ? "lacks a bias" : "has a bias");
  net.matrix(d.w, n_in, n_out, w, row_stride);
  if (b != nullptr) net.vector(d.b, b, static_cast<size_t>(n_out));
  return d.x;
}

int32_t read_dense(const walker &net, int32_t y, int32_t n_in, int32_t n_out, float *w, float *b) {
  return read_dense(net, y, n_in, n_out, w, b, static_cast<size_t>(n_out));
}

// The mean over the last axis of (1, 99, 64).
int32_t mean_of(const walker &net, int32_t mean) {
  const operation &op = net.producer(mean, opcode::mean);
  const std::vector<int32_t> axes = net.integers(net.input(op, 1));
  if (axes != std::vector<int32_t>{2} && axes != std::vector<int32_t>{-1}) net.refuse(mean, "not a mean over features");
  return net.input(op, 0);
}

// y = s * k + (beta - mean * k) with k = gamma / sqrt(variance + epsilon); returns s. All LayerNorms share one epsilon.
int32_t read_norm(const walker &net, int32_t y, float *gamma, float *beta, float *epsilon) {
  const operation &sum = net.producer(y, opcode::add);
  const int32_t scaled = net.operand_from(sum, opcode::mul), shift = net.other(sum, scaled);
  const operation &difference = net.producer(shift, opcode::sub);
  net.vector(net.input(difference, 0), beta, KWT_DIM);
  const operation &mean_times_k = net.producer(net.input(difference, 1), opcode::mul);
  const int32_t mean = net.operand_from(mean_times_k, opcode::mean), k = net.other(mean_times_k, mean);
  const int32_t s = net.other(net.producer(scaled, opcode::mul), k);
  net.same(mean_of(net, mean), s);

  const auto k_parts = net.split(net.producer(k, opcode::mul));
  net.vector(k_parts.constant, gamma, KWT_DIM);
  const operation &root = net.producer(k_parts.computed, opcode::rsqrt);
  const auto variance = net.split(net.producer(net.input(root, 0), opcode::add));
  const float found = net.scalar(variance.constant);
  if (!(found > 0) || (*epsilon != 0 && *epsilon != found)) net.refuse(variance.constant, "an unexpected epsilon");
  *epsilon = found;
  const operation &squares = net.producer(mean_of(net, variance.computed), opcode::squared_difference);
  net.same(net.other(squares, mean), s);
  return s;
}

// y = (h / 2) * (1 + tanh(sqrt(2/pi) * (h + 0.044715 h^3))); returns h.
int32_t before_gelu(const walker &net, int32_t y) {
  const operation &product = net.producer(y, opcode::mul);
  const int32_t sum = net.operand_from(product, opcode::add);
  const auto one_plus = net.split(net.producer(sum, opcode::add));
  net.expect_scalar(one_plus.constant, 1.0f);
  const operation &tanh = net.producer(one_plus.computed, opcode::tanh);
  const auto argument = net.split(net.producer(net.input(tanh, 0), opcode::mul));
  net.expect_scalar(argument.constant, 0.797884561f);
  const operation &polynomial = net.producer(argument.computed, opcode::add);
  const int32_t cubic = net.operand_from(polynomial, opcode::mul), h = net.other(polynomial, cubic);
  const auto cube = net.split(net.producer(cubic, opcode::mul));
  net.expect_scalar(cube.constant, 0.044715f);
  const operation &power = net.producer(cube.computed, opcode::pow);
  net.expect_scalar(net.input(power, 1), 3.0f);
  net.same(net.input(power, 0), h);
  const auto half = net.split(net.producer(net.other(product, sum), opcode::mul));
  net.expect_scalar(half.constant, 0.5f);
  net.same(half.computed, h);
  return h;
}

// The rows that a product takes as its weights are k as projected (even number of transposes) or v transposed (odd).
int32_t projected(const walker &net, int32_t tensor, int parity) {
  int n_transposes = 0;
  const int32_t found = net.before_transposes(tensor, &n_transposes);
  if (n_transposes % 2 != parity) net.refuse(tensor, "transposed once too often or too rarely");
  net.shape(found, {KWT_N_TOKENS, KWT_DIM});
  return found;
}

// context = softmax(q k^T / 8) v, one head, all three projected from x without bias.
void read_attention(const walker &net, int32_t context, int32_t x, network::block &block) {
  const dense mix = dense_of(net, context);
  const operation &softmax = net.producer(mix.x, opcode::softmax);
  if (net.model().option_f32(softmax, 0, 0.0f) != 1.0f) net.refuse(mix.x, "a softmax whose beta is not 1");
  const auto scaled = net.split(net.producer(net.input(softmax, 0), opcode::mul));
  net.expect_scalar(scaled.constant, 0.125f);
  const dense scores = dense_of(net, scaled.computed);
  if (mix.b >= 0 || scores.b >= 0) net.refuse(context, "attention with a bias");
  net.shape(net.source(scores.x), {KWT_N_TOKENS, KWT_DIM});
  net.shape(scores.w, {KWT_N_TOKENS, KWT_DIM});
  net.shape(mix.w, {KWT_DIM, KWT_N_TOKENS});
  const int32_t k = projected(net, scores.w, 0), v = projected(net, mix.w, 1);
  net.same(read_dense(net, scores.x, KWT_DIM, KWT_DIM, block.wq[0], nullptr), x);
  net.same(read_dense(net, k, KWT_DIM, KWT_DIM, block.wk[0], nullptr), x);
  net.same(read_dense(net, v, KWT_DIM, KWT_DIM, block.wv[0], nullptr), x);
}

// One encoder block; returns its input.
int32_t read_block(const walker &net, int32_t y, network::block &block, float *epsilon) {
  const operation &second = net.producer(read_norm(net, y, block.gamma_2, block.beta_2, epsilon), opcode::add);
  const int32_t mlp = net.operand_from(second, opcode::fully_connected), middle = net.other(second, mlp);
  const int32_t h = before_gelu(net, read_dense(net, mlp, KWT_HIDDEN, KWT_DIM, block.w2[0], block.b2));
  net.same(read_dense(net, h, KWT_DIM, KWT_HIDDEN, block.w1[0], block.b1), middle);

  const operation &first = net.producer(read_norm(net, middle, block.gamma_1, block.beta_1, epsilon), opcode::add);
  const int32_t branch = net.operand_from(first, opcode::fully_connected), x = net.other(first, branch);
  read_attention(net, read_dense(net, branch, KWT_DIM, KWT_DIM, block.wo[0], block.bo), x, block);
  return x;
}

// Refuses a slice that does not begin at the first element or leaves some out between; returns what is sliced.
int32_t before_slice(const walker &net, int32_t part) {
  const operation &slice = net.producer(part, opcode::strided_slice);
  for (const int32_t first : net.integers(net.input(slice, 1))) {
    if (first != 0) net.refuse(part, "a slice that does not begin at the first element");
  }
  for (const int32_t step : net.integers(net.input(slice, 3))) {
    if (step != 1) net.refuse(part, "a slice that leaves elements out");
  }
  return net.input(slice, 0);
}

// logits from row 0; returns the output of the last block.
int32_t read_label(const walker &net, int32_t logits, network::kwt1 &weights) {
  const int32_t row = read_dense(net, logits, KWT_DIM, KWT_N_LABELS, weights.w_label[0], weights.b_label);
  const int32_t y = before_slice(net, row);
  net.shape(y, {1, KWT_N_TOKENS, KWT_DIM});
  net.shape(row, {1, KWT_DIM});
  return y;
}

// tokens = class token, then embedded features, plus positions; returns the features.
int32_t read_embedding(const walker &net, int32_t tokens, network::kwt1 &weights) {
  const auto sum = net.split(net.producer(tokens, opcode::add));
  net.vector(sum.constant, weights.position[0], size_t{KWT_N_TOKENS} * KWT_DIM);
  const operation &joined = net.producer(sum.computed, opcode::concatenation);
  if (net.model().option_i32(joined, 0, 0) != 1) net.refuse(sum.computed, "not joined along the tokens");
  net.vector(net.input(joined, 0), weights.class_token, KWT_DIM);
  return read_dense(net, net.input(joined, 1), network::n_features, KWT_DIM, weights.w_embedding[0],
                    weights.b_embedding);
}

// One number for all or one each.
void read_spread(const walker &net, int32_t tensor, float *out) {
  if (net.model().tensors[static_cast<size_t>(tensor)].data.length != sizeof(float)) {
    return net.vector(tensor, out, network::n_features);
  }
  for (size_t i = 0; i < network::n_features; ++i) out[i] = net.scalar(tensor);
}

// features = (log(max(mel, floor)) dct - mean) * factor; returns the magnitudes that mel is made of.
int32_t read_features(const walker &net, int32_t features, network::kwt1 &weights) {
  const auto scaled = net.split(net.producer(features, opcode::mul));
  read_spread(net, scaled.constant, weights.factor);
  const operation &centred = net.producer(scaled.computed, opcode::sub);
  read_spread(net, net.input(centred, 1), weights.mean);
  const int32_t logs = read_dense(net, net.input(centred, 0), KWT_N_MEL, network::n_features, weights.dct[0], nullptr);
  const operation &log = net.producer(logs, opcode::log);
  const auto floored = net.split(net.producer(net.input(log, 0), opcode::maximum));
  weights.log_floor = net.scalar(floored.constant);
  // kwt_magnitude relies on it: 244 magnitudes of 1e-15 stay below.
  if (!(weights.log_floor >= 9e-13f)) net.refuse(floored.constant, "a floor below 9e-13");
  return read_dense(net, floored.computed, KWT_N_BINS, KWT_N_MEL, weights.mel[0], nullptr);
}

// half (n, 244) squared = (frames dft)^2; returns the frames.
int32_t read_half_dft(const walker &net, int32_t square, float *columns) {
  const operation &product = net.producer(square, opcode::mul);
  net.same(net.input(product, 0), net.input(product, 1));
  return read_dense(net, net.input(product, 0), KWT_FRAME, KWT_N_BINS, columns, nullptr, 2 * KWT_N_BINS);
}

// frames = window * samples of (98, 480), gathered as rows i, i + 1, i + 2 of (100, 160); ends at the graph's input.
void read_frames(const walker &net, int32_t frames, network::kwt1 &weights) {
  const auto windowed = net.split(net.producer(frames, opcode::mul));
  net.vector(windowed.constant, weights.window, KWT_FRAME);
  const operation &gather = net.producer(windowed.computed, opcode::gather);
  const int32_t pieces = net.input(gather, 0), numbers = net.input(gather, 1);
  if (net.model().option_i32(gather, 0, 0) != 1) net.refuse(numbers, "not a gather of rows");
  net.shape(pieces, {1, KWT_N_SAMPLES / KWT_STEP, KWT_STEP});
  net.shape(numbers, {KWT_N_FRAMES, KWT_FRAME / KWT_STEP});
  const std::vector<int32_t> order = net.integers(numbers);
  for (int32_t i = 0; i < KWT_N_FRAMES * (KWT_FRAME / KWT_STEP); ++i) {
    const size_t at = static_cast<size_t>(i);
    if (at >= order.size() || order[at] != i / 3 + i % 3) net.refuse(numbers, "frames in an unexpected order");
  }
  const int32_t samples = before_slice(net, pieces);
  net.shape(samples, {1, KWT_N_SAMPLES});
  net.same(samples, net.model().inputs[0]);
}

}  // namespace

void read_kwt(const uint8_t *file, size_t n_bytes, network::kwt1 &weights) {
  const walker net(read_graph(file, n_bytes));
  if (net.model().inputs.size() != 1 || net.model().outputs.size() != 1) {
    throw format_error("not the graph of KWT-1: it has other than one input and one output");
  }
  std::memset(&weights, 0, sizeof weights);
  int32_t t = read_label(net, net.model().outputs[0], weights);
  for (int b = KWT_N_BLOCKS - 1; b >= 0; --b) t = read_block(net, t, weights.blocks[b], &weights.norm_epsilon);
  const int32_t magnitudes = read_features(net, read_embedding(net, t, weights), weights);
  const operation &root = net.producer(magnitudes, opcode::sqrt);
  const operation &power = net.producer(net.input(root, 0), opcode::add);
  const int32_t frames = read_half_dft(net, net.input(power, 0), weights.dft[0]);
  net.same(read_half_dft(net, net.input(power, 1), weights.dft[0] + KWT_N_BINS), frames);
  read_frames(net, frames, weights);
}

}  // namespace tflite
