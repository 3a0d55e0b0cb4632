/* Every size of the headers, as a macro and as a function, against support/sizes.h: for random valid shapes, and for each of
 * them the numbers on both sides of what fits into 2^31 and 2^32 bytes and into memory. SPDX-License-Identifier: MIT
 *   sizes          compares; exit status 1 if a size differs
 *   sizes names    the macros and functions that it knows (sizes.sh: the headers have no others) */
#include "support/sizes.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------ what the headers say that it is */

static float some_float;
static heed_attention_layer attention_layer_of(dims d) {
  heed_attention_layer l = heed_attention_layer_default(d[l_dim], d[l_group] * d[l_kv_heads]);
  l.n_kv_heads = d[l_kv_heads];
  l.head_dim = d[l_head_dim];
  l.v_dim = d[l_v_dim];
  l.causal = d[l_rest] % 2;
  l.qk_norm_whole = d[l_rest] / 2 % 2;
  return l;
}
static size_t layer_size(dims d, size_t (*size)(const heed_transformer_layer *, int32_t)) {
  const heed_attention_layer a = attention_layer_of(d), c = a;
  heed_transformer_layer l = heed_transformer_layer_default(&a, d[l_hidden], heed_rms_norm, heed_silu);
  if (d[l_gated] > 1) l.w_gate.data = &some_float;
  l.parallel = d[l_parallel] - 1;
  l.norm_first = l.parallel || d[l_rest] % 2;
  l.post_norm = d[l_rest] / 4 % 2;
  l.ffn_order = d[l_order] - 1;
  if (d[l_cross] > 1) l.cross = &c;
  return size(&l, d[l_n]);
}
static struct heed_int_cache *some_cache = (struct heed_int_cache *)&some_float;
static heed_int_layer int_layer_of(dims d) {
  heed_int_layer l;
  memset(&l, 0, sizeof l);
  l.struct_size = sizeof l;
  l.model_dim = d[l_dim];
  l.ffn_dim = d[l_hidden];
  l.n_heads = d[l_group] * d[l_kv_heads];
  l.n_kv_heads = d[l_kv_heads];
  l.head_dim = d[l_head_dim];
  if (d[l_gated] > 1) l.w_gate.w.data = &some_float;
  if (d[l_cross] > 1) l.cache = some_cache;
  return l;
}
static const int32_t packed_formats[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8, HEED_Q8_0, HEED_Q4_0, HEED_UINT8};
static int valid_layer(dims d) {
  const uint64_t widest = greater((uint64_t)d[l_head_dim], (uint64_t)d[l_v_dim]);
  const int together = d[l_order] > 1;
  if (together && (d[l_gated] > 1 || d[l_hidden] > HEED_MAX_DIM / 2)) return 0;
  return times(heads_of(d), widest) <= HEED_MAX_DIM;
}
static int valid_int_layer(dims d) { return times(heads_of(d), (uint64_t)d[l_head_dim]) <= HEED_INT_MAX_IN; }
static heed_cache_shape shape_of(dims d, int32_t capacity) {
  heed_cache_shape s = heed_cache_shape_default(capacity, d[1], d[2]);
  s.n_sequences = d[0];
  s.v_dim = d[3];
  s.dtype = cache_formats[d[4] - 1];
  return s;
}
static heed_cache_shape linear_of(dims d) { return shape_of(d + 1, d[0]); }
static heed_cache_shape ring_of(dims d) {
  heed_cache_shape s = shape_of(d + 3, d[1]);
  s.kind = HEED_CACHE_RING;
  s.pinned = d[0] - 1;
  s.spare = d[2] - 1;
  return s;
}
static heed_int_cache_shape int_linear_of(dims d) {
  heed_int_cache_shape s = heed_int_cache_shape_default(d[0], d[2], d[3]);
  s.n_sequences = d[1];
  s.v_dim = d[4];
  return s;
}
static heed_int_cache_shape int_ring_of(dims d) {
  heed_int_cache_shape s = int_linear_of(d + 1);
  s.kind = HEED_CACHE_RING;
  s.capacity = d[0];
  s.spare = d[1] - 1;
  return s;
}

