/* heed: a cache of keys and values, for models that read or write one token after another. Include heed.h.
 *
 * The cache lies in one piece of memory of the caller's, whose size is a constant expression. Keys are stored in groups
 * of 16, the layout that decoding reads fastest, and in a narrow format if wanted. Everything that heed_attention does
 * works on a cache, with the bits of a call on the widened keys and values.
 *
 *   heed_cache_shape shape = heed_cache_shape_default(512, KV_HEADS, HEAD_DIM);
 *   HEED_MEMORY(memory, HEED_CACHE_BYTES(512, 1, KV_HEADS, HEAD_DIM, HEAD_DIM, HEED_F32));
 *   heed_cache_init(&cache, &shape, memory);
 *   // each time there are n new tokens:
 *   heed_cache_append(&cache, 0, heed_token_major(k, n, KV_HEADS, HEAD_DIM), heed_token_major(v, n, KV_HEADS,
 * HEAD_DIM), n, &rope); call = heed_attention_of_cache(&cache, q, n, HEADS, out, workspace); heed_attention_run(&call);
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEED_CACHE_H
#define HEED_CACHE_H

#include "formats.h"
#include "rope.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* LINEAR keeps `capacity` tokens; then it is full. RING is for a sliding window: a query sees the `capacity` newest
 * tokens, its own included, and the first `pinned` ones ("attention sinks", Xiao et al. 2024); it is never full. */
typedef enum heed_cache_kind { HEED_CACHE_LINEAR = 0, HEED_CACHE_RING = 1 } heed_cache_kind;

typedef struct heed_cache_shape {
  uint32_t struct_size;
  int32_t kind;     /* heed_cache_kind */
  int32_t capacity; /* tokens of a sequence that a query sees: 1 to HEED_MAX_COUNT */
  int32_t pinned;   /* ring: tokens at the start that stay; 0 and up */
  int32_t spare;    /* ring: tokens kept beyond the window: a piece of up to spare + 1 tokens can be appended, or so
                       many taken back, while every query still sees its own window */
  int32_t n_sequences, n_kv_heads, head_dim, v_dim;
  int32_t format; /* heed_format of keys and values; int8 has a scale for each row of a head */
} heed_cache_shape;
/* Linear, one sequence, v_dim = head_dim, f32. */
static inline heed_cache_shape heed_cache_shape_default(int32_t capacity, int32_t n_kv_heads, int32_t head_dim) {
  heed_cache_shape s = {sizeof(heed_cache_shape), HEED_CACHE_LINEAR, 0, 0, 0, 1, 0, 0, 0, HEED_F32};
  s.capacity = capacity;
  s.n_kv_heads = n_kv_heads;
  s.head_dim = s.v_dim = head_dim;
  return s;
}

/* Bytes of a cache's memory, as constant expressions, for a linear cache and for a ring. */
#define HEED_CACHE_BYTES(capacity, n_sequences, n_kv_heads, head_dim, v_dim, format) \
  HEED_CACHE_BYTES_OF_SLOTS(HEED_CACHE_SLOTS(capacity), n_sequences, n_kv_heads, head_dim, v_dim, format)
#define HEED_RING_BYTES(capacity, pinned, spare, n_sequences, n_kv_heads, head_dim, v_dim, format)               \
  HEED_CACHE_BYTES_OF_SLOTS(HEED_CACHE_SLOTS(pinned) + HEED_CACHE_SLOTS(HEED_SIZE(capacity) + HEED_SIZE(spare)), \
                            n_sequences, n_kv_heads, head_dim, v_dim, format)
#define HEED_CACHE_SLOTS(tokens) ((HEED_SIZE(tokens) + 63) / 64 * 64)
#define HEED_CACHE_BYTES_OF_SLOTS(slots, n_sequences, n_kv_heads, head_dim, v_dim, format) \
  (HEED_SIZE(128) + (HEED_SIZE(n_sequences) * 8 + 63) / 64 * 64 +                          \
   HEED_SIZE(n_sequences) * HEED_SIZE(n_kv_heads) * (slots) *                              \
       ((HEED_SIZE(head_dim) + HEED_SIZE(v_dim)) * HEED_SIZE(HEED_FORMAT_BYTES(format)) +  \
        HEED_SIZE((format) == HEED_INT8 ? 8 : 0)))
/* The same number as a function; 0 when the shape is not valid. */
HEED_API size_t heed_cache_bytes(const heed_cache_shape *shape);

/* A handle. All that changes lies in the memory. Fields are set by the functions below; do not change them. */
typedef struct heed_cache {
  uint32_t struct_size;
  const heed_code *code;
  heed_cache_shape shape;
  void *buffer;
} heed_cache;

