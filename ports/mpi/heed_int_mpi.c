/* One long context on several machines, in integers: each rank keeps the keys and values of its own blocks of 256 and adds
 * them to states of all rows; MPI_Reduce merges the states. A state is an exact sum, so MPI may choose any order and any
 * tree, and the ranks any kernel: the result has the bits of one process. README.md says how to run it.
 * Exit status 0: equal to what the root computes alone; 1: not; 2: bad options. SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200112L
#include <heed/integers.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../terminal.h"

enum { root = 0 };

typedef struct node {
  int32_t n_q, n_kv, n_heads, n_kv_heads, head_dim; /* the queries are the newest tokens */
  int rank, n_ranks;
} node;

static void must(heed_status status, const char *what) {
  if (status == HEED_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, heed_status_argument(status), heed_status_text(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static heed_memory room(uint64_t bytes) {
  void *memory = NULL;
  if (bytes > SIZE_MAX || posix_memalign(&memory, HEED_ALIGNMENT, bytes + HEED_ALIGNMENT)) {
    fprintf(stderr, "no memory for %llu bytes\n", (unsigned long long)bytes);
    exit(MPI_Abort(MPI_COMM_WORLD, 1));
  }
  return heed_memory_of(memory, (size_t)bytes);
}

/* Numbers of the whole context by their index. */
static int8_t *numbers(uint64_t first, uint64_t count, uint64_t seed) {
  int8_t *x = room(count).data;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t z = ((seed << 60) + first + i) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 32) * UINT64_C(0xd6e8feb86659fd93);
    x[i] = (int8_t)(z >> 56);
  }
  return x;
}

/* Keys [begin, end) of the context: to states, or without any to out. */
static void attend(const node *n, int32_t begin, int32_t end, heed_memory states, int16_t *out, int32_t *lse) {
  if (begin == end) return;
  const uint64_t row = (uint64_t)n->n_kv_heads * (uint64_t)n->head_dim, count = (uint64_t)(end - begin) * row;
  int8_t *q = numbers(0, (uint64_t)n->n_q * (uint64_t)n->n_heads * (uint64_t)n->head_dim, 3);
  int8_t *k = numbers((uint64_t)begin * row, count, 1), *v = numbers((uint64_t)begin * row, count, 2);
  const heed_memory workspace = room(HEED_INT_WORKSPACE_BYTES(n->head_dim, n->head_dim));
  heed_int_attention call = heed_int_attention_of(q, k, v, n->n_q, end - begin, n->n_heads, n->n_kv_heads, n->head_dim,
                                                  (int8_t *)(void *)out, workspace);
  call.causal = 1;
  call.position = n->n_kv - n->n_q - begin; /* among these keys: it may be negative, or beyond them */
  call.score = heed_multiplier_of(0x1.2p-11f);
  call.value = heed_multiplier_of(96.0f);
  call.out.dtype = HEED_INT16;
  call.lse = lse;
  call.partial = states;
  must(heed_int_attention_run(&call), "heed_int_attention_run");
  free(q), free(k), free(v), free(workspace.data);
}

static void finish(const node *n, heed_memory states, int16_t *out, int32_t *lse) {
  heed_int_attention call = heed_int_attention_of(NULL, NULL, NULL, n->n_q, 1, n->n_heads, n->n_kv_heads, n->head_dim,
                                                  (int8_t *)(void *)out, heed_memory_of(NULL, 0));
  call.value = heed_multiplier_of(96.0f);
  call.out.dtype = HEED_INT16;
  call.lse = lse;
  call.partial = states;
  must(heed_int_partial_finish(&call), "heed_int_partial_finish");
}

/* MPI hands over whole rows: one of its elements is the state of a row. */
static int32_t merged_dim;
static void merge(void *from, void *into, int *n_rows, MPI_Datatype *type) {
  const size_t bytes = (size_t)*n_rows * HEED_INT_PARTIAL_ROW_BYTES(merged_dim);
  (void)type;
  must(heed_int_partial_merge(*n_rows, merged_dim, heed_memory_of(into, bytes), heed_memory_of(from, bytes)),
       "heed_int_partial_merge");
}

/* Blocks are dealt evenly, in order; ranks may have none. */
static int32_t first_key_of(const node *n, int rank) {
  const int64_t n_blocks = (n->n_kv - 1) / HEED_INT_BLOCK + 1, key = rank * n_blocks / n->n_ranks * HEED_INT_BLOCK;
  return key < n->n_kv ? (int32_t)key : n->n_kv;
}

static int run(const node *n) {
  const int32_t n_rows = n->n_heads * n->n_q;
  const size_t row = HEED_INT_PARTIAL_ROW_BYTES(n->head_dim), n_out = (size_t)n_rows * (size_t)n->head_dim;
  const heed_memory states = room((uint64_t)n_rows * row), total = room((uint64_t)n_rows * row);
  MPI_Datatype state;
  MPI_Op merging;
  MPI_Type_contiguous((int)row, MPI_BYTE, &state);
  MPI_Type_commit(&state);
  MPI_Op_create(merge, 1, &merging);
  merged_dim = n->head_dim;
  must(heed_int_partial_clear(n_rows, n->head_dim, states), "heed_int_partial_clear");
  attend(n, first_key_of(n, n->rank), first_key_of(n, n->rank + 1), states, NULL, NULL);
  MPI_Reduce(states.data, total.data, n_rows, state, merging, root, MPI_COMM_WORLD);
  int equal = 1;
  if (n->rank == root) {
    int16_t *out = room(2 * n_out).data, *alone = room(2 * n_out).data;
    int32_t *lse = room(8 * (uint64_t)n_rows).data;
    finish(n, total, out, lse);
    attend(n, 0, n->n_kv, heed_memory_of(NULL, 0), alone, lse + n_rows);
    equal = memcmp(out, alone, 2 * n_out) == 0 && memcmp(lse, lse + n_rows, 4 * (size_t)n_rows) == 0;
    printf("| %d | %d | reduce | %s | %zu | %d heads x %zu = %zu |\n", n->n_ranks, (n->n_kv - 1) / HEED_INT_BLOCK + 1,
           equal ? "equal" : "DIFFERENT", (size_t)n->n_heads * row, n->n_heads, row, (size_t)n->n_heads * row);
    free(out), free(alone), free(lse);
  }
  MPI_Op_free(&merging);
  MPI_Type_free(&state);
  free(states.data), free(total.data);
  return equal ? 0 : 1;
}

int main(int argc, char **argv) {
  node n = {96, 10000, 8, 2, 64, 0, 0};
  const char *const names[] = {"--n-q", "--n-kv", "--heads", "--kv-heads", "--head-dim"};
  int32_t *const values[] = {&n.n_q, &n.n_kv, &n.n_heads, &n.n_kv_heads, &n.head_dim};
  int bad = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &n.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n.n_ranks);
  for (int a = 1; a < argc && !bad; a += 2) {
    int i = 0;
    while (i < 5 && strcmp(argv[a], names[i]) != 0) ++i;
    const long value = i < 5 && a + 1 < argc ? strtol(argv[a + 1], NULL, 10) : 0;
    if (value < 1 || value > HEED_INT_MAX_KEYS || (i > 1 && value > 1024))
      bad = a;
    else
      *values[i] = (int32_t)value;
  }
  if (bad != 0 && n.rank == root) fprintf(stderr, "heed_int_mpi: cannot take %s\n", argv[bad]);
  const int status = bad == 0 ? run(&n) : 2;
  MPI_Finalize();
  return finish_output("heed_int_mpi", status);
}