#define HEADS d[l_group] * d[l_kv_heads]
#define HIDDEN d[l_hidden] + (d[l_parallel] > 1 ? d[l_dim] : 0)
#define GATED (d[l_gated] > 1 || d[l_order] > 1)
#define INT_ROWS (d[l_cross] > 1 ? 0 : d[l_n])

/* macro_NAME and function_NAME of a shape. */
#define SIZE(name, macro, function)                    \
  static size_t macro_##name(dims d) { return macro; } \
  static size_t function_##name(dims d) { return function; }
/* A function that takes an object. */
#define SIZE_OF(name, macro, type, object, function)   \
  static size_t macro_##name(dims d) { return macro; } \
  static size_t function_##name(dims d) {              \
    const type o = object;                             \
    return function;                                   \
  }
SIZE(sample, HEED_SAMPLE_BYTES(d[0]), heed_sample_bytes(d[0]))
SIZE(partial, HEED_PARTIAL_BYTES(d[0], d[2], d[1], d[3]), heed_partial_bytes(d[0], d[2], d[1], d[3]))
SIZE(workspace, HEED_WORKSPACE_BYTES(d[0], d[1]), heed_workspace_bytes(d[0], d[1]))
SIZE(workspace_min, HEED_WORKSPACE_MIN_BYTES(d[0], d[1]), heed_workspace_min_bytes(d[0], d[1]))
SIZE(int_workspace, HEED_INT_WORKSPACE_BYTES(d[0], d[1]), heed_int_workspace_bytes(d[0], d[1]))
SIZE(int_workspace_min, HEED_INT_WORKSPACE_MIN_BYTES(d[0], d[1]), heed_int_workspace_min_bytes(d[0], d[1]))
SIZE(int_partial_row, HEED_INT_PARTIAL_ROW_BYTES(d[0]), heed_int_partial_row_bytes(d[0]))
SIZE(weights_packed, HEED_WEIGHTS_PACKED_BYTES(packed_formats[d[2] - 1], d[1], d[0]),
     heed_weights_packed_bytes(packed_formats[d[2] - 1], d[1], d[0]))
SIZE(transformer_layer,
     HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(d[l_n], d[l_dim], HEADS, d[l_kv_heads], d[l_head_dim], d[l_v_dim], HIDDEN,
                                           GATED),
     layer_size(d, heed_transformer_layer_bytes))
SIZE(transformer_layer_min,
     HEED_TRANSFORMER_LAYER_MIN_BYTES_OF_HEADS(d[l_n], d[l_dim], HEADS, d[l_kv_heads], d[l_head_dim], d[l_v_dim],
                                               HIDDEN, GATED),
     layer_size(d, heed_transformer_layer_min_bytes))
SIZE_OF(attention_layer, HEED_ATTENTION_LAYER_BYTES(d[l_n], HEADS, d[l_kv_heads], d[l_head_dim], d[l_v_dim]),
        heed_attention_layer, attention_layer_of(d), heed_attention_layer_bytes(&o, d[l_n]))
SIZE_OF(int_layer, HEED_INT_LAYER_BYTES(INT_ROWS, d[l_dim], HEADS, d[l_kv_heads], d[l_head_dim], d[l_hidden], GATED),
        heed_int_layer, int_layer_of(d), heed_int_layer_bytes(&o, d[l_n]))
SIZE_OF(int_layer_min,
        HEED_INT_LAYER_MIN_BYTES(INT_ROWS, d[l_dim], HEADS, d[l_kv_heads], d[l_head_dim], d[l_hidden], GATED),
        heed_int_layer, int_layer_of(d), heed_int_layer_min_bytes(&o, d[l_n]))
SIZE_OF(cache, HEED_CACHE_BYTES(d[0], d[1], d[2], d[3], d[4], cache_formats[d[5] - 1]), heed_cache_shape, linear_of(d),
        heed_cache_bytes(&o))
