/* The named shapes that every benchmark of heed uses, on a PC and on a board, and how each becomes a call.
 * P: prompts, encoders and sensors, all rows at once. D: one new token against many keys. SPDX-License-Identifier: MIT
 */
#ifndef HEED_MEASURE_SHAPES_H
#define HEED_MEASURE_SHAPES_H

#include <heed/heed.h>

typedef struct heed_shape {
  const char *name, *what;
  int32_t n_heads, n_kv_heads, n_q, n_kv, head_dim, causal;
} heed_shape;

static const heed_shape heed_shapes[] = {
    {"P1", "keyword spotting", 1, 1, 98, 98, 64, 0},    {"P2", "vision transformer", 3, 3, 197, 197, 64, 0},
    {"P3", "speech encoder", 6, 6, 1500, 1500, 64, 0},  {"P4", "prompt, grouped heads", 32, 4, 512, 512, 64, 1},
    {"P5", "long prompt", 8, 8, 2048, 2048, 128, 1},    {"P6", "sensor", 2, 2, 32, 32, 16, 0},
    {"P7", "sensor, 8 KB of RAM", 1, 1, 24, 24, 16, 0}, {"D1", "token, 256 keys", 32, 4, 1, 256, 64, 0},
    {"D2", "token, 2048 keys", 8, 8, 1, 2048, 128, 0},  {"D3", "token, 8192 keys", 32, 8, 1, 8192, 128, 0},
};
enum { heed_n_shapes = sizeof heed_shapes / sizeof heed_shapes[0] };

/* Pairs of a query and a key that it sees, over all heads. */
static inline uint64_t heed_shape_pairs(const heed_shape *s) {
  const uint64_t n = (uint64_t)s->n_q;
  return (uint64_t)s->n_heads * (s->causal ? n * (n + 1) / 2 : n * (uint64_t)s->n_kv);
}
/* For q k^T and for weights v; the exponential is not counted. */
static inline uint64_t heed_shape_multiply_adds(const heed_shape *s) {
  return 2 * (uint64_t)s->head_dim * heed_shape_pairs(s);
}
static inline double heed_shape_flop(const heed_shape *s) { return 2.0 * (double)heed_shape_multiply_adds(s); }

/* Floats of q (and of out), and of k (and of v). */
static inline size_t heed_shape_q_floats(const heed_shape *s) {
  return (size_t)s->n_heads * (size_t)s->n_q * (size_t)s->head_dim;
}
static inline size_t heed_shape_kv_floats(const heed_shape *s) {
  return (size_t)s->n_kv_heads * (size_t)s->n_kv * (size_t)s->head_dim;
}
/* Bytes that must be read or written at least once. */
static inline double heed_shape_bytes(const heed_shape *s) {
  return 8.0 * ((double)heed_shape_q_floats(s) + (double)heed_shape_kv_floats(s));
}
static inline int heed_shape_is_decode(const heed_shape *s) { return s->n_q == 1; }

/* All tensors head-major, rows contiguous; keys as they are, not packed. */
static inline heed_attention heed_shape_call(const heed_shape *s, const float *q, const float *k, const float *v,
                                             float *out, heed_memory workspace) {
  heed_attention call =
      heed_attention_of(q, k, v, s->n_q, s->n_kv, s->n_heads, s->n_kv_heads, s->head_dim, out, workspace);
  call.causal = s->causal;
  call.q = heed_head_major(q, s->n_q, s->n_heads, s->head_dim);
  call.k = heed_head_major(k, s->n_kv, s->n_kv_heads, s->head_dim);
  call.v = heed_head_major(v, s->n_kv, s->n_kv_heads, s->head_dim);
  call.out = heed_head_major_out(out, s->n_q, s->n_heads, s->head_dim);
  return call;
}

/* Uniform in [-1, 1), the same on every machine. */
static inline void heed_shape_fill(float *x, size_t n, uint32_t seed) {
  for (size_t i = 0; i < n; ++i) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (float)(int32_t)(seed >> 8) * 0x1p-23f - 1.0f;
  }
}

#endif
