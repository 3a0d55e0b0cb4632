/* What programs for boards have in common: words of their arguments, a sound, and lines of JSON. C99. SPDX-License-Identifier: MIT */
#ifndef HEED_PORTS_BOARD_H
#define HEED_PORTS_BOARD_H

#include "clock.h"
#include "heed/heed.h"
#include "port.h"
#include "wav.h"

/* Memory that link.ld puts into RAM outside the chip. */
#define BOARD_EXTERNAL __attribute__((section(".external"), aligned(64)))

/* Writes "what: why", and returns 1. */
static inline int board_fail(const char *what, const char *why) {
  port_write(what), port_write(": "), port_write(why), port_write("\n");
  return 1;
}

/* Cuts off the first word and returns what follows it, which may be an empty text. */
static inline char *board_after_word(char *text) {
  while (*text && *text != ' ') ++text;
  if (*text) *text++ = '\0';
  return text;
}

/* Null, or why there are no samples of this WAV file; *n is how many. `file` has room for what is no sample. */
static inline const char *board_read_sound(const char *path, void *file, size_t capacity, int16_t *samples, size_t most,
                                           size_t *n) {
  const int32_t n_bytes = port_read_file(path, file, capacity);
  if (n_bytes < 0) return "cannot be read, or is too long";
  wav_file wav;
  const char *error = wav_open(&wav, file, (size_t)n_bytes);
  if (error != NULL) return error;
  if (!wav_fits(&wav, 16000)) return "is not mono with 16 kHz";
  if (wav.n_samples > most) return "cannot be read, or is too long";
  for (*n = 0; *n < wav.n_samples; ++*n) samples[*n] = wav_sample(&wav, *n);
  return NULL;
}

/* ,"name":count and ,"name":"text" of an object that has begun. */
static inline void board_count(const char *name, uint64_t count) {
  port_write(",\""), port_write(name), port_write("\":"), port_write_count(count, 1);
}
static inline void board_text(const char *name, const char *text) {
  port_write(",\""), port_write(name), port_write("\":\""), port_write(text), port_write("\"");
}

static inline void board_bits(float x) {
  const union {
    float number;
    uint32_t bits;
  } pun = {x};
  port_write_hex(pun.bits);
}

/* The arithmetic of floats, and the kernel that has it. */
static inline void board_arithmetic(void) {
  const int has_fma = heed_isa_arithmetic(heed_isa_current()) == HEED_ARITHMETIC_FMA;
  board_text("arithmetic", has_fma ? "fma" : "no-fma");
}
static inline void board_kernel(void) {
  board_text("kernel", heed_isa_current());
  board_arithmetic();
}

static inline void board_clock(const heed_clock *clock) {
  board_text("clock", clock->name);
  board_text("unit", clock->unit);
}

/* The end of an object. */
static inline void board_end(const heed_clock *clock, size_t stack_bytes) {
  board_count("stack_bytes", stack_bytes);
  port_write(clock->emulated ? ",\"emulated\":true}\n" : ",\"emulated\":false}\n");
}

#endif
