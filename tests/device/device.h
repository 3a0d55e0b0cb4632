/* The transcript: what heed answers on a board, to be compared line by line with what it answers on a PC. The program
 * is the same on both and fits a chip with 16 KB of RAM. Lines that begin with # differ from machine to machine.
 * SPDX-License-Identifier: MIT */
#ifndef HEED_TESTS_DEVICE_DEVICE_H
#define HEED_TESTS_DEVICE_DEVICE_H

#include "heed/heed.h"
#include "port.h"

enum {
  pool_floats = HEED_SELFTEST_BOOT_BYTES / 4,
  workspace_bytes = 3 * HEED_WORKSPACE_MIN_BYTES(16, 16) / 2,
  greatest_dim = 24
};
extern float pool[pool_floats];
extern unsigned char workspace_data[workspace_bytes];
extern const heed_memory workspace;

/* "name 0123456789abcdef" */
void print_digest(const char *name, uint64_t digest);
/* "name 7: -1001 call: a required pointer is null" */
void print_status(const char *name, int32_t index, heed_status status);

/* Greatest stack of each function so far. */
enum {
  of_attention, /* without options */
  of_weights,   /* with that option alone */
  of_options,
  of_self_attention,
  of_layer,
  of_layer_options, /* and of sequences */
  of_partial,
  of_linear,
  of_weighted_sum,
  of_softmax,
  of_norm,
  of_elements, /* activations and sums */
  of_rope,
  of_dot,
  of_project,
  of_formats,
  of_selftest,
  of_cache,
  n_functions
};
extern size_t greatest_stack[n_functions];
#define MEASURED(function, call)                     \
  do {                                               \
    port_paint_stack();                              \
    (void)(call);                                    \
    note_stack(function, port_painted_stack_used()); \
  } while (0)
void note_stack(int function, size_t bytes);

/* One object of each option, in memory that is not the stack: boards have 3 KB of it. */
struct one_of_each {
  heed_options all;
  heed_ranges ranges;
  heed_mask mask;
  heed_softcap softcap;
  heed_alibi alibi;
  heed_sinks sinks;
  heed_scores scores;
  heed_attention_weights weights;
  heed_lse lse;
  heed_column_sums sums;
  heed_topk_weights topk_weights;
  heed_partial partial, part;
};
extern struct one_of_each o;

/* Each returns the number of faults that it can see by itself. */
int known_answers(void);
int random_shapes(void);
int random_options(void);
int random_caches(void);
int refused_calls(void);
int refused_options(void);
int narrow_numbers(void);
int narrow_attention(void);
int random_block(void);
int refused_block(void);
int packed_weights(void);

#endif
