/* What the page calls: flat functions over heed, ports/kwt and a language model's program (ports/dreams), with one object of each. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heed/heed.h"
#include "kwt.h"
#include "receipt.h"
#include "wav.h"
#include "web.h"
#ifdef WEB_DREAMS
#include "dreams.h"
#endif

#define EXPORT(name) __attribute__((export_name(#name)))

EXPORT(version) const char *version(void) { return heed_version(); }
EXPORT(kernel) const char *kernel(void) { return heed_isa_current(); }
EXPORT(n_kernels) int32_t n_kernels(void) { return heed_isa_count(); }
EXPORT(fault) const char *fault(heed_status status) { return heed_status_text(status); }
EXPORT(allocate) void *allocate(size_t n_bytes) { return aligned_alloc(64, (n_bytes + 63) / 64 * 64); }
EXPORT(release) void release(void *memory) { free(memory); }

/* Every kernel against the reference and known answers, as on a device. */
EXPORT(self_test) heed_status self_test(void) {
  HEED_MEMORY(memory, HEED_SELFTEST_BYTES);
  heed_selftest_report report = heed_selftest_report_default();
  return heed_selftest(memory, &report);
}
/* tests/digest.c, which prints a line for each kernel. */
int heed_digest_main(void);
EXPORT(digest) int digest(void) { return heed_digest_main(); }

/* Once the attention of a vision transformer: 197 rows, 3 heads of 64. */
EXPORT(vision) heed_status vision(void) {
  enum { rows = 197, heads = 3, dim = 64, n = rows * heads * dim };
  static float q[n], out[n];
  HEED_MEMORY(memory, HEED_WORKSPACE_BYTES(dim, dim));
  if (q[1] == 0)
    for (int32_t i = 0; i < n; ++i) q[i] = (float)(i * 37 % 101 - 50) * 0.02f;
  const heed_attention call = heed_attention_of(q, q, q, rows, rows, heads, heads, dim, out, memory);
  return heed_attention_run(&call);
}

/* --------------------------------------------------------------------------------------------------------- sentence */

/* Row `row` of the weights of x (n, heads, dim) with itself: weights (heads, n). Nothing is learned: q = k = v = x. */
EXPORT(sentence_row)
heed_status sentence_row(const float *x, int32_t n, int32_t heads, int32_t dim, int32_t row, int32_t causal,
                         float scale, float *weights) {
  float out[4096];
  HEED_MEMORY(memory, HEED_WORKSPACE_BYTES(256, 256));
  if (heads * dim > 4096 || dim > 256) return HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_HEAD_DIM);
  heed_attention_weights all;
  heed_status status = heed_attention_weights_init(&all, heed_head_major_out(weights, 1, heads, n));
  heed_options options = heed_options_default();
  options.weights = &all;
  heed_attention call = heed_attention_of(x + row * heads * dim, x, x, 1, n, heads, heads, dim, out, memory);
  call.scale = scale;
  call.causal = causal;
  call.position = row;
  call.options = &options;
  return status == HEED_OK ? heed_attention_run(&call) : status;
}

/* ------------------------------------------------------------------------------------------------------------ sound */

static wav_file sound;

/* A WAV file, which stays where it is. Returns what is wrong with it, "" if nothing. */
EXPORT(sound_open) const char *sound_open(const char *name, const void *bytes, size_t n_bytes) {
  const char *error = wav_open(&sound, bytes, n_bytes);
  return error == NULL ? "" : web_wav_refusal(name, &sound, error);
}
EXPORT(sound_channels) int32_t sound_channels(void) { return sound.channels; }
EXPORT(sound_rate) uint32_t sound_rate(void) { return sound.rate; }
EXPORT(sound_length) size_t sound_length(void) { return sound.n_samples; }
/* Samples of all channels in turn, as many as length says of each. */
EXPORT(sound_read) void sound_read(int16_t *samples, size_t length) {
  for (size_t i = 0; i < length * (size_t)sound.channels; ++i) samples[i] = wav_sample(&sound, i);
}
/* What to say of a sound that the browser cannot convert. */
EXPORT(sound_refusal) const char *sound_refusal(const char *name) { return web_wav_refusal(name, &sound, NULL); }

/* --------------------------------------------------------------------------------------------------------- receipts */

static heed_receipt receipt;
static heed_receipt_layer *receipt_layers;
static char *receipt_text;
static size_t receipt_bytes, receipt_room;

/* A text that does not fit any more is no text. */
static void add_line(void *user, const char *line, size_t n) {
  (void)user;
  while (receipt_text != NULL && receipt_bytes + n + 1 > receipt_room) {
    char *const larger = realloc(receipt_text, receipt_room *= 2);
    if (larger == NULL) free(receipt_text);
    receipt_text = larger;
  }
  if (receipt_text == NULL) return;
  memcpy(receipt_text + receipt_bytes, line, n + 1);
  receipt_bytes += n;
}

