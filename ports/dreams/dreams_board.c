/* A language model on a board: heed_dreams MODEL TOKENIZER N PROMPT. MODEL is llama2.c's file or what dreams_weights
 * wrote; both files are read into external memory, which stands for flash. Prints a text of N tokens as it comes, then
 * one JSON object; tokens and digest, of the bits of all logits, are the same as heed_dreams --bits prints on a PC for
 * this arithmetic, cache and N. With BOARD_RECEIPT it prints a receipt before. SPDX-License-Identifier: MIT */
#include "clock.h"
#include "dreams.h"
#include "dreams_digest.h"
#include "port.h"

/* The largest model that there is room for; one that takes less may have other counts. */
#ifndef BOARD_DIM
#define BOARD_DIM 64
#define BOARD_HIDDEN_DIM 172
#define BOARD_LAYERS 4
#define BOARD_HEADS 4
#define BOARD_TOKENS 512
#define BOARD_POSITIONS 128
#endif
/* Rows of a prompt at once, and the format of the cache. */
#ifndef BOARD_PIECE
#define BOARD_PIECE DREAMS_PIECE
#define BOARD_CACHE_FORMAT HEED_F32
#define BOARD_WORKSPACE_BYTES HEED_WORKSPACE_BYTES(BOARD_DIM / BOARD_HEADS, BOARD_DIM / BOARD_HEADS)
#endif
#ifndef BOARD_MODEL_BYTES
#define BOARD_MODEL_BYTES 1048576
#endif
#define BOARD_CACHE_BYTES                                                                             \
  HEED_CACHE_BYTES(BOARD_POSITIONS, 1, BOARD_HEADS, BOARD_DIM / BOARD_HEADS, BOARD_DIM / BOARD_HEADS, \
                   BOARD_CACHE_FORMAT)
enum { tokenizer_bytes = 16384, most_arguments = 512, prompt_rows = BOARD_PIECE < 4 ? BOARD_PIECE : 4, most_word = 64 };

#ifdef BOARD_RECEIPT
#define BOARD_LAYERS_MOST BOARD_LAYERS
#include "receipt_board.h"
#endif

#define EXTERNAL __attribute__((section(".external"), aligned(64)))
static unsigned char model_file[BOARD_MODEL_BYTES] EXTERNAL;
static unsigned char tokenizer_file[tokenizer_bytes] EXTERNAL;
HEED_ALIGNED static unsigned char
    memory[DREAMS_BYTES(BOARD_LAYERS, BOARD_DIM, BOARD_HEADS, BOARD_HEADS, BOARD_HIDDEN_DIM, BOARD_PIECE,
                        BOARD_CACHE_BYTES, BOARD_WORKSPACE_BYTES)];
HEED_ALIGNED static unsigned char words_memory[DREAMS_WORDS_BYTES(BOARD_TOKENS)];
static dreams net;
static dreams_words words;
static int32_t tokens[most_arguments + 2];
static float logits[prompt_rows * BOARD_TOKENS];
static heed_clock clock;

/* Of reading tokens and choosing the next: ticks and how many. */
typedef struct work {
  uint64_t count;
  int32_t n;
} work;
static work prompt_work, text_work;
static uint64_t digest = DREAMS_DIGEST_BEGIN;

static int fail(const char *what, const char *why) {
  port_write(what), port_write(": "), port_write(why), port_write("\n");
  return 1;
}

static int fail_status(const char *what, dreams_status status) {
  if (status != DREAMS_HEED_FAILED) return fail(what, dreams_status_text(status));
  return fail(heed_status_argument(net.failure), heed_status_text(net.failure));
}

/* Cuts off the first word and returns what follows it. */
static char *after_word(char *text) {
  while (*text && *text != ' ') ++text;
  if (*text) *text++ = '\0';
  return text;
}

static int32_t number_of(const char *text) {
  int32_t n = 0;
  while (*text >= '0' && *text <= '9' && n < 100000) n = 10 * n + (*text++ - '0');
  return n;
}

static dreams_status read_tokens(const int32_t *first, int32_t n, work *w) {
  const uint64_t start = clock.read();
  const dreams_status status = dreams_read(&net, first, n, logits, n);
  w->count += clock.read() - start;
  w->n += n;
  if (status == DREAMS_OK) digest = dreams_digest(digest, logits, n * net.model.n_tokens);
  return status;
}

static int32_t choose(int32_t row) {
  int32_t token = 0;
  const uint64_t start = clock.read();
  heed_argmax(heed_matrix_of(logits + row * net.model.n_tokens, 1, net.model.n_tokens), &token);
  text_work.count += clock.read() - start;
  return token;
}

static void write_word(int32_t previous, int32_t token) {
#ifdef BOARD_RECEIPT
  (void)previous, (void)token; /* the text would lie between the receipt's lines */
#else
  char text[most_word + 1];
  dreams_decode(&words, previous, token, text, sizeof text);
  port_write(text);
#endif
}

/* tokens (n) become up to n_tokens: *n. The last one is not read. */
static dreams_status write_text(int32_t *n, int32_t n_tokens) {
  int32_t row = 0;
  for (int32_t t = 0, here; t < *n; t += here) { /* few rows at a time: all their logits are wanted here */
    here = *n - t < prompt_rows ? *n - t : prompt_rows;
    const dreams_status status = read_tokens(tokens + t, here, &prompt_work);
    if (status != DREAMS_OK) return status;
    row = here - 1;
  }
  for (int32_t t = 1; t < *n; ++t) write_word(tokens[t - 1], tokens[t]);
  while (*n < n_tokens) {
    const int32_t token = choose(row);
    if (token == 1) break;
    tokens[(*n)++] = token;
    write_word(tokens[*n - 2], token);
    if (*n == n_tokens) break;
    const dreams_status status = read_tokens(tokens + *n - 1, 1, &text_work);
    if (status != DREAMS_OK) return status;
    row = 0;
  }
#ifndef BOARD_RECEIPT
  port_write("\n");
#endif
  return DREAMS_OK;
}

