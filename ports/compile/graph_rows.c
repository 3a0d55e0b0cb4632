/* See graph_math.h: functions of heed on rows, products and convolutions. SPDX-License-Identifier: MIT */
#include "graph_loops.h"

static heed_matrix graph_rows(const float *x, int32_t n_rows, int32_t dim, int32_t stride) {
  heed_matrix m = heed_matrix_of(x, n_rows, dim);
  m.row_stride = stride;
  return m;
}

heed_status heed_graph_linear(float *y, const float *x, int32_t n_rows, int32_t stride, const heed_weights *w,
                              const float *bias, const heed_executor *executor) {
  return heed_linear(graph_rows(x, n_rows, w->n_in, stride), *w, bias, heed_matrix_out_of(y, n_rows, w->n_out),
                     executor);
}
heed_status heed_graph_rows_of(float *y, const heed_weights *table, const int32_t *indices, int32_t n_rows) {
  return heed_gather_rows(*table, indices, heed_matrix_out_of(y, n_rows, table->n_in));
}
heed_status heed_graph_norm(heed_norm *norm, float *y, const float *x, int32_t n_rows, int32_t dim, int32_t stride,
                            const float *weight, const float *bias, float eps, const heed_executor *executor) {
  return norm(graph_rows(x, n_rows, dim, stride), weight, bias, eps, heed_matrix_out_of(y, n_rows, dim), executor);
}
heed_status heed_graph_group_norm(float *y, const float *x, int32_t n_rows, int32_t dim, const float *weight,
                                  const float *bias, int32_t n_groups, float eps, const heed_executor *executor) {
  return heed_group_norm(heed_matrix_of(x, n_rows, dim), weight, bias, n_groups, eps,
                         heed_matrix_out_of(y, n_rows, dim), executor);
}
heed_status heed_graph_softmax(float *y, const float *x, int32_t n_rows, int32_t dim, const heed_executor *executor) {
  return heed_softmax(heed_matrix_of(x, n_rows, dim), 1.0f, heed_matrix_out_of(y, n_rows, dim), executor);
}
heed_status heed_graph_activation(heed_activation *f, float *y, const float *x, const float *up, int32_t n_rows,
                                  int32_t dim, const heed_executor *executor) {
  const heed_matrix gate = up != NULL ? heed_matrix_of(up, n_rows, dim) : heed_no_matrix();
  return f(heed_matrix_of(x, n_rows, dim), gate, heed_matrix_out_of(y, n_rows, dim), executor);
}
heed_status heed_graph_add(float *y, const float *a, const float *b, int32_t n_rows, int32_t dim,
                           const heed_executor *executor) {
  return heed_add(heed_matrix_of(a, n_rows, dim), heed_matrix_of(b, n_rows, dim), heed_matrix_out_of(y, n_rows, dim),
                  executor);
}
heed_status heed_graph_mean_rows(float *y, const float *x, int32_t n_rows, int32_t dim, int32_t stride,
                                 const heed_executor *executor) {
  return heed_mean_rows(graph_rows(x, n_rows, dim, stride), y, executor);
}
heed_status heed_graph_topk(float *y, int32_t *indices, const float *x, int32_t n_rows, int32_t dim, int32_t k) {
  return heed_topk(heed_matrix_of(x, n_rows, dim), k, indices, y);
}

heed_status heed_graph_multiply(float *y, const float *a, const float *b, const heed_graph_products *p,
                                const heed_executor *executor) {
  heed_status status = HEED_OK;
  graph_walk w = graph_begin(&p->batch);
  do {
    for (int32_t i = 0; status == HEED_OK && i < w.n; ++i) {
      const ptrdiff_t y_at = w.offsets[0] + (ptrdiff_t)i * w.s0, a_at = w.offsets[1] + (ptrdiff_t)i * w.s1,
                      b_at = w.offsets[2] + (ptrdiff_t)i * w.s2;
      heed_weights weights = heed_weights_of(b + b_at, NULL, HEED_F32, p->layout, p->k, p->m);
      weights.row_stride = p->b_stride;
      status = heed_linear(graph_rows(a + a_at, p->n, p->k, p->a_stride), weights, NULL,
                           heed_matrix_out_of(y + y_at, p->n, p->m), executor);
    }
  } while (status == HEED_OK && graph_next(&w, &p->batch));
  return status;
}

static heed_tensor graph_tensor(const float *data, const int32_t strides[3]) {
  const heed_tensor t = {data, strides[0], strides[1], strides[2]};
  return t;
}