/* An empty cache in `memory`.
 * Status: NULL_POINTER, MISALIGNED, OVERLAP for CACHE; NULL_POINTER, MISALIGNED, NOT_INITIALIZED, UNKNOWN_STRUCT,
 * OVERFLOW for SHAPE; OUT_OF_RANGE for KIND, CAPACITY, PINNED, SPARE, N_SEQUENCES, N_KV_HEADS, HEAD_DIM, V_DIM;
 * BAD_FORMAT for FORMAT; NOT_HERE for PINNED, SPARE (not 0 in a linear cache); NULL_POINTER, MISALIGNED, TOO_SMALL,
 * OVERLAP for MEMORY. */
HEED_API heed_status heed_cache_init(heed_cache *cache, const heed_cache_shape *shape, heed_memory memory);

/* Appends n tokens to a sequence: k (n_kv_heads, n, head_dim), v (n_kv_heads, n, v_dim), by head_stride and row_stride.
 * rope: null, or keys are turned on their way in by the positions of their tokens (the sequence's length upwards); its
 * rotary_dim is at most HEED_CACHE_MAX_ROTARY_DIM here.
 * Numbers that do not fit the format: as heed_narrow (NOT_FINITE for K, V when int8 has no scale for a row, also for
 * keys that are finite as given and infinite when turned).
 * Status: FULL for CACHE (linear: no room), TOO_MANY_ROWS for N (ring: n > capacity + spare), and nothing has changed;
 * OUT_OF_RANGE for SEQUENCE, N, POSITION (beyond HEED_MAX_COUNT); as heed_attention_run for K, V; as heed_rope_apply
 * for ROPE; NULL_POINTER, MISALIGNED, UNKNOWN_STRUCT, NOT_INITIALIZED, DAMAGED for CACHE, and OVERLAP when k, v, rope
 * or the handle lie in its memory. */
#define HEED_CACHE_MAX_ROTARY_DIM 256
HEED_API heed_status heed_cache_append(heed_cache *cache, int32_t sequence, heed_tensor k, heed_tensor v, int32_t n,
                                       const heed_rope *rope);

/* Takes tokens back, so that `length` are left. In a ring older tokens may be gone by then: GONE for LENGTH when the
 * next query would miss part of its window. Status: OUT_OF_RANGE for SEQUENCE, LENGTH; as above for CACHE. */
HEED_API heed_status heed_cache_truncate(heed_cache *cache, int32_t sequence, int32_t length);
/* Empties all sequences. Status: as above for CACHE. */
HEED_API heed_status heed_cache_reset(heed_cache *cache);
/* Tokens that a sequence has had: the position of its next one. Negative: a status, as above. */
HEED_API int32_t heed_cache_length(const heed_cache *cache, int32_t sequence);
/* The length of the longest sequence. Negative: a status, as above. */
HEED_API int32_t heed_cache_longest(const heed_cache *cache);

/* A cache's memory can be saved and restored, also on a machine of the other byte order: seal it, keep the first
 * heed_cache_bytes of it, bring them into a memory, open that. heed_cache_open takes the place of heed_cache_init:
 * shape must be the one that it was made with, and a checksum over all bytes refuses damage. Any change undoes a seal.
 * Status: as heed_cache_init; DAMAGED for MEMORY (not a sealed cache, another shape, or damaged). */
HEED_API heed_status heed_cache_seal(heed_cache *cache);
HEED_API heed_status heed_cache_open(heed_cache *cache, const heed_cache_shape *shape, heed_memory memory);

/* In a call of attention (call.cache): batch entry b reads sequence b, batch = n_sequences. call.k and call.v have data
 * null; n_kv is at least the length of every sequence (heed_attention_of_cache sets it; rows of scores and weights have
 * so many columns, and columns of tokens that are gone are outside the ranges). The queries are the newest tokens:
 * query 0 has the position length - n_q, plus call.position or ranges.positions. A ring shortens left windows to its
 * own. With a partial the cache is the whole context: the call reads its tokens from first_key + n_keys on, n_kv of
 * them (here n_kv may be less than a length).
 * Status: GIVEN_TWICE for K, V; MISFIT for BATCH, N_KV_HEADS, HEAD_DIM, V_DIM, N_KV (shorter than a sequence); GONE for
 * N_Q (the ring no longer has all keys that the first query sees; it may have more than it promises), PINNED (more
 * pinned keys in ranges than in the ring, of which some are gone); as above for CACHE. In sequences: NOT_HERE. */

#ifdef __cplusplus
}
#endif

#endif
