/* A language model on a board: heed_dreams FILE N PROMPT. FILE is dreams.heed, which heed_compile wrote with dreams.c; it is read into
 * external memory, which stands for flash. Prints a text of up to N tokens as it comes, then one JSON object; tokens and digest, of the bits
 * of their logits, are those of the program on a PC for this arithmetic. With BOARD_RECEIPT it prints a receipt before, and
 * not the text. SPDX-License-Identifier: MIT */
#include "board.h"
#include "dreams.h"
#include "rows_digest.h"
#ifdef BOARD_RECEIPT
#define BOARD_LAYERS_MOST DREAMS_LAYERS
#include "receipt_board.h"
#endif

#ifndef BOARD_FILE_BYTES
#define BOARD_FILE_BYTES 1048576
#endif
enum { most_arguments = 512, most_word = 64 };

static unsigned char file[BOARD_FILE_BYTES] BOARD_EXTERNAL;
static dreams net;
static heed_clock clock;
static uint64_t digest = ROWS_DIGEST_BEGIN, prompt_ticks, text_ticks;

static int32_t number_of(const char *text) {
  int32_t n = 0;
  while (*text >= '0' && *text <= '9' && n < 100000) n = 10 * n + (*text++ - '0');
  return n;
}

static void write_word(int32_t token) {
#ifdef BOARD_RECEIPT
  (void)token; /* the text would lie between the receipt's lines */
#else
  char text[most_word + 1];
  text[dreams_text(&net, token, text, most_word)] = '\0';
  port_write(text);
#endif
}

static const char *write_text(const char *prompt, int32_t n_tokens, int32_t *n_prompt) {
  size_t n_bytes = 0;
  int32_t token = 0;
  while (prompt[n_bytes]) ++n_bytes;
  uint64_t start = clock.read();
  const char *error = dreams_prompt(&net, prompt, n_bytes);
  prompt_ticks = clock.read() - start;
  *n_prompt = net.n;
  while (!error && net.n < n_tokens) {
    start = clock.read();
    error = dreams_next(&net, NULL, &token);
    text_ticks += clock.read() - start;
    if (error || token < 0) break;
    digest = rows_digest(digest, net.logits, DREAMS_TOKENS);
    write_word(token);
  }
  return error;
}

#ifdef BOARD_RECEIPT
/* As heed_dreams writes it, whose prompt has n tokens. */
static const char *begin_receipt(void) {
  const char *fault =
      board_receipt_begin_of("dreams", dreams_source, DREAMS_LAYERS, heed_isa_arithmetic(heed_isa_current()));
  net.see = heed_receipt_see, net.see_user = &board_receipt;
  return fault;
}
static void end_receipt(int32_t n) {
  char prompt[8];
  int32_t digits = 0;
  for (int32_t rest = n; rest > 0 && digits < 7; rest /= 10) digits++;
  prompt[digits] = 0;
  for (int32_t rest = n; digits > 0; rest /= 10) prompt[--digits] = (char)('0' + rest % 10);
  heed_receipt_setting(&board_receipt, "prompt", prompt);
  for (int32_t t = 0; t < net.n; ++t) heed_receipt_token(&board_receipt, t, net.tokens[t]);
  heed_receipt_end(&board_receipt);
}
#endif

static void write_result(int32_t n_prompt, size_t stack_bytes) {
  const int32_t n_new = net.n - n_prompt;
  port_write("{\"tokens\":\"");
  for (int32_t t = 0; t < net.n; ++t) port_write(t > 0 ? " " : ""), port_write_int(net.tokens[t]);
  port_write("\",\"digest\":\""), port_write_hex((uint32_t)(digest >> 32)), port_write_hex((uint32_t)digest);
  port_write("\""), board_kernel(), board_clock(&clock);
  board_count("count", prompt_ticks + text_ticks);
  board_count("per_token_of_prompt", prompt_ticks / (uint64_t)n_prompt);
  board_count("per_token", n_new > 0 ? text_ticks / (uint64_t)n_new : 0);
  board_end(&clock, stack_bytes);
}

int main(void) {
  static char path[most_arguments];
  port_arguments(path, sizeof path);
  char *count = board_after_word(path), *prompt = board_after_word(count);
  int32_t n_tokens = number_of(count), n_prompt = 0;
  if (n_tokens < 1) return board_fail("usage", "heed_dreams FILE N PROMPT");
  if (n_tokens > DREAMS_CONTEXT) n_tokens = DREAMS_CONTEXT;
  const int32_t n_bytes = port_read_file(path, file, sizeof file);
  if (n_bytes < 0) return board_fail(path, "cannot be read, or is larger than BOARD_FILE_BYTES");
  clock = heed_clock_start();
  port_paint_stack();
  const char *error = dreams_open(&net, file, (size_t)n_bytes);
  if (error) return board_fail(path, error);
#ifdef BOARD_RECEIPT
  error = begin_receipt();
  if (error) return board_fail("the receipt", error);
#endif
  error = write_text(prompt, n_tokens, &n_prompt);
  if (error) return board_fail("the text", error);
#ifdef BOARD_RECEIPT
  end_receipt(n_prompt);
#else
  port_write("\n");
#endif
  write_result(n_prompt, port_painted_stack_used());
  return 0;
}
