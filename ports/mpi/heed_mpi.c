/* One long context on several machines: each rank keeps the keys and values of its own chunks of 1024, and the result
 * has the bits of one process. README.md says how to run it, and when to use which way:
 *   chain   the running partial of a slice of queries goes from rank to rank; slice s is on rank r at step s + r
 *   gather  every rank makes a partial of each of its chunks, and the root merges them in ascending order
 * Exit status 0: equal to what the root computes alone; 1: not; 2: bad options. An error of MPI itself ends the
 * program: that is MPI's default. SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200112L
#include <heed/heed.h>

#include <inttypes.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../terminal.h"

enum { chunk_keys = 1024 };

typedef struct node {
  int32_t n_q, n_kv, n_heads, n_kv_heads, head_dim, causal, window; /* the queries are the newest tokens */
  int32_t slice;                                                    /* queries that travel together */
  int rank, n_ranks, root; /* the root is the last rank, which has the newest keys */
  float *q, *k, *v, *out;  /* token-major; all queries, this rank's keys and, on the root, the results */
  float *total;            /* a partial of one slice */
  heed_partial *parts;     /* gather: one for each chunk of this rank, and on the root one that arrives */
  float *part_floats;
  heed_memory workspace;
  uint64_t bytes_sent; /* in partials */
} node;

/* Chunks are dealt evenly, in order; ranks may have none, but the last has some. Rank n_ranks: the end. */
static int32_t first_chunk_of(const node *n, int rank) {
  return (int32_t)((int64_t)rank * ((n->n_kv - 1) / chunk_keys + 1) / n->n_ranks);
}
static int32_t n_chunks_of(const node *n, int rank) { return first_chunk_of(n, rank + 1) - first_chunk_of(n, rank); }

static int32_t smaller(int64_t a, int64_t b) { return (int32_t)(a < b ? a : b); }
static int32_t first_key_of(const node *n, int32_t chunk) { return smaller((int64_t)chunk * chunk_keys, n->n_kv); }

static size_t query_floats(const node *n, int32_t rows) {
  return (size_t)rows * (size_t)n->n_heads * (size_t)n->head_dim;
}
static size_t partial_floats(const node *n, int32_t rows) {
  return HEED_PARTIAL_BYTES(1, n->n_heads, rows, n->head_dim) / sizeof(float);
}

