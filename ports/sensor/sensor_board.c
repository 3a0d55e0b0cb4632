/* The network of sensor.h on a board: heed_sensor_floats RECORDING, heed_sensor_integers RECORDING. The debugger brings
 * the recording row by row: floats, or (with SENSOR_BOARD_INTEGERS) int16 that sensor_weights --rows wrote. The weights
 * are part of the program. Prints one JSON object; "bits" are what heed_sensor --bits prints on a PC.
 * SPDX-License-Identifier: MIT */
#include "board.h"

#ifdef SENSOR_BOARD_INTEGERS
#include "sensor_int.h"
typedef sensor_int network;
typedef sensor_int_result network_result;
typedef int16_t number;
#define network_start sensor_int_start
#define network_row sensor_int_row
#define network_finish sensor_int_finish
#define network_weights sensor_int_weights
#else
#include "sensor.h"
typedef sensor network;
typedef sensor_result network_result;
typedef float number;
#define network_start sensor_start
#define network_row sensor_row
#define network_finish sensor_finish
#define network_weights sensor_weights
#endif

#ifdef BOARD_RECEIPT
#define BOARD_LAYERS_MOST SENSOR_N_LAYERS
#include "receipt_board.h"
#ifdef SENSOR_BOARD_INTEGERS
#define receipt_program "sensor-int"
#define receipt_arithmetic HEED_ARITHMETIC_INTEGERS
#define receipt_see heed_receipt_see_int
#define receipt_input heed_receipt_input_16
#else
#define receipt_program "sensor"
#define receipt_arithmetic heed_isa_arithmetic(heed_isa_current())
#define receipt_see heed_receipt_see
#define receipt_input heed_receipt_input_32
#endif
#endif

extern const uint32_t sensor_weights_words[sizeof(network_weights) / sizeof(uint32_t)];
static network net;
static number row[SENSOR_ROW];
static heed_clock clock;
static uint64_t in_rows, in_layers; /* what the clock counted */

/* The debugger takes no time here. */
static sensor_status run(const char *path, network_result *result) {
  sensor_status status = network_start(&net, sensor_weights_words, sizeof sensor_weights_words);
#ifdef BOARD_RECEIPT
  static heed_receipt_stream rows;
  const char *const fault = board_receipt_begin(receipt_program, sensor_weights_words, sizeof sensor_weights_words,
                                                SENSOR_N_LAYERS, receipt_arithmetic);
  if (fault != NULL) {
    board_fail("the receipt", fault);
    return SENSOR_NOT_READY;
  }
  heed_receipt_input_begin(&board_receipt, &rows);
  net.see = receipt_see, net.see_user = &board_receipt;
#endif
  for (int32_t i = 0; i < SENSOR_N_ROWS && status == SENSOR_OK; ++i) {
    if (port_read_part(path, (size_t)i * sizeof row, row, sizeof row)) return SENSOR_WRONG_COUNT;
    const uint64_t start = clock.read();
    status = network_row(&net, row);
#ifdef BOARD_RECEIPT
    receipt_input(&board_receipt, &rows, row, SENSOR_ROW);
#endif
    in_rows += clock.read() - start;
  }
  const uint64_t start = clock.read();
  if (status == SENSOR_OK) status = network_finish(&net, result);
  in_layers = clock.read() - start;
#ifdef BOARD_RECEIPT
  heed_receipt_input_end(&board_receipt, &rows, "rows");
  if (status == SENSOR_OK) heed_receipt_end(&board_receipt);
#endif
  return status;
}

#ifdef SENSOR_BOARD_INTEGERS
static void write_bits(const network_result *result) {
  for (int c = 0; c < SENSOR_N_CLASSES; ++c) port_write(" "), port_write_hex((uint32_t)result->distances[c]);
  for (int i = 0; i < SENSOR_DIM; ++i) port_write(" "), port_write_hex((uint32_t)(int32_t)result->embedding[i]);
  port_write("\""), board_text("arithmetic", "integers");
}
#else
static void write_bits(const network_result *result) {
  for (int c = 0; c < SENSOR_N_CLASSES; ++c) port_write(" "), board_bits(result->distances[c]);
  for (int i = 0; i < SENSOR_DIM; ++i) port_write(" "), board_bits(result->embedding[i]);
  port_write("\""), board_arithmetic();
}
#endif

int main(void) {
  static char path[128];
  network_result result;
  port_arguments(path, sizeof path);
  clock = heed_clock_start();
  port_paint_stack();
  const sensor_status status = run(path, &result);
  const size_t stack_bytes = port_painted_stack_used();
  if (status == SENSOR_HEED_FAILED) return board_fail(heed_status_argument(net.failure), heed_status_text(net.failure));
  if (status != SENSOR_OK) return board_fail(path, sensor_status_text(status));
  port_write("{\"bits\":\""), port_write_int(result.nearer), write_bits(&result);
  board_clock(&clock);
  board_count("rows", in_rows);
  board_count("layers", in_layers);
  board_end(&clock, stack_bytes);
  return 0;
}
