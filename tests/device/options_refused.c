/* Bad options: the same status as on the PC, and nothing written. SPDX-License-Identifier: MIT */
#include "device.h"
#include "support/digest.h"

enum { batch = 2, n_heads = 4, n_q = 3, n_kv = 5, dim = 8 };
enum { n_rows = batch * n_heads * n_q, partial_bytes = 4 * n_rows * (dim + 2) };
/* Places in the pool. */
enum { q, kv = 192, out = 352, weights = 544, scores = 664, lse = 784, sums = 808, largest = 848 };
enum { mask = 944, total = 1100, part = total + partial_bytes / 4, layer_memory = 1584 };

static heed_attention call;
static int32_t left[batch], right[batch], positions[batch], lengths[batch];
static float slopes[n_heads], logits[n_heads];
static int accepted;

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
/* An address that is aligned, and that nothing of two numbers fits. */
#define TOP_OF_MEMORY ((const void *)(UINTPTR_MAX - 3))

static void check(heed_status status) { accepted += status != HEED_OK; }

/* A valid call with everything but a partial result. */
static void make_good(void) {
  call = heed_attention_of(pool + q, pool + kv, pool + kv, n_q, n_kv, n_heads, 2, dim, pool + out, workspace);
  call.batch_size = batch;
  call.options = &o.all;
  for (int i = 0; i < batch; i++) left[i] = right[i] = -1, positions[i] = 0, lengths[i] = n_kv;
  for (int i = 0; i < n_heads; i++) slopes[i] = 0.5f, logits[i] = 1;
  check(heed_ranges_init(&o.ranges));
  o.ranges.left_windows = left, o.ranges.right_windows = right, o.ranges.positions = positions;
  o.ranges.kv_lengths = lengths;
  check(heed_mask_init_additive(&o.mask, pool + mask, n_kv, 60, 15, n_kv));
  check(heed_softcap_init(&o.softcap, 2));
  check(heed_alibi_init(&o.alibi, slopes));
  check(heed_sinks_init(&o.sinks, logits));
  check(heed_scores_init(&o.scores, HEED_SCORES_BIASED, heed_head_major_out(pool + scores, n_q, n_heads, n_kv)));
  check(heed_attention_weights_init(&o.weights, heed_head_major_out(pool + weights, n_q, n_heads, n_kv)));
  check(heed_lse_init(&o.lse, heed_head_major_out(pool + lse, n_q, n_heads, 1)));
  check(heed_column_sums_init(&o.sums, heed_head_major_out(pool + sums, 1, n_heads, n_kv)));
  check(heed_topk_weights_init(&o.topk_weights, 2, pool + largest, (int32_t *)(void *)(pool + largest + 48)));
  o.all = heed_options_default();
  o.all.ranges = &o.ranges, o.all.mask = &o.mask, o.all.softcap = &o.softcap, o.all.alibi = &o.alibi;
  o.all.sinks = &o.sinks, o.all.scores = &o.scores, o.all.weights = &o.weights, o.all.lse = &o.lse;
  o.all.column_sums = &o.sums, o.all.topk_weights = &o.topk_weights;
}

/* A valid call that adds to a partial result. */
static void make_good_part(void) {
  make_good();
  const heed_memory of_total = {pool + total, partial_bytes}, of_part = {pool + part, partial_bytes};
  check(heed_partial_init(&o.partial, batch, n_heads, n_q, dim, 0, of_total));
  check(heed_partial_init(&o.part, batch, n_heads, n_q, dim, 0, of_part));
  o.all.sinks = NULL, o.all.weights = NULL, o.all.lse = NULL, o.all.column_sums = NULL, o.all.topk_weights = NULL;
  o.all.partial = &o.partial;
  call.out.data = NULL;
}

/* Of the objects, which no refused call may write. */
static uint32_t sum_of_objects(void) {
  const unsigned char *const p = (const unsigned char *)&o;
  uint32_t sum = 0;
  for (size_t i = 0; i < sizeof o; i++) sum = sum * 31 + p[i];
  return sum;
}

static void print(const char *name, int index, heed_status status) {
  print_status(name, index, status);
  accepted += status == HEED_OK;
}
static void run(const char *name, int index) {
  const uint32_t before = sum_of_objects();
  print(name, index, heed_attention_run(&call));
  accepted += before != sum_of_objects();
}