SIZE_OF(ring, HEED_RING_BYTES(d[1], d[0] - 1, d[2] - 1, d[3], d[4], d[5], d[6], cache_formats[d[7] - 1]),
        heed_cache_shape, ring_of(d), heed_cache_bytes(&o))
SIZE_OF(int_cache, HEED_INT_CACHE_BYTES(d[0], d[1], d[2], d[3], d[4]), heed_int_cache_shape, int_linear_of(d),
        heed_int_cache_bytes(&o))
SIZE_OF(int_ring, HEED_INT_RING_BYTES(d[0], d[1] - 1, d[2], d[3], d[4], d[5]), heed_int_cache_shape, int_ring_of(d),
        heed_int_cache_bytes(&o))
static size_t macro_sequence(dims d) { return HEED_SEQUENCE_BYTES(d[0], d[1]); }

/* ---------------------------------------------------------------------------------------------------------- the table */

typedef struct size {
  const char *macro, *function; /* function: null, there is none */
  size_t (*of_macro)(dims), (*of_function)(dims);
  uint64_t (*wanted)(dims);
  int (*valid)(dims);      /* null: all within most */
  int32_t most[most_dims]; /* the largest of each number, those that may be 0 with one more; the first counts rows */
} size;

#define COUNT HEED_MAX_COUNT
#define DIM HEED_MAX_DIM
#define HALF (HEED_MAX_COUNT / 2 + 1)
#define OF(NAME, name) "HEED_" #NAME "_BYTES", "heed_" #name "_bytes"
#define LAYER_MOST \
  { COUNT, DIM, DIM, DIM, DIM, DIM, DIM, 2, 2, 3, 8, 2 }
#define INT_LAYER_MOST \
  { HEED_INT_MAX_KEYS, DIM, DIM, HEED_INT_MAX_DIM, 1, HEED_INT_MAX_NORM_DIM, HEED_INT_MAX_IN, 2, 1, 1, 1, 2 }
static const size sizes[] = {
    {OF(SAMPLE, sample), macro_sample, function_sample, of_sample, NULL, {COUNT}},
    {"HEED_SEQUENCE_BYTES", NULL, macro_sequence, NULL, of_sequence, NULL, {COUNT, DIM}},
    {OF(PARTIAL, partial), macro_partial, function_partial, of_partial, NULL, {COUNT, COUNT, DIM, DIM}},
    {OF(WORKSPACE, workspace), macro_workspace, function_workspace, of_workspace, NULL, {DIM, DIM}},
    {OF(WORKSPACE_MIN, workspace_min), macro_workspace_min, function_workspace_min, of_workspace_min, NULL, {DIM, DIM}},
    {OF(INT_WORKSPACE, int_workspace),
     macro_int_workspace,
     function_int_workspace,
     of_int_workspace,
     NULL,
     {HEED_INT_MAX_DIM, HEED_INT_MAX_DIM}},
    {OF(INT_WORKSPACE_MIN, int_workspace_min),
     macro_int_workspace_min,
     function_int_workspace_min,
     of_int_workspace_min,
     NULL,
     {HEED_INT_MAX_DIM, HEED_INT_MAX_DIM}},
    {OF(INT_PARTIAL_ROW, int_partial_row),
     macro_int_partial_row,
     function_int_partial_row,
     of_int_partial_row,
     NULL,
     {HEED_INT_MAX_DIM}},
    {OF(WEIGHTS_PACKED, weights_packed),
     macro_weights_packed,
     function_weights_packed,
     of_packed,
     NULL,
     {COUNT, COUNT, 7}},
    {OF(CACHE, cache), macro_cache, function_cache, of_cache, NULL, {COUNT, COUNT, DIM, DIM, DIM, 4}},
    {"HEED_RING_BYTES",
     "heed_cache_bytes",
     macro_ring,
     function_ring,
     of_ring,
     NULL,
     {HALF, COUNT, HALF, COUNT, DIM, DIM, DIM, 4}},
    {OF(INT_CACHE, int_cache),
     macro_int_cache,
     function_int_cache,
     of_int_cache,
     NULL,
     {HEED_INT_MAX_KEYS, COUNT, DIM, HEED_INT_MAX_DIM, HEED_INT_MAX_DIM}},
    {"HEED_INT_RING_BYTES",
     "heed_int_cache_bytes",
     macro_int_ring,
     function_int_ring,
     of_int_ring,
     NULL,
     {HEED_INT_MAX_KEYS, HEED_INT_MAX_KEYS + 1, COUNT, DIM, HEED_INT_MAX_DIM, HEED_INT_MAX_DIM}},
    {OF(ATTENTION_LAYER, attention_layer), macro_attention_layer, function_attention_layer, of_attention_layer,
     valid_layer, LAYER_MOST},
    {OF(TRANSFORMER_LAYER, transformer_layer), macro_transformer_layer, function_transformer_layer, of_layer,
     valid_layer, LAYER_MOST},
    {OF(TRANSFORMER_LAYER_MIN, transformer_layer_min), macro_transformer_layer_min, function_transformer_layer_min,
     of_layer_min, valid_layer, LAYER_MOST},
    {OF(INT_LAYER, int_layer), macro_int_layer, function_int_layer, of_int_layer, valid_int_layer, INT_LAYER_MOST},
    {OF(INT_LAYER_MIN, int_layer_min), macro_int_layer_min, function_int_layer_min, of_int_layer_min, valid_int_layer,
     INT_LAYER_MOST}};

