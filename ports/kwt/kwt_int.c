/* See kwt_int.h. SPDX-License-Identifier: MIT */
#include "kwt_int.h"

/* Checked at compile time: a negative size is an error. */
typedef char kwt_int_header_is_packed[sizeof(kwt_int_header) == 64 ? 1 : -1];
typedef char kwt_int_sound_is_packed[sizeof(kwt_int_sound) % 8 == 0 ? 1 : -1];
typedef char kwt_int_frame_fits[KWT_INT_ROOM + 2 * KWT_N_MEL <= KWT_INT_MEMORY_BYTES ? 1 : -1];

/* Charges the time since the last call to a stage. */
static void lap(kwt_int *net, kwt_stage stage) {
  if (net->clock == NULL) return;
  const uint32_t now = net->clock(net->clock_user);
  net->ticks[stage] += (uint32_t)(now - net->last_tick);
  net->last_tick = now;
}

static void start_clock(kwt_int *net) {
  for (int i = 0; i < KWT_N_STAGES; ++i) net->ticks[i] = 0;
  if (net->clock != NULL) net->last_tick = net->clock(net->clock_user);
}

/* x (99, 64): the class token, and one token for each frame */
static void embed(kwt_int *net, const int16_t *samples) {
  const kwt_int_sound *sound = net->sound;
  int16_t *const logs = (int16_t *)(void *)(net->memory + KWT_INT_ROOM);
  for (int32_t i = 0; i < KWT_DIM; ++i) net->x[i] = sound->start[0][i];
  for (int32_t f = 0; f < KWT_N_FRAMES; ++f) {
    kwt_int_logs(sound, net->mel, samples + f * KWT_STEP, net->memory, logs);
    kwt_int_embed(sound, logs, sound->start[f + 1], net->x + (f + 1) * KWT_DIM);
  }
  lap(net, KWT_STAGE_SOUND);
}

/* logits (12) from token 0, and the greatest */
static void classify(kwt_int *net, kwt_int_result *result) {
  const kwt_int_sound *sound = net->sound;
  result->label = 0;
  for (int32_t i = 0; i < KWT_N_LABELS; ++i) {
    int32_t sum = 0;
    for (int32_t k = 0; k < KWT_DIM; ++k) sum += net->token[k] * sound->label[i][k];
    result->logits[i] = (int32_t)((uint32_t)sound->label_bias[i] + (uint32_t)kwt_int_scaled(sum, sound->label_unit[i]));
    if (result->logits[i] > result->logits[result->label]) result->label = i;
  }
  lap(net, KWT_STAGE_LABEL);
}

kwt_status kwt_int_run(kwt_int *net, const int16_t *samples, size_t n_samples, kwt_int_result *result) {
  if (net == NULL || samples == NULL || result == NULL) return KWT_NULL_POINTER;
  if (net->sound == NULL) return KWT_NOT_READY;
  if ((uintptr_t)samples % sizeof *samples != 0) return KWT_MISALIGNED;
  if (n_samples != KWT_N_SAMPLES) return KWT_WRONG_LENGTH;
  start_clock(net);
  embed(net, samples);
  net->layers.see = net->see;
  net->layers.see_user = net->see_user;
  net->failure = int_model_run_rows(&net->layers, net->x, KWT_N_TOKENS, 1, net->token,
                                    heed_memory_of(net->memory, sizeof net->memory));
  lap(net, KWT_STAGE_BLOCKS);
  if (net->failure != HEED_OK) return KWT_HEED_FAILED;
  classify(net, result);
  return KWT_OK;
}

static int is_multiplier(heed_multiplier m) { return m.m >= 1 << 30 && m.e >= -31 && m.e <= 8; }

/* Sums of products with int16 numbers stay in int32. */
static int row_is_possible(const int16_t *w, int32_t n) {
  int32_t sum = 0;
  for (int32_t i = 0; i < n; ++i) sum += w[i] < 0 ? -w[i] : w[i];
  return sum <= 65535;
}

/* A turn by k / 512 makes no number larger. */
static int turn_is_possible(const int32_t *sine, int32_t k) {
  const int64_t s = sine[k], c = sine[k + KWT_PERIOD / 4];
  return s * s + c * c <= ((int64_t)1 << 60) + ((int64_t)1 << 32);
}

/* Numbers of a file that is not ours may be anything: what indexes memory is looked at, and what sums are made of. */
static int sound_is_possible(const kwt_int_sound *s, uint32_t n_mel_weights) {
  uint32_t n = 0;
  for (int32_t m = 0; m < KWT_N_MEL; ++m) {
    if (s->mel_first[m] + s->mel_n[m] > KWT_N_BINS) return 0;
    n += s->mel_n[m];
  }
  for (int32_t k = 0; k < KWT_PERIOD / 2; ++k)
    if (!turn_is_possible(s->sine, k)) return 0;
  for (int32_t i = 0; i < KWT_DIM; ++i)
    if (!is_multiplier(s->embedding_unit[i]) || !row_is_possible(s->embedding[i], KWT_N_MEL)) return 0;
  for (int32_t i = 0; i < KWT_N_LABELS; ++i)
    if (!is_multiplier(s->label_unit[i]) || !row_is_possible(s->label[i], KWT_DIM)) return 0;
  return n == n_mel_weights;
}

kwt_status kwt_int_init(kwt_int *net, const void *weights, size_t n_bytes) {
  if (net == NULL || weights == NULL) return KWT_NULL_POINTER;
  if ((uintptr_t)net % HEED_ALIGNMENT != 0 || (uintptr_t)weights % HEED_ALIGNMENT != 0) return KWT_MISALIGNED;
  net->sound = NULL;
  net->clock = NULL;
  net->clock_user = NULL;
  net->failure = HEED_OK;
  net->see = NULL;
  net->see_user = NULL;
  const kwt_int_header *h = (const kwt_int_header *)weights;
  const kwt_int_sound *sound = (const kwt_int_sound *)(const void *)(h + 1);
  if (n_bytes < sizeof *h + sizeof *sound) return KWT_WEIGHTS_SIZE;
  if (h->magic[0] != KWT_FILE_MAGIC_0 || h->magic[1] != KWT_INT_MAGIC_1) return KWT_WEIGHTS_MAGIC;
  if (h->version != KWT_INT_VERSION || h->n_mel_weights > KWT_N_BINS * KWT_N_MEL) return KWT_WEIGHTS_VERSION;
  if (h->layers_at != KWT_LINES(sizeof *h + sizeof *sound + 2 * (size_t)h->n_mel_weights)) return KWT_WEIGHTS_VERSION;
  if (n_bytes != h->n_bytes || n_bytes < h->layers_at) return KWT_WEIGHTS_SIZE;
  if (int_model_checksum(sound, h->layers_at - sizeof *h) != h->checksum) return KWT_WEIGHTS_DAMAGED;
  if (!sound_is_possible(sound, h->n_mel_weights)) return KWT_WEIGHTS_VERSION;
  if (int_model_open(&net->layers, (const unsigned char *)weights + h->layers_at, n_bytes - h->layers_at) != NULL)
    return KWT_WEIGHTS_DAMAGED;
  if (net->layers.header->model_dim != KWT_DIM) return KWT_WEIGHTS_VERSION;
  net->sound = sound;
  net->mel = (const uint16_t *)(const void *)(sound + 1);
  start_clock(net);
  return KWT_OK;
}
