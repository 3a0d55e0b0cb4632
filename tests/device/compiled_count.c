/* Instructions of a program of heed_compile's on an emulated board, as heed_compile --target tells them: of a prompt as long as the
 * context and of a token behind it, of a sound and a token, of a text of the greatest length, of a picture, or of a graph. Macros: those of compiled_model.c
 * or compiled_integers.c; of a graph KIND is GRAPH.
 * SPDX-License-Identifier: MIT */
#include "compiled.h"

#include "clock.h"

#ifdef NUMBER /* no number is a float */
typedef int8_t pixel;
enum { unit = 1 };
#else
#define NUMBER float
typedef float pixel;
static const float unit = 128.0f;
#endif

static MODEL model;
static heed_clock counter;
static uint64_t start;

#if KIND == GRAPH /* places.h: arrays for its inputs and outputs, and a call with them */
static void fill_floats(float *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) x[i] = (float)(i * 31 % 256 - 128) / 128.0f;
}
static void fill_integers(int32_t *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) x[i] = i % 2;
}
static void fill_booleans(unsigned char *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) x[i] = i % 3 != 0;
}
#include "places.h"
#endif

static void say(const char *what) { port_write(what), port_write_count(counter.read() - start, 1), port_write("\n"); }

static const char *run(void) {
  const char *error = NULL;
  start = counter.read();
#if KIND == GRAPH
  fill_places();
  start = counter.read();
  error = run_places();
  say("run ");
#elif KIND == DECODER
  enum { n = sizeof model.tokens / sizeof model.tokens[0], n_tokens = sizeof model.logits / sizeof model.logits[0] };
  static int32_t tokens[n];
  for (int32_t i = 0; i < n; ++i) tokens[i] = i * 7 % n_tokens;
  start = counter.read();
  error = OF(_read)(&model, tokens, n);
  say("prompt ");
  OF(_restart)(&model);
  if (!error && n > 1) error = OF(_read)(&model, tokens, n - 1);
  start = counter.read();
  if (!error) error = OF(_read)(&model, tokens, 1);
  say("token ");
#elif KIND == SPEECH
  enum { n = sizeof model.tokens / sizeof model.tokens[0], n_tokens = sizeof model.logits / sizeof model.logits[0] };
  static int16_t samples[SAMPLES];
  static int32_t tokens[n];
  for (int32_t i = 0; i < SAMPLES; ++i) samples[i] = (int16_t)((i * i % 257 - 128) * (i % 1000) / 10);
  for (int32_t i = 0; i < n; ++i) tokens[i] = i * 7 % n_tokens;
  start = counter.read();
  error = OF(_sound)(&model, samples, SAMPLES);
  say("sound ");
  if (!error) error = OF(_read)(&model, tokens, n - 1);
  start = counter.read();
  if (!error) error = OF(_read)(&model, tokens, 1);
  say("token ");
#elif KIND == ENCODER
  static int32_t tokens[ROWS];
  static NUMBER result[OUT];
  for (int32_t i = 0; i < ROWS; ++i) tokens[i] = i * 7 % TOKENS;
  start = counter.read();
  error = OF(_tokens)(&model, tokens, ROWS, result);
  say("text ");
#else
  static pixel pixels[PIXELS];
  static NUMBER result[OUT];
  for (int32_t i = 0; i < PIXELS; ++i) pixels[i] = (pixel)((pixel)(i * 31 % 256 - 128) / unit);
  start = counter.read();
  error = OF(_picture)(&model, pixels, result);
  say("picture ");
#endif
  return error;
}

int main(void) {
  counter = heed_clock_start();
  const char *error = is_read() ? OF(_open)(&model, linked, linked_bytes) : "its file is not read";
  if (!error) error = run();
  port_write(error ? error : "compiled_count: good");
  port_write("\n");
  return error || !counter.emulated;
}
