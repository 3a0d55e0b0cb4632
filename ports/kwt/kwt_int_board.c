/* Keyword spotting in integers on a board: heed_kwt_int WEIGHTS CLIP. WEIGHTS is what `heed_calibrate kwt` wrote, CLIP a WAV
 * file of one second; both are read into external memory. On a product the weights lie in flash and the samples come from a
 * microphone. Prints one JSON object; "logits" are what heed_kwt_int --bits prints on a PC. SPDX-License-Identifier: MIT */
#include "clock.h"
#include "kwt_int.h"
#include "kwt_board_files.h"
#include "port.h"

enum { max_weights = 786432 };

static unsigned char weights[max_weights] KWT_EXTERNAL;
static kwt_clip clip KWT_EXTERNAL;
static kwt_int net;
static heed_clock clock;

static uint32_t read_clock(void *user) {
  (void)user;
  return (uint32_t)clock.read();
}

static void write_result(const char *path, const kwt_int_result *heard, size_t stack_bytes) {
  static const char *const stages[KWT_N_STAGES] = {"sound", "blocks", "label"};
  uint64_t count = 0;
  port_write("{\"clip\":\""), port_write(path);
  port_write("\",\"heard\":\""), port_write(kwt_label(heard->label));
  port_write("\",\"logits\":\"");
  for (int i = 0; i < KWT_N_LABELS; ++i) port_write(i ? " " : ""), port_write_int(heard->logits[i]);
  port_write("\",\"kernel\":\""), port_write(heed_int_isa_current());
  port_write("\",\"clock\":\""), port_write(clock.name), port_write("\",\"unit\":\""), port_write(clock.unit);
  for (int i = 0; i < KWT_N_STAGES; ++i) {
    count += net.ticks[i];
    port_write(i ? ",\"" : "\",\""), port_write(stages[i]), port_write("\":"), port_write_count(net.ticks[i], 1);
  }
  port_write(",\"count\":"), port_write_count(count, 1);
  port_write(",\"ram_bytes\":"), port_write_count(sizeof net, 1);
  port_write(",\"stack_bytes\":"), port_write_count(stack_bytes, 1);
  port_write(clock.emulated ? ",\"emulated\":true}\n" : ",\"emulated\":false}\n");
}

int main(void) {
  static kwt_board_files files;
  kwt_int_result heard;
  if (kwt_read_files(&files, "heed_kwt_int", weights, sizeof weights, &clip)) return 1;
  kwt_status status = kwt_int_init(&net, weights, files.n_bytes);
  if (status != KWT_OK) return kwt_fail(files.weights_path, kwt_status_text(status));
  clock = heed_clock_start();
  net.clock = read_clock;
  port_paint_stack();
  status = kwt_int_run(&net, clip.samples, KWT_N_SAMPLES, &heard);
  const size_t stack_bytes = port_painted_stack_used();
  if (status == KWT_HEED_FAILED) return kwt_fail(heed_status_argument(net.failure), heed_status_text(net.failure));
  if (status != KWT_OK) return kwt_fail(files.clip_path, kwt_status_text(status));
  write_result(files.clip_path, &heard, stack_bytes);
  return 0;
}
