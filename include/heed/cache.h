/* heed: a cache of keys and values, for models that read or write one token after another. Include heed.h.
 *
 * The cache lies in one piece of memory that belongs to the caller. Its size is a constant expression. Keys are stored
 * in groups of 16, the layout that decoding reads fastest. Keys and values may be stored in fewer bits. All of
 * heed_attention works on a cache, and gives the bits of a call on the stored keys and values as f32.
 *
 *   heed_cache_shape shape = heed_cache_shape_default(512, KV_HEADS, HEAD_DIM);
 *   HEED_MEMORY(memory, HEED_CACHE_BYTES(512, 1, KV_HEADS, HEAD_DIM, HEAD_DIM, HEED_F32));
 *   heed_cache_init(&cache, &shape, memory);
 *   // each time there are n new tokens:
 *   heed_tensor new_k = heed_token_major(k, n, KV_HEADS, HEAD_DIM);
 *   heed_tensor new_v = heed_token_major(v, n, KV_HEADS, HEAD_DIM);
 *   heed_cache_append(&cache, 0, new_k, new_v, n, &rope);
 *   call = heed_attention_of_cache(&cache, q, n, HEADS, out, workspace);
 *   heed_attention_run(&call);
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEED_CACHE_H
#define HEED_CACHE_H

#include "dtypes.h"
#include "rope.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a cache keeps. A linear cache keeps `capacity` tokens; then it is full. A ring is for a sliding window: a query
 * sees the `capacity` newest tokens, its own included, and the first `pinned` tokens ("attention sinks", Xiao et al.
 * 2024). A ring is never full: see heed_cache_append. */
typedef enum heed_cache_kind {
  HEED_CACHE_LINEAR = 0, /* `capacity` tokens */
  HEED_CACHE_RING = 1    /* a sliding window */
} heed_cache_kind;

/* The size of a cache. A ring keeps `spare` tokens beyond the window. So you can append up to spare + 1 tokens at once,
 * or take up to spare + 1 tokens back, and every query still sees its whole window. These spare + 1 tokens count from
 * the greatest length that the sequence has had: new tokens overwrite the oldest ones, which do not return when the new
 * ones are taken back. */
typedef struct heed_cache_shape {
  uint32_t struct_size; /* sizeof(heed_cache_shape) */
  int32_t kind;         /* heed_cache_kind */
  int32_t capacity;     /* tokens of a sequence that a query sees: 1 to HEED_MAX_COUNT */
  int32_t pinned;       /* ring: tokens at the start that stay, 0 to HEED_MAX_COUNT / 2 */
  int32_t spare;        /* ring: tokens that are kept beyond the window, 0 to HEED_MAX_COUNT / 2 */
  int32_t n_sequences, n_kv_heads, head_dim, v_dim; /* sequences, heads, floats of a key, floats of a value */
  int32_t dtype; /* heed_dtype of keys and values; int8 has a scale for each row of a head */
} heed_cache_shape;

/* A linear cache of one sequence, in f32. v_dim is head_dim. */
static inline heed_cache_shape heed_cache_shape_default(int32_t capacity, int32_t n_kv_heads, int32_t head_dim) {
  heed_cache_shape s = {sizeof(heed_cache_shape), HEED_CACHE_LINEAR, 0, 0, 0, 1, 0, 0, 0, HEED_F32};
  s.capacity = capacity;
  s.n_kv_heads = n_kv_heads;
  s.head_dim = s.v_dim = head_dim;
  return s;
}

/* Bytes of memory for a linear cache and for a ring, as constant expressions. */
#define HEED_CACHE_BYTES(capacity, n_sequences, n_kv_heads, head_dim, v_dim, dtype) \
  HEED_CACHE_BYTES_OF_SLOTS(HEED_CACHE_SLOTS(capacity), n_sequences, n_kv_heads, head_dim, v_dim, dtype)
