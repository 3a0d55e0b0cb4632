/* heed: a cache of keys and values in int8, for models in integers that read or write one token after another. Include
 * heed/integers.h.
 *
 * The cache lies in one piece of memory that belongs to the caller. Its size is a constant expression. Keys and values
 * are rows of int8, one head after another, with the same bytes on every processor. The cache holds no scales: they are
 * static, one for a tensor or for each head, as in heed_int_attention.
 *
 *   heed_int_cache_shape shape = heed_int_cache_shape_default(512, KV_HEADS, HEAD_DIM);
 *   HEED_MEMORY(memory, HEED_INT_CACHE_BYTES(512, 1, KV_HEADS, HEAD_DIM, HEAD_DIM));
 *   heed_int_cache_init(&cache, &shape, memory);
 *   // each time there are n new tokens:
 *   heed_int_tensor new_k = heed_int_token_major(k, n, KV_HEADS, HEAD_DIM, 0);
 *   heed_int_tensor new_v = heed_int_token_major(v, n, KV_HEADS, HEAD_DIM, 0);
 *   heed_int_cache_append(&cache, 0, new_k, new_v, n);
 *   call = heed_int_attention_of_cache(&cache, q, n, HEADS, out, workspace);
 *   call.score = ..., call.value = ...;
 *   heed_int_attention_run(&call);
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEED_INT_CACHE_H
#define HEED_INT_CACHE_H

#include "cache.h"
#include "int_attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The code of a cache of integers. It is opaque. */
typedef struct heed_int_cache_code heed_int_cache_code;

/* The size of a cache. It is linear or a ring (heed_cache_kind in cache.h). A ring keeps `spare` tokens beyond the
 * window. So you can append up to spare + 1 tokens at once, or take up to spare + 1 tokens back, and every query still
 * sees its whole window. What is taken back counts from the greatest length that the sequence has had. */
typedef struct heed_int_cache_shape {
  uint32_t struct_size; /* sizeof(heed_int_cache_shape) */
  int32_t kind;         /* heed_cache_kind */
  int32_t capacity;     /* tokens of a sequence that a query sees: 1 to HEED_INT_MAX_KEYS */
  int32_t spare;        /* ring: tokens that are kept beyond the window, 0 to HEED_INT_MAX_KEYS */
  int32_t n_sequences, n_kv_heads, head_dim, v_dim; /* sequences, heads, numbers of a key, numbers of a value */
  int32_t k_zero, v_zero;                           /* zero points of keys and of values: -128 to 127 */
} heed_int_cache_shape;

/* A linear cache of one sequence, with zero points of 0. v_dim is head_dim. */
static inline heed_int_cache_shape heed_int_cache_shape_default(int32_t capacity, int32_t n_kv_heads,
                                                                int32_t head_dim) {
  heed_int_cache_shape s = {sizeof(heed_int_cache_shape), HEED_CACHE_LINEAR, 0, 0, 1, 0, 0, 0, 0, 0};
  s.capacity = capacity;
  s.n_kv_heads = n_kv_heads;
  s.head_dim = s.v_dim = head_dim;
  return s;
}

/* Bytes of memory for a linear cache and for a ring, as constant expressions. */
#define HEED_INT_CACHE_BYTES(capacity, n_sequences, n_kv_heads, head_dim, v_dim) \
  HEED_INT_CACHE_BYTES_OF_SLOTS(HEED_SIZE_64(capacity), n_sequences, n_kv_heads, head_dim, v_dim)
#define HEED_INT_RING_BYTES(capacity, spare, n_sequences, n_kv_heads, head_dim, v_dim)                      \
  HEED_INT_CACHE_BYTES_OF_SLOTS((HEED_SIZE_64(capacity) + HEED_SIZE_64(spare) + 31) / 32 * 32, n_sequences, \
                                n_kv_heads, head_dim, v_dim)
