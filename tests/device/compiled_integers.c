/* A program of heed_compile --integers at work, on hosts and boards: it opens its linked file, which compares its known answers, and
 * then tries what its header promises. MODEL: its name; MODEL_HEADER, MODEL_FILE: its files; KIND: DECODER, ENCODER or VISION; NUMBER: the
 * type of its result. Prints "compiled_integers: good" and a sum of results, which is the same on every processor. No number is a float.
 * SPDX-License-Identifier: MIT */
#include "compiled.h"

static MODEL model;
#if KIND == DECODER
#define result_of_model model.logits
#else
#define result_of_model model.result
#endif
enum { n_results = sizeof result_of_model / sizeof result_of_model[0] };
static NUMBER result[n_results], again[n_results];
static uint32_t sum = UINT32_C(0x811c9dc5);

static int fails(const char *what) {
  port_write("compiled_integers: ");
  port_write(what);
  port_write("\n");
  return 1;
}

static int differ(void) {
  for (int32_t i = 0; i < n_results; ++i)
    if (result[i] != again[i]) return 1;
  return 0;
}
static void add(const NUMBER *numbers) {
  for (int32_t i = 0; i < n_results; ++i) sum = (sum ^ (uint32_t)(uint16_t)numbers[i]) * UINT32_C(0x01000193);
}

#if KIND == DECODER
enum { n_context = sizeof model.tokens / sizeof model.tokens[0] };
static int32_t tokens[n_context + 1];

static void keep(NUMBER *numbers) {
  for (int32_t i = 0; i < n_results; ++i) numbers[i] = model.logits[i];
}

/* Goes on with n tokens, which are a part of the sum, unless the text ends sooner. */
static const char *go_on(OF(_choice) * how, int32_t n) {
  const char *error = NULL;
  int32_t token = 0;
  for (int32_t i = 0; !error && token >= 0 && i < n; ++i) {
    error = OF(_next)(&model, how, &token);
    if (!error && (token < -1 || token >= n_results)) error = "it chooses a token that it has not";
    sum = (sum ^ (uint32_t)token) * UINT32_C(0x01000193);
  }
  return error;
}

static void count_rows(void *user, int32_t layer, int64_t first, heed_int_matrix rows) {
  (void)layer, (void)first;
  *(int32_t *)user += rows.n_rows;
}

static int try_model(void) {
  const int32_t n = n_context < 24 ? n_context : 24, pieces[] = {1, 3, 17};
  int32_t n_rows = 0;
  for (int32_t i = 0; i <= n_context; ++i) tokens[i] = i * 7 % n_results;
  const char *error = OF(_read)(&model, tokens, n);
  if (error) return fails(error);
  keep(result), add(result);
  for (unsigned p = 0; p < sizeof pieces / sizeof pieces[0]; ++p) {
    OF(_restart)(&model);
    for (int32_t i = 0; !error && i < n; i += pieces[p])
      error = OF(_read)(&model, tokens + i, n - i < pieces[p] ? n - i : pieces[p]);
    keep(again);
    if (error || differ()) return fails(error ? error : "logits depend on the pieces of a text");
  }
  /* Who sees rows sees all of them, and they change no bit. */
  OF(_restart)(&model);
  model.see = count_rows, model.see_user = &n_rows;
  error = OF(_read)(&model, tokens, n);
  model.see = NULL;
  keep(again);
  if (error || differ()) return fails(error ? error : "logits depend on who sees them");
  if (n_rows != n * (int32_t)(sizeof model.caches / sizeof model.caches[0]) + 1)
    return fails("it does not show all rows");
  OF(_choice) how = {800, 40, 950, 1}, wide = {2000, 0, 0, 7};
  OF(_restart)(&model);
  if (!OF(_next)(&model, NULL, tokens + n)) return fails("it goes on with no text");
  if (!OF(_read)(&model, tokens, 0)) return fails("it reads no token");
  if (!OF(_read)(&model, tokens, n_context + 1)) return fails("it reads more than its context");
  tokens[1] = -1;
  if (!OF(_read)(&model, tokens, 2)) return fails("it reads a negative token");
  tokens[1] = n_results;
  if (!OF(_read)(&model, tokens, 2)) return fails("it reads a token that it has not");
  error = OF(_read)(&model, tokens, 1);
  if (!error) error = go_on(NULL, 8);
  if (!error) error = go_on(&how, 4);
  if (!error) error = go_on(&wide, 4);
#ifdef WORDS
  char text[64];
  OF(_restart)(&model);
  if (!error) error = OF(_prompt)(&model, "some words", 10);
  keep(result), add(result);
  if (!error) error = go_on(NULL, 1);
  if (!error && OF(_text)(&model, model.tokens[model.n - 1], text, sizeof text) > 1000)
    error = "a token has a long text";
#endif
  return error ? fails(error) : 0;
}
#elif KIND == ENCODER
static int try_model(void) {
  int32_t tokens[] = {1, 2, 3, 4, 5};
  const char *error = OF(_tokens)(&model, tokens, 5, result);
  if (!error) error = OF(_tokens)(&model, tokens, 2, again);
  if (error) return fails(error);
  add(result), add(again);
  error = OF(_tokens)(&model, tokens, 5, again);
  if (error) return fails(error);
  if (differ()) return fails("a result depends on the one before");
  if (!OF(_tokens)(&model, tokens, 0, result)) return fails("it reads no token");
  if (!OF(_tokens)(&model, tokens, 1 << 20, result)) return fails("it reads more than it can see");
  tokens[1] = -1;
  if (!OF(_tokens)(&model, tokens, 2, result)) return fails("it reads a negative token");
#ifdef WORDS
  error = OF(_text)(&model, "some words", 10, result);
  add(result);
#endif
  return error ? fails(error) : 0;
}
#else
static int8_t pixels[PIXELS];
static int try_model(void) {
  for (int32_t i = 0; i < PIXELS; ++i) pixels[i] = (int8_t)(i * 7 % 256 - 128);
  const char *error = OF(_picture)(&model, pixels, result);
  if (!error) error = OF(_picture)(&model, pixels, again);
  if (error) return fails(error);
  if (differ()) return fails("a result depends on the one before");
  add(result);
  return OF(_picture)(&model, NULL, result) ? 0 : fails("it sees no picture");
}
#endif

int main(void) {
  char text[16];
  if (!is_read()) return fails("its file is not read");
  port_paint_stack();
  const char *error = OF(_open)(&model, linked, linked_bytes);
  if (error) return fails(error);
  if (try_model()) return 1;
  if (port_painted_stack_used() > HEED_STACK_BYTES + 1024) return fails("it takes more stack than its header says");
  for (int32_t i = 0; i < 8; ++i) text[i] = "0123456789abcdef"[sum >> (28 - 4 * i) & 15];
  text[8] = '\n', text[9] = 0;
  port_write("compiled_integers: good ");
  port_write(text);
  return 0;
}