#define HEED_RING_BYTES(capacity, pinned, spare, n_sequences, n_kv_heads, head_dim, v_dim, dtype)                      \
  HEED_CACHE_BYTES_OF_SLOTS(HEED_CACHE_SLOTS(pinned) + HEED_CACHE_SLOTS(HEED_SIZE_64(capacity) + HEED_SIZE_64(spare)), \
                            n_sequences, n_kv_heads, head_dim, v_dim, dtype)
/* The parts of the two sizes. Slots are tokens, rounded up to a multiple of 64; there are fewer than 2^31 of them. */
#define HEED_CACHE_SLOTS(tokens) ((HEED_SIZE_64(tokens) + 63) / 64 * 64)
#define HEED_CACHE_BYTES_OF_SLOTS(slots, n_sequences, n_kv_heads, head_dim, v_dim, dtype) \
  HEED_SIZE_FIT(128 + (HEED_SIZE_64(n_sequences) * 16 + 63) / 64 * 64 +                   \
                HEED_SIZE_PRODUCT(HEED_SIZE_64(n_sequences) * HEED_SIZE_64(n_kv_heads),   \
                                  HEED_CACHE_BYTES_OF_HEAD(slots, head_dim, v_dim, dtype)))
#define HEED_CACHE_BYTES_OF_HEAD(slots, head_dim, v_dim, dtype)                                                        \
  ((slots) > INT32_MAX ? HEED_SIZE_64(1) << 63                                                                         \
                       : HEED_SIZE_64(slots) *                                                                         \
                             ((HEED_SIZE_64(head_dim) + HEED_SIZE_64(v_dim)) * HEED_SIZE_64(HEED_DTYPE_BYTES(dtype)) + \
                              HEED_SIZE_64((dtype) == HEED_INT8 ? 8 : 0)))
/* HEED_CACHE_BYTES or HEED_RING_BYTES of a shape, as a function. It returns 0 if the shape is not valid, or if the size
 * is above PTRDIFF_MAX or needs 2^31 slots. */
HEED_API size_t heed_cache_bytes(const heed_cache_shape *shape);

/* The handle of a cache. The functions below set its fields; do not change them. All that changes from token to token
 * lies in the memory.
 *
 * A call of attention reads a cache through call.cache. Then batch entry b reads sequence b, and batch_size is
 * n_sequences. The data of call.k and call.v is null. n_kv is at least heed_cache_longest; heed_attention_of_cache sets
 * it. Rows of scores and weights have n_kv columns. Columns of evicted (overwritten) tokens are outside the ranges. The
 * queries are the newest tokens: query 0 has the position length - n_q, plus call.position or ranges.positions. A ring
 * shortens left windows to its own window. With a partial, the cache is the whole context: the call reads n_kv tokens
 * of it, from token first_key + n_keys on. Here n_kv may be less than heed_cache_longest.
 *
 * Status of a call: CONFLICT for K, V; SHAPE_MISMATCH for BATCH_SIZE, N_KV_HEADS, HEAD_DIM, V_DIM, N_KV (shorter than a
 * sequence); EVICTED for N_Q (the ring no longer has all keys that the first query sees; its size is rounded up to a
 * multiple of 64, so it may hold more than capacity + spare tokens), PINNED (ranges have more pinned keys than the
 * ring, and some of these are evicted). */
typedef struct heed_cache {
  uint32_t struct_size; /* sizeof(heed_cache) */
  const heed_code *code;
  heed_cache_shape shape; /* the shape it was made with */
  void *buffer;           /* the data of the memory */
} heed_cache;

/* Makes an empty cache in `memory`.
 * Status: UNSUPPORTED for PINNED, SPARE (not 0 in a linear cache). */
HEED_API heed_status heed_cache_init(heed_cache *cache, const heed_cache_shape *shape, heed_memory memory);

/* The largest rotary_dim of a rope that heed_cache_append applies. */
#define HEED_CACHE_MAX_ROTARY_DIM 256

