/* Keyword spotting on a board: heed_kwt WEIGHTS CLIP. WEIGHTS is what kwt_weights wrote, f32 or int8, CLIP a WAV file
 * of one second; both are read into external memory. On a product the weights lie in flash and the samples come from a
 * microphone. Prints one JSON object; "bits" are those of the confidence and of the 12 logits, the same as heed_kwt
 * --bits prints on a PC for the same arithmetic. With BOARD_RECEIPT it prints a receipt before. SPDX-License-Identifier: MIT */
#include "clock.h"
#include "kwt.h"
#include "kwt_board_files.h"
#include "port.h"
#ifdef BOARD_RECEIPT
#define BOARD_LAYERS_MOST KWT_N_BLOCKS
#include "receipt_board.h"
#endif

static unsigned char weights[KWT_WEIGHTS_BYTES(HEED_F32)] KWT_EXTERNAL;
static kwt_clip clip KWT_EXTERNAL;
static kwt net;
static heed_clock clock;

static uint32_t read_clock(void *user) {
  (void)user;
  return (uint32_t)clock.read();
}

/* Ticks of a clip's attention. Within heed_transformer_layer_run no clock looks: one of the 12 calls alone, after the
 * clip. */
static uint64_t attention_count(void) {
  const heed_memory workspace = heed_memory_of(net.memory + KWT_ACTIVATIONS, KWT_WORKSPACE_BYTES);
  const heed_attention call =
      heed_attention_of(net.x, net.x, net.x, KWT_N_TOKENS, KWT_N_TOKENS, 1, 1, KWT_DIM, net.memory, workspace);
  const uint64_t start = clock.read();
  heed_attention_run(&call);
  return KWT_N_BLOCKS * (clock.read() - start);
}

static void write_bits(float x) {
  const union {
    float number;
    uint32_t bits;
  } pun = {x};
  port_write_hex(pun.bits);
}

/* Hundredths of a percent. */
static void write_percent(const char *name, uint64_t part, uint64_t whole) {
  const uint64_t share = (part * 10000 + whole / 2) / whole;
  port_write(",\""), port_write(name), port_write("\":"), port_write_count(share / 100, 1);
  port_write("."), port_write_count(share % 100, 2);
}

static void write_result(const char *path, const kwt_result *heard, size_t stack_bytes) {
  uint64_t count = 0;
  for (int i = 0; i < KWT_N_STAGES; ++i) count += net.ticks[i];
  port_write("{\"clip\":\""), port_write(path);
  port_write("\",\"heard\":\""), port_write(kwt_label(heard->label)), port_write("\"");
  write_percent("confidence_percent", (uint64_t)(heard->confidence * 1e6f), 1000000);
  port_write(",\"bits\":\""), write_bits(heard->confidence);
  for (int i = 0; i < KWT_N_LABELS; ++i) port_write(" "), write_bits(heard->logits[i]);
  const int has_fma = heed_isa_arithmetic(heed_isa_current()) == HEED_ARITHMETIC_FMA;
  port_write("\",\"kernel\":\""), port_write(heed_isa_current());
  port_write("\",\"arithmetic\":\""), port_write(has_fma ? "fma" : "no-fma");
  port_write("\",\"clock\":\""), port_write(clock.name), port_write("\",\"unit\":\""), port_write(clock.unit);
  port_write("\",\"count\":"), port_write_count(count, 1);
  write_percent("sound_percent", net.ticks[KWT_STAGE_SOUND], count);
  write_percent("attention_percent", attention_count(), count);
  port_write(",\"stack_bytes\":"), port_write_count(stack_bytes, 1);
  port_write(clock.emulated ? ",\"emulated\":true}\n" : ",\"emulated\":false}\n");
}

int main(void) {
  static kwt_board_files files;
  kwt_result heard;
  if (kwt_read_files(&files, "heed_kwt", weights, sizeof weights, &clip)) return 1;
  kwt_status status = kwt_init(&net, weights, files.n_bytes);
  if (status != KWT_OK) return kwt_fail(files.weights_path, kwt_status_text(status));
  clock = heed_clock_start();
  net.clock = read_clock;
  port_paint_stack();
#ifdef BOARD_RECEIPT
  const char *fault =
      board_receipt_begin("kwt", weights, files.n_bytes, KWT_N_BLOCKS, heed_isa_arithmetic(heed_isa_current()));
  if (fault != NULL) return kwt_fail("the receipt", fault);
  heed_receipt_stream samples;
  heed_receipt_input_begin(&board_receipt, &samples);
  heed_receipt_input_16(&board_receipt, &samples, clip.samples, KWT_N_SAMPLES);
  heed_receipt_input_end(&board_receipt, &samples, "samples");
  net.see = heed_receipt_see, net.see_user = &board_receipt;
#endif
  status = kwt_run_int16(&net, clip.samples, KWT_N_SAMPLES, &heard);
#ifdef BOARD_RECEIPT
  if (status == KWT_OK) heed_receipt_end(&board_receipt);
#endif
  const size_t stack_bytes = port_painted_stack_used();
  if (status == KWT_HEED_FAILED) return kwt_fail(heed_status_argument(net.failure), heed_status_text(net.failure));
  if (status != KWT_OK) return kwt_fail(files.clip_path, kwt_status_text(status));
  write_result(files.clip_path, &heard, stack_bytes);
  return 0;
}
