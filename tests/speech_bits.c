/* heed_speech_bits FILE.heed CLIP.wav...: speech to text where there is no C++ library. Prints what heed_listen --bits prints: the
 * arithmetic, then for each clip its text, its tokens, and a digest of the bits of the encoder's output and of all logits.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "rows_digest.h"
#include "speech.h"
#include "wav.h"

static speech net;
static HEED_ALIGNED uint8_t model[112 << 20]; /* f32 has 109 MB */
static int16_t samples[SPEECH_MAX_SAMPLES];
static uint8_t bytes[2 * SPEECH_MAX_SAMPLES + 4096];

static int fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  return 1;
}

static size_t read_file(const char *path, uint8_t *to, size_t n_bytes) {
  FILE *const file = fopen(path, "rb");
  const size_t n = file == NULL ? 0 : fread(to, 1, n_bytes, file);
  if (file != NULL) fclose(file);
  return n;
}

static const char *open_model(const char *path) {
  heed_file file;
  const size_t n_bytes = read_file(path, model, sizeof model);
  const char *error = heed_file_swap(model, n_bytes);
  if (error == NULL) error = heed_file_open(&file, model, n_bytes);
  if (error == NULL) error = heed_file_check(&file);
  if (error == NULL && speech_open(&net, model, n_bytes) != SPEECH_OK) error = net.error;
  return error;
}

static int hear(const char *path) {
  wav_file wav;
  const char *error = wav_open(&wav, bytes, read_file(path, bytes, sizeof bytes));
  if (error != NULL) return fail(path, error);
  if (!wav_fits(&wav, SPEECH_RATE) || wav.n_samples > SPEECH_MAX_SAMPLES)
    return fail(path, "is not mono with 16 kHz, or is too long");
  const int32_t n = (int32_t)wav.n_samples;
  for (int32_t i = 0; i < n; ++i) samples[i] = wav_sample(&wav, (size_t)i);
  speech_status status = speech_hear(&net, samples, n);
  if (status != SPEECH_OK) return fail(path, speech_status_text(status));
  uint64_t digest = rows_digest(ROWS_DIGEST_BEGIN, net.x, net.n_rows * SPEECH_DIM);
  static int32_t tokens[SPEECH_MAX_STEPS];
  int32_t n_tokens = 0, token = 0;
  printf("\"");
  for (int32_t n_steps = 0;; ++n_steps) {
    if ((status = speech_next(&net, &token)) != SPEECH_OK) return fail(path, speech_status_text(status));
    if (net.n_steps > n_steps) digest = rows_digest(digest, net.logits, SPEECH_TOKENS);
    if (token < 0) break;
    const char *text;
    const int32_t length = speech_text(&net.model, token, &text), blank = n_steps == 0 && length > 0 && *text == ' ';
    printf("%.*s", (int)(length - blank), text + blank);
    tokens[n_tokens++] = token;
  }
  printf("\" %d", SPEECH_START);
  for (int32_t t = 0; t < n_tokens; ++t) printf(" %d", (int)tokens[t]);
  if (net.token == SPEECH_END) printf(" %d", SPEECH_END);
  printf(" %016" PRIx64 "\n", digest);
  fflush(stdout);
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3) return fail("usage", "heed_speech_bits FILE.heed CLIP.wav...");
  const char *const error = open_model(argv[1]);
  if (error != NULL) return fail(argv[1], error);
  printf("%s\n", heed_isa_arithmetic(heed_isa_current()) == HEED_ARITHMETIC_FMA ? "fma" : "no-fma");
  for (int i = 2; i < argc; ++i)
    if (hear(argv[i]) != 0) return 1;
  return 0;
}
