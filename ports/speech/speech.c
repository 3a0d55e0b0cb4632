/* See speech.h. Shapes stand beside every step. SPDX-License-Identifier: MIT */
#include "speech.h"

static const float norm_epsilon = 1e-5f;

/* The first refusal is kept. */
static int accepted(speech *net, heed_status status) {
  if (net->failure == HEED_OK) net->failure = status;
  return status == HEED_OK;
}

static void watched(speech *net, speech_part part, heed_matrix rows) {
  if (net->watch != NULL) net->watch(net->context, part, rows);
}

/* ---------------------------------------------------------------------------------------------------------- layers */

static heed_attention_layer attention_of(const heed_weights *wq, const heed_weights *wk, const heed_weights *wv,
                                         const heed_weights *wo) {
  heed_attention_layer a = heed_attention_layer_default(SPEECH_DIM, SPEECH_HEADS);
  a.wq = *wq;
  a.wk = *wk;
  a.wv = *wv;
  a.wo = *wo;
  return a;
}

static heed_transformer_layer layer_of(const speech_layer *w, const heed_attention_layer *attention,
                                       heed_activation *activation) {
  heed_transformer_layer l = heed_transformer_layer_default(attention, SPEECH_HIDDEN, heed_layer_norm, activation);
  l.norm_first = 1;
  l.eps = norm_epsilon;
  l.norm1_weight = w->norm_1;
  l.norm2_weight = w->norm_2;
  l.w_up = w->w_up;
  l.b_up = w->b_up;
  l.w_down = w->w_down;
  l.b_down = w->b_down;
  return l;
}

static void make_layers(speech *net, int32_t i) {
  const speech_layer *e = &net->model.encoder[i], *d = &net->model.decoder[i];
  net->encoder_attention[i] = attention_of(&e->wq, &e->wk, &e->wv, &e->wo);
  net->encoder_attention[i].rope = &net->rope;
  net->encoder[i] = layer_of(e, &net->encoder_attention[i], heed_gelu);
  net->attention[i] = attention_of(&d->wq, &d->wk, &d->wv, &d->wo);
  net->attention[i].rope = &net->rope;
  net->attention[i].causal = 1;
  net->attention[i].cache = &net->caches[i];
  net->cross[i] = attention_of(&d->cross_q, &d->cross_k, &d->cross_v, &d->cross_o);
  net->cross[i].cross = 1;
  net->cross[i].cache = &net->crosses[i];
  net->decoder[i] = layer_of(d, &net->attention[i], heed_silu);
  net->decoder[i].cross = &net->cross[i];
  net->decoder[i].norm_cross_weight = d->norm_cross;
  net->decoder[i].ffn_order = HEED_FFN_UP_GATE;
}

speech_status speech_open(speech *net, const void *bytes, size_t n_bytes) {
  if (net == NULL) return SPEECH_NULL_POINTER;
  if ((uintptr_t)net % HEED_ALIGNMENT != 0) return SPEECH_MISALIGNED;
  net->ready = 0;
  net->executor = NULL;
  net->watch = NULL;
  net->attended = NULL;
  net->cache_format = SPEECH_CACHE_FORMAT;
  net->failure = HEED_OK;
  net->error = speech_model_read(&net->model, bytes, n_bytes);
  if (net->error != NULL) return SPEECH_MODEL;
  if (!accepted(net, heed_rope_init(&net->rope, HEED_ROPE_INTERLEAVED))) return SPEECH_HEED_FAILED;
  net->rope.rotary_dim = SPEECH_ROTARY_DIM;
  net->rope.inverse_frequencies = net->model.frequencies;
  for (int32_t i = 0; i < SPEECH_LAYERS; ++i) make_layers(net, i);
  net->ready = 1;
  return SPEECH_OK;
}

/* ------------------------------------------------------------------------------------------------------------ stem */

/* y (n, dim of w) = rows of x that overlap, one every `stride` floats, times w: a convolution over time. */
static int convolve(speech *net, const float *x, int32_t n, int32_t stride, const heed_weights *w, const float *bias,
                    float *y) {
  const heed_matrix rows = {x, n, w->n_in, stride};
  return accepted(net, heed_linear(rows, *w, bias, heed_matrix_out_of(y, n, w->n_out), net->executor));
}

static int activate(speech *net, heed_activation *f, float *y, int32_t n, int32_t dim) {
  const heed_matrix x = heed_matrix_of(y, n, dim), none = {NULL, 0, 0, 0};
  return accepted(net, f(x, none, heed_matrix_out_of(y, n, dim), net->executor));
}

