// See kwt_network.hpp. SPDX-License-Identifier: MIT
#include "kwt_network.hpp"

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include "kwt.h"

namespace network {
namespace {

void accept(heed_status status) {
  if (status != HEED_OK) throw std::runtime_error(std::string("weights: ") + heed_status_text(status));
}

// A flat file as it grows.
class flat_writer {
 public:
  flat_writer() : words_(sizeof(kwt_header) / 4) {}

  void floats(const float *numbers, size_t n) { put(numbers, n * sizeof(float)); }

  // (n_in, n_out), packed in the format
  void matrix(const float *numbers, int32_t n_in, int32_t n_out, int32_t dtype) {
    const size_t n = heed_weights_packed_bytes(dtype, n_in, n_out);
    std::vector<uint8_t> room(n + HEED_ALIGNMENT);
    uint8_t *const packed = room.data() + (0 - reinterpret_cast<uintptr_t>(room.data())) % HEED_ALIGNMENT;
    accept(heed_weights_pack(heed_weights_of(numbers, nullptr, HEED_F32, HEED_IN_OUT, n_in, n_out), dtype,
                             heed_memory_of(packed, n)));
    put(packed, n);
  }

  std::vector<uint32_t> finish(const kwt1 &net, int32_t dtype) {
    kwt_header h = {};
    h.magic[0] = KWT_FILE_MAGIC_0;
    h.magic[1] = KWT_FILE_MAGIC_1;
    h.version = KWT_FILE_VERSION;
    h.n_bytes = static_cast<uint32_t>(4 * words_.size());
    h.checksum = kwt_checksum(&words_[sizeof h / 4], words_.size() - sizeof h / 4);
    h.dtype = dtype;
    h.n_samples = KWT_N_SAMPLES;
    h.n_bins = KWT_N_BINS;
    h.n_mel = KWT_N_MEL;
    h.dim = KWT_DIM;
    h.hidden = KWT_HIDDEN;
    h.n_blocks = KWT_N_BLOCKS;
    h.n_labels = KWT_N_LABELS;
    h.log_floor = net.log_floor;
    h.norm_epsilon = net.norm_epsilon;
    std::memcpy(words_.data(), &h, sizeof h);
    return std::move(words_);
  }