/* What every object begins with, and heed_options. */
static void spoil_heads(void) {
  static uint32_t *const sizes[] = {&o.all.struct_size,     &o.ranges.struct_size,       &o.mask.struct_size,
                                    &o.softcap.struct_size, &o.alibi.struct_size,        &o.sinks.struct_size,
                                    &o.scores.struct_size,  &o.weights.struct_size,      &o.lse.struct_size,
                                    &o.sums.struct_size,    &o.topk_weights.struct_size, &o.partial.struct_size};
  static const heed_code **const codes[] = {&o.ranges.code, &o.mask.code,         &o.softcap.code, &o.alibi.code,
                                            &o.sinks.code,  &o.scores.code,       &o.weights.code, &o.lse.code,
                                            &o.sums.code,   &o.topk_weights.code, &o.partial.code};
  for (int i = 0; i < 12; i++) {
    i < 11 ? make_good() : make_good_part();
    *sizes[i] += i % 2 ? 4 : (uint32_t)-4;
    run("size", i);
  }
  for (int i = 0; i < 11; i++) {
    i < 10 ? make_good() : make_good_part();
    *codes[i] = NULL;
    run("code", i);
  }
}

/* What is wrong in a call without a partial result, then in one with. */
struct number {
  int32_t *where, wrong;
};
static const struct number numbers[] = {{&o.ranges.left_window, -2},
                                        {&o.ranges.right_window, -3},
                                        {&left[1], -2},
                                        {&right[0], INT32_MIN},
                                        {&lengths[1], n_kv + 1},
                                        {&lengths[0], -1},
                                        {&o.mask.n_keys, 0},
                                        {&o.mask.n_keys, HEED_MAX_COUNT + 1},
                                        {&o.scores.stage, 3},
                                        {&o.scores.stage, -1},
                                        {&o.topk_weights.k, 0},
                                        {&o.topk_weights.k, n_kv + 1}};
static const struct number part_numbers[] = {{&o.partial.n_q, 4},
                                             {&o.partial.n_keys, 5},
                                             {&o.partial.n_keys, -1},
                                             {&o.partial.first_key, HEED_MAX_COUNT},
                                             {&o.partial.batch_size, 0}};

struct pointer {
  void *where;
  const void *wrong;
};
static const struct pointer pointers[] = {{&call.options, (char *)&o.all + 2},
                                          {&o.all.mask, (char *)&o.mask + 1},
                                          {&o.all.scores, (char *)&o.scores + 2},
                                          {&o.ranges.left_windows, (char *)left + 2},
                                          {&o.ranges.right_windows, TOP_OF_MEMORY},
                                          {&o.ranges.positions, (char *)positions + 1},
                                          {&o.ranges.kv_lengths, TOP_OF_MEMORY},
                                          {&o.mask.data, NULL},
                                          {&o.mask.data, (char *)(pool + mask) + 2},
                                          {&o.mask.data, TOP_OF_MEMORY},
                                          {&o.mask.data, workspace_data},
                                          {&o.alibi.slopes, NULL},
                                          {&o.alibi.slopes, (char *)slopes + 2},
                                          {&o.sinks.logits, (char *)logits + 1},
                                          {&o.sinks.logits, TOP_OF_MEMORY},
                                          {&o.scores.out.data, NULL},
                                          {&o.scores.out.data, (char *)(pool + scores) + 2},
                                          {&o.scores.out.data, pool + lse + 1},
                                          {&o.lse.out.data, NULL},
                                          {&o.lse.out.data, (char *)(pool + lse) + 1},
                                          {&o.lse.out.data, pool + out},
                                          {&o.sums.out.data, NULL},
                                          {&o.sums.out.data, TOP_OF_MEMORY},
                                          {&o.sums.out.data, pool + mask},
                                          {&o.topk_weights.weights, NULL},
                                          {&o.topk_weights.weights, slopes},
                                          {&o.topk_weights.keys, (char *)(pool + largest) + 2},
                                          {&o.weights.out.data, NULL},
                                          {&o.weights.out.data, (char *)(pool + weights) + 1},
                                          {&o.weights.out.data, pool + scores},
                                          {&call.out.data, &o.all}};