/* "": good. */
static const char *begin_receipt(const char *program, const uint8_t *digest, int32_t n_layers) {
  heed_receipt_settings s = heed_receipt_settings_default(program, heed_isa_arithmetic(heed_isa_current()),
                                                          &heed_receipt_sha256, add_line, NULL);
  free(receipt_text), free(receipt_layers);
  receipt_bytes = 0, receipt_room = 1 << 16;
  receipt_text = malloc(receipt_room);
  receipt_layers = malloc((size_t)n_layers * sizeof *receipt_layers);
  if (receipt_text == NULL || receipt_layers == NULL) return "there is not enough memory for a receipt";
  s.model = digest, s.layers = receipt_layers, s.n_layers = n_layers, s.level = HEED_RECEIPT_LAYERS;
  const char *const fault = heed_receipt_begin(&receipt, &s);
  return fault == NULL ? "" : fault;
}
/* Of kwt_receipt and dreams_receipt, which return what is wrong. */
EXPORT(receipt_of) const char *receipt_of(void) { return receipt_text; }

/* ------------------------------------------------------------------------------------------------------------ KWT-1 */

static kwt net;
static void *weights_file;
static size_t weights_bytes;
static float kwt_weights_of[KWT_N_BLOCKS][KWT_N_TOKENS][KWT_N_TOKENS];
static heed_attention_weights kwt_outputs[KWT_N_BLOCKS];
static heed_options kwt_options[KWT_N_BLOCKS];
static kwt_result heard;
static char kwt_why[256];

static const char *kwt_text(kwt_status status) {
  if (status == KWT_OK) return "";
  if (status != KWT_HEED_FAILED) return kwt_status_text(status);
  strncpy(kwt_why, heed_status_text(net.failure), sizeof kwt_why - 1);
  return kwt_why;
}

/* The published file, or a flat one. Returns what is wrong with it, "" if nothing. */
EXPORT(kwt_load) const char *kwt_load(const void *file, size_t n_bytes) {
  net.weights = NULL;
  free(weights_file);
  const int is_flat = n_bytes >= 8 && memcmp(file, "HEEDKWT1", 8) == 0;
  const size_t bytes = is_flat ? n_bytes : KWT_WEIGHTS_BYTES(HEED_F32);
  weights_file = allocate(bytes);
  if (is_flat)
    memcpy(weights_file, file, n_bytes);
  else
    web_read_tflite(file, n_bytes, weights_file); /* throws */
  const kwt_status status = kwt_init(&net, weights_file, bytes);
  weights_bytes = bytes;
  for (int32_t b = 0; b < KWT_N_BLOCKS; ++b) {
    heed_attention_weights_init(&kwt_outputs[b],
                                heed_head_major_out(kwt_weights_of[b][0], KWT_N_TOKENS, 1, KWT_N_TOKENS));
    kwt_options[b] = heed_options_default();
    kwt_options[b].weights = &kwt_outputs[b];
  }
  net.options = kwt_options;
  return kwt_text(status);
}
/* 16000 samples. The same. */
EXPORT(kwt_hear) const char *kwt_hear(const int16_t *samples) {
  return kwt_text(kwt_run_int16(&net, samples, KWT_N_SAMPLES, &heard));
}
/* The same samples once more, with a receipt. */
EXPORT(kwt_receipt) const char *kwt_receipt(const int16_t *samples) {
  static uint8_t digest[HEED_RECEIPT_DIGEST_BYTES];
  heed_receipt_digest(&heed_receipt_sha256, weights_file, weights_bytes, digest);
  const char *const fault = begin_receipt("kwt", digest, KWT_N_BLOCKS);
  if (*fault) return fault;
  heed_receipt_stream input;
  heed_receipt_input_begin(&receipt, &input);
  heed_receipt_input_16(&receipt, &input, samples, KWT_N_SAMPLES);
  heed_receipt_input_end(&receipt, &input, "samples");
  const heed_options *const options = net.options;
  net.options = NULL; /* with weights to show, the last layer would compute rows that nobody needs */
  net.see = heed_receipt_see, net.see_user = &receipt;
  const kwt_status status = kwt_run_int16(&net, samples, KWT_N_SAMPLES, &heard);
  net.see = NULL;
  net.options = options;
  heed_receipt_end(&receipt);
  return kwt_text(status);
}
EXPORT(kwt_word) const char *kwt_word(void) { return kwt_label(heard.label); }
EXPORT(kwt_confidence) float kwt_confidence(void) { return heard.confidence; }
EXPORT(kwt_logits) const float *kwt_logits(void) { return heard.logits; }
EXPORT(kwt_weights) const float *kwt_weights(void) { return kwt_weights_of[0][0]; } /* (12, 99, 99) */