 private:
  void put(const void *data, size_t n_bytes) {
    const size_t first = words_.size();
    words_.resize(first + KWT_LINES(n_bytes) / 4);
    std::memcpy(&words_[first], data, n_bytes);
  }
  std::vector<uint32_t> words_;
};

// Every number of the transform stands in the folded rows, up to its sign.
void check_dft(const kwt1 &net) {
  for (int n = 0; n < KWT_FRAME; ++n) {
    for (int column = 0; column < 2 * KWT_N_BINS; ++column) {
      const folded at = fold_of(n, column % KWT_N_BINS, column >= KWT_N_BINS);
      const double expected = at.sign * double(net.dft[at.row][column]);
      if (!(std::fabs(double(net.dft[n][column]) - expected) <= 1e-6))
        throw std::runtime_error("the transform of the sound is not the first 244 bins of a Fourier transform of 512");
    }
  }
}

void put_dft(flat_writer &file, const kwt1 &net, int32_t dtype) {
  check_dft(net);
  for (int part = 0; part < 4; ++part) {  // cosines of even bins, of odd ones, sines
    std::vector<float> w(size_t{KWT_FOLD} * KWT_HALF_BINS);
    for (int row = 0; row < KWT_FOLD; ++row) {
      for (int i = 0; i < KWT_HALF_BINS; ++i) {
        const int bin = 2 * i + part % 2;
        const bool used = fold_of(row, bin, part >= 2).sign != 0;
        w[size_t(row * KWT_HALF_BINS + i)] = used ? net.dft[row][part / 2 * KWT_N_BINS + bin] : 0.0f;
      }
    }
    file.matrix(w.data(), KWT_FOLD, KWT_HALF_BINS, dtype);
  }
}

void put_mel(flat_writer &file, const kwt1 &net, int32_t dtype) {
  std::vector<float> w(size_t{KWT_N_BINS} * KWT_N_MEL);
  for (int row = 0; row < KWT_N_BINS; ++row) {
    const float *from = net.mel[row < KWT_HALF_BINS ? 2 * row : 2 * (row - KWT_HALF_BINS) + 1];
    std::memcpy(&w[size_t(row) * KWT_N_MEL], from, KWT_N_MEL * sizeof(float));
  }
  file.matrix(w.data(), KWT_N_BINS, KWT_N_MEL, dtype);
}

// ((logs dct - mean) * factor) w + b + position = logs embedding + start; the class token has row 0 for itself.
void put_embedding(flat_writer &file, const kwt1 &net) {
  std::vector<float> embedding(size_t{KWT_N_MEL} * KWT_DIM), start(size_t{KWT_N_TOKENS} * KWT_DIM);
  for (int d = 0; d < KWT_DIM; ++d) {
    double bias = double(net.b_embedding[d]);
    for (int f = 0; f < n_features; ++f)
      bias -= double(net.mean[f]) * double(net.factor[f]) * double(net.w_embedding[f][d]);
    for (int m = 0; m < KWT_N_MEL; ++m) {
      double sum = 0.0;
      for (int f = 0; f < n_features; ++f)
        sum += double(net.dct[m][f]) * double(net.factor[f]) * double(net.w_embedding[f][d]);
      embedding[size_t(m * KWT_DIM + d)] = float(sum);
    }
    for (int t = 0; t < KWT_N_TOKENS; ++t)
      start[size_t(t * KWT_DIM + d)] = float(double(net.position[t][d]) + (t == 0 ? double(net.class_token[d]) : bias));
  }
  file.matrix(embedding.data(), KWT_N_MEL, KWT_DIM, HEED_F32);
  file.floats(start.data(), start.size());
}

void put_block(flat_writer &file, const block &b, int32_t dtype) {
  for (const float *w : {b.wq[0], b.wk[0], b.wv[0], b.wo[0]}) file.matrix(w, KWT_DIM, KWT_DIM, dtype);
  for (const float *row : {b.bo, b.gamma_1, b.beta_1}) file.floats(row, KWT_DIM);
  file.matrix(b.w1[0], KWT_DIM, KWT_HIDDEN, dtype);
  file.floats(b.b1, KWT_HIDDEN);
  file.matrix(b.w2[0], KWT_HIDDEN, KWT_DIM, dtype);
  for (const float *row : {b.b2, b.gamma_2, b.beta_2}) file.floats(row, KWT_DIM);
}

}  // namespace

folded fold_of(int n, int bin, bool is_sine) {
  const int half = KWT_PERIOD / 2, quarter = KWT_PERIOD / 4;
  folded at = {n, 1};
  if (at.row > half) {
    at.row = KWT_PERIOD - at.row;
    if (is_sine) at.sign = -at.sign;
  }
  if (at.row > quarter) {
    at.row = half - at.row;
    if ((bin % 2 == 0) == is_sine) at.sign = -at.sign;
  }
  const bool zero = (is_sine && at.row == 0) || (at.row == quarter && (bin % 2 == 0) == is_sine);
  return zero ? folded{at.row, 0} : at;
}

std::vector<uint32_t> flat_file(const kwt1 &net, int32_t dtype) {
  const int32_t sound_format = KWT_SOUND_FORMAT(dtype);
  flat_writer file;
  file.floats(net.window, KWT_FRAME);
  put_dft(file, net, sound_format);
  put_mel(file, net, sound_format);
  put_embedding(file, net);
  for (const block &b : net.blocks) put_block(file, b, dtype);
  file.matrix(net.w_label[0], KWT_DIM, KWT_N_LABELS, HEED_F32);
  file.floats(net.b_label, KWT_N_LABELS);
  return file.finish(net, dtype);
}

}  // namespace network
