/* Keyword spotting in integers on a board: heed_kwt_int WEIGHTS CLIP. WEIGHTS is what `heed_calibrate kwt` wrote, CLIP a WAV
 * file of one second; both are read into external memory. On a product the weights lie in flash and the samples come from a
 * microphone. Prints one JSON object; "logits" are what heed_kwt_int --bits prints on a PC. SPDX-License-Identifier: MIT */
#include "clock.h"
#include "kwt_int.h"
#include "port.h"

/* The WAV header that every recorder writes: PCM, mono, 16 kHz, 16 bits, one second. */
enum { header_bytes = 44, max_weights = 786432 };
typedef struct wav {
  unsigned char header[header_bytes];
  int16_t samples[KWT_N_SAMPLES];
} wav;

#define EXTERNAL __attribute__((section(".external"), aligned(64)))
static unsigned char weights[max_weights] EXTERNAL;
static wav clip EXTERNAL;
static kwt_int net;
static heed_clock clock;

static uint32_t read_clock(void *user) {
  (void)user;
  return (uint32_t)clock.read();
}

static int fail(const char *what, const char *why) {
  port_write(what), port_write(": "), port_write(why), port_write("\n");
  return 1;
}

static int is_wav(const wav *file) {
  static const unsigned char format[] = {'W', 'A', 'V', 'E', 'f', 'm', 't', ' ', 16, 0, 0,  0, 1,   0,   1,   0,
                                         128, 62,  0,   0,   0,   125, 0,   0,   2,  0, 16, 0, 'd', 'a', 't', 'a'};
  for (size_t i = 0; i < sizeof format; ++i)
    if (file->header[8 + i] != format[i]) return 0;
  return file->header[0] == 'R' && file->header[1] == 'I';
}

static void write_result(const char *path, const kwt_int_result *heard, size_t stack_bytes) {
  static const char *const stages[KWT_N_STAGES] = {"sound", "blocks", "label"};
  uint64_t count = 0;
  port_write("{\"clip\":\""), port_write(path);
  port_write("\",\"heard\":\""), port_write(kwt_label(heard->label));
  port_write("\",\"logits\":\"");
  for (int i = 0; i < KWT_N_LABELS; ++i) port_write(i ? " " : ""), port_write_int(heard->logits[i]);
  port_write("\",\"kernel\":\""), port_write(heed_int_kernel_current());
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
  static char weights_path[256];
  kwt_int_result heard;
  port_arguments(weights_path, sizeof weights_path);
  char *clip_path = weights_path;
  while (*clip_path && *clip_path != ' ') ++clip_path;
  if (!*clip_path) return fail("usage", "heed_kwt_int WEIGHTS CLIP");
  *clip_path++ = '\0';
  const int32_t n_bytes = port_read_file(weights_path, weights, sizeof weights);
  if (n_bytes < 0) return fail(weights_path, "cannot be read, or is larger than KWT-1's weights");
  if (port_read_file(clip_path, &clip, sizeof clip) != (int32_t)sizeof clip || !is_wav(&clip))
    return fail(clip_path, "cannot be read, or is not a WAV file of one second, mono, 16 kHz, 16 bits");
  kwt_status status = kwt_int_init(&net, weights, (size_t)n_bytes);
  if (status != KWT_OK) return fail(weights_path, kwt_status_text(status));
  clock = heed_clock_start();
  net.clock = read_clock;
  port_paint_stack();
  status = kwt_int_run(&net, clip.samples, KWT_N_SAMPLES, &heard);
  const size_t stack_bytes = port_painted_stack_used();
  if (status == KWT_HEED_FAILED) return fail(heed_status_argument(net.failure), heed_status_text(net.failure));
  if (status != KWT_OK) return fail(clip_path, kwt_status_text(status));
  write_result(clip_path, &heard, stack_bytes);
  return 0;
}
