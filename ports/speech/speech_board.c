/* Speech to text on a board: heed_speech MODEL CLIP. MODEL is what speech_weights wrote, CLIP a WAV file of up to
 * SPEECH_MAX_SECONDS, mono, 16 kHz, 16 bits; both are read into external memory. On a product the model lies in flash that
 * is mapped, and the samples come from a microphone. Prints the text as it comes, then one JSON object; tokens and digest,
 * of the bits of the encoder's output and of all logits, are what heed_listen --bits prints on a PC for this arithmetic
 * arithmetic. SPDX-License-Identifier: MIT */
#include "clock.h"
#include "rows_digest.h"
#include "port.h"
#include "speech.h"
#include "wav.h"

#ifndef SPEECH_BOARD_MODEL_BYTES
#define SPEECH_BOARD_MODEL_BYTES 117440512
#endif
#define EXTERNAL __attribute__((section(".external"), aligned(64)))

static unsigned char model[SPEECH_BOARD_MODEL_BYTES] EXTERNAL;
static unsigned char clip[2 * SPEECH_MAX_SAMPLES + 4096] EXTERNAL; /* a file, with room for what is no sample */
static int16_t samples[SPEECH_MAX_SAMPLES] EXTERNAL;
static speech net EXTERNAL;
static int32_t tokens[SPEECH_MAX_STEPS + 1];
static uint64_t parts[SPEECH_N_PARTS]; /* what the clock counted */
static uint64_t checking, hearing, writing, last;
static uint64_t digest = ROWS_DIGEST_BEGIN;
static heed_clock clock;

static int fail(const char *what, const char *why) {
  port_write(what), port_write(": "), port_write(why), port_write("\n");
  return 1;
}

/* Null, or why there are no samples of the clip; *n is how many. */
static const char *read_clip(const char *path, int32_t *n) {
  const int32_t n_bytes = port_read_file(path, clip, sizeof clip);
  if (n_bytes < 0) return "cannot be read, or is too long";
  wav_file wav;
  const char *error = wav_open(&wav, clip, (size_t)n_bytes);
  if (error != NULL) return error;
  if (!wav_fits(&wav, SPEECH_RATE)) return "is not mono with 16 kHz";
  if (wav.n_samples > SPEECH_MAX_SAMPLES) return "cannot be read, or is too long";
  *n = (int32_t)wav.n_samples;
  for (int32_t i = 0; i < *n; ++i) samples[i] = wav_sample(&wav, (size_t)i);
  return NULL;
}

/* Null, or why the model cannot be used. */
static const char *open_model(int32_t n_bytes) {
  heed_file file;
  const uint64_t start = clock.read();
  const char *error = heed_file_open(&file, model, (size_t)n_bytes);
  if (error == NULL) error = heed_file_check(&file);
  checking = clock.read() - start;
  if (error != NULL) return error;
  const speech_status status = speech_open(&net, model, (size_t)n_bytes);
  return status == SPEECH_MODEL ? net.error : status == SPEECH_OK ? NULL : speech_status_text(status);
}

static void lap(void *context, speech_part part, heed_matrix rows) {
  const uint64_t now = clock.read();
  (void)context, (void)rows;
  parts[part] += now - last;
  last = now;
}

static void write_piece(int32_t token, int first) {
  char piece[256];
  const char *text;
  int32_t n = speech_text(&net.model, token, &text), at = 0;
  if (first && n > 0 && *text == ' ') ++text, --n;
  for (; at < n; ++at) piece[at] = text[at];
  piece[at] = '\0';
  port_write(piece);
}

/* tokens (*n), and their text. Clocks stop while the text is written. */
static speech_status transcribe(int32_t n_samples, int32_t *n) {
  last = clock.read();
  const uint64_t start = last;
  speech_status status = speech_hear(&net, samples, n_samples);
  hearing = clock.read() - start;
  if (status != SPEECH_OK) return status;
  digest = rows_digest(digest, net.x, net.n_rows * SPEECH_DIM);
  for (int32_t token = SPEECH_START, n_steps = 0; token >= 0; ++n_steps) {
    tokens[(*n)++] = token;
    if (n_steps > 0) write_piece(token, n_steps == 1);
    const uint64_t begin = last = clock.read();
    status = speech_next(&net, &token);
    writing += clock.read() - begin;
    if (status != SPEECH_OK) return status;
    if (net.n_steps > n_steps) digest = rows_digest(digest, net.logits, SPEECH_TOKENS);
  }
  if (net.token == SPEECH_END) tokens[(*n)++] = SPEECH_END;
  port_write("\n");
  return SPEECH_OK;
}

static void write_count(const char *name, uint64_t count) {
  port_write(",\""), port_write(name), port_write("\":"), port_write_count(count, 1);
}

static void write_result(int32_t n, int32_t n_samples, size_t stack_bytes) {
  static const char *const names[] = {"conv_1",       "group_norm",      "conv_2",         "conv_3", "encoder_layers",
                                      "encoder_norm", "keys_and_values", "decoder_layers", "logits"};
  const int has_fma = heed_isa_arithmetic(heed_isa_current()) == HEED_ARITHMETIC_FMA;
  port_write("{\"tokens\":\"");
  for (int32_t t = 0; t < n; ++t) port_write(t > 0 ? " " : ""), port_write_int(tokens[t]);
  port_write("\",\"digest\":\""), port_write_hex((uint32_t)(digest >> 32)), port_write_hex((uint32_t)digest);
  port_write("\",\"kernel\":\""), port_write(heed_isa_current());
  port_write("\",\"arithmetic\":\""), port_write(has_fma ? "fma" : "no-fma");
  port_write("\",\"clock\":\""), port_write(clock.name), port_write("\",\"unit\":\""), port_write(clock.unit);
  port_write("\",\"samples\":"), port_write_int(n_samples);
  port_write(",\"steps\":"), port_write_int(net.n_steps);
  write_count("check", checking);
  write_count("hear", hearing);
  write_count("write", writing);
  for (int i = 0; i < SPEECH_N_PARTS; ++i) write_count(names[i], parts[i]);
  write_count("ram_bytes", SPEECH_RAM_BYTES);
  write_count("stack_bytes", stack_bytes);
  port_write(clock.emulated ? ",\"emulated\":true}\n" : ",\"emulated\":false}\n");
}

int main(void) {
  static char path[512];
  port_arguments(path, sizeof path);
  char *blank = path;
  while (*blank != '\0' && *blank != ' ') ++blank;
  if (*blank == '\0') return fail("usage", "heed_speech MODEL CLIP");
  *blank = '\0';
  const char *clip_path = blank + 1;
  int32_t n_samples = 0;
  const char *error = read_clip(clip_path, &n_samples);
  if (error != NULL) return fail(clip_path, error);
  const int32_t n_bytes = port_read_file(path, model, sizeof model);
  if (n_bytes < 0) return fail(path, "cannot be read, or is larger than SPEECH_BOARD_MODEL_BYTES");
  clock = heed_clock_start();
  net.model.name[0] = '\0';
  error = open_model(n_bytes);
  if (error != NULL) return fail(net.model.name[0] == '\0' ? path : net.model.name, error);
  net.watch = lap;
  int32_t n = 0;
  port_paint_stack();
  const speech_status status = transcribe(n_samples, &n);
  const size_t stack_bytes = port_painted_stack_used();
  if (status == SPEECH_HEED_FAILED) return fail(heed_status_argument(net.failure), heed_status_text(net.failure));
  if (status != SPEECH_OK) return fail(clip_path, speech_status_text(status));
  write_result(n, n_samples, stack_bytes);
  return 0;
}
