/* See kwt.h. Shapes stand beside every step. SPDX-License-Identifier: MIT */
#include "kwt.h"

#include "kwt_math.h"

enum {
  spectrum = 2 * KWT_N_BINS,
  matrix_floats = KWT_N_TOKENS * KWT_DIM, /* one of scratch's four (99, 64) matrices */
  chunk_frames = 25,                      /* frames of 480 samples and 488 bins that fit into scratch */
  chunk_rows = 50                         /* rows of the hidden layer that fit into three of its four parts */
};

/* Checked at compile time: a negative size is an error. */
typedef char kwt_frames_fit[chunk_frames * (KWT_FRAME + spectrum) <= 4 * matrix_floats ? 1 : -1];
typedef char kwt_hidden_fits[chunk_rows * KWT_HIDDEN <= 3 * matrix_floats ? 1 : -1];
typedef char kwt_weights_are_packed[sizeof(kwt_weights) % 64 == 0 && sizeof(kwt_weights_header) == 64 ? 1 : -1];

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

/* y (n, out) = x (n, in) w (in, out) + bias (out) */
static void linear(kwt *net, const float *x, int32_t n, int32_t in, const float *w, const float *bias, int32_t out,
                   float *y) {
  keep(net,
       heed_linear(heed_matrix_of(x, n, in), heed_matrix_of(w, in, out), bias, heed_matrix_out_of(y, n, out), NULL));
  lap(net, KWT_STAGE_LINEAR);
}

/* frames (n, 480): windowed samples of n frames from frame `first` on */
static void load_frames(const kwt *net, kwt_audio audio, int32_t first, int32_t n, float *frames) {
  const float *window = net->weights->window;
  for (int32_t f = 0; f < n; ++f, frames += KWT_FRAME) {
    const int32_t start = (first + f) * KWT_STEP;
    for (int32_t i = 0; i < KWT_FRAME; ++i) {
      const float sample =
          audio.pcm != NULL ? (float)audio.pcm[start + i] * (1.0f / 32768.0f) : audio.samples[start + i];
      frames[i] = sample * window[i];
    }
  }
}

/* x rows 1 + first ... : n frames of audio become n embeddings. Two areas of scratch take turns. */
static void embed_frames(kwt *net, kwt_audio audio, int32_t first, int32_t n) {
  const kwt_weights *w = net->weights;
  float *a = net->scratch, *b = net->scratch + chunk_frames * KWT_FRAME;
  load_frames(net, audio, first, n, a);
  lap(net, KWT_STAGE_AUDIO);
  linear(net, a, n, KWT_FRAME, w->dft[0], NULL, spectrum, b); /* (n, 488) */
  for (int32_t f = 0; f < n; ++f) {                           /* (n, 244) */
    const float *re = b + f * spectrum;
    kwt_magnitude(re, re + KWT_N_BINS, a + f * KWT_N_BINS, KWT_N_BINS);
  }
  lap(net, KWT_STAGE_AUDIO);
  linear(net, a, n, KWT_N_BINS, w->mel[0], NULL, KWT_N_MEL, b); /* (n, 80) */
  kwt_log(b, n * KWT_N_MEL, w->header.log_floor);
  lap(net, KWT_STAGE_AUDIO);
  linear(net, b, n, KWT_N_MEL, w->dct[0], NULL, KWT_N_FEATURES, a); /* (n, 40) */
  for (int32_t i = 0; i < n * KWT_N_FEATURES; ++i) {
    a[i] = (a[i] - w->mean[i % KWT_N_FEATURES]) * w->factor[i % KWT_N_FEATURES];
  }
  lap(net, KWT_STAGE_AUDIO);
  linear(net, a, n, KWT_N_FEATURES, w->w_embedding[0], w->b_embedding, KWT_DIM, net->x + (1 + first) * KWT_DIM);
}

