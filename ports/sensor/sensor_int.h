/* The network of sensor.h in integers: the same bits on every processor, with an FPU or without. Rows are int16 in
 * units of 2^-10 (SENSOR_ROW_BITS), so they reach from -32 to 32. No number is ever a float. SPDX-License-Identifier: MIT
 *
 * Memory: SENSOR_INT_RAM_BYTES (10,240 on a Cortex-M) and 19.5 KB of weights, read in place.
 */
#ifndef HEED_SENSOR_INT_H
#define HEED_SENSOR_INT_H

#include "sensor_weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of a layer that are computed together. More take memory and change no bit; define it alike for sensor_int.c and
 * every file that includes this header. */
#ifndef SENSOR_INT_PIECE
#define SENSOR_INT_PIECE 4
#endif
#define SENSOR_INT_LAYER_BYTES                                                                                       \
  (HEED_INT_LAYER_MIN_BYTES(SENSOR_N_TOKENS, SENSOR_DIM, SENSOR_N_HEADS, SENSOR_N_HEADS, SENSOR_HEAD, SENSOR_HIDDEN, \
                            0) +                                                                                     \
   (SENSOR_INT_PIECE - 1) * HEED_INT_LAYER_SIZE_OF_ROW(SENSOR_DIM, SENSOR_N_HEADS, SENSOR_HEAD, SENSOR_HIDDEN, 0))

/* Takes rows of a layer as they are computed, from row `first` on. Layer SENSOR_N_LAYERS: the embedding. heed_receipt_see_int is one. */
typedef void sensor_int_see(void *user, int32_t layer, int64_t first, heed_int_matrix rows);

/* The network's memory. Fields but failure, see and see_user are private. */
typedef struct sensor_int {
  const sensor_int_weights *weights; /* null: not ready */
  int32_t n_rows;                    /* that came so far */
  heed_status failure;               /* why the last recording returned SENSOR_HEED_FAILED */
  sensor_int_see *see;               /* null, or set after sensor_int_start */
  void *see_user;
  heed_int_layer layer; /* here and not on the stack, which is small */
  HEED_ALIGNED int16_t x[SENSOR_N_TOKENS * SENSOR_DIM];
  /* Of a layer; before the layers: a norm's weights, and a row on its way. */
  HEED_ALIGNED int8_t memory[SENSOR_INT_LAYER_BYTES];
  int16_t y[SENSOR_DIM]; /* of the last layer only row 0 is computed */
} sensor_int;
#define SENSOR_INT_RAM_BYTES sizeof(sensor_int)

typedef struct sensor_int_result {
  int32_t nearer;                       /* the class: 0 or 1 */
  uint64_t distances[SENSOR_N_CLASSES]; /* squared, from the prototypes: in units of 2^-24 */
  int16_t embedding[SENSOR_DIM];        /* in units of 2^-12 (SENSOR_EMBEDDING_BITS) */
} sensor_int_result;

/* As sensor_start, sensor_row and sensor_finish, without NOT_FINITE.
 * Error: the embedding within 0.02 of exact arithmetic of the weights as floats, as seen with the published recordings.
 */
sensor_status sensor_int_start(sensor_int *net, const void *weights, size_t n_bytes);
sensor_status sensor_int_row(sensor_int *net, const int16_t row[SENSOR_ROW]);
sensor_status sensor_int_finish(sensor_int *net, sensor_int_result *result);

#ifdef __cplusplus
}
#endif

#endif