/* What the two sizes are made of: slots are tokens, those of a ring rounded up to a multiple of 32. */
#define HEED_INT_CACHE_BYTES_OF_SLOTS(slots, n_sequences, n_kv_heads, head_dim, v_dim)  \
  HEED_SIZE_FIT(64 + (HEED_SIZE_64(n_sequences) * 16 + 63) / 64 * 64 +                  \
                HEED_SIZE_PRODUCT(HEED_SIZE_64(n_sequences) * HEED_SIZE_64(n_kv_heads), \
                                  HEED_SIZE_64(slots) * (HEED_SIZE_64(head_dim) + HEED_SIZE_64(v_dim))))
/* HEED_INT_CACHE_BYTES or HEED_INT_RING_BYTES of a shape, as a function. It returns 0 if the shape is not valid, or if
 * no memory is so large. */
HEED_API size_t heed_int_cache_bytes(const heed_int_cache_shape *shape);

/* The handle of a cache. The functions below set its fields; do not change them. All that changes from token to token
 * lies in the memory.
 *
 * A call of attention reads a cache through call.cache. Then batch entry b reads sequence b, and batch_size is
 * n_sequences. The data of call.k and call.v is null; their zero points are those of the cache. kv_lengths is null.
 * n_kv is at least heed_int_cache_longest, and may be beyond HEED_INT_MAX_KEYS; heed_int_attention_of_cache sets it.
 * The queries are the newest tokens: query 0 has the position length - n_q, plus call.position. A ring shortens
 * left_window to its own window. A mask has n_kv columns. With a partial, the call adds all keys that its queries see.
 *
 * Status of a call: CONFLICT for K, V, KV_LENGTHS; SHAPE_MISMATCH for BATCH_SIZE, N_KV_HEADS, HEAD_DIM, V_DIM, K, V
 * (zero point), N_KV (shorter than a sequence); EVICTED for N_Q (the ring no longer has all keys that the first
 * query sees; it may keep more than capacity + spare tokens). */
typedef struct heed_int_cache {
  uint32_t struct_size; /* sizeof(heed_int_cache) */
  const heed_int_cache_code *code;
  heed_int_cache_shape shape; /* what it was made with */
  void *buffer;               /* the data of the memory */
} heed_int_cache;

/* Makes an empty cache in `memory`.
 * Status: OUT_OF_RANGE for SHAPE (a zero point); UNSUPPORTED for SPARE (not 0 in a linear cache). */
HEED_API heed_status heed_int_cache_init(heed_int_cache *cache, const heed_int_cache_shape *shape, heed_memory memory);

/* Contiguous rows of n_tokens tokens, each of n_heads heads: (n_tokens, n_heads, dim). */
static inline heed_int_tensor heed_int_token_major(const int8_t *data, int32_t n_tokens, int32_t n_heads, int32_t dim,
                                                   int32_t zero_point) {
  heed_int_tensor t = {data, heed_stride_of(n_tokens, n_heads, dim), dim, heed_stride_of(n_heads, dim, 1), zero_point};
  return t;
}

/* Appends n tokens to a sequence: k is (n_kv_heads, n, head_dim), v is (n_kv_heads, n, v_dim). Only their head_stride
 * and row_stride are used, and their zero points, which are those of the cache. If the model has rotary embedding,
 * rotate the keys first (heed_int_rope_run): heed_int_cache_length is the position of the first one. A ring never ends:
 * when a sequence has more than HEED_MAX_COUNT / 2 columns after an append, the ring numbers its columns anew. It takes
 * a multiple of its slots and of 256 from the numbers, and heed_int_cache_longest is small again. No result changes by
 * a bit.
 * Status: FULL for CACHE (linear: no room), TOO_MANY_ROWS for N (ring: n > capacity + spare); SHAPE_MISMATCH for K,
 * V (zero point). */
HEED_API heed_status heed_int_cache_append(heed_int_cache *cache, int32_t sequence, heed_int_tensor k,
                                           heed_int_tensor v, int32_t n);