/* y (n1, 288) = tanh of the first convolution; the samples become floats piece by piece. */
static int conv_1(speech *net, const int16_t *samples, int32_t n1, float *piece, float *y) {
  for (int32_t first = 0; first < n1; first += SPEECH_PIECE_1) {
    const int32_t n = n1 - first < SPEECH_PIECE_1 ? n1 - first : SPEECH_PIECE_1;
    const int32_t n_samples = (n - 1) * SPEECH_STRIDE_1 + SPEECH_KERNEL_1;
    float *rows = y + (ptrdiff_t)first * SPEECH_DIM;
    for (int32_t i = 0; i < n_samples; ++i) piece[i] = (float)samples[first * SPEECH_STRIDE_1 + i] * (1.0f / 32768.0f);
    if (!convolve(net, piece, n, SPEECH_STRIDE_1, &net->model.conv_1, NULL, rows) ||
        !activate(net, heed_tanh, rows, n, SPEECH_DIM))
      return 0;
    watched(net, SPEECH_PART_CONV_1, heed_matrix_of(rows, n, SPEECH_DIM));
  }
  return 1;
}

/* x (n3, 288) = gelu of the third convolution of gelu of the second one of y (n1, 288). A piece of the second one's
 * rows is computed together with the rows of the third one that need it. */
static int conv_2_and_3(speech *net, const float *y, int32_t n3, float *wide, float *x) {
  const speech_model *m = &net->model;
  for (int32_t first = 0; first < n3; first += SPEECH_PIECE_3) {
    const int32_t n = n3 - first < SPEECH_PIECE_3 ? n3 - first : SPEECH_PIECE_3;
    const int32_t n2 = (n - 1) * SPEECH_STRIDE_3 + SPEECH_KERNEL_3;
    const float *from = y + (ptrdiff_t)first * SPEECH_STRIDE_3 * SPEECH_STRIDE_2 * SPEECH_DIM;
    float *rows = x + (ptrdiff_t)first * SPEECH_DIM;
    if (!convolve(net, from, n2, SPEECH_STRIDE_2 * SPEECH_DIM, &m->conv_2, m->b_conv_2, wide) ||
        !activate(net, heed_gelu, wide, n2, SPEECH_WIDE))
      return 0;
    watched(net, SPEECH_PART_CONV_2, heed_matrix_of(wide, n2, SPEECH_WIDE));
    if (!convolve(net, wide, n, SPEECH_STRIDE_3 * SPEECH_WIDE, &m->conv_3, m->b_conv_3, rows) ||
        !activate(net, heed_gelu, rows, n, SPEECH_DIM))
      return 0;
    watched(net, SPEECH_PART_CONV_3, heed_matrix_of(rows, n, SPEECH_DIM));
  }
  return 1;
}

/* x (n3, 288) from samples. */
static int stem(speech *net, const int16_t *samples, int32_t n, float *x) {
  const int32_t n1 = SPEECH_ROWS_1(n), n3 = SPEECH_ROWS(n);
  float *y = (float *)(void *)net->phases.stem; /* (n1, 288) */
  float *wide = y + (ptrdiff_t)SPEECH_MAX_ROWS_1 * SPEECH_DIM, *piece = wide + SPEECH_PIECE_2 * SPEECH_WIDE;
  if (!conv_1(net, samples, n1, piece, y)) return 0;
  const heed_matrix rows = heed_matrix_of(y, n1, SPEECH_DIM);
  if (!accepted(net, heed_group_norm(rows, net->model.group_weight, net->model.group_bias, 1, norm_epsilon,
                                     heed_matrix_out_of(y, n1, SPEECH_DIM), net->executor)))
    return 0;
  watched(net, SPEECH_PART_GROUP_NORM, rows);
  return conv_2_and_3(net, y, n3, wide, x);
}

/* --------------------------------------------------------------------------------------------------------- encoder */

static int encode(speech *net, float *x, int32_t n) {
  const heed_matrix rows = heed_matrix_of(x, n, SPEECH_DIM);
  const heed_matrix_out out = heed_matrix_out_of(x, n, SPEECH_DIM);
  const heed_memory memory = heed_memory_of(net->phases.encoder, sizeof net->phases.encoder);
  for (int32_t i = 0; i < SPEECH_LAYERS; ++i) {
    if (!accepted(net, heed_transformer_layer_run(&net->encoder[i], rows, out, memory, net->executor))) return 0;
    watched(net, SPEECH_PART_ENCODER_LAYER, rows);
  }
  if (!accepted(net, heed_layer_norm(rows, net->model.encoder_norm, NULL, norm_epsilon, out, net->executor))) return 0;
  watched(net, SPEECH_PART_ENCODER, rows);
  return 1;
}

static int new_cache(speech *net, heed_cache *cache, int32_t capacity, void *memory, size_t bytes) {
  heed_cache_shape shape = heed_cache_shape_default(capacity, SPEECH_HEADS, SPEECH_HEAD_DIM);
  shape.dtype = net->cache_format;
  return accepted(net, heed_cache_init(cache, &shape, heed_memory_of(memory, bytes)));
}

