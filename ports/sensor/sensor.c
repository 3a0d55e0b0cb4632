/* See sensor.h. Shapes stand beside every step. SPDX-License-Identifier: MIT */
#include "sensor.h"

enum { dim = SENSOR_DIM };

/* The first refusal is kept and reported at the end; until then the numbers are garbage that nobody sees. */
static void keep(sensor *net, heed_status status) {
  if (net->failure == HEED_OK) net->failure = status;
}

static heed_weights weights_of(const float *w, int32_t n_in, int32_t n_out) {
  return heed_weights_of(w, NULL, HEED_F32, HEED_IN_OUT, n_in, n_out);
}

/* y (16) = x (in) w (in, 16) + bias (16) */
static void project(sensor *net, const float *x, int32_t n_in, const float *w, const float *bias, float *y) {
  keep(net,
       heed_linear(heed_matrix_of(x, 1, n_in), weights_of(w, n_in, dim), bias, heed_matrix_out_of(y, 1, dim), NULL));
}

/* y (width) = norm of x (width) */
static void normalise(sensor *net, const float *x, int32_t width, const float *weight, const float *bias, float *y) {
  keep(net, heed_layer_norm(heed_matrix_of(x, 1, width), weight, bias, 1e-5f, heed_matrix_out_of(y, 1, width), NULL));
}

/* x (16) += y (16) */
static void add(sensor *net, float *x, const float *y) {
  keep(net, heed_add(heed_matrix_of(x, 1, dim), heed_matrix_of(y, 1, dim), heed_matrix_out_of(x, 1, dim), NULL));
}

static void show(const sensor *net, int32_t layer, const float *rows, int32_t n) {
  if (net->see != NULL && net->failure == HEED_OK) net->see(net->see_user, layer, 0, heed_matrix_of(rows, n, dim));
}

/* x (121, 16) through a layer with four heads of 4 and 4 inside: all rows in place, or, of the last one, row 0 to y. */
void sensor_run_layer(sensor *net, int32_t layer, int32_t n, float *y) {
  const sensor_layer_weights *w = &net->weights->layers[layer];
  heed_attention_layer *a = &net->attention;
  heed_transformer_layer *l = &net->layer;
  a->wq = weights_of(w->wq, dim, dim);
  a->wk = weights_of(w->wk, dim, dim);
  a->wv = weights_of(w->wv, dim, dim);
  a->wo = weights_of(w->wo, dim, dim);
  a->bo = w->bo;
  l->norm1_weight = w->norm1_weight;
  l->norm1_bias = w->norm1_bias;
  l->norm2_weight = w->norm2_weight;
  l->norm2_bias = w->norm2_bias;
  l->w_up = weights_of(w->w_up, dim, SENSOR_HIDDEN);
  l->b_up = w->b_up;
  l->w_down = weights_of(w->w_down, SENSOR_HIDDEN, dim);
  l->b_down = w->b_down;
  l->out_rows = n < SENSOR_N_TOKENS ? n : 0;
  keep(net, heed_transformer_layer_run(l, heed_matrix_of(net->x, SENSOR_N_TOKENS, dim), heed_matrix_out_of(y, n, dim),
                                       heed_memory_of(net->memory, sizeof net->memory), NULL));
  show(net, layer, y, n);
}

sensor_status sensor_start(sensor *net, const void *weights, size_t n_bytes) {
  if (net == NULL || weights == NULL) return SENSOR_NULL_POINTER;
  if ((uintptr_t)net % HEED_ALIGNMENT != 0 || (uintptr_t)weights % sizeof(uint32_t) != 0) return SENSOR_MISALIGNED;
  const sensor_status status = sensor_check(weights, n_bytes, SENSOR_FLOATS, sizeof(sensor_weights));
  net->weights = status == SENSOR_OK ? (const sensor_weights *)weights : NULL;
  net->n_rows = 0;
  net->failure = HEED_OK;
  net->see = NULL;
  net->see_user = NULL;
  net->attention = heed_attention_layer_default(dim, SENSOR_N_HEADS);
  net->layer = heed_transformer_layer_default(&net->attention, SENSOR_HIDDEN, heed_layer_norm, heed_gelu_tanh);
  net->layer.norm_first = 1;
  return status;
}

/* row 1 + i of x (121, 16): norm(norm(row) w + b) + position */
sensor_status sensor_row(sensor *net, const float row[SENSOR_ROW]) {
  if (net == NULL || row == NULL) return SENSOR_NULL_POINTER;
  if (net->weights == NULL) return SENSOR_NOT_READY;
  if ((uintptr_t)row % sizeof *row != 0) return SENSOR_MISALIGNED;
  if (net->n_rows == SENSOR_N_ROWS) return SENSOR_WRONG_COUNT;
  const sensor_weights *w = net->weights;
  if (net->n_rows == 0) net->failure = HEED_OK;
  const int32_t at = ++net->n_rows * dim;
  float *x = net->x + at, *h = net->memory;
  normalise(net, row, SENSOR_ROW, w->patch_norm1_weight, w->patch_norm1_bias, h);
  project(net, h, SENSOR_ROW, w->patch_weight, w->patch_bias, x);
  normalise(net, x, dim, w->patch_norm2_weight, w->patch_norm2_bias, x);
  add(net, x, w->positions + at);
  return net->failure == HEED_OK ? SENSOR_OK : SENSOR_HEED_FAILED;
}

/* The nearer prototype: plain loops, in this order on every processor. */
static void classify(const sensor_weights *w, sensor_result *result) {
  for (int32_t c = 0; c < SENSOR_N_CLASSES; ++c) {
    float sum = 0.0f;
    for (int32_t i = 0; i < dim; ++i) {
      const float difference = result->embedding[i] - w->prototypes[c * dim + i];
      sum += difference * difference;
    }
    result->distances[c] = sum;
  }
  result->nearer = result->distances[1] < result->distances[0];
}

sensor_status sensor_finish(sensor *net, sensor_result *result) {
  if (net == NULL || result == NULL) return SENSOR_NULL_POINTER;
  if (net->weights == NULL) return SENSOR_NOT_READY;
  const sensor_weights *w = net->weights;
  const int32_t n_rows = net->n_rows;
  net->n_rows = 0;
  if (n_rows != SENSOR_N_ROWS) return SENSOR_WRONG_COUNT;
  for (int32_t i = 0; i < dim; ++i) net->x[i] = w->class_token[i];
  add(net, net->x, w->positions);
  for (int32_t layer = 0; layer < SENSOR_N_LAYERS - 1; ++layer) sensor_run_layer(net, layer, SENSOR_N_TOKENS, net->x);
  sensor_run_layer(net, SENSOR_N_LAYERS - 1, 1, net->y);
  sensor_result found;
  normalise(net, net->y, dim, w->head_norm_weight, w->head_norm_bias, net->y);
  project(net, net->y, dim, w->head_weight, w->head_bias, found.embedding);
  show(net, SENSOR_N_LAYERS, found.embedding, 1);
  if (net->failure != HEED_OK) return SENSOR_HEED_FAILED;
  classify(w, &found);
  if (!(found.distances[0] - found.distances[0] == 0.0f && found.distances[1] - found.distances[1] == 0.0f))
    return SENSOR_NOT_FINITE;
  *result = found;
  return SENSOR_OK;
}
