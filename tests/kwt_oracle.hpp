// KWT-1 in double precision, straight from its formulas with libm and no code of heed, and random weights to run it on,
// so that the network is tested where the trained model is not at hand. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_KWT_ORACLE_HPP
#define HEED_TESTS_KWT_ORACLE_HPP

#include <array>
#include <cmath>
#include <memory>
#include <new>
#include <vector>

#include "kwt.h"
#include "kwt_network.hpp"
#include "support/random.hpp"

namespace heed_test {

// Words that begin at a multiple of 64 bytes, as a file's must.
template <typename T>
struct aligned_allocator {
  using value_type = T;
  aligned_allocator() = default;
  template <typename U>
  aligned_allocator(const aligned_allocator<U> &) {}
  T *allocate(size_t n) { return static_cast<T *>(::operator new (n * sizeof(T), std::align_val_t{64})); }
  void deallocate(T *p, size_t) { ::operator delete (p, std::align_val_t{64}); }
  friend bool operator==(const aligned_allocator &, const aligned_allocator &) { return true; }
  friend bool operator!=(const aligned_allocator &, const aligned_allocator &) { return false; }
};
using kwt_words_of_file = std::vector<uint32_t, aligned_allocator<uint32_t>>;
inline kwt_words_of_file aligned_file(const network::kwt1 &net, int32_t dtype) {
  const std::vector<uint32_t> file = network::flat_file(net, dtype);
  return {file.begin(), file.end()};
}

using matrix = std::vector<std::vector<double>>;

// (n, in) times (in, out) plus bias, all weights contiguous.
inline matrix times(const matrix &x, const float *w, const float *bias, size_t n_out, size_t stride) {
  matrix y(x.size(), std::vector<double>(n_out, 0.0));
  for (size_t t = 0; t < x.size(); ++t) {
    for (size_t n = 0; n < n_out; ++n) y[t][n] = bias != nullptr ? double(bias[n]) : 0.0;
    for (size_t k = 0; k < x[t].size(); ++k) {
      for (size_t n = 0; n < n_out; ++n) y[t][n] += x[t][k] * double(w[k * stride + n]);
    }
  }
  return y;
}

inline matrix times(const matrix &x, const float *w, const float *bias, size_t n_out) {
  return times(x, w, bias, n_out, n_out);
}

inline void oracle_norm(matrix &x, const matrix &branch, const float *gamma, const float *beta, double epsilon) {
  for (size_t t = 0; t < x.size(); ++t) {
    double mean = 0.0, variance = 0.0;
    for (size_t i = 0; i < KWT_DIM; ++i) mean += (x[t][i] += branch[t][i]) / KWT_DIM;
    for (size_t i = 0; i < KWT_DIM; ++i) variance += (x[t][i] - mean) * (x[t][i] - mean) / KWT_DIM;
    for (size_t i = 0; i < KWT_DIM; ++i) {
      x[t][i] = (x[t][i] - mean) / std::sqrt(variance + epsilon) * double(gamma[i]) + double(beta[i]);
    }
  }
}

inline matrix oracle_attention(const matrix &q, const matrix &k, const matrix &v) {
  matrix out(q.size(), std::vector<double>(KWT_DIM, 0.0));
  for (size_t i = 0; i < q.size(); ++i) {
    std::vector<double> weight(k.size(), 0.0);
    double sum = 0.0;
    for (size_t j = 0; j < k.size(); ++j) {
      for (size_t n = 0; n < KWT_DIM; ++n) weight[j] += q[i][n] * k[j][n];
      sum += weight[j] = std::exp(weight[j] / 8.0);
    }
    for (size_t j = 0; j < k.size(); ++j) {
      for (size_t n = 0; n < KWT_DIM; ++n) out[i][n] += weight[j] / sum * v[j][n];
    }
  }
  return out;
}

inline double oracle_gelu(double x) {
  const double u = std::sqrt(2.0 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
  return x / 2.0 * (1.0 + std::tanh(u));
}

// Tokens (99, 64) from samples in [-1, 1].
inline matrix oracle_tokens(const network::kwt1 &w, const std::vector<double> &samples) {
  matrix frames(KWT_N_FRAMES, std::vector<double>(KWT_FRAME));
  for (size_t f = 0; f < KWT_N_FRAMES; ++f) {
    for (size_t i = 0; i < KWT_FRAME; ++i) frames[f][i] = samples[f * KWT_STEP + i] * double(w.window[i]);
  }
  const matrix re = times(frames, w.dft[0], nullptr, KWT_N_BINS, 2 * KWT_N_BINS);
  const matrix im = times(frames, w.dft[0] + KWT_N_BINS, nullptr, KWT_N_BINS, 2 * KWT_N_BINS);
  matrix magnitudes = re;
  for (size_t f = 0; f < KWT_N_FRAMES; ++f) {
    for (size_t i = 0; i < KWT_N_BINS; ++i) magnitudes[f][i] = std::sqrt(re[f][i] * re[f][i] + im[f][i] * im[f][i]);
  }
  matrix mel = times(magnitudes, w.mel[0], nullptr, KWT_N_MEL);
  for (auto &row : mel) {
    for (double &x : row) x = std::log(std::fmax(x, double(w.log_floor)));
  }
  matrix features = times(mel, w.dct[0], nullptr, network::n_features);
  for (auto &row : features) {
    for (size_t i = 0; i < network::n_features; ++i) row[i] = (row[i] - double(w.mean[i])) * double(w.factor[i]);
  }
  matrix tokens = times(features, w.w_embedding[0], w.b_embedding, KWT_DIM);
  tokens.insert(tokens.begin(), std::vector<double>(w.class_token, w.class_token + KWT_DIM));
  for (size_t t = 0; t < KWT_N_TOKENS; ++t) {
    for (size_t i = 0; i < KWT_DIM; ++i) tokens[t][i] += double(w.position[t][i]);
  }
  return tokens;
}

inline std::vector<double> oracle_logits(const network::kwt1 &w, const std::vector<double> &samples) {
  matrix x = oracle_tokens(w, samples);
  const double epsilon = double(w.norm_epsilon);
  for (const network::block &b : w.blocks) {
    const matrix q = times(x, b.wq[0], nullptr, KWT_DIM), k = times(x, b.wk[0], nullptr, KWT_DIM);
    const matrix context = oracle_attention(q, k, times(x, b.wv[0], nullptr, KWT_DIM));
    oracle_norm(x, times(context, b.wo[0], b.bo, KWT_DIM), b.gamma_1, b.beta_1, epsilon);
    matrix hidden = times(x, b.w1[0], b.b1, KWT_HIDDEN);
    for (auto &row : hidden) {
      for (double &h : row) h = oracle_gelu(h);
    }
    oracle_norm(x, times(hidden, b.w2[0], b.b2, KWT_DIM), b.gamma_2, b.beta_2, epsilon);
  }
  return times({x[0]}, w.w_label[0], w.b_label, KWT_N_LABELS)[0];
}

inline void fill(random_source &r, float *x, size_t n, float low, float high) {
  for (size_t i = 0; i < n; ++i) x[i] = (low + high) * 0.5f + (high - low) * 0.5f * r.uniform();
}

// Any transform that can be folded: a quarter of it is random.
inline void fill_dft(random_source &r, network::kwt1 &w) {
  fill(r, w.dft[0], sizeof w.dft / sizeof(float), -1.0f, 1.0f);
  for (int n = 0; n < KWT_FRAME; ++n) {
    for (int column = 0; column < 2 * KWT_N_BINS; ++column) {
      const network::folded at = network::fold_of(n, column % KWT_N_BINS, column >= KWT_N_BINS);
      w.dft[n][column] = float(at.sign) * w.dft[at.row][column];
    }
  }
}

// Weights of the sizes that trained ones have: matrices keep their rows' length, mel weights are not negative.
inline std::unique_ptr<network::kwt1> random_kwt(uint64_t seed) {
  random_source r(seed);
  auto w = std::make_unique<network::kwt1>();
  w->log_floor = 1e-12f;
  w->norm_epsilon = 1e-6f;
  fill(r, w->window, KWT_FRAME, 0.0f, 1.0f);
  fill_dft(r, *w);
  fill(r, w->mel[0], sizeof w->mel / sizeof(float), 0.0f, 0.125f);
  fill(r, w->dct[0], sizeof w->dct / sizeof(float), -0.25f, 0.25f);
  fill(r, w->mean, network::n_features, -1.0f, 1.0f);
  fill(r, w->factor, network::n_features, 0.5f, 1.0f);
  fill(r, w->w_embedding[0], sizeof w->w_embedding / sizeof(float), -0.25f, 0.25f);
  fill(r, w->b_embedding, KWT_DIM, -0.5f, 0.5f);
  fill(r, w->class_token, KWT_DIM, -1.0f, 1.0f);
  fill(r, w->position[0], sizeof w->position / sizeof(float), -1.0f, 1.0f);
  for (network::block &b : w->blocks) {
    fill(r, reinterpret_cast<float *>(&b), sizeof b / sizeof(float), -0.1875f, 0.1875f);  // all, then what differs
    fill(r, b.gamma_1, KWT_DIM, 0.5f, 1.5f);
    fill(r, b.gamma_2, KWT_DIM, 0.5f, 1.5f);
  }
  fill(r, w->w_label[0], sizeof w->w_label / sizeof(float), -0.25f, 0.25f);
  fill(r, w->b_label, KWT_N_LABELS, -0.25f, 0.25f);
  return w;
}

// w (n_in, n_out) as it is when narrow weights are widened again.
inline void narrow(float *w, int32_t n_in, int32_t n_out, int32_t dtype) {
  std::vector<uint16_t> numbers(size_t(n_in) * size_t(n_out));  // room for either
  std::vector<float> scales(static_cast<size_t>(n_out));
  const heed_matrix m = heed_matrix_of(w, n_in, n_out);
  if (dtype != HEED_INT8) {
    heed_convert_from_f32(m, heed_typed_matrix_out_of(numbers.data(), nullptr, dtype, n_in, n_out));
    heed_convert_to_f32(heed_typed_matrix_of(numbers.data(), nullptr, dtype, n_in, n_out),
                        heed_matrix_out_of(w, n_in, n_out));
    return;
  }
  int8_t *bytes = reinterpret_cast<int8_t *>(numbers.data());
  heed_weights_quantize(m, HEED_IN_OUT, bytes, scales.data());
  for (int32_t i = 0; i < n_in * n_out; ++i) w[i] = float(bytes[i]) * scales[size_t(i % n_out)];
}

// The network that an int8 file holds, in f32.
inline void narrow(network::kwt1 &w) {
  narrow(w.dft[0], KWT_FRAME, 2 * KWT_N_BINS, HEED_F16);
  narrow(w.mel[0], KWT_N_BINS, KWT_N_MEL, HEED_F16);
  for (network::block &b : w.blocks) {
    for (float *square : {b.wq[0], b.wk[0], b.wv[0], b.wo[0]}) narrow(square, KWT_DIM, KWT_DIM, HEED_INT8);
    narrow(b.w1[0], KWT_DIM, KWT_HIDDEN, HEED_INT8);
    narrow(b.w2[0], KWT_HIDDEN, KWT_DIM, HEED_INT8);
  }
}

// A second of noise that swells.
inline std::vector<int16_t> random_audio(uint64_t seed) {
  random_source r(seed);
  std::vector<int16_t> samples(KWT_N_SAMPLES);
  for (int32_t i = 0; i < KWT_N_SAMPLES; ++i) samples[size_t(i)] = int16_t(r.between(-32768, 32767) * (i / 100) / 160);
  return samples;
}

}  // namespace heed_test

#endif
