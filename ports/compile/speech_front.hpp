// What programs of speech compute beside their layers, as text of C: a log-mel spectrogram and its convolutions, or convolutions of
// samples; and what tokens attend to. See write_speech.cpp, which puts it in. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_SPEECH_FRONT_HPP
#define HEED_COMPILE_SPEECH_FRONT_HPP

namespace heed_compile {

// Whisper's.
const char mel_text[] = R"(
/* Sample i of a sound of `end` samples, the first n of which are given and the others silent; it is mirrored at its ends. */
static float sample_of(const int16_t *samples, int32_t n, int32_t end, int32_t i) {
  if (i < 0) i = -i;
  if (i >= end) i = 2 * end - 2 - i;
  return i < n ? number_of(samples, i) : 0.0f;
}

/* 1 + log10(power) / 4 in units of 2^-24, of powers from 1e-10 on. It is computed in integers, so it has the same bits everywhere:
 * squaring a number of 1 to 2 gives one bit of its logarithm after the other. */
static int32_t log_of(float power) {
  enum { quarter_of_log10_2 = 323228497 }; /* in units of 2^-32 */
  union {
    float number;
    uint32_t bits;
  } x;
  x.number = power >= 1e-10f ? power : 1e-10f;
  uint64_t log2 = (uint64_t)((x.bits >> 23) - 63) << 24; /* 64 more, so that it is never negative */
  uint64_t y = (uint64_t)((x.bits & 0x7fffff) | 0x800000) << 8;
  for (uint32_t bit = 1u << 23; bit > 0; bit >>= 1) {
    y = y * y >> 31;
    if (y >> 32 == 0) continue;
    y >>= 1;
    log2 += bit;
  }
  return (int32_t)(log2 * quarter_of_log10_2 >> 32) - quarter_of_log10_2 / 4 + (1 << 24);
}

/* Windows of `n` rows from `first` on: sums and differences of samples that have the same cosine, or opposite sines. */
static void fold_windows(${name}_front *f, const int16_t *samples, int32_t n_samples, int32_t end, int32_t first, int32_t n) {
  for (int32_t r = 0; r < n; ++r) {
    float *const even = f->even + r * ${n_even}, *const odd = f->odd + r * ${n_odd};
    const int32_t begin = (first + r) * ${step} - ${window} / 2;
    even[0] = sample_of(samples, n_samples, end, begin);
    even[${window} / 2] = sample_of(samples, n_samples, end, begin + ${window} / 2);
    for (int32_t i = 1; i < ${window} / 2; ++i) {
      const float a = sample_of(samples, n_samples, end, begin + i), b = sample_of(samples, n_samples, end, begin + ${window} - i);
      even[i] = a + b;
      odd[i - 1] = a - b;
    }
  }
}

/* rows (n, ${NAME}_MELS) of the log-mel spectrogram. The tables of cosines and sines have Hann's window in them, and a band adds the
 * squares of both. */
static heed_status run_spectrogram(${name} *m, const int16_t *samples, int32_t n_samples, int32_t n, float *rows) {
  ${name}_front *const f = &m->phases.front;
  heed_status status = HEED_OK;
  int32_t greatest = INT32_MIN;
  for (int32_t first = 0, here; status == HEED_OK && first < n; first += here) {
    float *const bands = rows + (ptrdiff_t)first * ${NAME}_MELS;
    here = n - first < ${frame_piece} ? n - first : ${frame_piece};
    fold_windows(f, samples, n_samples, n * ${step}, first, here);
    const heed_matrix_out cosines = {f->spectrum, here, ${n_even}, ${window}}, sines = {f->spectrum + ${n_even}, here, ${n_odd}, ${window}};
    status = heed_linear(heed_matrix_of(f->even, here, ${n_even}), m->dft_even, NULL, cosines, m->executor);
    if (status == HEED_OK) status = heed_linear(heed_matrix_of(f->odd, here, ${n_odd}), m->dft_odd, NULL, sines, m->executor);
    for (int32_t i = 0; i < here * ${window}; ++i) f->spectrum[i] *= f->spectrum[i];
    if (status == HEED_OK)
      status = heed_linear(heed_matrix_of(f->spectrum, here, ${window}), m->mel_filters, NULL, heed_matrix_out_of(bands, here, ${NAME}_MELS), m->executor);
    for (int32_t i = 0; i < here * ${NAME}_MELS; ++i) {
      const int32_t log = log_of(bands[i]);
      greatest = log > greatest ? log : greatest;
      bands[i] = (float)log * (1.0f / 16777216.0f);
    }
  }
  /* Nothing is more than 80 dB below the loudest number. */
  const float least = (float)(greatest - (2 << 24)) * (1.0f / 16777216.0f);
  for (int32_t i = 0; i < n * ${NAME}_MELS; ++i)
    if (rows[i] < least) rows[i] = least;
  return status;
}

/* x (n / 2, ${NAME}_DIM) = the convolutions of n rows of the spectrogram, and positions. */
static heed_status run_front(${name} *m, int32_t n) {
  ${name}_front *const f = &m->phases.front;
  const heed_matrix x = heed_matrix_of(m->x, n / 2, ${NAME}_DIM);
  for (int32_t i = 0; i < ${NAME}_MELS; ++i) f->rows[i] = f->rows[(ptrdiff_t)(n + 1) * ${NAME}_MELS + i] = 0.0f;
  for (int32_t i = 0; i < ${NAME}_DIM; ++i) f->wide[i] = 0.0f;
  heed_status status = convolve(m, f->rows, n, ${NAME}_MELS, &m->conv1, m->conv1_bias, heed_gelu, f->wide + ${NAME}_DIM);
  if (status == HEED_OK) status = convolve(m, f->wide, n / 2, 2 * ${NAME}_DIM, &m->conv2, m->conv2_bias, heed_gelu, m->x);
  if (status == HEED_OK)
    status = heed_add(x, heed_matrix_of(m->encoder_positions, n / 2, ${NAME}_DIM), heed_matrix_out_of(m->x, n / 2, ${NAME}_DIM), m->executor);
  return status;
}
)";

