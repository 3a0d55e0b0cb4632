/* A language model of llama2.c's kind on heed: a prompt in, text out. C99 and C++, static buffers only.
 * SPDX-License-Identifier: MIT
 *
 *   static dreams net;                                       // all the memory there is: DREAMS_RAM_BYTES
 *   dreams_open(&net, model, model_bytes, NULL);             // model.bin, read where it lies: flash, a mapped file
 *   dreams_words_open(&words, tokenizer, tokenizer_bytes, net.model.n_tokens, NULL);
 *   dreams_encode(&words, "I dream of", tokens, DREAMS_MAX_TOKENS, &n);
 *   dreams_read(&net, tokens, n, logits, 1);                 // the prompt at once, then one token after the other:
 *   token = dreams_choose(&greedy, logits, net.model.n_tokens, heed_memory_of(NULL, 0));
 *   dreams_read(&net, &token, 1, logits, 1);
 *
 * Every layer is one call of heed_transformer_layer_run, which keeps keys and values in a heed_cache. No heap, no
 * variable of its own, no C library but memcpy. Stack: 300 bytes besides heed's HEED_STACK_BYTES.
 * Same bits everywhere: logits depend on tokens, weights, settings and heed's arithmetic profile alone; not on
 * processor, compiler, kernel, threads, or the pieces in which tokens are read. Compile with -ffp-contract=off.
 * Threads: calls on different objects may run at once.
 * Source: Karpathy, llama2.c, 2023; Touvron et al. 2023 (the network). */
#ifndef HEED_DREAMS_H
#define HEED_DREAMS_H

#include <stddef.h>
#include <stdint.h>

#include "dreams_model.h"
#include "heed/heed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------------------------------------------------- memory */

/* Define these, and the DREAMS_MAX_* of dreams_model.h, alike for all files; they change sizes and speed, no bit.
 * DREAMS_PIECE: rows of a prompt that pass through a layer at once. DREAMS_CACHE_FORMAT: the widest one of a cache. */
#ifndef DREAMS_PIECE
#define DREAMS_PIECE 16
#endif
#ifndef DREAMS_CACHE_FORMAT
#define DREAMS_CACHE_FORMAT HEED_F32
#endif
#ifndef DREAMS_WORKERS
#define DREAMS_WORKERS 1
#endif
#ifndef DREAMS_WORKSPACE_BYTES
#define DREAMS_WORKSPACE_BYTES (DREAMS_WORKERS * HEED_WORKSPACE_BYTES(DREAMS_MAX_HEAD_DIM, DREAMS_MAX_HEAD_DIM))
#endif

/* For any number of heads: their rows are at most DREAMS_MAX_DIM long together. An int8 cache has two scales a head. */
#define DREAMS_CACHE_BYTES                                                                                         \
  ((size_t)128 + 64 +                                                                                              \
   HEED_CACHE_SLOTS(DREAMS_MAX_POSITIONS) * ((size_t)2 * DREAMS_MAX_DIM * HEED_FORMAT_BYTES(DREAMS_CACHE_FORMAT) + \
                                             ((DREAMS_CACHE_FORMAT) == HEED_INT8 ? 8 * DREAMS_MAX_HEADS : 0)))
/* The rows of a piece within a layer, and its workspace. */
#define DREAMS_LAYER_BYTES                                                                                  \
  (HEED_TRANSFORMER_LAYER_BYTES(DREAMS_PIECE, DREAMS_MAX_DIM, 2, 2, DREAMS_MAX_DIM / 2, DREAMS_MAX_DIM / 2, \
                                DREAMS_MAX_HIDDEN, 1) -                                                     \
   HEED_WORKSPACE_BYTES(DREAMS_MAX_DIM / 2, DREAMS_MAX_DIM / 2) + DREAMS_WORKSPACE_BYTES)

/* The model at work. Fields but executor, failure and options are private. */
typedef struct dreams {
  dreams_model model;
  const heed_executor *executor; /* null; may be set after dreams_open, for up to DREAMS_WORKERS workers */
  heed_status failure;           /* why the last call returned DREAMS_HEED_FAILED */
  const heed_options *options;   /* null; or, set after dreams_open, model.n_layers of them: of each layer's attention */
  heed_rope rope;
  heed_cache caches[DREAMS_MAX_LAYERS];
  heed_attention_layer attentions[DREAMS_MAX_LAYERS];
  heed_transformer_layer layers[DREAMS_MAX_LAYERS];
  HEED_ALIGNED float x[DREAMS_PIECE * DREAMS_MAX_DIM];
  HEED_ALIGNED unsigned char memory[DREAMS_LAYER_BYTES];
  HEED_ALIGNED unsigned char cache_memory[DREAMS_MAX_LAYERS][(DREAMS_CACHE_BYTES + 63) / 64 * 64];
} dreams;
#define DREAMS_RAM_BYTES sizeof(dreams)

