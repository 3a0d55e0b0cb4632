/* See sensor.h. Shapes stand beside every step. SPDX-License-Identifier: MIT */
#include "sensor.h"

enum { dim = SENSOR_DIM };

/* The first refusal is kept and reported at the end; until then the numbers are garbage that nobody sees. */
static void keep(sensor *net, heed_status status) {
  if (net->failure == HEED_OK) net->failure = status;
}

/* y (n, out) = x (n, in) w (in, out) + bias (out) */
static void project(sensor *net, const float *x, int32_t n, int32_t n_in, const float *w, const float *bias,
                    int32_t n_out, float *y) {
  const heed_weights weights = heed_weights_of(w, NULL, HEED_F32, HEED_IN_OUT, n_in, n_out);
  keep(net, heed_project(heed_matrix_of(x, n, n_in), weights, bias, heed_matrix_out_of(y, n, n_out), NULL));
}

/* y (n, width) = norm of x (n, width) */
static void normalise(sensor *net, const float *x, int32_t n, int32_t width, const float *weight, const float *bias,
                      float *y) {
  keep(net, heed_layer_norm(heed_matrix_of(x, n, width), weight, bias, 1e-5f, heed_matrix_out_of(y, n, width), NULL));
}

/* x (n, 16) += y (n, 16) */
static void add(sensor *net, float *x, const float *y, int32_t n) {
  keep(net, heed_add(heed_matrix_of(x, n, dim), heed_matrix_of(y, n, dim), heed_matrix_out_of(x, n, dim), NULL));
}

static int32_t piece_of(int32_t begin, int32_t end) { return end - begin < SENSOR_PIECE ? end - begin : SENSOR_PIECE; }

/* k, v (121, 16) of all rows; then x += attention(norm(x) wq, k, v) wo + bo, piece by piece; four heads of 4 */
void sensor_attend(sensor *net, int32_t layer, int32_t n) {
  const sensor_layer_weights *w = &net->weights->layers[layer];
  float *h = net->rows[0], *q = net->rows[1], *context = net->rows[2];
  for (int32_t begin = 0, rows; begin < SENSOR_N_TOKENS; begin += rows) {
    rows = piece_of(begin, SENSOR_N_TOKENS);
    normalise(net, net->x + begin * dim, rows, dim, w->norm1_weight, w->norm1_bias, h);
    project(net, h, rows, dim, w->wk, NULL, dim, net->k + begin * dim);
    project(net, h, rows, dim, w->wv, NULL, dim, net->v + begin * dim);
  }
  for (int32_t begin = 0, rows; begin < n; begin += rows) {
    rows = piece_of(begin, n);
    normalise(net, net->x + begin * dim, rows, dim, w->norm1_weight, w->norm1_bias, h);
    project(net, h, rows, dim, w->wq, NULL, dim, q);
    const heed_attention call =
        heed_attention_of(q, net->k, net->v, rows, SENSOR_N_TOKENS, SENSOR_N_HEADS, SENSOR_N_HEADS, SENSOR_HEAD,
                          context, heed_memory_of(net->workspace, sizeof net->workspace));
    keep(net, heed_attention_run(&call));
    project(net, context, rows, dim, w->wo, w->bo, dim, h);
    add(net, net->x + begin * dim, h, rows);
  }
}

/* x += gelu(norm(x) w_up + b_up) w_down + b_down, piece by piece; 4 inside */
void sensor_feed(sensor *net, int32_t layer, int32_t n) {
  const sensor_layer_weights *w = &net->weights->layers[layer];
  const heed_matrix none = {NULL, 0, 0, 0};
  float *h = net->rows[0], *u = net->rows[1];
  for (int32_t begin = 0, rows; begin < n; begin += rows) {
    rows = piece_of(begin, n);
    normalise(net, net->x + begin * dim, rows, dim, w->norm2_weight, w->norm2_bias, h);
    project(net, h, rows, dim, w->w_up, w->b_up, SENSOR_HIDDEN, u);
    keep(net, heed_gelu_tanh(heed_matrix_of(u, rows, SENSOR_HIDDEN), none, heed_matrix_out_of(u, rows, SENSOR_HIDDEN),
                             NULL));
    project(net, u, rows, SENSOR_HIDDEN, w->w_down, w->b_down, dim, h);
    add(net, net->x + begin * dim, h, rows);
  }
}

sensor_status sensor_start(sensor *net, const void *weights, size_t n_bytes) {
  if (net == NULL || weights == NULL) return SENSOR_NULL_POINTER;
  if ((uintptr_t)net % HEED_ALIGNMENT != 0 || (uintptr_t)weights % sizeof(uint32_t) != 0) return SENSOR_MISALIGNED;
  const sensor_status status = sensor_check(weights, n_bytes, SENSOR_FLOATS, sizeof(sensor_weights));
  net->weights = status == SENSOR_OK ? (const sensor_weights *)weights : NULL;
  net->n_rows = 0;
  net->failure = HEED_OK;
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
  float *x = net->x + at, *h = net->k;
  normalise(net, row, 1, SENSOR_ROW, w->patch_norm1_weight, w->patch_norm1_bias, h);
  project(net, h, 1, SENSOR_ROW, w->patch_weight, w->patch_bias, dim, x);
  normalise(net, x, 1, dim, w->patch_norm2_weight, w->patch_norm2_bias, x);
  add(net, x, w->positions + at, 1);
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
  add(net, net->x, w->positions, 1);
  for (int32_t layer = 0; layer < SENSOR_N_LAYERS; ++layer) { /* of the last one, only row 0 is used */
    const int32_t n = layer + 1 < SENSOR_N_LAYERS ? SENSOR_N_TOKENS : 1;
    sensor_attend(net, layer, n);
    sensor_feed(net, layer, n);
  }
  sensor_result found;
  normalise(net, net->x, 1, dim, w->head_norm_weight, w->head_norm_bias, net->rows[0]);
  project(net, net->rows[0], 1, dim, w->head_weight, w->head_bias, dim, found.embedding);
  if (net->failure != HEED_OK) return SENSOR_HEED_FAILED;
  classify(w, &found);
  if (!(found.distances[0] - found.distances[0] == 0.0f && found.distances[1] - found.distances[1] == 0.0f))
    return SENSOR_NOT_FINITE;
  *result = found;
  return SENSOR_OK;
}
