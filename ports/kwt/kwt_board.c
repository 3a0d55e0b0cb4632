/* Keyword spotting on a board: heed_kwt WEIGHTS CLIP. WEIGHTS is what kwt_weights wrote, f32 or int8, CLIP a WAV file
 * of one second; both are read into external memory. On a product the weights lie in flash and the samples come from a
 * microphone. Prints one JSON object; "bits" are those of the confidence and of the 12 logits, the same as heed_kwt
 * --bits prints on a PC for the same arithmetic. With BOARD_RECEIPT it prints a receipt before.
 * With KWT_BOARD_INTEGERS the same in integers: heed_kwt_int WEIGHTS CLIP. WEIGHTS is what `heed_calibrate kwt` wrote, and "logits" are
 * what heed_kwt_int --bits prints. SPDX-License-Identifier: MIT */
#include "board.h"

#ifdef KWT_BOARD_INTEGERS
#include "kwt_int.h"
typedef kwt_int network;
typedef kwt_int_result network_result;
#define network_init kwt_int_init
#define network_run kwt_int_run
#define usage "usage: heed_kwt_int WEIGHTS CLIP\n"
enum { max_weights = 786432 };
#else
#include "kwt.h"
typedef kwt network;
typedef kwt_result network_result;
#define network_init kwt_init
#define network_run kwt_run_int16
#define usage "usage: heed_kwt WEIGHTS CLIP\n"
enum { max_weights = KWT_WEIGHTS_BYTES(HEED_F32) };
#endif

#ifdef BOARD_RECEIPT
#define BOARD_LAYERS_MOST KWT_N_BLOCKS
#include "receipt_board.h"
#endif

static unsigned char weights[max_weights] BOARD_EXTERNAL;
static unsigned char file[2 * KWT_N_SAMPLES + 4096] BOARD_EXTERNAL;
static int16_t samples[KWT_N_SAMPLES] BOARD_EXTERNAL;
static network net;
static heed_clock clock;

static uint32_t read_clock(void *user) {
  (void)user;
  return (uint32_t)clock.read();
}

static uint64_t count_all(void) {
  uint64_t count = 0;
  for (int i = 0; i < KWT_N_STAGES; ++i) count += net.ticks[i];
  return count;
}

#ifdef KWT_BOARD_INTEGERS
static void write_result(const network_result *heard) {
  static const char *const stages[KWT_N_STAGES] = {"sound", "blocks", "label"};
  port_write(",\"logits\":\"");
  for (int i = 0; i < KWT_N_LABELS; ++i) port_write(i ? " " : ""), port_write_int(heard->logits[i]);
  port_write("\""), board_text("kernel", heed_int_isa_current()), board_clock(&clock);
  for (int i = 0; i < KWT_N_STAGES; ++i) board_count(stages[i], net.ticks[i]);
  board_count("count", count_all());
  board_count("ram_bytes", sizeof net);
}
#else
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

/* Hundredths of a percent. */
static void write_percent(const char *name, uint64_t part, uint64_t whole) {
  const uint64_t share = (part * 10000 + whole / 2) / whole;
  board_count(name, share / 100);
  port_write("."), port_write_count(share % 100, 2);
}

static void write_result(const network_result *heard) {
  write_percent("confidence_percent", (uint64_t)(heard->confidence * 1e6f), 1000000);
  port_write(",\"bits\":\""), board_bits(heard->confidence);
  for (int i = 0; i < KWT_N_LABELS; ++i) port_write(" "), board_bits(heard->logits[i]);
  port_write("\""), board_kernel(), board_clock(&clock);
  board_count("count", count_all());
  write_percent("sound_percent", net.ticks[KWT_STAGE_SOUND], count_all());
  write_percent("attention_percent", attention_count(), count_all());
}
#endif

int main(void) {
  static char path[256];
  network_result heard;
  size_t n_samples = 0;
  port_arguments(path, sizeof path);
  const char *clip = board_after_word(path);
  if (!*clip) return port_write(usage), 1;
  const int32_t n_bytes = port_read_file(path, weights, sizeof weights);
  if (n_bytes < 0) return board_fail(path, "cannot be read, or is larger than KWT-1's weights");
  const char *fault = board_read_sound(clip, file, sizeof file, samples, KWT_N_SAMPLES, &n_samples);
  if (fault != NULL) return board_fail(clip, fault);
  kwt_status status = network_init(&net, weights, (size_t)n_bytes);
  if (status != KWT_OK) return board_fail(path, kwt_status_text(status));
  clock = heed_clock_start();
  net.clock = read_clock;
  port_paint_stack();
#ifdef BOARD_RECEIPT
  fault = board_receipt_begin("kwt", weights, (size_t)n_bytes, KWT_N_BLOCKS, heed_isa_arithmetic(heed_isa_current()));
  if (fault != NULL) return board_fail("the receipt", fault);
  heed_receipt_stream stream;
  heed_receipt_input_begin(&board_receipt, &stream);
  heed_receipt_input_16(&board_receipt, &stream, samples, KWT_N_SAMPLES);
  heed_receipt_input_end(&board_receipt, &stream, "samples");
  net.see = heed_receipt_see, net.see_user = &board_receipt;
#endif
  status = network_run(&net, samples, n_samples, &heard);
#ifdef BOARD_RECEIPT
  if (status == KWT_OK) heed_receipt_end(&board_receipt);
#endif
  const size_t stack_bytes = port_painted_stack_used();
  if (status == KWT_HEED_FAILED) return board_fail(heed_status_argument(net.failure), heed_status_text(net.failure));
  if (status != KWT_OK) return board_fail(clip, kwt_status_text(status));
  port_write("{\"clip\":\""), port_write(clip), port_write("\""), board_text("heard", kwt_label(heard.label));
  write_result(&heard);
  board_end(&clock, stack_bytes);
  return 0;
}
