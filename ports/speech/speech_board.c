/* Speech to text on a board: heed_speech FILE CLIP. FILE is speech.heed, which heed_compile wrote with speech.c; CLIP is a WAV file of up to
 * SPEECH_SAMPLES, mono, 16 kHz, 16 bits. Both are read into external memory; on a product the file lies in flash that
 * is mapped, and the samples come from a microphone. Prints the text as it comes, then one JSON object; tokens and digest,
 * of the bits of the encoder's output and of all logits, are what heed_listen --bits prints on a PC for this arithmetic. SPDX-License-Identifier: MIT */
#include "speech.h"

#include "board.h"
#include "rows_digest.h"

#ifndef BOARD_FILE_BYTES
#define BOARD_FILE_BYTES 117440512
#endif

enum { part_front, part_encoder, part_keys, part_decoder, part_logits, n_parts, most_text = 255 };

static unsigned char file[BOARD_FILE_BYTES] BOARD_EXTERNAL;
static unsigned char clip[2 * SPEECH_SAMPLES + 4096] BOARD_EXTERNAL; /* a file, with room for what is no sample */
static int16_t samples[SPEECH_SAMPLES] BOARD_EXTERNAL;
static speech net BOARD_EXTERNAL;
static uint64_t parts[n_parts]; /* what the clock counted */
static uint64_t opening, hearing, writing, last;
static uint64_t digest = ROWS_DIGEST_BEGIN;
static heed_clock clock;

/* The first layer of the encoder is counted with what is before it, until all layers are there, which take equally long. */
static void lap(void *user, int32_t layer, int64_t first, heed_matrix rows) {
  const uint64_t now = clock.read();
  (void)user, (void)first;
  parts[layer == 0                      ? part_front
        : layer < SPEECH_ENCODER_LAYERS ? part_encoder
        : layer < SPEECH_LAYERS         ? part_decoder
                                        : part_logits] += now - last;
  if (layer == SPEECH_LAYERS) digest = rows_digest(digest, rows.data, rows.dim);
  last = clock.read();
}

static const char *hear(int32_t n_samples) {
  const uint64_t start = last = clock.read();
  const char *error = speech_sound(&net, samples, n_samples);
  hearing = clock.read() - start;
  parts[part_keys] = clock.read() - last;
  if (SPEECH_ENCODER_LAYERS > 1) {
    const uint64_t layer = parts[part_encoder] / (SPEECH_ENCODER_LAYERS > 1 ? SPEECH_ENCODER_LAYERS - 1 : 1);
    parts[part_front] -= layer, parts[part_encoder] += layer;
  }
  digest = rows_digest(digest, net.x, net.n_rows * SPEECH_DIM);
  return error;
}

/* The text, as it comes. */
static const char *transcribe(void) {
  static char text[most_text + 1];
  const char *error = NULL;
  for (int32_t token = 0; !error;) {
    const uint64_t begin = last = clock.read();
    error = speech_next(&net, &token);
    writing += clock.read() - begin;
    if (error || token < 0) break;
    const size_t n = speech_text(&net, token, text, most_text);
    text[n < most_text ? n : most_text] = '\0';
    port_write(text);
  }
  port_write("\n");
  return error;
}

static void write_result(int32_t n_samples, size_t stack_bytes) {
  static const char *const names[] = {"convolutions", "encoder_layers", "keys_and_values", "decoder_layers", "logits"};
  port_write("{\"tokens\":\"");
  for (int32_t t = 0; t < net.n; ++t) port_write(t > 0 ? " " : ""), port_write_int(net.tokens[t]);
  port_write("\",\"digest\":\""), port_write_hex((uint32_t)(digest >> 32)), port_write_hex((uint32_t)digest);
  port_write("\""), board_kernel(), board_clock(&clock);
  board_count("samples", (uint64_t)n_samples);
  board_count("steps", (uint64_t)net.n);
  board_count("open", opening);
  board_count("hear", hearing);
  board_count("write", writing);
  for (int i = 0; i < n_parts; ++i) board_count(names[i], parts[i]);
  board_count("ram_bytes", sizeof net);
  board_end(&clock, stack_bytes);
}

int main(void) {
  static char path[512];
  port_arguments(path, sizeof path);
  const char *clip_path = board_after_word(path);
  if (*clip_path == '\0') return board_fail("usage", "heed_speech FILE CLIP");
  size_t n_samples = 0;
  const char *error = board_read_sound(clip_path, clip, sizeof clip, samples, SPEECH_SAMPLES, &n_samples);
  if (error) return board_fail(clip_path, error);
  const int32_t n_bytes = port_read_file(path, file, sizeof file);
  if (n_bytes < 0) return board_fail(path, "cannot be read, or is larger than BOARD_FILE_BYTES");
  clock = heed_clock_start();
  port_paint_stack();
  opening = clock.read();
  error = speech_open(&net, file, (size_t)n_bytes);
  opening = clock.read() - opening;
  if (error) return board_fail(path, error);
  net.see = lap;
  error = hear((int32_t)n_samples);
  if (!error) error = transcribe();
  if (error) return board_fail(clip_path, error);
  write_result((int32_t)n_samples, port_painted_stack_used());
  return 0;
}
