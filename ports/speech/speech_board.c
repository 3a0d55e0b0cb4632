/* Speech to text on a board: heed_speech MODEL CLIP. MODEL is what speech_weights wrote, CLIP a WAV file of up to
 * SPEECH_MAX_SECONDS, mono, 16 kHz, 16 bits; both are read into external memory. On a product the model lies in flash that
 * is mapped, and the samples come from a microphone. Prints the text as it comes, then one JSON object; tokens and digest,
 * of the bits of the encoder's output and of all logits, are what heed_listen --bits prints on a PC for this arithmetic. SPDX-License-Identifier: MIT */
#include "board.h"
#include "rows_digest.h"
#include "speech.h"

#ifndef SPEECH_BOARD_MODEL_BYTES
#define SPEECH_BOARD_MODEL_BYTES 117440512
#endif

static unsigned char model[SPEECH_BOARD_MODEL_BYTES] BOARD_EXTERNAL;
static unsigned char clip[2 * SPEECH_MAX_SAMPLES + 4096] BOARD_EXTERNAL; /* a file, with room for what is no sample */
static int16_t samples[SPEECH_MAX_SAMPLES] BOARD_EXTERNAL;
static speech net BOARD_EXTERNAL;
static int32_t tokens[SPEECH_MAX_STEPS + 1];
static uint64_t parts[SPEECH_N_PARTS]; /* what the clock counted */
static uint64_t checking, hearing, writing, last;
static uint64_t digest = ROWS_DIGEST_BEGIN;
static heed_clock clock;

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

static void write_result(int32_t n, int32_t n_samples, size_t stack_bytes) {
  static const char *const names[] = {"conv_1",       "group_norm",      "conv_2",         "conv_3", "encoder_layers",
                                      "encoder_norm", "keys_and_values", "decoder_layers", "logits"};
  port_write("{\"tokens\":\"");
  for (int32_t t = 0; t < n; ++t) port_write(t > 0 ? " " : ""), port_write_int(tokens[t]);
  port_write("\",\"digest\":\""), port_write_hex((uint32_t)(digest >> 32)), port_write_hex((uint32_t)digest);
  port_write("\""), board_kernel(), board_clock(&clock);
  board_count("samples", (uint64_t)n_samples);
  board_count("steps", (uint64_t)net.n_steps);
  board_count("check", checking);
  board_count("hear", hearing);
  board_count("write", writing);
  for (int i = 0; i < SPEECH_N_PARTS; ++i) board_count(names[i], parts[i]);
  board_count("ram_bytes", SPEECH_RAM_BYTES);
  board_end(&clock, stack_bytes);
}

int main(void) {
  static char path[512];
  port_arguments(path, sizeof path);
  const char *clip_path = board_after_word(path);
  if (*clip_path == '\0') return board_fail("usage", "heed_speech MODEL CLIP");
  size_t n_read = 0;
  const char *error = board_read_sound(clip_path, clip, sizeof clip, samples, SPEECH_MAX_SAMPLES, &n_read);
  if (error != NULL) return board_fail(clip_path, error);
  const int32_t n_samples = (int32_t)n_read;
  const int32_t n_bytes = port_read_file(path, model, sizeof model);
  if (n_bytes < 0) return board_fail(path, "cannot be read, or is larger than SPEECH_BOARD_MODEL_BYTES");
  clock = heed_clock_start();
  net.model.name[0] = '\0';
  error = open_model(n_bytes);
  if (error != NULL) return board_fail(net.model.name[0] == '\0' ? path : net.model.name, error);
  net.watch = lap;
  int32_t n = 0;
  port_paint_stack();
  const speech_status status = transcribe(n_samples, &n);
  const size_t stack_bytes = port_painted_stack_used();
  if (status == SPEECH_HEED_FAILED) return board_fail(heed_status_argument(net.failure), heed_status_text(net.failure));
  if (status != SPEECH_OK) return board_fail(clip_path, speech_status_text(status));
  write_result(n, n_samples, stack_bytes);
  return 0;
}