/* Keys and values of the encoder's rows, for every layer of the decoder; the decoder's own are empty. */
static int make_cross_keys(speech *net, const float *x, int32_t n) {
  const heed_matrix rows = heed_matrix_of(x, n, SPEECH_DIM), none = {NULL, 0, 0, 0};
  const heed_memory memory = heed_memory_of(net->memory, sizeof net->memory);
  for (int32_t i = 0; i < SPEECH_LAYERS; ++i)
    if (!new_cache(net, &net->caches[i], SPEECH_MAX_STEPS, net->cache_memory[i], sizeof net->cache_memory[i]) ||
        !new_cache(net, &net->crosses[i], n, net->phases.crosses[i], sizeof net->phases.crosses[i]) ||
        !accepted(net, heed_attention_layer_encode(&net->cross[i], rows, memory, net->executor)))
      return 0;
  watched(net, SPEECH_PART_CROSS_KEYS, none);
  return 1;
}

speech_status speech_hear(speech *net, const int16_t *samples, int32_t n) {
  if (net == NULL || samples == NULL) return SPEECH_NULL_POINTER;
  if (net->ready == 0) return SPEECH_NOT_READY;
  if (n < SPEECH_MIN_SAMPLES) return SPEECH_TOO_SHORT;
  if (n > SPEECH_MAX_SAMPLES) return SPEECH_TOO_LONG;
  net->ready = 1;
  net->failure = HEED_OK;
  net->n_rows = SPEECH_ROWS(n);
  if (!stem(net, samples, n, net->x) || !encode(net, net->x, net->n_rows) || !make_cross_keys(net, net->x, net->n_rows))
    return SPEECH_HEED_FAILED;
  net->n_steps = 0;
  net->max_steps = (int32_t)((int64_t)n * SPEECH_STEPS_A_SECOND / SPEECH_RATE);
  net->token = SPEECH_START;
  net->ready = 2;
  return SPEECH_OK;
}

/* --------------------------------------------------------------------------------------------------------- decoder */

/* The weights of all heads (8, n_rows) are added to those of the layers before. */
static void add_attention(speech *net) {
  float *sums = net->attended + (ptrdiff_t)net->n_steps * net->n_rows;
  for (int32_t h = 0; h < SPEECH_HEADS; ++h)
    for (int32_t r = 0; r < net->n_rows; ++r) sums[r] += net->heads[h * net->n_rows + r];
}

static int start_attention(speech *net) {
  float *sums = net->attended == NULL ? NULL : net->attended + (ptrdiff_t)net->n_steps * net->n_rows;
  for (int32_t i = 0; i < SPEECH_LAYERS; ++i) net->cross[i].options = sums == NULL ? NULL : &net->options;
  if (sums == NULL) return 1;
  for (int32_t r = 0; r < net->n_rows; ++r) sums[r] = 0.0f;
  const heed_tensor_out heads = {net->heads, 0, net->n_rows, net->n_rows};
  net->options = heed_options_default();
  net->options.weights = &net->weights;
  return accepted(net, heed_attention_weights_init(&net->weights, heads));
}

/* logits (32768) of the token behind net->token, which then is the greatest of them. */
static int step(speech *net) {
  const heed_matrix row = heed_matrix_of(net->row, 1, SPEECH_DIM);
  const heed_matrix_out out = heed_matrix_out_of(net->row, 1, SPEECH_DIM);
  const heed_matrix_out logits = heed_matrix_out_of(net->logits, 1, SPEECH_TOKENS);
  const heed_memory memory = heed_memory_of(net->memory, sizeof net->memory);
  if (!start_attention(net) || !accepted(net, heed_gather_rows(net->model.embedding, &net->token, out))) return 0;
  for (int32_t i = 0; i < SPEECH_LAYERS; ++i) {
    if (!accepted(net, heed_transformer_layer_run(&net->decoder[i], row, out, memory, net->executor))) return 0;
    if (net->attended != NULL) add_attention(net);
    watched(net, SPEECH_PART_DECODER_LAYER, row);
  }
  if (!accepted(net, heed_layer_norm(row, net->model.decoder_norm, NULL, norm_epsilon, out, net->executor)) ||
      !accepted(net, heed_linear(row, net->model.embedding, NULL, logits, net->executor)))
    return 0;
  watched(net, SPEECH_PART_LOGITS, heed_matrix_of(net->logits, 1, SPEECH_TOKENS));
  return accepted(net, heed_argmax(heed_matrix_of(net->logits, 1, SPEECH_TOKENS), &net->token)) && net->token >= 0;
}

speech_status speech_next(speech *net, int32_t *token) {
  if (net == NULL || token == NULL) return SPEECH_NULL_POINTER;
  if (net->ready != 2) return SPEECH_NOT_READY;
  *token = -1;
  if (net->token == SPEECH_END || net->n_steps >= net->max_steps) return SPEECH_OK;
  if (!step(net)) {
    net->ready = 1;
    return SPEECH_HEED_FAILED;
  }
  ++net->n_steps;
  if (net->token != SPEECH_END) *token = net->token;
  return SPEECH_OK;
}