/* Appends n tokens to a sequence: k is (n_kv_heads, n, head_dim), v is (n_kv_heads, n, v_dim). Only their head_stride
 * and row_stride are used. If rope is not null, it rotates each key by the position of its token before the key is
 * stored. The positions begin at the length of the sequence, or are those of rope->positions. Here rotary_dim is at
 * most HEED_CACHE_MAX_ROTARY_DIM.
 *
 * A ring never ends: lengths and positions have 64 bits. Column numbers have 32: those of masks, scores, weights and
 * column sums, kv_lengths, first_key, and the keys of heed_topk_weights. So a ring renumbers the columns of a sequence
 * that has more than HEED_MAX_COUNT / 2 of them after an append: it subtracts a multiple of its slots and of 1024 from
 * all but the pinned ones. Then heed_cache_longest is small again. Nothing else changes: no key moves, positions,
 * distances and lengths continue, and no result changes a bit. In a cache of one sequence, column c is the token at
 * position heed_cache_length - heed_cache_longest + c, except for pinned ones. If a call of a layer renumbers, its
 * results have the new columns.
 *
 * If capacity + spare <= 2^24 and pinned <= 2^27, a ring renumbers before its columns end. In a larger ring a sequence
 * may end at HEED_MAX_COUNT columns: OUT_OF_RANGE for POSITION. A layer with a mask does not renumber, because the mask
 * has the columns from before the call. So a sequence that only such a layer appends to may end, too: one call without
 * a mask, or one heed_cache_append, renumbers it.
 *
 * Numbers that do not fit the dtype are treated as in heed_convert_from_f32: NOT_FINITE for K, V if int8 has no scale
 * for a row. A finite key that the rotation makes infinite has no scale either.
 * Status: FULL for CACHE (linear: no room), TOO_MANY_ROWS for N (ring: n > capacity + spare); OUT_OF_RANGE for POSITION
 * (more columns than HEED_MAX_COUNT); as heed_rope_apply for ROPE. */
HEED_API heed_status heed_cache_append(heed_cache *cache, int32_t sequence, heed_tensor k, heed_tensor v, int32_t n,
                                       const heed_rope *rope);

/* Takes the newest tokens of a sequence back, so that `length` tokens are left. A ring may have evicted older tokens by
 * then: if the next query would miss part of its window, the status is EVICTED for LENGTH. This cannot happen if
 * `length` is at least the greatest length that the sequence has had, less spare + 1. A second call does not restart
 * this count. All tokens of a ring, or all but pinned ones, can be taken back at any time.
 * Status: EVICTED for LENGTH. */
HEED_API heed_status heed_cache_truncate(heed_cache *cache, int32_t sequence, int64_t length);
/* Empties all sequences. */
HEED_API heed_status heed_cache_reset(heed_cache *cache);
/* The number of tokens of a sequence, evicted ones included. This is the position of its next token. In a ring it grows
 * without end: keep it in an int64_t. A negative result is a status, for SEQUENCE or CACHE as in
 * heed_cache_truncate. */
HEED_API int64_t heed_cache_length(const heed_cache *cache, int32_t sequence);
/* The columns of the longest sequence: the n_kv of a call. This is the length of that sequence, less what its ring has
 * subtracted from its columns (see heed_cache_append). The newest token has the last column. A negative result is a
 * status, for CACHE as in heed_cache_append. */
HEED_API int32_t heed_cache_longest(const heed_cache *cache);

/* Save and restore a cache, also on a machine of the other byte order. To save it, call heed_cache_save and keep the
 * first heed_cache_bytes of its memory. To restore it, copy these bytes into a memory and call heed_cache_load instead
 * of heed_cache_init, with the same shape. It compares a checksum over all bytes, and refuses damaged memory. Any
 * change of the cache makes the checksum invalid: save again.
 * Status: heed_cache_load as heed_cache_init; CORRUPT for MEMORY (it is not a saved cache, has another shape, or is
 * damaged). */
HEED_API heed_status heed_cache_save(heed_cache *cache);
HEED_API heed_status heed_cache_load(heed_cache *cache, const heed_cache_shape *shape, heed_memory memory);

#ifdef __cplusplus
}
#endif

#endif
