/* What graph_math.c and the files beside it have in common: loops over arrays. SPDX-License-Identifier: MIT */
#ifndef HEED_GRAPH_LOOPS_H
#define HEED_GRAPH_LOOPS_H

#include "graph_math.h"

void *memcpy(void *to, const void *from, size_t n); /* there may be no string.h */

/* No product and sum become one fma. */
#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

/* Where the arrays of a loop are: the innermost dimension is a row. */
typedef struct graph_walk {
  int32_t at[HEED_GRAPH_DIMS];
  ptrdiff_t offsets[HEED_GRAPH_ARRAYS];
  int32_t n, s0, s1, s2, s3; /* numbers of a row, and the strides of the arrays in it */
} graph_walk;

static graph_walk graph_begin(const heed_graph_loop *l) {
  graph_walk w;
  const int32_t last = l->n_dims - 1;
  for (int32_t i = 0; i < HEED_GRAPH_DIMS; ++i) w.at[i] = 0;
  for (int32_t i = 0; i < HEED_GRAPH_ARRAYS; ++i) w.offsets[i] = 0;
  w.n = l->dims[last];
  w.s0 = l->strides[0][last], w.s1 = l->strides[1][last], w.s2 = l->strides[2][last], w.s3 = l->strides[3][last];
  return w;
}

enum { GRAPH_BLOCK = 8 };

/* Goes to the next row; 0: there is none. */
static int32_t graph_next(graph_walk *w, const heed_graph_loop *l) {
  for (int32_t d = l->n_dims - 2; d >= 0; --d) {
    for (int32_t i = 0; i < HEED_GRAPH_ARRAYS; ++i) w->offsets[i] += l->strides[i][d];
    if (++w->at[d] < l->dims[d]) return 1;
    for (int32_t i = 0; i < HEED_GRAPH_ARRAYS; ++i) w->offsets[i] -= (ptrdiff_t)l->strides[i][d] * l->dims[d];
    w->at[d] = 0;
  }
  return 0;
}

/* Runs `row` for each row of the loop; in it, y, a, b and c are the arrays, and i counts. */
#define GRAPH_ROWS(loop, ...)                                   \
  graph_walk w = graph_begin(loop);                             \
  do {                                                          \
    const int32_t n = w.n;                                      \
    const ptrdiff_t s0 = w.s0, s1 = w.s1, s2 = w.s2, s3 = w.s3; \
    (void)s0, (void)s1, (void)s2, (void)s3;                     \
    __VA_ARGS__                                                 \
  } while (graph_next(&w, loop));                               \
  return HEED_OK
#define GRAPH_EACH(expression) \
  for (int32_t i = 0; i < n; ++i) y[i * s0] = (expression)
/* The same of floats that often lie side by side, of l (and r, which may be repeated): blocks of a constant length become vectors. */
#define GRAPH_EACH_OF_ONE(expression)                                    \
  int32_t i = 0;                                                         \
  for (; s0 == 1 && s1 == 1 && i + GRAPH_BLOCK <= n; i += GRAPH_BLOCK) { \
    float block[GRAPH_BLOCK];                                            \
    for (int32_t j = 0; j < GRAPH_BLOCK; ++j) {                          \
      const float l = a[i + j];                                          \
      block[j] = (expression);                                           \
    }                                                                    \
    for (int32_t j = 0; j < GRAPH_BLOCK; ++j) y[i + j] = block[j];       \
  }                                                                      \
  for (; i < n; ++i) {                                                   \
    const float l = A;                                                   \
    y[i * s0] = (expression);                                            \
  }
#define GRAPH_EACH_OF_TWO(expression)                                                     \
  int32_t i = 0;                                                                          \
  float right[GRAPH_BLOCK];                                                               \
  for (int32_t j = 0; s2 == 0 && j < GRAPH_BLOCK; ++j) right[j] = *b;                     \
  for (; s0 == 1 && s1 == 1 && (s2 | 1) == 1 && i + GRAPH_BLOCK <= n; i += GRAPH_BLOCK) { \
    float block[GRAPH_BLOCK];                                                             \
    if (s2 == 1)                                                                          \
      for (int32_t j = 0; j < GRAPH_BLOCK; ++j) right[j] = b[i + j];                      \
    for (int32_t j = 0; j < GRAPH_BLOCK; ++j) {                                           \
      const float l = a[i + j], r = right[j];                                             \
      block[j] = (expression);                                                            \
    }                                                                                     \
    for (int32_t j = 0; j < GRAPH_BLOCK; ++j) y[i + j] = block[j];                        \
  }                                                                                       \
  for (; i < n; ++i) {                                                                    \
    const float l = A, r = B;                                                             \
    y[i * s0] = (expression);                                                             \
  }
#define GRAPH_ONE(to, from)            \
  to *const y = to_all + w.offsets[0]; \
  const from *const a = a_all + w.offsets[1]
#define GRAPH_TWO(to, from) \
  GRAPH_ONE(to, from);      \
  const from *const b = b_all + w.offsets[2]
#define A a[i * s1]
#define B b[i * s2]

#endif
