/* See kwt.h. Shapes stand beside every step. SPDX-License-Identifier: MIT */
#include "kwt.h"

#include "kwt_math.h"

enum {
  spectrum = 2 * KWT_N_BINS,
  folded = 4 * KWT_FOLD,
  chunk_frames = 28 /* folded frames and their spectra, 1004 numbers each, that fit into the activations */
};

/* Checked at compile time: a negative size is an error. */
typedef char kwt_frames_fit[(size_t)chunk_frames * (folded + spectrum) <= KWT_ACTIVATIONS ? 1 : -1];
typedef char kwt_frame_fits[KWT_PERIOD <= chunk_frames * spectrum ? 1 : -1];
typedef char kwt_header_is_packed[sizeof(kwt_header) == 64 ? 1 : -1];

/* One of the two is null. */
typedef struct kwt_audio {
  const int16_t *pcm;
  const float *samples;
} kwt_audio;

/* Charges the time since the last call to a stage. */
static void lap(kwt *net, kwt_stage stage) {
  if (net->clock == NULL) return;
  const uint32_t now = net->clock(net->clock_user);
  net->ticks[stage] += (uint32_t)(now - net->last_tick);
  net->last_tick = now;
}

static void start_clock(kwt *net) {
  for (int i = 0; i < KWT_N_STAGES; ++i) net->ticks[i] = 0;
  if (net->clock != NULL) net->last_tick = net->clock(net->clock_user);
}

/* The first refusal is kept and reported at the end of the run; until then the numbers are garbage that nobody sees. */
static void keep(kwt *net, heed_status status) {
  if (net->failure == HEED_OK) net->failure = status;
}

/* ---------------------------------------------------------------------------------------------------------- weights */

/* The file is read from front to back: its order is that of the network. */
typedef struct reader {
  const unsigned char *at;
  int32_t dtype;
} reader;

static reader first_of(const kwt *net) {
  const reader r = {(const unsigned char *)(net->weights + 1), net->weights->dtype};
  return r;
}

static const void *take(reader *r, size_t n_bytes) {
  const void *here = r->at;
  r->at += KWT_LINES(n_bytes);
  return here;
}

static const float *take_floats(reader *r, int32_t n) { return (const float *)take(r, (size_t)n * sizeof(float)); }

/* Weights of another shape, in a file that is not ours, become null ones, which heed refuses. */
static heed_weights take_matrix(kwt *net, reader *r, int32_t dtype, int32_t n_in, int32_t n_out) {
  const size_t bytes = HEED_WEIGHTS_PACKED_BYTES(dtype, n_in, n_out);
  heed_weights w;
  heed_status status = heed_weights_open(&w, take(r, bytes), bytes);
  if (status == HEED_OK && w.dtype == dtype && w.n_in == n_in && w.n_out == n_out) return w;
  keep(net, status != HEED_OK ? status : HEED_STATUS(HEED_SHAPE_MISMATCH, HEED_ARG_PACKED));
  return heed_weights_of(NULL, NULL, dtype, HEED_IN_OUT, n_in, n_out);
}

/* y (n, out) = x (n, in) w (in, out) + bias (out); rows of x and y are x_stride and y_stride floats apart */
static void project(kwt *net, const float *x, int32_t n, ptrdiff_t x_stride, heed_weights w, const float *bias,
                    float *y, ptrdiff_t y_stride) {
  const heed_matrix from = {x, n, w.n_in, x_stride};
  const heed_matrix_out to = {y, n, w.n_out, y_stride};
  keep(net, heed_linear(from, w, bias, to, NULL));
}

/* ------------------------------------------------------------------------------------------------------------ sound */

typedef struct sound_weights {
  const float *window;
  heed_weights dft[4], mel, embedding;
} sound_weights;

static sound_weights take_sound(kwt *net, reader *r) {
  const int32_t dtype = KWT_SOUND_FORMAT(r->dtype);
  sound_weights w;
  w.window = take_floats(r, KWT_FRAME);
  for (int i = 0; i < 4; ++i) w.dft[i] = take_matrix(net, r, dtype, KWT_FOLD, KWT_HALF_BINS);
  w.mel = take_matrix(net, r, dtype, KWT_N_BINS, KWT_N_MEL);
  w.embedding = take_matrix(net, r, HEED_F32, KWT_N_MEL, KWT_DIM);
  return w;
}

/* frame (512): windowed samples from `start` on, and zeros */
static void load_frame(kwt_audio audio, int32_t start, const float *window, float *frame) {
  for (int32_t i = 0; i < KWT_FRAME; ++i) {
    const float sample = audio.pcm != NULL ? (float)audio.pcm[start + i] * (1.0f / 32768.0f) : audio.samples[start + i];
    frame[i] = sample * window[i];
  }
  for (int32_t i = KWT_FRAME; i < KWT_PERIOD; ++i) frame[i] = 0.0f;
}