static void write_per_token(const char *name, work w) {
  port_write(",\""), port_write(name), port_write("\":");
  port_write_count(w.n > 0 ? w.count / (uint64_t)w.n : 0, 1);
}

static void write_result(int32_t n, size_t stack_bytes) {
  const int has_fma = heed_isa_arithmetic(heed_isa_current()) == HEED_ARITHMETIC_FMA;
  port_write("{\"tokens\":\"");
  for (int32_t t = 0; t < n; ++t) port_write(t > 0 ? " " : ""), port_write_int(tokens[t]);
  port_write("\",\"digest\":\""), port_write_hex((uint32_t)(digest >> 32)), port_write_hex((uint32_t)digest);
  port_write("\",\"kernel\":\""), port_write(heed_isa_current());
  port_write("\",\"arithmetic\":\""), port_write(has_fma ? "fma" : "no-fma");
  port_write("\",\"clock\":\""), port_write(clock.name), port_write("\",\"unit\":\""), port_write(clock.unit);
  port_write("\",\"count\":"), port_write_count(prompt_work.count + text_work.count, 1);
  write_per_token("per_token_of_prompt", prompt_work);
  write_per_token("per_token", text_work);
  port_write(",\"stack_bytes\":"), port_write_count(stack_bytes, 1);
  port_write(clock.emulated ? ",\"emulated\":true}\n" : ",\"emulated\":false}\n");
}

static dreams_status open(const char *model, int32_t model_bytes, int32_t words_bytes, const char **what) {
  const dreams_settings settings = {BOARD_CACHE_FORMAT, 0, 0, BOARD_POSITIONS, BOARD_PIECE, 1};
  *what = model;
  const dreams_status status =
      dreams_open(&net, model_file, (size_t)model_bytes, &settings, heed_memory_of(memory, sizeof memory));
  if (status != DREAMS_OK) return status;
  *what = "the tokenizer";
  return dreams_words_open(&words, tokenizer_file, (size_t)words_bytes, net.model.n_tokens,
                           heed_memory_of(words_memory, sizeof words_memory), NULL);
}

#ifdef BOARD_RECEIPT
/* As heed_dreams writes it: n tokens of a prompt, and what the logits choose. */
static const char *begin_receipt(size_t model_bytes, int32_t n) {
  static const char *const formats[] = {"f32", "f16", "bf16", "int8"};
  char prompt[8];
  int32_t digits = 0;
  for (int32_t rest = n; rest > 0 && digits < 7; rest /= 10) digits++;
  prompt[digits] = 0;
  for (int32_t rest = n; digits > 0; rest /= 10) prompt[--digits] = (char)('0' + rest % 10);
  const char *fault = board_receipt_begin("dreams", model_file, model_bytes, net.model.n_layers,
                                          heed_isa_arithmetic(heed_isa_current()));
  if (fault != NULL) return fault;
  heed_receipt_setting(&board_receipt, "prompt", prompt);
  heed_receipt_setting(&board_receipt, "cache", formats[BOARD_CACHE_FORMAT]);
  net.see = heed_receipt_see, net.see_user = &board_receipt;
  return NULL;
}
static void end_receipt(int32_t n) {
  for (int32_t t = 0; t < n; ++t) heed_receipt_token(&board_receipt, t, tokens[t]);
  heed_receipt_end(&board_receipt);
}
#endif

int main(void) {
  static char model[most_arguments];
  port_arguments(model, sizeof model);
  char *tokenizer = after_word(model), *count = after_word(tokenizer), *prompt = after_word(count);
  int32_t n_tokens = number_of(count), n = 0;
  if (n_tokens < 1) return fail("usage", "heed_dreams MODEL TOKENIZER N PROMPT");
  const int32_t model_bytes = port_read_file(model, model_file, sizeof model_file);
  if (model_bytes < 0) return fail(model, "cannot be read, or is larger than BOARD_MODEL_BYTES");
  const int32_t words_bytes = port_read_file(tokenizer, tokenizer_file, sizeof tokenizer_file);
  if (words_bytes < 0) return fail(tokenizer, "cannot be read, or is larger than 16 KB");
  const char *what;
  clock = heed_clock_start();
  port_paint_stack();
  dreams_status status = open(model, model_bytes, words_bytes, &what);
  if (status != DREAMS_OK) return fail_status(what, status);
  if (n_tokens > net.model.n_positions) n_tokens = net.model.n_positions;
  status = dreams_encode(&words, prompt, tokens, most_arguments + 2, &n);
#ifdef BOARD_RECEIPT
  const char *fault = status == DREAMS_OK ? begin_receipt((size_t)model_bytes, n) : NULL;
  if (fault != NULL) return fail("the receipt", fault);
#endif
  if (status == DREAMS_OK) status = write_text(&n, n_tokens);
#ifdef BOARD_RECEIPT
  if (status == DREAMS_OK) end_receipt(n);
#endif
  const size_t stack_bytes = port_painted_stack_used();
  if (status != DREAMS_OK) return fail_status("the prompt", status);
  write_result(n, stack_bytes);
  return 0;
}
