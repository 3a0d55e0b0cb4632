/* A program of heed_compile's at work, on hosts and boards: it opens its linked file, which compares its known answers, and then
 * tries what its header promises. MODEL: its name; MODEL_HEADER, MODEL_FILE: its files; KIND: DECODER, ENCODER, VISION or SPEECH.
 * Prints "compiled_model: good", or what is wrong. SPDX-License-Identifier: MIT */
#include "compiled.h"

static MODEL model;

#if KIND != VISION
/* The same bits: a board has no memcmp. */
static int differ(const float *a, const float *b, int32_t n) {
  for (int32_t i = 0; i < n; ++i) {
    const union {
      float number;
      uint32_t bits;
    } left = {a[i]}, right = {b[i]};
    if (left.bits != right.bits) return 1;
  }
  return 0;
}
#endif

static int fails(const char *what) {
  port_write("compiled_model: ");
  port_write(what);
  port_write("\n");
  return 1;
}

#if KIND == DECODER
enum {
  n_logits = sizeof model.logits / sizeof model.logits[0],
  n_context = sizeof model.tokens / sizeof model.tokens[0]
};
static float expected[n_logits];
static int32_t tokens[n_context + 1];

/* The same text in pieces of `piece` tokens. */
static const char *read_in_pieces(int32_t n, int32_t piece) {
  const char *error = NULL;
  OF(_restart)(&model);
  for (int32_t i = 0; !error && i < n; i += piece) error = OF(_read)(&model, tokens + i, n - i < piece ? n - i : piece);
  return error;
}

static int try_model(void) {
  const int32_t n = n_context < 40 ? n_context : 40;
  const int32_t pieces[] = {1, 3, 16, 17};
  int32_t token;
  for (int32_t i = 0; i <= n_context; ++i) tokens[i] = i * 7 % n_logits;
  const char *error = read_in_pieces(n, n);
  if (error) return fails(error);
  for (int32_t i = 0; i < n_logits; ++i) expected[i] = model.logits[i];
  for (unsigned i = 0; i < sizeof pieces / sizeof pieces[0]; ++i) {
    error = read_in_pieces(n, pieces[i]);
    if (error) return fails(error);
    if (differ(expected, model.logits, n_logits)) return fails("logits depend on the pieces of a text");
  }
  OF(_choice) how = {0.8f, 40, 0.95f, 1};
  OF(_restart)(&model);
  if (!OF(_next)(&model, NULL, &token)) return fails("it goes on with no text");
  if (!OF(_read)(&model, tokens, 0)) return fails("it reads no token");
  if (!OF(_read)(&model, tokens, n_context + 1)) return fails("it reads more than its context");
  tokens[1] = n_logits;
  if (!OF(_read)(&model, tokens, 2)) return fails("it reads a token that it has not");
  tokens[1] = -1;
  if (!OF(_read)(&model, tokens, 2)) return fails("it reads a negative token");
  error = OF(_read)(&model, tokens, 1);
  for (int32_t i = 0; !error && i < 6; ++i) {
    error = OF(_next)(&model, i % 2 ? NULL : &how, &token);
    if (!error && (token < -1 || token >= n_logits)) return fails("it chooses a token that it has not");
  }
#ifdef WORDS
  char text[64];
  OF(_restart)(&model);
  if (!error) error = OF(_prompt)(&model, "some words", 10);
  if (!error) error = OF(_next)(&model, NULL, &token);
  if (!error && token >= 0 && OF(_text)(&model, token, text, sizeof text) > 1000)
    return fails("a token has a long text");
#endif
  return error ? fails(error) : 0;
}
#elif KIND == ENCODER
enum { n_results = sizeof model.result / sizeof model.result[0] };
static float result[n_results], again[n_results];
static int try_model(void) {
  int32_t tokens[] = {1, 2, 3, 4, 5};
  const char *error = OF(_tokens)(&model, tokens, 5, result);
  if (!error) error = OF(_tokens)(&model, tokens, 2, again);
  if (!error) error = OF(_tokens)(&model, tokens, 5, again);
  if (error) return fails(error);
  if (differ(result, again, n_results)) return fails("a result depends on the one before");
  if (!OF(_tokens)(&model, tokens, 0, result)) return fails("it reads no token");
  if (!OF(_tokens)(&model, tokens, 1 << 20, result)) return fails("it reads more than it can see");
  tokens[1] = -1;
  if (!OF(_tokens)(&model, tokens, 2, result)) return fails("it reads a negative token");
#ifdef WORDS
  error = OF(_text)(&model, "some words", 10, result);
#endif
  return error ? fails(error) : 0;
}
#elif KIND == SPEECH
enum {
  n_logits = sizeof model.logits / sizeof model.logits[0],
  n_context = sizeof model.tokens / sizeof model.tokens[0],
  n_samples = 9000
};
static float expected[n_logits];
static int16_t samples[n_samples];
static int32_t tokens[n_context + 1], chosen[n_context + 1];