/* x rows 1 + first ... : n frames of audio become n tokens. Two areas of the activations take turns. */
static void embed_frames(kwt *net, const sound_weights *w, kwt_audio audio, int32_t first, int32_t n) {
  float *a = net->memory, *b = a + chunk_frames * folded;
  for (int32_t f = 0; f < n; ++f) {
    load_frame(audio, (first + f) * KWT_STEP, w->window, b);
    kwt_fold(b, a + f * KWT_FOLD, n); /* 4 of (n, 129) */
  }
  for (int i = 0; i < 4; ++i) { /* b (n, 488) */
    project(net, a + i * n * KWT_FOLD, n, KWT_FOLD, w->dft[i], NULL, b + i * KWT_HALF_BINS, spectrum);
  }
  for (int32_t f = 0; f < n; ++f) { /* (n, 244), the first half of b's rows */
    kwt_magnitude(b + f * spectrum, b + f * spectrum + KWT_N_BINS, KWT_N_BINS);
  }
  project(net, b, n, spectrum, w->mel, NULL, a, KWT_N_MEL); /* (n, 80) */
  kwt_log(a, n * KWT_N_MEL, net->weights->log_floor);
  project(net, a, n, KWT_N_MEL, w->embedding, NULL, net->x + (1 + first) * KWT_DIM, KWT_DIM);
}

/* x (99, 64): nothing and 98 tokens, plus class token, biases and positions */
static void embed(kwt *net, reader *r, kwt_audio audio) {
  const sound_weights w = take_sound(net, r);
  for (int32_t first = 0; first < KWT_N_FRAMES; first += chunk_frames) {
    const int32_t left = KWT_N_FRAMES - first;
    embed_frames(net, &w, audio, first, left < chunk_frames ? left : chunk_frames);
  }
  for (int32_t i = 0; i < KWT_DIM; ++i) net->x[i] = 0.0f;
  const heed_matrix start = heed_matrix_of(take_floats(r, KWT_N_TOKENS * KWT_DIM), KWT_N_TOKENS, KWT_DIM);
  keep(net, heed_add(heed_matrix_of(net->x, KWT_N_TOKENS, KWT_DIM), start,
                     heed_matrix_out_of(net->x, KWT_N_TOKENS, KWT_DIM), NULL));
  lap(net, KWT_STAGE_SOUND);
}

/* ---------------------------------------------------------------------------------------------------------- network */

static void show(const kwt *net, int32_t layer, const float *rows, int32_t n, int32_t dim) {
  if (net->see != NULL && net->failure == HEED_OK) net->see(net->see_user, layer, 0, heed_matrix_of(rows, n, dim));
}

/* x = norm(h + gelu(h w1 + b1) w2 + b2) with h = norm(x + attention(x wq, x wk, x wv) wo + bo); one head of 64. The rows
 * that come out: of the last block only token 0 is read, unless options count rows. */
static const float *encode(kwt *net, reader *r, int32_t block) {
  const int one = block + 1 == KWT_N_BLOCKS && net->options == NULL;
  float *y = one ? net->token : net->x;
  heed_attention_layer attention = heed_attention_layer_default(KWT_DIM, 1);
  attention.wq = take_matrix(net, r, r->dtype, KWT_DIM, KWT_DIM);
  attention.wk = take_matrix(net, r, r->dtype, KWT_DIM, KWT_DIM);
  attention.wv = take_matrix(net, r, r->dtype, KWT_DIM, KWT_DIM);
  attention.wo = take_matrix(net, r, r->dtype, KWT_DIM, KWT_DIM);
  attention.bo = take_floats(r, KWT_DIM);
  if (net->options != NULL) attention.options = &net->options[block];
  heed_transformer_layer b = heed_transformer_layer_default(&attention, KWT_HIDDEN, heed_layer_norm, heed_gelu_tanh);
  b.eps = net->weights->norm_epsilon;
  b.norm1_weight = take_floats(r, KWT_DIM);
  b.norm1_bias = take_floats(r, KWT_DIM);
  b.w_up = take_matrix(net, r, r->dtype, KWT_DIM, KWT_HIDDEN);
  b.b_up = take_floats(r, KWT_HIDDEN);
  b.w_down = take_matrix(net, r, r->dtype, KWT_HIDDEN, KWT_DIM);
  b.b_down = take_floats(r, KWT_DIM);
  b.norm2_weight = take_floats(r, KWT_DIM);
  b.norm2_bias = take_floats(r, KWT_DIM);
  b.out_rows = one;
  keep(net, heed_transformer_layer_run(&b, heed_matrix_of(net->x, KWT_N_TOKENS, KWT_DIM),
                                       heed_matrix_out_of(y, one ? 1 : KWT_N_TOKENS, KWT_DIM),
                                       heed_memory_of(net->memory, sizeof net->memory), NULL));
  show(net, block, y, one ? 1 : KWT_N_TOKENS, KWT_DIM);
  return y;
}