static void must(heed_status status, const char *what) {
  if (status == HEED_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, heed_status_argument(status), heed_status_text(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ------------------------------------------------------------------------------------------------------- attention */

static heed_partial empty(const node *n, float *floats, int32_t n_rows, int32_t first_key) {
  heed_partial partial;
  must(heed_partial_init(&partial, 1, n->n_heads, n_rows, n->head_dim, first_key,
                         heed_memory_of(floats, partial_floats(n, n_rows) * sizeof(float))),
       "heed_partial_init");
  return partial;
}

/* Adds chunks, counted from this rank's first, to the partial; without one, writes out. */
static void attend(const node *n, int32_t row, int32_t n_rows, int32_t chunk, int32_t n_chunks, heed_partial *partial) {
  const int32_t first = first_chunk_of(n, n->rank) + chunk;
  const int32_t n_keys = first_key_of(n, first + n_chunks) - first_key_of(n, first);
  const size_t q = query_floats(n, row), kv = (size_t)chunk * chunk_keys * (size_t)n->n_kv_heads * (size_t)n->head_dim;
  heed_ranges ranges;
  must(heed_ranges_init(&ranges), "heed_ranges_init");
  ranges.left_window = n->window;
  heed_options options = heed_options_default();
  options.ranges = &ranges;
  options.partial = partial;
  heed_attention call = heed_attention_of(n->q + q, n->k + kv, n->v + kv, n_rows, n_keys, n->n_heads, n->n_kv_heads,
                                          n->head_dim, partial == NULL ? n->out + q : NULL, n->workspace);
  call.causal = n->causal;
  call.position = n->n_kv - n->n_q + row; /* from key 0 of the context, on every rank */
  call.options = &options;
  must(heed_attention_run(&call), "heed_attention_run");
}

static void finish(const node *n, const heed_partial *total, int32_t row) {
  float *out = n->out + query_floats(n, row);
  must(heed_partial_finish(total, NULL, heed_token_major_out(out, total->n_q, n->n_heads, n->head_dim), NULL),
       "heed_partial_finish");
}

/* Which keys a partial covers follows from who sends it, so its floats alone travel. */
static void send_to(node *n, const heed_partial *partial, int rank) {
  MPI_Send(partial->data, (int)partial_floats(n, partial->n_q), MPI_FLOAT, rank, 0, MPI_COMM_WORLD);
  n->bytes_sent += partial_floats(n, partial->n_q) * sizeof(float);
}

static void receive_from(const node *n, heed_partial *partial, int32_t n_keys, int rank) {
  MPI_Recv(partial->data, (int)partial_floats(n, partial->n_q), MPI_FLOAT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  partial->n_keys = n_keys;
}

/* ---------------------------------------------------------------------------------------------------- the two ways */

/* Whoever has passed a slice on begins the next: the ranks work at the same time. */
static void chain(node *n, int32_t row, int32_t n_rows) {
  heed_partial total = empty(n, n->total, n_rows, 0);
  if (n->rank > 0) receive_from(n, &total, first_key_of(n, first_chunk_of(n, n->rank)), n->rank - 1);
  if (n_chunks_of(n, n->rank) > 0) attend(n, row, n_rows, 0, n_chunks_of(n, n->rank), &total);
  if (n->rank != n->root)
    send_to(n, &total, n->rank + 1);
  else
    finish(n, &total, row);
}

static heed_partial *empty_part(const node *n, int32_t i, int32_t n_rows, int32_t chunk) {
  n->parts[i] = empty(n, n->part_floats + (size_t)i * partial_floats(n, n_rows), n_rows, first_key_of(n, chunk));
  return &n->parts[i];
}

static const heed_partial *arriving_part(const node *n, int32_t n_rows, int32_t chunk, int rank) {
  heed_partial *part = empty_part(n, n_chunks_of(n, n->rank), n_rows, chunk);
  receive_from(n, part, chunk_keys, rank); /* the ragged chunk is the root's */
  return part;
}

static void gather(node *n, int32_t row, int32_t n_rows) {
  const int32_t first = first_chunk_of(n, n->rank), n_chunks = n_chunks_of(n, n->rank);
  for (int32_t i = 0; i < n_chunks; ++i) attend(n, row, n_rows, i, 1, empty_part(n, i, n_rows, first + i));
  for (int32_t i = 0; i < n_chunks && n->rank != n->root; ++i) send_to(n, &n->parts[i], n->root);
  if (n->rank != n->root) return;
  heed_partial total = empty(n, n->total, n_rows, 0);
  for (int rank = 0; rank < n->n_ranks; ++rank)
    for (int32_t c = first_chunk_of(n, rank); c < first_chunk_of(n, rank + 1); ++c)
      must(heed_partial_merge(&total, rank == n->root ? &n->parts[c - first] : arriving_part(n, n_rows, c, rank)),
           "heed_partial_merge");
  finish(n, &total, row);
}

/* ---------------------------------------------------------------------------------------- the rest is for comparing */

static void *allocate(uint64_t count, size_t bytes_each) {
  void *memory = NULL;
  if (count <= SIZE_MAX / bytes_each && !posix_memalign(&memory, HEED_ALIGNMENT, (size_t)count * bytes_each))
    return memory;
  fprintf(stderr, "no memory for %" PRIu64 " times %zu bytes\n", count, bytes_each);
  exit(MPI_Abort(MPI_COMM_WORLD, 1));
}

/* In [-size, size), by the index in the whole context. */
static float *numbers(uint64_t first, uint64_t count, uint64_t seed, float size) {
  float *x = allocate(count, sizeof *x);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t z = ((seed << 60) + first + i) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 32) * UINT64_C(0xd6e8feb86659fd93);
    x[i] = ((float)(z >> 40) * 0x1p-23f - 1.0f) * size;
  }
  return x;
}

static void allocate_keys(node *n) {
  const uint64_t row = (uint64_t)n->n_kv_heads * (uint64_t)n->head_dim;
  const uint64_t first = (uint64_t)first_key_of(n, first_chunk_of(n, n->rank));
  const uint64_t end = (uint64_t)first_key_of(n, first_chunk_of(n, n->rank + 1));
  n->k = numbers(first * row, (end - first) * row, 1, 1.0f);
  n->v = numbers(first * row, (end - first) * row, 2, 1.0f);
}

static void allocate_all(node *n) {
  const size_t n_floats = query_floats(n, n->n_q), slice = partial_floats(n, smaller(n->slice, n->n_q));
  const uint64_t n_parts = (uint64_t)n_chunks_of(n, n->rank) + (n->rank == n->root);
  allocate_keys(n);
  n->q = n->rank == n->root ? numbers(0, n_floats, 3, 8.0f) : allocate(n_floats, sizeof(float));
  n->out = n->rank == n->root ? allocate(n_floats, sizeof(float)) : NULL;
  n->total = allocate(slice, sizeof(float));
  n->parts = allocate(n_parts, sizeof(heed_partial));
  n->part_floats = allocate(n_parts * slice, sizeof(float));
  const size_t workspace = HEED_WORKSPACE_BYTES(n->head_dim, n->head_dim);
  n->workspace = heed_memory_of(allocate(workspace, 1), workspace);
}

static void free_all(node *n) {
  void *const memory[] = {n->k, n->v, n->q, n->out, n->total, n->parts, n->part_floats, n->workspace.data};
  for (size_t i = 0; i < sizeof memory / sizeof memory[0]; ++i) free(memory[i]);
}

/* What the root computes with all keys in its own memory. */
static float *attend_alone(const node *n) {
  node alone = *n;
  alone.rank = alone.root = 0;
  alone.n_ranks = 1;
  allocate_keys(&alone);
  alone.out = allocate(query_floats(n, n->n_q), sizeof(float));
  attend(&alone, 0, n->n_q, 0, n_chunks_of(&alone, 0), NULL);
  free(alone.k), free(alone.v);
  return alone.out;
}

static int is_equal(const node *n, const float *alone) {
  const size_t row = query_floats(n, 1);
  size_t i = 0;
  if (memcmp(n->out, alone, query_floats(n, n->n_q) * sizeof(float)) == 0) return 1;
  while (memcmp(&n->out[i], &alone[i], sizeof(float)) == 0) ++i;
  printf("first at row %zu, element %zu: %a, alone %a\n", i / row, i % row, (double)n->out[i], (double)alone[i]);
  return 0;
}

static const char table_head[] =
    "| ranks | chunks | way | result | bytes per row | formula |\n|---|---|---|---|---|---|\n";

/* Runs one way and prints its row of the table; on the root, 1 if all is as it should be. */
static int run(node *n, const char *way, const float *alone) {
  const int is_chain = strcmp(way, "chain") == 0;
  const int n_sent = is_chain ? n->root : first_chunk_of(n, n->root); /* for each row */
  const uint64_t formula = (uint64_t)n_sent * partial_floats(n, 1) * sizeof(float), n_q = (uint64_t)n->n_q;
  uint64_t sent = 0;
  if (alone != NULL) memset(n->out, 0xff, query_floats(n, n->n_q) * sizeof(float)); /* nothing stays from before */
  n->bytes_sent = 0;
  for (int32_t row = 0; row < n->n_q; row += n->slice)
    (is_chain ? chain : gather)(n, row, smaller(n->slice, n->n_q - row));
  MPI_Reduce(&n->bytes_sent, &sent, 1, MPI_UINT64_T, MPI_SUM, n->root, MPI_COMM_WORLD);
  if (alone == NULL) return 1;
  const int equal = is_equal(n, alone);
  printf("| %d | %d | %s | %s | %" PRIu64 " | %d %s x %d heads x (%d + 2) x 4 = %" PRIu64 " |\n", n->n_ranks,
         first_chunk_of(n, n->n_ranks), way, equal ? "equal" : "DIFFERENT", sent / n_q, n_sent,
         is_chain ? "hops" : "chunks", n->n_heads, n->head_dim, formula);
  return equal && sent == formula * n_q;
}

/* Bits agree within an arithmetic: where one processor has no fused multiply-add, nobody uses it. */
static void agree_on_arithmetic(void) {
  int mine = heed_isa_arithmetic(heed_isa_current()), least;
  MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (mine != least) must(heed_isa_use("no-fma"), "heed_isa_use");
}

static int run_all(node *n, const char *mode) {
  agree_on_arithmetic();
  allocate_all(n);
  float *alone = n->rank == n->root ? attend_alone(n) : NULL;
  MPI_Bcast(n->q, (int)query_floats(n, n->n_q), MPI_FLOAT, n->root, MPI_COMM_WORLD);
  const size_t query_bytes = query_floats(n, 1) * sizeof(float);
  int good = 1;
  if (alone != NULL)
    printf("kernel %s; each row of queries, %zu bytes, went to %d other ranks\n\n%s", heed_isa_current(), query_bytes,
           n->root, table_head);
  if (strcmp(mode, "gather") != 0) good &= run(n, "chain", alone);
  if (strcmp(mode, "chain") != 0) good &= run(n, "gather", alone);
  free(alone);
  free_all(n);
  return good ? 0 : 1;
}

typedef struct option {
  const char *name;
  int32_t least, most, *value;
} option;

static int read_number(const option *o, const char *text) {
  char *end;
  const long value = strtol(text, &end, 10);
  *o->value = (int32_t)value;
  return end != text && *end == '\0' && value >= o->least && value <= o->most;
}

/* The first argument that is not understood, or null. */
static const char *read_options(char **argv, node *n, const char **mode) {
  const option options[] = {
      {"--n-q", 1, HEED_MAX_COUNT, &n->n_q},         {"--n-kv", 1, HEED_MAX_COUNT, &n->n_kv},
      {"--heads", 1, HEED_MAX_DIM, &n->n_heads},     {"--kv-heads", 1, HEED_MAX_DIM, &n->n_kv_heads},
      {"--head-dim", 1, HEED_MAX_DIM, &n->head_dim}, {"--causal", 0, 1, &n->causal},
      {"--window", -1, HEED_MAX_COUNT, &n->window},  {"--slice", 1, HEED_MAX_COUNT, &n->slice}};
  const int n_options = (int)(sizeof options / sizeof options[0]);
  for (char **a = argv + 1; *a != NULL; a += 2) {
    int i = 0;
    if (a[1] == NULL) return *a;
    while (i < n_options && strcmp(*a, options[i].name) != 0) ++i;
    if (i < n_options ? !read_number(&options[i], a[1]) : strcmp(*a, "--mode") != 0) return *a;
    if (i == n_options) *mode = a[1];
  }
  return strcmp(*mode, "chain") && strcmp(*mode, "gather") && strcmp(*mode, "both") ? *mode : NULL;
}

static int fits_messages(const node *n) { /* MPI counts with int */
  const uint64_t queries = (uint64_t)n->n_q * (uint64_t)n->n_heads * (uint64_t)n->head_dim;
  const uint64_t rows = (uint64_t)smaller(n->slice, n->n_q) * (uint64_t)n->n_heads;
  return queries <= INT_MAX && rows * (uint64_t)(n->head_dim + 2) <= INT_MAX;
}

int main(int argc, char **argv) {
  node n = {
      .n_q = 96, .n_kv = 10000, .n_heads = 8, .n_kv_heads = 2, .head_dim = 64, .causal = 1, .window = -1, .slice = 16};
  const char *mode = "both";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &n.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n.n_ranks);
  n.root = n.n_ranks - 1;
  const char *bad = read_options(argv, &n, &mode);
  if (bad == NULL && !fits_messages(&n)) bad = "sizes: a message would have more than INT_MAX floats";
  if (bad != NULL && n.rank == n.root) fprintf(stderr, "heed_mpi: cannot take %s\n", bad);
  const int status = bad == NULL ? run_all(&n, mode) : 2;
  MPI_Finalize();
  return finish_output("heed_mpi", status);
}