/* ------------------------------------------------------------------------------------------------------------ compare */

static int compare(const size *s, dims d) {
  const uint64_t wanted = s->wanted(d), most = PTRDIFF_MAX;
  const size_t macro = wanted > most ? SIZE_MAX : (size_t)wanted, function = wanted > most ? 0 : (size_t)wanted;
  const size_t is = s->of_macro(d), is_function = s->of_function ? s->of_function(d) : function;
  if (is == macro && is_function == function) return 1;
  printf("FAILED: %s %lu, %s %lu, wanted %llu:", s->macro, (unsigned long)is, s->function ? s->function : "no function",
         (unsigned long)is_function, (unsigned long long)wanted);
  for (int i = 0; i < most_dims && s->most[i]; i++) printf(" %ld", (long)d[i]);
  printf("\n");
  return 0;
}

/* The greatest first number for which the size is at most `limit`, and the next. */
static int compare_around(const size *s, int32_t *d, uint64_t limit) {
  const int32_t kept = d[0];
  int32_t fits = 0, beyond = s->most[0];
  int ok = 1;
  while (beyond - fits > 1) {
    d[0] = fits + (beyond - fits) / 2;
    if (s->wanted(d) <= limit)
      fits = d[0];
    else
      beyond = d[0];
  }
  for (d[0] = fits > 0 ? fits : 1; ok && d[0] <= beyond; d[0]++) ok = compare(s, d);
  d[0] = kept;
  return ok;
}

static int compare_shapes(const size *s) {
  int32_t d[most_dims] = {0};
  int compared = 0;
  for (int i = 0; i < 30000; i++) {
    for (int k = 0; k < most_dims; k++) d[k] = s->most[k] ? draw(s->most[k]) : 1;
    if (s->valid && !s->valid(d)) continue;
    compared++;
    if (!compare(s, d) || !compare_around(s, d, INT32_MAX) || !compare_around(s, d, UINT32_MAX) ||
        !compare_around(s, d, PTRDIFF_MAX))
      return 0;
  }
  printf("%s: %d shapes\n", s->macro, compared);
  return compared > 1000;
}

int main(int argc, char **argv) {
  int ok = 1;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    if (argc > 1 && strcmp(argv[1], "names") == 0)
      printf("%s\n%s\n", sizes[i].macro, sizes[i].function ? sizes[i].function : "");
    else
      ok &= compare_shapes(&sizes[i]);
  }
  return !ok;
}
