/* A language model of llama2.c's kind on heed: a prompt in, text out. C99 and C++, in memory of the caller.
 * SPDX-License-Identifier: MIT
 *
 *   dreams_bytes(model, model_bytes, NULL, &n_bytes);        // on a PC; a firmware has DREAMS_BYTES of constants
 *   dreams_open(&net, model, model_bytes, NULL, memory);     // model.bin, read where it lies: flash, a mapped file
 *   dreams_words_open(&words, tokenizer, tokenizer_bytes, net.model.n_tokens, words_memory, NULL);
 *   dreams_encode(&words, "I dream of", tokens, capacity, &n);
 *   dreams_read(&net, tokens, n, logits, 1);                 // the prompt at once, then one token after the other:
 *   token = dreams_choose(&greedy, logits, net.model.n_tokens, heed_memory_of(NULL, 0));
 *   dreams_read(&net, &token, 1, logits, 1);
 *
 * Every layer is one call of heed_transformer_layer_run, which keeps keys and values in a heed_cache. No heap, no
 * variable of its own, no C library but memcpy. Stack: 300 bytes besides heed's HEED_STACK_BYTES.
 * Same bits everywhere: logits depend on tokens, weights, settings and heed's arithmetic alone; not on
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

/* What a layer needs beside its weights. */
typedef struct dreams_layer {
  heed_cache cache;
  heed_attention_layer attention;
  heed_transformer_layer layer;
} dreams_layer;

/* Rows of a prompt that pass through a layer at once, unless settings say otherwise. */
enum { DREAMS_PIECE = 16, DREAMS_MAX_PIECE = 4096 };

/* Bytes of memory for dreams_open, as a constant. cache_bytes: HEED_CACHE_BYTES or, with a window, HEED_RING_BYTES of one
 * layer. workspace_bytes: HEED_WORKSPACE_MIN_BYTES of the dim of a head, up to HEED_WORKSPACE_BYTES for each worker. */
#define DREAMS_LINES(n_bytes) ((HEED_SIZE(n_bytes) + 63) / 64 * 64)
#define DREAMS_BYTES(n_layers, dim, n_heads, n_kv_heads, ffn_dim, piece, cache_bytes, workspace_bytes)     \
  (DREAMS_LINES(DREAMS_MODEL_BYTES(n_layers)) + DREAMS_LINES(HEED_SIZE(n_layers) * sizeof(dreams_layer)) + \
   HEED_SIZE(n_layers) * DREAMS_LINES(cache_bytes) + DREAMS_LINES(HEED_SIZE(piece) * HEED_SIZE(dim) * 4) + \
   HEED_TRANSFORMER_LAYER_BYTES(piece, dim, n_heads, n_kv_heads, ffn_dim, 1) -                             \
   HEED_WORKSPACE_BYTES((dim) / (n_heads), (dim) / (n_heads)) + HEED_SIZE(workspace_bytes))

/* Takes rows of a layer as they are computed, from row `first` of the text on. Layer n_layers: logits. heed_receipt_see is one. */
typedef void dreams_see(void *user, int32_t layer, int64_t first, heed_matrix rows);

/* The model at work. Fields but executor, failure, options, see and see_user are private. */
typedef struct dreams {
  dreams_model model;
  const heed_executor *executor; /* null; may be set after dreams_open, for up to settings.workers workers */
  heed_status failure;           /* why the last call returned DREAMS_HEED_FAILED */
  const heed_options *options; /* null; or, set after dreams_open, model.n_layers of them: of each layer's attention */
  dreams_see *see;             /* null, or set after dreams_open */
  void *see_user;
  heed_rope rope;
  int32_t piece;
  dreams_layer *layers; /* (model.n_layers) */
  float *x;             /* (piece, model.dim) */
  heed_memory memory;   /* of a layer's call */
} dreams;

/* -------------------------------------------------------------------------------------------------------- network */