/* The tokens that the program chooses; *n of them. */
static const char *transcribe(int32_t *to, int32_t *n) {
  const char *error = NULL;
  for (*n = 0; !error && *n <= n_context; ++*n) {
    error = OF(_next)(&model, &to[*n]);
    if (error || to[*n] < 0) break;
  }
  return error;
}

static int try_model(void) {
  int32_t n = 0, n_again = 0, token = 0;
  if (!OF(_next)(&model, &token)) return fails("it writes with no sound");
  if (!OF(_read)(&model, tokens, 1)) return fails("it reads with no sound");
  for (int32_t i = 0; i < n_samples; ++i) samples[i] = (int16_t)((i * i % 257 - 128) * (i % 1000) / 10);
  if (!OF(_sound)(&model, samples, 0) || !OF(_sound)(&model, samples, 1 << 30) || !OF(_sound)(&model, NULL, n_samples))
    return fails("it hears sounds that it cannot hear");
  const char *error = OF(_sound)(&model, samples, n_samples);
  if (!error) error = transcribe(chosen, &n);
  if (!error && n > n_context) return fails("a text has no end");
  OF(_restart)(&model);
  if (!error) error = transcribe(tokens, &n_again);
  for (int32_t i = 0; i < n; ++i)
    if (n != n_again || chosen[i] != tokens[i]) return fails("a second text of the same sound differs");
  /* A text at once, and in pieces after another sound. */
  const int32_t n_read = n_context < 21 ? n_context : 21;
  for (int32_t i = 0; i <= n_context; ++i) tokens[i] = i * 7 % n_logits;
  OF(_restart)(&model);
  if (!error) error = OF(_read)(&model, tokens, n_read);
  for (int32_t i = 0; i < n_logits; ++i) expected[i] = model.logits[i];
  if (!error) error = OF(_sound)(&model, samples + 1000, 2000);
  if (!error) error = OF(_sound)(&model, samples, n_samples);
  for (int32_t i = 0; !error && i < n_read; i += 4)
    error = OF(_read)(&model, tokens + i, n_read - i < 4 ? n_read - i : 4);
  if (error) return fails(error);
  if (differ(expected, model.logits, n_logits))
    return fails("logits depend on the sound before, or on the pieces of a text");
  if (!OF(_read)(&model, tokens, n_context)) return fails("it reads more than its context");
  tokens[0] = n_logits;
  if (!OF(_read)(&model, tokens, 1)) return fails("it reads a token that it has not");
#ifdef WORDS
  char text[64];
  OF(_restart)(&model);
  error = OF(_prompt)(&model, "some words", 10);
  if (!error) error = OF(_next)(&model, &token);
  if (!error && token >= 0 && OF(_text)(&model, token, text, sizeof text) > 1000)
    return fails("a token has a long text");
#endif
  return error ? fails(error) : 0;
}
#else
static float pixels[PIXELS], result[sizeof model.result / sizeof model.result[0]];
static int try_model(void) {
  for (int32_t i = 0; i < PIXELS; ++i) pixels[i] = (float)(i % 256) / 128.0f - 1.0f;
  const char *error = OF(_picture)(&model, pixels, result);
  if (error) return fails(error);
  return OF(_picture)(&model, NULL, result) ? 0 : fails("it sees no picture");
}
#endif

int main(void) {
  port_paint_stack();
  const char *error = is_read() ? OF(_open)(&model, linked, linked_bytes) : "its file cannot be read";
  if (error) return fails(error);
  if (try_model()) return 1;
  if (port_painted_stack_used() > HEED_STACK_BYTES + 1024) return fails("it takes more stack than its header says");
  port_write("compiled_model: good\n");
  return 0;
}