/* x (99, 64): the class token and 98 embeddings, plus positions */
static void embed(kwt *net, kwt_audio audio) {
  for (int32_t first = 0; first < KWT_N_FRAMES; first += chunk_frames) {
    const int32_t left = KWT_N_FRAMES - first;
    embed_frames(net, audio, first, left < chunk_frames ? left : chunk_frames);
  }
  for (int32_t i = 0; i < KWT_DIM; ++i) net->x[i] = net->weights->class_token[i];
  const float *position = net->weights->position[0];
  for (int32_t i = 0; i < matrix_floats; ++i) net->x[i] += position[i];
  lap(net, KWT_STAGE_AUDIO);
}

/* x = LayerNorm(x + attention(x) wo + bo). One head of 64. What heed_layer_run does in one call, in steps here so that
 * attention can be timed alone; the output reuses q. */
static void attend(kwt *net, const kwt_block_weights *w) {
  float *q = net->scratch, *k = q + matrix_floats, *v = k + matrix_floats, *context = v + matrix_floats;
  linear(net, net->x, KWT_N_TOKENS, KWT_DIM, w->wq[0], NULL, KWT_DIM, q);
  linear(net, net->x, KWT_N_TOKENS, KWT_DIM, w->wk[0], NULL, KWT_DIM, k);
  linear(net, net->x, KWT_N_TOKENS, KWT_DIM, w->wv[0], NULL, KWT_DIM, v);
  const heed_attention call = heed_attention_of(KWT_N_TOKENS, KWT_N_TOKENS, 1, 1, KWT_DIM, q, k, v, context,
                                                net->workspace, sizeof net->workspace);
  keep(net, heed_attention_run(&call));
  lap(net, KWT_STAGE_ATTENTION);
  linear(net, context, KWT_N_TOKENS, KWT_DIM, w->wo[0], w->bo, KWT_DIM, q);
  kwt_add_norm(net->x, q, KWT_N_TOKENS, w->gamma_1, w->beta_1, net->weights->header.norm_epsilon);
  lap(net, KWT_STAGE_NORM);
}

/* x = LayerNorm(x + gelu(x w1 + b1) w2 + b2), in two pieces of rows, which saves 101 KB */
static void feed_forward(kwt *net, const kwt_block_weights *w) {
  float *hidden = net->scratch, *branch = net->scratch + 3 * matrix_floats;
  for (int32_t first = 0; first < KWT_N_TOKENS; first += chunk_rows) {
    const int32_t left = KWT_N_TOKENS - first, n = left < chunk_rows ? left : chunk_rows;
    linear(net, net->x + first * KWT_DIM, n, KWT_DIM, w->w1[0], w->b1, KWT_HIDDEN, hidden);
    kwt_gelu(hidden, n * KWT_HIDDEN);
    lap(net, KWT_STAGE_GELU);
    linear(net, hidden, n, KWT_HIDDEN, w->w2[0], w->b2, KWT_DIM, branch + first * KWT_DIM);
  }
  kwt_add_norm(net->x, branch, KWT_N_TOKENS, w->gamma_2, w->beta_2, net->weights->header.norm_epsilon);
  lap(net, KWT_STAGE_NORM);
}

/* logits (12) from token 0, their softmax, the greatest */
static void classify(kwt *net, kwt_result *result) {
  float probabilities[KWT_N_LABELS];
  linear(net, net->x, 1, KWT_DIM, net->weights->w_label[0], net->weights->b_label, KWT_N_LABELS, result->logits);
  keep(net, heed_softmax(heed_matrix_of(result->logits, 1, KWT_N_LABELS), 1.0f,
                         heed_matrix_out_of(probabilities, 1, KWT_N_LABELS), NULL));
  result->label = 0;
  for (int32_t i = 1; i < KWT_N_LABELS; ++i) {
    if (result->logits[i] > result->logits[result->label]) result->label = i;
  }
  result->confidence = probabilities[result->label];
  lap(net, KWT_STAGE_AUDIO);
}

