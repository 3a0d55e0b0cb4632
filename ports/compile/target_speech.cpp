// See target_cost.hpp: programs of speech. SPDX-License-Identifier: MIT
#include "speech_sizes.hpp"
#include "target_calls.hpp"

namespace heed_compile {
namespace {

// The encoder or the decoder as a network of its own, with those of the weights that are in its layers, or in none.
network part_of(const network &net, task what, int32_t first_layer) {
  network part = net;
  part.what = what;
  part.gate_up = what == task::decoder && net.up_gate;
  const auto is_of_others = [&](const weight &w) {
    return w.name.find("{}") != std::string::npos && w.first_layer != first_layer;
  };
  part.weights.erase(std::remove_if(part.weights.begin(), part.weights.end(), is_of_others), part.weights.end());
  return part;
}
network encoder_of(const network &net) {
  const speech_settings &s = net.speech;
  network part = part_of(net, task::encoder, 0);
  part.n_layers = s.n_layers, part.n_heads = s.n_heads, part.n_kv_heads = s.n_kv_heads, part.head_dim = s.head_dim;
  part.ffn_dim = s.ffn_dim, part.activation = s.activation;
  return part;
}

// A linear layer of n windows, and an activation.
void convolve(calls &to, const std::string &name, const std::string &activation, double n, double n_out) {
  to.linear(name, n);
  to.numbers("activation ", activation, n, n_out);
}

// What write_speech.cpp has before the encoder: of a log-mel spectrogram, 8 frames at a time,
void add_spectrogram(calls &to, const network &net, const speech_sizes &sizes) {
  const double n = sizes.n_frames, mels = net.speech.n_mels, even = n_frequencies, odd = n_frequencies - 2;
  to.add("sound ", "windows", {n * window_length});
  for (int32_t first = 0; first < sizes.n_frames; first += 8) {
    const double rows = std::min(8, sizes.n_frames - first);
    const auto linear = [&](double n_in, double n_out) {
      to.add(rows == 1 ? "linear1 " : "linear ", "f32",
             {n_in * n_out, rows * n_in * n_out, rows * n_in, rows * n_out, 1});
    };
    linear(even, even), linear(odd, odd), linear(window_length, mels);
  }
  to.add("map ", "SQUARE", {0, n * window_length, 0, 0});
  to.add("sound ", "logarithms", {n * mels});
  convolve(to, "conv1", "heed_gelu", n, net.dim);
  convolve(to, "conv2", "heed_gelu", sizes.rows, net.dim);
  to.plus(sizes.rows);
}

// and of samples, 64 rows at a time.
void add_samples(calls &to, const network &net, const speech_sizes &sizes) {
  const auto in_pieces = [](int32_t n, const auto &run) {
    for (int32_t first = 0; first < n; first += 64) run(std::min(64, n - first));
  };
  in_pieces(sizes.rows_1, [&](int32_t n) {
    to.add("sound ", "samples", {(n - 1) * 64.0 + 127});
    convolve(to, "conv1", "heed_tanh", n, net.dim);
  });
  to.add("group_norm ", "groups", {static_cast<double>(sizes.rows_1) * net.dim, sizes.rows_1 * 1.0, 1, 1});
  in_pieces(sizes.rows, [&](int32_t n) {
    convolve(to, "conv2", "heed_gelu", n * 2 + 1, 2.0 * net.dim);
    convolve(to, "conv3", "heed_gelu", n, net.dim);
  });
}

}  // namespace

run_costs instructions_of_speech(const std::string &core, const network &net, const choices &c,
                                 const std::vector<tensor> &weights) {
  const speech_sizes sizes = speech_sizes_of(net, c);
  const int32_t before = context_of(net, c) - 1, n_encoder = net.speech.n_layers;
  const network encoder = encoder_of(net), decoder = part_of(net, task::decoder, n_encoder);
  calls sound(core, encoder, c, weights), token(core, decoder, c, weights), crosses = token;
  net.speech.takes_samples ? add_samples(sound, net, sizes) : add_spectrogram(sound, net, sizes);
  for (int32_t l = 0; l < n_encoder; ++l) sound.layer(l, sizes.rows, sizes.rows, 0);
  sound.norm(net.norm, sizes.rows, net.dim);
  token.gather(1);
  if (has(weights, "positions")) token.plus(1);
  for (int32_t l = n_encoder; l < net.n_layers; ++l) {
    crosses.encode(l, sizes.rows);
    token.layer(l, 1, 1, before, sizes.rows);
  }
  token.norm(net.norm, 1, net.dim);
  token.linear(net.is_tied ? "embedding" : "classifier", 1);
  return {{"a sound of " + std::to_string(sizes.seconds) + " seconds", sound.sum() + crosses.sum()},
          {"a token behind " + std::to_string(before) + " others", token.sum()}};
}

}  // namespace heed_compile
