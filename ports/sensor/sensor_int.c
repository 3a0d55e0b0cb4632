/* See sensor_int.h. Shapes stand beside every step. SPDX-License-Identifier: MIT */
#include "sensor_int.h"

enum { dim = SENSOR_DIM };

/* Before the layers: 400 weights of a norm, and its result. */
typedef struct patch_memory {
  int32_t weight[SENSOR_ROW];
  int8_t h[SENSOR_ROW];
} patch_memory;
typedef char sensor_patch_fits[sizeof(patch_memory) <= sizeof(((sensor_int *)0)->memory) ? 1 : -1];

static void keep(sensor_int *net, heed_status status) {
  if (net->failure == HEED_OK) net->failure = status;
}

static heed_int_norm norm_of(const sensor_int_norm *n) {
  const heed_int_norm norm = {n->weight, n->bias, n->shift, n->eps};
  return norm;
}

static heed_int_projection linear_of(const int8_t *w, int32_t n_in, int32_t n_out, const int32_t *bias,
                                     const heed_multiplier *multipliers) {
  const heed_int_projection linear = {heed_weights_of(w, NULL, HEED_INT8, HEED_OUT_IN, n_in, n_out), bias, multipliers};
  return linear;
}

/* y (1, 16) in int16 = x (1, in) in int8 times w, plus bias */
static void project(sensor_int *net, const int8_t *x, int32_t n_in, const int8_t *w, const int32_t *bias,
                    const heed_multiplier *multipliers, int16_t *y) {
  const heed_int_projection l = linear_of(w, n_in, dim, bias, multipliers);
  keep(net, heed_int_linear(heed_int_matrix_of(x, HEED_INT8, 1, n_in, 0), l.w, l.bias, l.multipliers,
                            heed_int_matrix_out_of(y, HEED_INT16, 1, dim, 0), NULL));
}

/* x (1, 16) in int16 becomes its norm, in int8 or int16 */
static void normalise(sensor_int *net, const int16_t *x, const sensor_int_norm *norm, void *y, int32_t dtype) {
  keep(net, heed_int_layer_norm(heed_int_matrix_of(x, HEED_INT16, 1, dim, 0), norm_of(norm),
                                heed_int_matrix_out_of(y, dtype, 1, dim, 0), NULL));
}

static void show(const sensor_int *net, int32_t layer, const int16_t *rows, int32_t n) {
  if (net->see != NULL && net->failure == HEED_OK)
    net->see(net->see_user, layer, 0, heed_int_matrix_of(rows, HEED_INT16, n, dim, 0));
}

/* x (121, 16) through a layer: all rows in place, or, of the last one, row 0 to y. */
static void run_layer(sensor_int *net, int32_t layer, int32_t n, int16_t *y) {
  const sensor_int_layer_weights *w = &net->weights->layers[layer];
  heed_int_layer *l = &net->layer;
  l->wq = linear_of(w->wq, dim, dim, NULL, w->of_q);
  l->wk = linear_of(w->wk, dim, dim, NULL, w->of_k);
  l->wv = linear_of(w->wv, dim, dim, NULL, w->of_v);
  l->wo = linear_of(w->wo, dim, dim, w->bo, w->of_o);
  l->w_up = linear_of(w->w_up, dim, SENSOR_HIDDEN, w->b_up, w->of_up);
  l->w_down = linear_of(w->w_down, SENSOR_HIDDEN, dim, w->b_down, w->of_down);
  l->norm1 = norm_of(&w->norm1);
  l->norm2 = norm_of(&w->norm2);
  l->activation = w->activation;
  l->score = w->score;
  l->value = w->value;
  l->of_x = w->of_x;
  l->of_attention = w->of_attention;
  l->of_a = w->of_a;
  l->of_hidden = w->of_hidden;
  l->out_rows = n < SENSOR_N_TOKENS ? n : 0;
  keep(net, heed_int_layer_run(l, heed_int_matrix_of(net->x, HEED_INT16, SENSOR_N_TOKENS, dim, 0),
                               heed_int_matrix_out_of(y, HEED_INT16, n, dim, 0),
                               heed_memory_of(net->memory, sizeof net->memory), NULL));
  show(net, layer, y, n);
}