/* The same for floats, which are quantised with the scales of their heads, k_scales and v_scales (n_kv_heads): x
 * becomes x / scale, rounded to nearest, ties to even, plus the zero point, clamped to -128 to 127. NaN becomes the
 * zero point. On a processor without an FPU, this is the only function of a cache that needs soft float.
 * Status: as heed_int_cache_append; OUT_OF_RANGE for K, V (a scale is not positive, finite and normal). */
HEED_API heed_status heed_int_cache_append_f32(heed_int_cache *cache, int32_t sequence, heed_tensor k, heed_tensor v,
                                               int32_t n, const float *k_scales, const float *v_scales);

/* Takes the newest tokens of a sequence back, so that `length` tokens are left. In a ring, older tokens may be gone by
 * then: if the next query would miss part of its window, the status is EVICTED for LENGTH. This cannot happen if
 * `length` is at least the greatest length that the sequence has had, less spare + 1; taking back twice does not begin
 * this count again. All tokens can be taken back at any time.
 * Status: EVICTED for LENGTH. */
HEED_API heed_status heed_int_cache_truncate(heed_int_cache *cache, int32_t sequence, int64_t length);
/* Empties all sequences. */
HEED_API heed_status heed_int_cache_reset(heed_int_cache *cache);
/* The number of tokens that a sequence has had. This is the position of its next token. In a ring it grows without end:
 * keep it in an int64_t. A negative result is a status, for SEQUENCE or CACHE as in heed_int_cache_truncate. */
HEED_API int64_t heed_int_cache_length(const heed_int_cache *cache, int32_t sequence);
/* The columns of the longest sequence: the n_kv of a call. This is the length of that sequence, less what its ring has
 * taken from the numbers of its columns. A negative result is a status, for CACHE as in heed_int_cache_append. */
HEED_API int32_t heed_int_cache_longest(const heed_int_cache *cache);

/* Save a cache and restore it, also on a machine of the other byte order. To save it, call heed_int_cache_save and
 * keep the first heed_int_cache_bytes of its memory. To restore it, copy these bytes into a memory and load that
 * instead of calling heed_int_cache_init. shape must be the shape that the cache was made with. heed_int_cache_load
 * compares a checksum over all bytes, and refuses damaged memory. Any change of the cache makes the checksum invalid:
 * save again.
 * Status: heed_int_cache_load as heed_int_cache_init; CORRUPT for MEMORY (it is not a saved cache, has another
 * shape, or is damaged). */
HEED_API heed_status heed_int_cache_save(heed_int_cache *cache);
HEED_API heed_status heed_int_cache_load(heed_int_cache *cache, const heed_int_cache_shape *shape, heed_memory memory);

/* A call whose queries are the newest n_q tokens of each sequence of a cache. Shape, length and zero points come from
 * the cache. q and out are token-major (batch, n_q, n_heads, dim), and batch is the number of sequences. causal is 1.
 * Set score and value. cache must not be null. */
static inline heed_int_attention heed_int_attention_of_cache(const heed_int_cache *cache, const int8_t *q, int32_t n_q,
                                                             int32_t n_heads, int8_t *out, heed_memory workspace) {
  const heed_int_cache_shape s = cache->shape;
  const ptrdiff_t out_row = heed_stride_of(n_heads, s.v_dim, 1);
  const heed_int_tensor_out of_out = {out, HEED_INT8, heed_stride_of(n_heads, s.v_dim, n_q), s.v_dim, out_row, 0};
  heed_int_attention call = heed_int_attention_of(q, HEED_NULL, HEED_NULL, n_q, heed_int_cache_longest(cache), n_heads,
                                                  s.n_kv_heads, s.head_dim, HEED_NULL, workspace);
  call.batch_size = s.n_sequences;
  call.v_dim = s.v_dim;
  call.causal = 1;
  call.k.zero_point = s.k_zero;
  call.v.zero_point = s.v_zero;
  call.out = of_out;
  call.cache = cache;
  return call;
}

#ifdef __cplusplus
}
#endif

#endif
