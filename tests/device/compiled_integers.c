/* A program of heed_compile --integers at work, on hosts and boards: it opens its linked file, which compares its known answers, and
 * then tries what its header promises. MODEL: its name; MODEL_HEADER, MODEL_FILE: its files; KIND: ENCODER or VISION; NUMBER: the type
 * of its result. Prints "compiled_integers: good" and a sum of results, which is the same on every processor. No number is a float.
 * SPDX-License-Identifier: MIT */
#include "compiled.h"

#include "ports/port.h"

HEED_FILE_LINK(linked, MODEL_FILE)

static MODEL model;
enum { n_results = sizeof model.result / sizeof model.result[0] };
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

#if KIND == ENCODER
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
  port_paint_stack();
  const char *error = OF(_open)(&model, linked, HEED_FILE_LINKED_BYTES(linked));
  if (error) return fails(error);
  if (try_model()) return 1;
  if (port_painted_stack_used() > HEED_STACK_BYTES + 1024) return fails("it takes more stack than its header says");
  for (int32_t i = 0; i < 8; ++i) text[i] = "0123456789abcdef"[sum >> (28 - 4 * i) & 15];
  text[8] = '\n', text[9] = 0;
  port_write("compiled_integers: good ");
  port_write(text);
  return 0;
}