sensor_status sensor_int_start(sensor_int *net, const void *weights, size_t n_bytes) {
  if (net == NULL || weights == NULL) return SENSOR_NULL_POINTER;
  if ((uintptr_t)net % HEED_ALIGNMENT != 0 || (uintptr_t)weights % sizeof(uint32_t) != 0) return SENSOR_MISALIGNED;
  const sensor_status status = sensor_check(weights, n_bytes, SENSOR_INTEGERS, sizeof(sensor_int_weights));
  net->weights = status == SENSOR_OK ? (const sensor_int_weights *)weights : NULL;
  net->n_rows = 0;
  net->failure = HEED_OK;
  net->see = NULL;
  net->see_user = NULL;
  net->layer = heed_int_layer_default(dim, SENSOR_N_HEADS, SENSOR_HIDDEN, heed_int_layer_norm);
  net->layer.norm_first = 1;
  return status;
}

/* row 1 + i of x (121, 16): norm(norm(row) w + b) + position */
sensor_status sensor_int_row(sensor_int *net, const int16_t row[SENSOR_ROW]) {
  if (net == NULL || row == NULL) return SENSOR_NULL_POINTER;
  if (net->weights == NULL) return SENSOR_NOT_READY;
  if ((uintptr_t)row % sizeof *row != 0) return SENSOR_MISALIGNED;
  if (net->n_rows == SENSOR_N_ROWS) return SENSOR_WRONG_COUNT;
  const sensor_int_weights *w = net->weights;
  patch_memory *patch = (patch_memory *)(void *)net->memory;
  if (net->n_rows == 0) {
    net->failure = HEED_OK;
    for (int32_t i = 0; i < SENSOR_ROW; ++i) patch->weight[i] = w->patch_norm1_weight;
  }
  const int8_t *position = w->positions + net->n_rows * dim;
  int16_t *x = net->x + ++net->n_rows * dim;
  const heed_int_norm norm = {patch->weight, NULL, w->patch_norm1_shift, w->patch_norm1_eps};
  keep(net, heed_int_layer_norm(heed_int_matrix_of(row, HEED_INT16, 1, SENSOR_ROW, 0), norm,
                                heed_int_matrix_out_of(patch->h, HEED_INT8, 1, SENSOR_ROW, 0), NULL));
  project(net, patch->h, SENSOR_ROW, w->patch_weight, w->patch_bias, w->of_patch, x);
  normalise(net, x, &w->patch_norm2, x, HEED_INT16);
  keep(net, heed_int_add(heed_int_matrix_of(x, HEED_INT16, 1, dim, 0), heed_multiplier_one(),
                         heed_int_matrix_of(position, HEED_INT8, 1, dim, 0), w->of_positions,
                         heed_int_matrix_out_of(x, HEED_INT16, 1, dim, 0), NULL));
  return net->failure == HEED_OK ? SENSOR_OK : SENSOR_HEED_FAILED;
}

sensor_status sensor_int_finish(sensor_int *net, sensor_int_result *result) {
  if (net == NULL || result == NULL) return SENSOR_NULL_POINTER;
  if (net->weights == NULL) return SENSOR_NOT_READY;
  const sensor_int_weights *w = net->weights;
  const int32_t n_rows = net->n_rows;
  net->n_rows = 0;
  if (n_rows != SENSOR_N_ROWS) return SENSOR_WRONG_COUNT;
  for (int32_t i = 0; i < dim; ++i) net->x[i] = w->class_token[i];
  for (int32_t layer = 0; layer < SENSOR_N_LAYERS - 1; ++layer) run_layer(net, layer, SENSOR_N_TOKENS, net->x);
  run_layer(net, SENSOR_N_LAYERS - 1, 1, net->y);
  sensor_int_result found;
  normalise(net, net->y, &w->head_norm, net->memory, HEED_INT8);
  project(net, net->memory, dim, w->head_weight, w->head_bias, w->of_head, found.embedding);
  show(net, SENSOR_N_LAYERS, found.embedding, 1);
  if (net->failure != HEED_OK) return SENSOR_HEED_FAILED;
  for (int32_t c = 0; c < SENSOR_N_CLASSES; ++c) {
    found.distances[c] = 0;
    for (int32_t i = 0; i < dim; ++i) {
      const int32_t difference = found.embedding[i] - w->prototypes[c * dim + i];
      found.distances[c] += (uint64_t)((int64_t)difference * difference);
    }
  }
  found.nearer = found.distances[1] < found.distances[0];
  *result = found;
  return SENSOR_OK;
}