/* -------------------------------------------------------------------------------------------------------- network */

/* Zeros: keys and values in f32, and every token sees all before it, until the context is full. */
typedef struct dreams_settings {
  int32_t cache_format; /* heed_format, no wider than DREAMS_CACHE_FORMAT */
  int32_t window;       /* 0, or a token sees so many newest ones: text without end */
  int32_t pinned;       /* with a window: so many first tokens stay visible; README: what fits */
} dreams_settings;

/* Checks the model (dreams_model_read) and prepares net; bytes must stay where they are. settings: may be null.
 * Status: NULL_POINTER, MISALIGNED; MODEL_* as dreams_model_read; SETTINGS (unknown, or they need a larger cache). */
dreams_status dreams_open(dreams *net, const void *bytes, size_t n_bytes, const dreams_settings *settings);

/* Bytes that dreams_pack needs, a multiple of 64; 0: not ready. */
size_t dreams_packed_bytes(const dreams *net);

/* Packs the matrices in their own formats (heed_weights_pack), for speed: logits keep their bits. Rows of llama2.c's file
 * are then as fast as a flat file's. memory must stay where it is, and the file, too: norms and embeddings stay in it.
 * Status: NULL_POINTER, NOT_READY; HEED_FAILED (memory too small or misaligned, or weights that are packed already:
 * nothing is changed). */
dreams_status dreams_pack(dreams *net, heed_memory memory);

/* The same with matrices in int8 whose products are made in integers: rows are quantised to int8 on their way
 * (heed_weights_in_integers). Of the test's 635 tokens (5 texts, each token given) 628 stay the most probable one. */
dreams_status dreams_pack_in_integers(dreams *net, heed_memory memory);

/* Begins a new text. */
void dreams_restart(dreams *net);

/* Tokens read so far: the position of the next one. */
int32_t dreams_position(const dreams *net);

/* Reads n tokens. logits (n_rows, model.n_tokens): of the last n_rows of them; n_rows 0 to n.
 * Error: logits within 1e-4 of exact arithmetic for weights in f32 (2e-5 seen).
 * Status, found before anything changes: NULL_POINTER, NOT_READY, WRONG_COUNT, TOKEN, CONTEXT_FULL; HEED_FAILED. */
dreams_status dreams_read(dreams *net, const int32_t *tokens, int32_t n, float *logits, int32_t n_rows);

/* ---------------------------------------------------------------------------------------------------------- words */

/* The tokenizer: tokens are strings with scores, sorted so that a string is found quickly. Fields are private. */
typedef struct dreams_words {
  const unsigned char *bytes; /* null: not ready */
  int32_t n_tokens;
  uint32_t at[DREAMS_MAX_TOKENS];     /* where a token's score, length and string lie */
  uint16_t sorted[DREAMS_MAX_TOKENS]; /* tokens by their strings */
} dreams_words;

/* tokenizer.bin, which must stay where it is, for a model of n_tokens. On an error *bad_token tells which token is
 * wrong, -1: none; it may be null. Status: NULL_POINTER, WRONG_COUNT, WORDS_*. */
dreams_status dreams_words_open(dreams_words *words, const void *bytes, size_t n_bytes, int32_t n_tokens,
                                int32_t *bad_token);

/* The tokens of a text that ends with 0: token 1, a blank, and one for each character (or its bytes), whose neighbours
 * are joined, the greatest score first. *n: how many. capacity: 2 more than the text has bytes are always enough; else
 * TEXT_TOO_LONG, if they do not fit before they are joined. Status: NULL_POINTER, NOT_READY, TEXT_TOO_LONG. */
dreams_status dreams_encode(const dreams_words *words, const char *text, int32_t *tokens, int32_t capacity, int32_t *n);

/* The text of a token that follows another one, ended with 0. Returns its length (0: no such token). */
enum { DREAMS_MAX_WORD_BYTES = 64 };
int32_t dreams_decode(const dreams_words *words, int32_t previous, int32_t token, char text[DREAMS_MAX_WORD_BYTES + 1]);

/* --------------------------------------------------------------------------------------------------------- choice */

/* How the next token is drawn; zeros: the most probable one. */
typedef struct dreams_choice {
  float temperature; /* 0, or logits are divided by it */
  float top_p;       /* only the most probable tokens that have this probability together; 0 or 1: all */
  uint64_t seed;     /* changes with every token drawn */
} dreams_choice;

/* The chosen token, of equal ones the lowest. A temperature needs HEED_SAMPLE_BYTES(n) of workspace; without one it may
 * be {NULL, 0}. Logits that are no numbers give the greatest one that is, or token 0. */
int32_t dreams_choose(dreams_choice *choice, const float *logits, int32_t n, heed_memory workspace);

#ifdef __cplusplus
}
#endif

#endif
