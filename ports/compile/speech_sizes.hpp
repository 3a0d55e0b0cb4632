// How much a program of speech hears, and what it runs when it opens its file. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_SPEECH_SIZES_HPP
#define HEED_COMPILE_SPEECH_SIZES_HPP

#include <algorithm>

#include "program.hpp"

namespace heed_compile {

enum {
  least_samples = 895,  // Moonshine's convolutions need so many for one row
  tokens_a_second = 6,  // Moonshine's own package ends a text there
  usual_seconds = 15,   // of a model whose file names no greatest length
  rows_a_second = 50,   // of Whisper's encoder
  known_samples = 5120  // of the known answers' sound: 32 rows of a spectrogram
};

struct speech_sizes {
  int32_t seconds, n_samples, n_frames, rows_1, rows;  // rows_1: after Moonshine's first convolution
};

inline int32_t rows_of_convolution(int32_t n, int32_t kernel, int32_t stride) { return (n - kernel) / stride + 1; }

// Moonshine's rows of n samples, after the first convolution and after the last.
inline int32_t first_rows_of(int32_t n) { return rows_of_convolution(n, 127, 64); }
inline int32_t last_rows_of(int32_t n) {
  return rows_of_convolution(rows_of_convolution(first_rows_of(n), 7, 3), 3, 2);
}

inline speech_sizes speech_sizes_of(const network &net, const choices &c) {
  const bool is_mel = !net.speech.takes_samples;
  const int32_t most = is_mel ? net.speech.n_positions / rows_a_second : int32_t{most_seconds};
  const int32_t wanted = c.seconds > 0 ? c.seconds : is_mel ? most : int32_t{usual_seconds};
  speech_sizes s = {};
  s.seconds = std::min(wanted, most);
  s.n_samples = s.seconds * sample_rate;
  s.n_frames = s.n_samples / window_step;
  s.rows_1 = first_rows_of(s.n_samples);
  s.rows = is_mel ? s.n_frames / 2 : last_rows_of(s.n_samples);
  return s;
}

}  // namespace heed_compile

#endif