/* Zeros: keys and values in f32, and every token sees all before it, until the context is full. */
typedef struct dreams_settings {
  int32_t cache_format; /* heed_dtype */
  int32_t window;       /* 0, or a token sees so many newest ones: text without end */
  int32_t pinned;       /* with a window: so many first tokens stay visible */
  int32_t positions;    /* 0, or the context of a model that knows more has so many */
  int32_t piece;   /* 0: DREAMS_PIECE; rows of a prompt at once, up to DREAMS_MAX_PIECE: speed and memory, no bit */
  int32_t workers; /* 0: 1; workers that dreams_bytes makes room for */
} dreams_settings;

/* Bytes of memory that dreams_open is best given, from the counts of the file, a multiple of 64: *needed.
 * Status: NULL_POINTER, SETTINGS; as dreams_model_sizes; MEMORY (more than this computer can address). */
dreams_status dreams_bytes(const void *bytes, size_t n_bytes, const dreams_settings *settings, size_t *needed);

/* Checks the model (dreams_model_read) and prepares net; bytes and memory, aligned to 64, must stay where they are. With
 * less memory than dreams_bytes, down to the least workspace, it is slower. settings: may be null.
 * Status: NULL_POINTER, MISALIGNED; MODEL_* as dreams_model_read; SETTINGS (unknown, or out of range); MEMORY. */
dreams_status dreams_open(dreams *net, const void *bytes, size_t n_bytes, const dreams_settings *settings,
                          heed_memory memory);

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
int64_t dreams_position(const dreams *net);

/* Reads n tokens. logits (n_rows, model.n_tokens): of the last n_rows of them; n_rows 0 to n.
 * Error: logits within 1e-4 of exact arithmetic for weights in f32 (2e-5 seen).
 * Status, found before anything changes: NULL_POINTER, NOT_READY, WRONG_COUNT, TOKEN, CONTEXT_FULL; HEED_FAILED. */
dreams_status dreams_read(dreams *net, const int32_t *tokens, int32_t n, float *logits, int32_t n_rows);

/* ---------------------------------------------------------------------------------------------------------- words */

/* The tokenizer: tokens are strings with scores, sorted so that a string is found quickly. Fields are private, but
 * longest: bytes of the longest token. */
typedef struct dreams_words {
  const unsigned char *bytes; /* null: not ready */
  int32_t n_tokens, longest;
  uint32_t *at;     /* where a token's score, length and string lie */
  uint32_t *sorted; /* tokens by their strings */
} dreams_words;

/* Bytes of memory for dreams_words_open. */
#define DREAMS_WORDS_BYTES(n_tokens) (HEED_SIZE(8) * HEED_SIZE(n_tokens))

/* tokenizer.bin, for a model of n_tokens; it and memory, aligned to 4, must stay where they are. On an error *bad_token
 * tells which token is wrong, -1: none; it may be null.
 * Status: NULL_POINTER, MISALIGNED, WRONG_COUNT, MEMORY, WORDS_*. */
dreams_status dreams_words_open(dreams_words *words, const void *bytes, size_t n_bytes, int32_t n_tokens,
                                heed_memory memory, int32_t *bad_token);

/* The tokens of a text that ends with 0: token 1, a blank, and one for each character (or its bytes), whose neighbours
 * are joined, the greatest score first. *n: how many. capacity: 2 more than the text has bytes are always enough; else
 * TEXT_TOO_LONG, if they do not fit before they are joined. Status: NULL_POINTER, NOT_READY, TEXT_TOO_LONG. */
dreams_status dreams_encode(const dreams_words *words, const char *text, int32_t *tokens, int32_t capacity, int32_t *n);

/* The text of a token that follows another one, ended with 0, in capacity bytes: longest + 1 are enough, and what does
 * not fit is cut off. Returns its length (0: no such token). */
int32_t dreams_decode(const dreams_words *words, int32_t previous, int32_t token, char *text, int32_t capacity);

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