/* --------------------------------------------------------------------------------------------------- language model */

#ifdef WEB_DREAMS
static dreams model;
static int32_t prompt_tokens[DREAMS_CONTEXT], n_prompt;
static float rows[DREAMS_LAYERS][DREAMS_HEADS][DREAMS_CONTEXT]; /* what the newest token attends to */
static heed_attention_weights outputs[DREAMS_LAYERS];
static heed_options options[DREAMS_LAYERS];
static char word[256];

/* One row of weights a head for each layer, or none: what a program keeps to itself, and the page shows. */
static void show_weights(int is_shown) {
  for (int32_t l = 0; l < DREAMS_LAYERS; ++l) {
    heed_attention_weights_init(&outputs[l], heed_head_major_out(rows[l][0], 1, DREAMS_HEADS, DREAMS_CONTEXT));
    options[l] = heed_options_default();
    options[l].weights = &outputs[l];
    model.attention[l].options = is_shown ? &options[l] : NULL;
  }
}

/* The file of the program, which stays where it is. Returns what is wrong with it, "" if nothing. */
EXPORT(dreams_load) const char *dreams_load(const void *file, size_t n_bytes) {
  const char *error = dreams_open(&model, file, n_bytes);
  return error ? error : "";
}
EXPORT(dreams_layers) int32_t dreams_layers(void) { return DREAMS_LAYERS; }
EXPORT(dreams_heads) int32_t dreams_heads(void) { return DREAMS_HEADS; }
/* Begins a text with a prompt, whose tokens are read in steps. */
EXPORT(dreams_begin) const char *dreams_begin(const char *prompt) {
  show_weights(0);
  dreams_restart(&model);
  const char *error = dreams_prompt(&model, prompt, strlen(prompt));
  n_prompt = error ? 0 : model.n;
  memcpy(prompt_tokens, model.tokens, (size_t)n_prompt * sizeof *prompt_tokens);
  dreams_restart(&model);
  return error ? error : "";
}
/* Reads the next token, of the prompt or else the most probable one. Returns its text; null: there is no next one. */
EXPORT(dreams_step) const char *dreams_step(void) {
  if (n_prompt == 0 || model.n == DREAMS_CONTEXT) return NULL;
  int32_t token = model.n < n_prompt ? prompt_tokens[model.n] : 0;
  show_weights(1);
  const char *error = model.n < n_prompt ? dreams_read(&model, &token, 1) : dreams_next(&model, NULL, &token);
  show_weights(0);
  if (error || token < 0) return NULL;
  word[model.n > 1 ? dreams_text(&model, token, word, sizeof word - 1) : 0] = '\0';
  return word;
}
/* The text so far once more, with a receipt. */
EXPORT(dreams_receipt) const char *dreams_receipt(void) {
  static int32_t tokens[DREAMS_CONTEXT];
  char prompt[16];
  const int32_t n = model.n;
  memcpy(tokens, model.tokens, sizeof tokens);
  snprintf(prompt, sizeof prompt, "%d", (int)n_prompt);
  const char *error = begin_receipt("dreams", dreams_source, DREAMS_LAYERS);
  if (*error) return error;
  heed_receipt_setting(&receipt, "prompt", prompt);
  dreams_restart(&model);
  model.see = heed_receipt_see, model.see_user = &receipt;
  error = dreams_read(&model, tokens, n_prompt);
  for (int32_t t = n_prompt; t < n && !error; ++t) error = dreams_read(&model, tokens + t, 1);
  model.see = NULL;
  for (int32_t t = 0; t < n; ++t) heed_receipt_token(&receipt, t, tokens[t]);
  heed_receipt_end(&receipt);
  return error ? error : "";
}
EXPORT(dreams_given) int32_t dreams_given(void) { return n_prompt; }
EXPORT(dreams_weights) const float *dreams_weights(void) {
  return rows[0][0];
} /* of the last token: (layers, heads, dreams_row) */
EXPORT(dreams_row) int32_t dreams_row(void) { return DREAMS_CONTEXT; }
EXPORT(dreams_token) int32_t dreams_token(int32_t i) { return model.tokens[i]; }
#endif
EXPORT(kwt_frames) int32_t kwt_frames(void) { return KWT_N_FRAMES; }
EXPORT(kwt_blocks) int32_t kwt_blocks(void) { return KWT_N_BLOCKS; }
