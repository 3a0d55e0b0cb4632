/* Recurrent layers of graphs: LSTM and GRU of ONNX with their usual activations, in one direction. C99 and C++, no heap, no math
 * library; the same bits on every processor, as of graph_math.h. SPDX-License-Identifier: MIT
 *
 * gates (n_steps, n_batch, n) has what the input and the biases give to each gate, in ONNX's order; r has the weights of the
 * hidden state, from n_hidden numbers. y has the hidden state of each step: rows (n_batch, n_hidden), those of the next step `stride`
 * numbers behind. It may be NULL. hidden, and cell, (n_batch, n_hidden) have the state before the first step, and then the one after the
 * last. is_reverse: from the last step to the first. room: 4 * n_batch * n_hidden numbers. */
#ifndef HEED_GRAPH_RECURRENT_H
#define HEED_GRAPH_RECURRENT_H

#include "graph_math.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Gates i, o, f, c: n is 4 * n_hidden. */
heed_status heed_graph_lstm(float *y, float *hidden, float *cell, float *room, const float *gates,
                            const heed_weights *r, int32_t n_steps, int32_t n_batch, int32_t stride, int32_t is_reverse,
                            const heed_executor *executor);

/* Gates z, r, h: n is 3 * n_hidden. Without r_new the reset gate stands behind the product (linear_before_reset), and r_bias, or NULL, is
 * what is added to the product of the hidden state. With r_new, r is that of z and r alone, r_new that of h; r_bias is not read. */
heed_status heed_graph_gru(float *y, float *hidden, float *room, const float *gates, const heed_weights *r,
                           const float *r_bias, const heed_weights *r_new, int32_t n_steps, int32_t n_batch,
                           int32_t stride, int32_t is_reverse, const heed_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