static const struct pointer part_pointers[] = {
    {&call.out.data, pool + out},  {&o.all.weights, &o.weights},
    {&o.all.sinks, &o.sinks},      {&o.all.lse, &o.lse},
    {&o.all.column_sums, &o.sums}, {&o.all.topk_weights, &o.topk_weights},
    {&o.partial.data, NULL},       {&o.partial.data, (char *)(pool + total) + 2},
    {&o.partial.data, pool + q}};

static void spoil_number(const struct number *flaw, int index) {
  if (flaw->where == &o.ranges.left_window) o.ranges.left_windows = NULL;
  if (flaw->where == &o.ranges.right_window) o.ranges.right_windows = NULL;
  *flaw->where = flaw->wrong;
  run("number", index);
}

/* Pointers are of several types: byte by byte. */
static void spoil_pointer(const struct pointer *flaw, int index) {
  for (size_t i = 0; i < sizeof flaw->wrong; i++)
    ((unsigned char *)flaw->where)[i] = ((const unsigned char *)&flaw->wrong)[i];
  run("pointer", index);
}

static void spoil_floats_and_strides(void) {
  static const struct {
    float *where;
    uint32_t wrong;
  } floats[] = {{&o.softcap.cap, 0},      {&o.softcap.cap, 0xbf800000}, {&o.softcap.cap, 0x7fc00000},
                {&o.softcap.cap, 1},      {&slopes[3], 0x7f800000},     {&slopes[0], 0x7fc00000},
                {&logits[1], 0x7fc00000}, {&logits[2], 0x7f800000},     {&logits[0], 0x7f7fffff}};
  static const struct {
    ptrdiff_t *where, wrong;
  } strides[] = {{&o.mask.query_stride, -1},
                 {&o.mask.head_stride, PTRDIFF_MAX},
                 {&o.mask.batch_stride, PTRDIFF_MAX / 4},
                 {&o.scores.out.row_stride, n_kv - 1},
                 {&o.scores.out.batch_stride, PTRDIFF_MAX},
                 {&o.weights.out.row_stride, n_kv - 1},
                 {&o.lse.out.row_stride, 0},
                 {&o.sums.out.head_stride, n_kv - 1}};
  for (int i = 0; i < COUNT(floats); i++) {
    make_good();
    *floats[i].where = float_of(floats[i].wrong);
    run("float", i);
  }
  for (int i = 0; i < COUNT(strides); i++) {
    make_good();
    *strides[i].where = strides[i].wrong;
    run("stride", i);
  }
}

/* Calls and flaws of partial results, and init functions. */
static void other(void) {
  const heed_tensor_out to = heed_head_major_out(pool + out, n_q, n_heads, dim);
  const heed_memory memory = {pool, partial_bytes};
  make_good_part();
  print("merge", 0, heed_partial_merge(NULL, &o.part));
  print("merge", 1, heed_partial_merge(&o.partial, NULL));
  print("merge", 2, heed_partial_merge(&o.partial, &o.partial));
  o.part.v_dim--, print("merge", 3, heed_partial_merge(&o.partial, &o.part));
  make_good_part(), o.part.n_keys = 1025, print("merge", 4, heed_partial_merge(&o.partial, &o.part));
  make_good_part(), o.part.first_key = 1024, print("merge", 5, heed_partial_merge(&o.partial, &o.part));
  make_good_part(), o.part.data = pool + total + 1, print("merge", 6, heed_partial_merge(&o.partial, &o.part));
  make_good_part(), o.part.code = NULL, print("merge", 7, heed_partial_merge(&o.partial, &o.part));
  make_good_part(), print("finish", 0, heed_partial_finish(NULL, NULL, to, NULL));
  print("finish", 1, heed_partial_finish(&o.partial, NULL, call.out, NULL));
  logits[3] = float_of(0x7fc00000), print("finish", 2, heed_partial_finish(&o.partial, &o.sinks, to, NULL));
  o.lse.out.data = pool + out, print("finish", 3, heed_partial_finish(&o.partial, NULL, to, &o.lse));
  o.partial.data = pool + out, print("finish", 4, heed_partial_finish(&o.partial, NULL, to, NULL));
  print("init", 0, heed_partial_init(NULL, batch, n_heads, n_q, dim, 0, memory));
  print("init", 1, heed_partial_init(&o.part, batch, n_heads, n_q, dim, 0, heed_memory_of(NULL, partial_bytes)));
  print("init", 2, heed_partial_init(&o.part, batch, n_heads, n_q, dim, 0, heed_memory_of(pool, partial_bytes - 1)));
  print("init", 3, heed_partial_init(&o.part, batch, 0, n_q, dim, 0, memory));
  print("init", 4, heed_partial_init(&o.part, batch, n_heads, n_q, dim, 5, memory));
  print("init", 5, heed_partial_init(&o.part, batch, n_heads, n_q, dim, -1024, memory));
  print("init", 6, heed_ranges_init(NULL));
  print("init", 7, heed_mask_init_boolean(NULL, NULL, 0, 0, 0, 0));
  print("init", 8, heed_mask_init_additive((heed_mask *)(void *)((char *)&o.mask + 2), NULL, 0, 0, 0, 0));
  print("init", 9, heed_softcap_init(NULL, 1));
  print("init", 10, heed_alibi_init(NULL, NULL));
  print("init", 11, heed_sinks_init((heed_sinks *)(void *)((char *)&o.sinks + 1), NULL));
  print("init", 12, heed_scores_init(NULL, 0, to));
  print("init", 13, heed_lse_init(NULL, to));
  print("init", 14, heed_column_sums_init(NULL, to));
  print("init", 15, heed_topk_weights_init(NULL, 0, NULL, NULL));
  print("init", 16, heed_attention_weights_init(NULL, to));
}

