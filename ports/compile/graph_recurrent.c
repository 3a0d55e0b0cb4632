/* See graph_recurrent.h. SPDX-License-Identifier: MIT */
#include "graph_recurrent.h"

/* No product and sum become one fma. */
#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

static void graph_add_to(float *y, const float *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) y[i] += x[i];
}
static float graph_two_products(float a, float b, double c, float d) {
  return (float)((double)a * (double)b + c * (double)d);
}
static void graph_keep_row(float *y, const float *x, int32_t n) {
  for (int32_t i = 0; y && i < n; ++i) y[i] = x[i];
}

/* One row of an LSTM: g has the sums of its four gates. */
static heed_status graph_lstm_row(float *hidden, float *cell, float *g, int32_t n) {
  const float *const in = g, *const out = g + n, *const forget = g + 2 * (ptrdiff_t)n,
                     *const fresh = g + 3 * (ptrdiff_t)n;
  heed_status status = heed_graph_activation(heed_sigmoid, g, g, NULL, 3, n, NULL);
  if (status == HEED_OK) status = heed_graph_activation(heed_tanh, g + 3 * (ptrdiff_t)n, fresh, NULL, 1, n, NULL);
  if (status != HEED_OK) return status;
  for (int32_t i = 0; i < n; ++i) cell[i] = graph_two_products(forget[i], cell[i], (double)in[i], fresh[i]);
  status = heed_graph_activation(heed_tanh, g, cell, NULL, 1, n, NULL);
  for (int32_t i = 0; i < n; ++i) hidden[i] = out[i] * g[i];
  return status;
}

heed_status heed_graph_lstm(float *y, float *hidden, float *cell, float *room, const float *gates,
                            const heed_weights *r, int32_t n_steps, int32_t n_batch, int32_t stride, int32_t is_reverse,
                            const heed_executor *executor) {
  const int32_t n = r->n_in;
  for (int32_t step = 0; step < n_steps; ++step) {
    const ptrdiff_t at = is_reverse ? n_steps - 1 - step : step;
    heed_status status = heed_graph_linear(room, hidden, n_batch, n, r, NULL, executor);
    graph_add_to(room, gates + at * n_batch * 4 * n, n_batch * 4 * n);
    for (int32_t b = 0; status == HEED_OK && b < n_batch; ++b)
      status = graph_lstm_row(hidden + (ptrdiff_t)b * n, cell + (ptrdiff_t)b * n, room + (ptrdiff_t)b * 4 * n, n);
    if (status != HEED_OK) return status;
    graph_keep_row(y ? y + at * stride : NULL, hidden, n_batch * n);
  }
  return HEED_OK;
}

/* The new state from the gate z, and from what the gate h has. */
static heed_status graph_gru_row(float *hidden, const float *z, float *fresh, int32_t n) {
  const heed_status status = heed_graph_activation(heed_tanh, fresh, fresh, NULL, 1, n, NULL);
  for (int32_t i = 0; i < n; ++i) hidden[i] = graph_two_products(z[i], hidden[i], 1.0 - (double)z[i], fresh[i]);
  return status;
}

/* u: what the hidden state gives to the gates. work: one row for each of the batch. */
static heed_status graph_gru_linear_first(float *hidden, float *u, float *work, const float *gates, int32_t n_batch,
                                          int32_t n) {
  for (int32_t b = 0; b < n_batch; ++b) {
    float *const own = u + (ptrdiff_t)b * 3 * n, *const fresh = work + (ptrdiff_t)b * n;
    const float *const of = gates + (ptrdiff_t)b * 3 * n, *const reset = own + n,
                       *const product = own + 2 * (ptrdiff_t)n;
    graph_add_to(own, of, 2 * n);
    heed_status status = heed_graph_activation(heed_sigmoid, own, own, NULL, 2, n, NULL);
    if (status != HEED_OK) return status;
    for (int32_t i = 0; i < n; ++i)
      fresh[i] = (float)((double)reset[i] * (double)product[i] + (double)of[2 * (ptrdiff_t)n + i]);
    status = graph_gru_row(hidden + (ptrdiff_t)b * n, own, fresh, n);
    if (status != HEED_OK) return status;
  }
  return HEED_OK;
}

static heed_status graph_gru_reset_first(float *hidden, float *u, float *work, const float *gates,
                                         const heed_weights *r_new, int32_t n_batch, int32_t n,
                                         const heed_executor *executor) {
  float *const fresh = work + (ptrdiff_t)n_batch * n;
  heed_status status = HEED_OK;
  for (int32_t b = 0; status == HEED_OK && b < n_batch; ++b) {
    float *const own = u + (ptrdiff_t)b * 2 * n;
    graph_add_to(own, gates + (ptrdiff_t)b * 3 * n, 2 * n);
    status = heed_graph_activation(heed_sigmoid, own, own, NULL, 2, n, NULL);
    for (int32_t i = 0; i < n; ++i) work[(ptrdiff_t)b * n + i] = own[n + i] * hidden[(ptrdiff_t)b * n + i];
  }
  if (status == HEED_OK) status = heed_graph_linear(fresh, work, n_batch, n, r_new, NULL, executor);
  for (int32_t b = 0; status == HEED_OK && b < n_batch; ++b) {
    graph_add_to(fresh + (ptrdiff_t)b * n, gates + (ptrdiff_t)b * 3 * n + 2 * (ptrdiff_t)n, n);
    status = graph_gru_row(hidden + (ptrdiff_t)b * n, u + (ptrdiff_t)b * 2 * n, fresh + (ptrdiff_t)b * n, n);
  }
  return status;
}

heed_status heed_graph_gru(float *y, float *hidden, float *room, const float *gates, const heed_weights *r,
                           const float *r_bias, const heed_weights *r_new, int32_t n_steps, int32_t n_batch,
                           int32_t stride, int32_t is_reverse, const heed_executor *executor) {
  const int32_t n = r->n_in;
  float *const work = room + (ptrdiff_t)n_batch * r->n_out;
  for (int32_t step = 0; step < n_steps; ++step) {
    const ptrdiff_t at = is_reverse ? n_steps - 1 - step : step;
    const float *const own = gates + at * n_batch * 3 * n;
    heed_status status = heed_graph_linear(room, hidden, n_batch, n, r, r_new ? NULL : r_bias, executor);
    if (status != HEED_OK) return status;
    status = r_new ? graph_gru_reset_first(hidden, room, work, own, r_new, n_batch, n, executor)
                   : graph_gru_linear_first(hidden, room, work, own, n_batch, n);
    if (status != HEED_OK) return status;
    graph_keep_row(y ? y + at * stride : NULL, hidden, n_batch * n);
  }
  return HEED_OK;
}