static kwt_status run(kwt *net, kwt_audio audio, kwt_result *result) {
  kwt_result found = {0, 0.0f, {0.0f}};
  net->failure = HEED_OK;
  start_clock(net);
  embed(net, audio);
  for (int32_t b = 0; b < KWT_N_BLOCKS; ++b) {
    attend(net, &net->weights->blocks[b]);
    feed_forward(net, &net->weights->blocks[b]);
  }
  classify(net, &found);
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

static int same_network(const kwt_weights_header *h) {
  return h->version == KWT_FILE_VERSION && h->n_bytes == sizeof(kwt_weights) && h->n_samples == KWT_N_SAMPLES &&
         h->n_bins == KWT_N_BINS && h->n_mel == KWT_N_MEL && h->n_features == KWT_N_FEATURES && h->dim == KWT_DIM &&
         h->hidden == KWT_HIDDEN && h->n_blocks == KWT_N_BLOCKS && h->n_labels == KWT_N_LABELS;
}

kwt_status kwt_init(kwt *net, const void *weights, size_t n_bytes) {
  if (net == NULL || weights == NULL) return KWT_NULL_POINTER;
  if ((uintptr_t)net % 64 != 0 || (uintptr_t)weights % sizeof(float) != 0) return KWT_MISALIGNED;
  net->weights = NULL;
  net->clock = NULL;
  net->clock_user = NULL;
  net->failure = HEED_OK;
  if (n_bytes < sizeof(kwt_weights_header)) return KWT_WEIGHTS_SIZE;
  const kwt_weights *w = (const kwt_weights *)weights;
  if (w->header.magic[0] != KWT_FILE_MAGIC_0 || w->header.magic[1] != KWT_FILE_MAGIC_1) return KWT_WEIGHTS_MAGIC;
  if (!same_network(&w->header)) return KWT_WEIGHTS_VERSION;
  if (n_bytes != sizeof(kwt_weights)) return KWT_WEIGHTS_SIZE;
  if (kwt_weights_checksum(w) != w->header.checksum) return KWT_WEIGHTS_DAMAGED;
  net->weights = w;
  start_clock(net);
  return KWT_OK;
}

uint32_t kwt_weights_checksum(const kwt_weights *weights) {
  typedef const union {
    float number;
    uint32_t bits;
  } word;
  const size_t header = sizeof(kwt_weights_header) / sizeof(word), n = sizeof(kwt_weights) / sizeof(word);
  word *words = (word *)(const void *)weights;
  uint32_t hash = UINT32_C(0x811c9dc5);
  for (size_t i = header; i < n; ++i) hash = (hash ^ words[i].bits) * UINT32_C(0x01000193);
  return hash;
}

const char *kwt_label(int32_t label) {
  static const char *const labels[KWT_N_LABELS] = {"_silence_", "_unknown_", "yes", "no",  "up",   "down",
                                                   "left",      "right",     "on",  "off", "stop", "go"};
  return label >= 0 && label < KWT_N_LABELS ? labels[label] : "?";
}

const char *kwt_status_text(kwt_status status) {
  switch (status) {
    case KWT_OK:
      return "no error";
    case KWT_NULL_POINTER:
      return "a pointer is null";
    case KWT_NOT_READY:
      return "kwt_init has not succeeded on this object";
    case KWT_MISALIGNED:
      return "the object is not aligned to 64 bytes, or weights or samples not to their type";
    case KWT_WRONG_LENGTH:
      return "the clip does not have 16000 samples";
    case KWT_BAD_SAMPLE:
      return "a sample is not a number or far beyond full scale (+-1)";
    case KWT_WEIGHTS_SIZE:
      return "the weights are too short or too long";
    case KWT_WEIGHTS_MAGIC:
      return "not a KWT-1 weights file, or of the other byte order";
    case KWT_WEIGHTS_VERSION:
      return "weights of another version or network";
    case KWT_WEIGHTS_DAMAGED:
      return "the weights are damaged: their checksum differs";
    case KWT_HEED_FAILED:
      return "heed refused a call";
  }
  return "unknown status";
}