/* logits (12) from token 0, their softmax, the greatest */
static void classify(kwt *net, reader *r, const float *token, kwt_result *result) {
  float probabilities[KWT_N_LABELS];
  const heed_weights label = take_matrix(net, r, HEED_F32, KWT_DIM, KWT_N_LABELS);
  project(net, token, 1, KWT_DIM, label, take_floats(r, KWT_N_LABELS), result->logits, KWT_N_LABELS);
  show(net, KWT_N_BLOCKS, result->logits, 1, KWT_N_LABELS);
  keep(net, heed_softmax(heed_matrix_of(result->logits, 1, KWT_N_LABELS), 1.0f,
                         heed_matrix_out_of(probabilities, 1, KWT_N_LABELS), NULL));
  result->label = 0;
  for (int32_t i = 1; i < KWT_N_LABELS; ++i) {
    if (result->logits[i] > result->logits[result->label]) result->label = i;
  }
  result->confidence = probabilities[result->label];
}

static kwt_status run(kwt *net, kwt_audio audio, kwt_result *result) {
  kwt_result found = {0, 0.0f, {0.0f}};
  reader r = first_of(net);
  net->failure = HEED_OK;
  start_clock(net);
  embed(net, &r, audio);
  const float *token = net->x;
  for (int32_t b = 0; b < KWT_N_BLOCKS; ++b) token = encode(net, &r, b);
  lap(net, KWT_STAGE_BLOCKS);
  classify(net, &r, token, &found);
  lap(net, KWT_STAGE_LABEL);
  if (net->failure != HEED_OK) return KWT_HEED_FAILED;
  *result = found;
  return KWT_OK;
}

static kwt_status check_run(const kwt *net, const void *samples, size_t n_samples, size_t alignment,
                            const kwt_result *result) {
  if (net == NULL || samples == NULL || result == NULL) return KWT_NULL_POINTER;
  if (net->weights == NULL) return KWT_NOT_READY;
  if ((uintptr_t)samples % alignment != 0) return KWT_MISALIGNED;
  return n_samples == KWT_N_SAMPLES ? KWT_OK : KWT_WRONG_LENGTH;
}

kwt_status kwt_run_int16(kwt *net, const int16_t *samples, size_t n_samples, kwt_result *result) {
  const kwt_status status = check_run(net, samples, n_samples, sizeof *samples, result);
  const kwt_audio audio = {samples, NULL};
  return status == KWT_OK ? run(net, audio, result) : status;
}

kwt_status kwt_run_float(kwt *net, const float *samples, size_t n_samples, kwt_result *result) {
  const kwt_status status = check_run(net, samples, n_samples, sizeof *samples, result);
  if (status != KWT_OK) return status;
  for (int32_t i = 0; i < KWT_N_SAMPLES; ++i) {
    if (!(samples[i] >= -4.0f && samples[i] <= 4.0f)) return KWT_BAD_SAMPLE;
  }
  const kwt_audio audio = {NULL, samples};
  return run(net, audio, result);
}

static int same_network(const kwt_header *h) {
  return h->version == KWT_FILE_VERSION && (h->dtype == HEED_F32 || h->dtype == HEED_INT8) &&
         h->n_bytes == KWT_WEIGHTS_BYTES(h->dtype) && h->n_samples == KWT_N_SAMPLES && h->n_bins == KWT_N_BINS &&
         h->n_mel == KWT_N_MEL && h->dim == KWT_DIM && h->hidden == KWT_HIDDEN && h->n_blocks == KWT_N_BLOCKS &&
         h->n_labels == KWT_N_LABELS;
}

uint32_t kwt_checksum(const uint32_t *words, size_t n) {
  uint32_t hash = UINT32_C(0x811c9dc5);
  for (size_t i = 0; i < n; ++i) hash = (hash ^ words[i]) * UINT32_C(0x01000193);
  return hash;
}

kwt_status kwt_init(kwt *net, const void *weights, size_t n_bytes) {
  if (net == NULL || weights == NULL) return KWT_NULL_POINTER;
  if ((uintptr_t)net % HEED_ALIGNMENT != 0 || (uintptr_t)weights % HEED_ALIGNMENT != 0) return KWT_MISALIGNED;
  net->weights = NULL;
  net->clock = NULL;
  net->clock_user = NULL;
  net->options = NULL;
  net->see = NULL;
  net->see_user = NULL;
  net->failure = HEED_OK;
  const kwt_header *header = (const kwt_header *)weights;
  if (n_bytes < sizeof *header) return KWT_WEIGHTS_SIZE;
  if (header->magic[0] != KWT_FILE_MAGIC_0 || header->magic[1] != KWT_FILE_MAGIC_1) return KWT_WEIGHTS_MAGIC;
  if (!same_network(header)) return KWT_WEIGHTS_VERSION;
  if (n_bytes != header->n_bytes) return KWT_WEIGHTS_SIZE;
  const size_t n_words = (n_bytes - sizeof *header) / sizeof(uint32_t);
  if (kwt_checksum((const uint32_t *)(const void *)(header + 1), n_words) != header->checksum)
    return KWT_WEIGHTS_DAMAGED;
  net->weights = header;
  start_clock(net);
  return KWT_OK;
}