heed_status heed_graph_attend(float *out, const float *q, const float *k, const float *v, const void *mask,
                              const heed_graph_attention *a, void *workspace, const heed_executor *executor) {
  const heed_memory memory = heed_memory_of(workspace, heed_workspace_bytes(a->head_dim, a->v_dim));
  heed_attention call =
      heed_attention_of(q, k, v, a->n_q, a->n_kv, a->n_heads, a->n_kv_heads, a->head_dim, out, memory);
  heed_options options = heed_options_default();
  heed_mask of_keys;
  heed_softcap cap;
  heed_status status = HEED_OK;
  call.batch_size = a->n_batch;
  call.v_dim = a->v_dim;
  call.scale = a->scale;
  call.causal = a->causal;
  call.position = a->position;
  call.q = graph_tensor(q, a->q), call.k = graph_tensor(k, a->k), call.v = graph_tensor(v, a->v);
  call.out.batch_stride = a->out[0], call.out.head_stride = a->out[1], call.out.row_stride = a->out[2];
  call.executor = executor;
  call.options = &options;
  if (a->mask == HEED_GRAPH_BOOLEAN_MASK)
    status = heed_mask_init_boolean(&of_keys, (const uint8_t *)mask, a->n_kv, a->mask_strides[0], a->mask_strides[1],
                                    a->mask_strides[2]);
  if (a->mask == HEED_GRAPH_ADDITIVE_MASK)
    status = heed_mask_init_additive(&of_keys, (const float *)mask, a->n_kv, a->mask_strides[0], a->mask_strides[1],
                                     a->mask_strides[2]);
  if (a->mask != HEED_GRAPH_NO_MASK) options.mask = &of_keys;
  if (status == HEED_OK && a->softcap > 0.0f) {
    status = heed_softcap_init(&cap, a->softcap);
    options.softcap = &cap;
  }
  return status == HEED_OK ? heed_attention_run(&call) : status;
}

/* y (n) of one pixel: outputs whose channels of x are `from` apart from its corner. */
static void graph_convolve_outputs(float *y, const float *corner, const ptrdiff_t *from, const float *w,
                                   const float *bias, int32_t n, const heed_graph_convolution *c) {
  double sums[GRAPH_BLOCK];
  for (int32_t o = 0; o < n; ++o) sums[o] = bias != NULL ? (double)bias[o] : 0.0;
  for (int32_t k = 0; k < c->n_in_group; ++k)
    for (int32_t i = 0; i < c->height; ++i)
      for (int32_t j = 0; j < c->width; ++j, w += c->n_out) {
        const float *const x = corner + (ptrdiff_t)k * c->x_strides[1] +
                               (ptrdiff_t)i * c->dilation_y * c->x_strides[2] +
                               (ptrdiff_t)j * c->dilation_x * c->x_strides[3];
        for (int32_t o = 0; o < n; ++o) sums[o] += (double)x[from[o]] * (double)w[o];
      }
  for (int32_t o = 0; o < n; ++o) y[o] = (float)sums[o];
}

/* The same of GRAPH_BLOCK channels, each of which is a group and lies beside the one before. The sums stay in registers. */
static void graph_convolve_block(float *y, const float *corner, const float *w, const float *bias,
                                 const heed_graph_convolution *c) {
  double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0, s4 = 0.0, s5 = 0.0, s6 = 0.0, s7 = 0.0;
  const ptrdiff_t line = (ptrdiff_t)c->dilation_y * c->x_strides[2], pixel = (ptrdiff_t)c->dilation_x * c->x_strides[3];
  if (bias != NULL) {
    s0 = (double)bias[0], s1 = (double)bias[1], s2 = (double)bias[2], s3 = (double)bias[3];
    s4 = (double)bias[4], s5 = (double)bias[5], s6 = (double)bias[6], s7 = (double)bias[7];
  }
  for (int32_t i = 0; i < c->height; ++i, corner += line) {
    const float *x = corner;
    for (int32_t j = 0; j < c->width; ++j, w += c->n_out, x += pixel) {
      s0 += (double)x[0] * (double)w[0], s1 += (double)x[1] * (double)w[1];
      s2 += (double)x[2] * (double)w[2], s3 += (double)x[3] * (double)w[3];
      s4 += (double)x[4] * (double)w[4], s5 += (double)x[5] * (double)w[5];
      s6 += (double)x[6] * (double)w[6], s7 += (double)x[7] * (double)w[7];
    }
  }
  y[0] = (float)s0, y[1] = (float)s1, y[2] = (float)s2, y[3] = (float)s3;
  y[4] = (float)s4, y[5] = (float)s5, y[6] = (float)s6, y[7] = (float)s7;
}

heed_status heed_graph_convolve(float *y, const float *x, const float *w, const float *bias,
                                const heed_graph_convolution *c) {
  const int32_t out_of_group = c->n_out / c->n_groups;
  const int32_t is_by_channel = out_of_group == 1 && c->n_in_group == 1 && c->x_strides[1] == 1;
  for (int32_t first = 0; first < c->n_out; first += GRAPH_BLOCK) {
    const int32_t n = c->n_out - first < GRAPH_BLOCK ? c->n_out - first : GRAPH_BLOCK;
    const float *const its_bias = bias != NULL ? bias + first : NULL;
    ptrdiff_t from[GRAPH_BLOCK];
    float *to = y + first;
    for (int32_t o = 0; o < n; ++o) from[o] = (ptrdiff_t)((first + o) / out_of_group) * c->n_in_group * c->x_strides[1];
    for (int32_t b = 0; b < c->n_batch; ++b)
      for (int32_t row = 0; row < c->y_height; ++row)
        for (int32_t column = 0; column < c->y_width; ++column, to += c->n_out) {
          const float *const corner = x + (ptrdiff_t)b * c->x_strides[0] +
                                      (ptrdiff_t)row * c->stride_y * c->x_strides[2] +
                                      (ptrdiff_t)column * c->stride_x * c->x_strides[3];
          if (is_by_channel && n == GRAPH_BLOCK)
            graph_convolve_block(to, corner + first, w + first, its_bias, c);
          else
            graph_convolve_outputs(to, corner, from, w + first, its_bias, n, c);
        }
  }
  return HEED_OK;
}