/* Layers and sequences of three rows with the options of the call. */
static heed_status run_layer(void) {
  const heed_memory memory = {pool + layer_memory, 4 * (pool_floats - layer_memory)};
  heed_attention_layer layer = heed_attention_layer_default(4, n_heads);
  layer.n_kv_heads = 2;
  layer.wq = layer.wo = heed_weights_of(pool + q, NULL, HEED_F32, HEED_IN_OUT, 4, 4);
  layer.wk = layer.wv = heed_weights_of(pool + q, NULL, HEED_F32, HEED_IN_OUT, 4, 2);
  layer.options = &o.all;
  lengths[0] = 3;
  return heed_attention_layer_run(&layer, heed_matrix_of(pool + kv, 3, 4), heed_matrix_out_of(pool + out, 3, 4), memory,
                                  NULL);
}
static heed_status run_sequence(int32_t causal) {
  HEED_SEQUENCE(words, 3, 4);
  heed_sequence context = words;
  words.length = lengths[0] = 3;
  context.data = pool + out;
  return heed_sequence_attention(&words, HEED_SCALE_DEFAULT, causal, &o.all, &context, workspace);
}
static void layers_and_sequences(void) {
  make_good_part(), print("layer", 0, run_layer());
  make_good(), o.topk_weights.k = 4, print("layer", 1, run_layer());
  make_good(), o.lse.out.data = pool + layer_memory, print("layer", 2, run_layer());
  make_good(), o.all.alibi = (const heed_alibi *)(void *)((char *)&o.alibi + 1), print("layer", 3, run_layer());
  make_good_part(), print("sequence", 0, run_sequence(0));
  make_good(), print("sequence", 1, run_sequence(2));
  make_good(), o.softcap.cap = 0, print("sequence", 2, run_sequence(1));
  make_good(), o.sums.out.data = pool + out + 11, print("sequence", 3, run_sequence(1));
}

int refused_options(void) {
  accepted = 0;
  digest_begin();
  fill(pool, pool_floats);
  make_good_part();
  digest_begin();
  add(pool, pool_floats);
  const uint64_t before = digest;
  spoil_heads();
  for (int i = 0; i < COUNT(numbers); i++) make_good(), spoil_number(numbers + i, i);
  for (int i = 0; i < COUNT(pointers); i++) make_good(), spoil_pointer(pointers + i, i);
  spoil_floats_and_strides();
  for (int i = 0; i < COUNT(part_numbers); i++) make_good_part(), spoil_number(part_numbers + i, 100 + i);
  for (int i = 0; i < COUNT(part_pointers); i++) make_good_part(), spoil_pointer(part_pointers + i, 100 + i);
  other();
  layers_and_sequences();
  digest_begin();
  add(pool, pool_floats);
  if (digest != before) port_write("refused calls with options have written\n");
  return accepted + (digest != before);
}