// Moonshine's.
const char samples_text[] = R"(
/* Rows of a convolution of n rows. */
static int32_t rows_of(int32_t n, int32_t kernel, int32_t stride) { return (n - kernel) / stride + 1; }

/* wide (n1, ${NAME}_DIM): the first convolution, of ${row_piece} rows at once. */
static heed_status run_first_convolution(${name} *m, const int16_t *samples, int32_t n1) {
  ${name}_front *const f = &m->phases.front;
  heed_status status = HEED_OK;
  for (int32_t first = 0, n; status == HEED_OK && first < n1; first += n) {
    n = n1 - first < ${row_piece} ? n1 - first : ${row_piece};
    for (int32_t i = 0; i < (n - 1) * 64 + 127; ++i) f->samples[i] = number_of(samples, first * 64 + i);
    status = convolve(m, f->samples, n, 64, &m->conv1, m->conv1_bias, heed_tanh, f->wide + (ptrdiff_t)first * ${NAME}_DIM);
  }
  return status;
}

/* x (n3, ${NAME}_DIM) from n samples: three convolutions. Rows of the second one are computed together with those of the third that
 * need them. */
static heed_status run_front(${name} *m, const int16_t *samples, int32_t n) {
  ${name}_front *const f = &m->phases.front;
  const int32_t n1 = rows_of(n, 127, 64), n3 = rows_of(rows_of(n1, 7, 3), 3, 2);
  heed_status status = run_first_convolution(m, samples, n1);
  if (status == HEED_OK)
    status = heed_group_norm(heed_matrix_of(f->wide, n1, ${NAME}_DIM), m->group_norm_weight, m->group_norm_bias, 1, 1e-5f,
                             heed_matrix_out_of(f->wide, n1, ${NAME}_DIM), m->executor);
  for (int32_t first = 0, here; status == HEED_OK && first < n3; first += here) {
    here = n3 - first < ${row_piece} ? n3 - first : ${row_piece};
    status = convolve(m, f->wide + (ptrdiff_t)first * 6 * ${NAME}_DIM, here * 2 + 1, 3 * ${NAME}_DIM, &m->conv2, m->conv2_bias, heed_gelu, f->hidden);
    if (status == HEED_OK)
      status = convolve(m, f->hidden, here, 4 * ${NAME}_DIM, &m->conv3, m->conv3_bias, heed_gelu, m->x + (ptrdiff_t)first * ${NAME}_DIM);
  }
  return status;
}
)";

const char attended_text[] = R"(
/* ------------------------------------------------------------------------------------------------- what tokens attend to */

const char *${name}_attend(${name} *m, float *rows) {
  m->attended = rows;
  for (int32_t l = 0; l < ${NAME}_DECODER_LAYERS; ++l) m->cross[l].options = rows == NULL ? NULL : &m->options;
  if (rows == NULL) return NULL;
  const heed_tensor_out heads = {rows + (ptrdiff_t)${NAME}_CONTEXT * ${NAME}_ROWS, 0, ${NAME}_ROWS, ${NAME}_ROWS};
  m->options = heed_options_default();
  m->options.weights = &m->weights;
  return heed_attention_weights_init(&m->weights, heads) == HEED_OK ? NULL : heed_refused;
}

/* What the heads of a layer attend to is added to what those of the layers before do. */
static void add_attended(${name} *m, int32_t is_first) {
  float *const sums = m->attended + (ptrdiff_t)m->n * ${NAME}_ROWS;
  const float *const heads = m->attended + (ptrdiff_t)${NAME}_CONTEXT * ${NAME}_ROWS;
  for (int32_t r = 0; r < m->n_rows; ++r) {
    float sum = is_first ? 0.0f : sums[r];
    for (int32_t h = 0; h < ${NAME}_HEADS; ++h) sum += heads[h * ${NAME}_ROWS + r];
    sums[r] = sum;
  }
}
)";

}  // namespace heed_compile

#endif
