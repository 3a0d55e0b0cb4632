/* What one call takes on a board, for a reader who plans: plan.sh compiles this program once for each of
 *   ATTENTION    heed_self_attention
 *   FLOAT_LAYER  heed_transformer_layer_run, layer norm and gelu, weights in f32
 *   INT_LAYER    heed_int_layer_run
 * and with FLASH as a program that is linked and never run: nothing but that call. Otherwise it prints lines
 *   plan SHAPE MEMORY BYTES INSTRUCTIONS     and    stack BYTES
 * SPDX-License-Identifier: MIT */
#include "clock.h"
#include "heed/heed.h"
#include "heed/integers.h"
#include "port.h"

typedef struct shape {
  const char *name;
  int32_t n, dim, n_heads, hidden;
} shape;

/* A window of a sensor, a small encoder, a layer of KWT-1. */
static const shape shapes[] = {{"24x16", 24, 16, 2, 32}, {"48x32", 48, 32, 2, 64}, {"98x64", 98, 64, 1, 256}};

#if defined(INT_LAYER)
typedef int16_t number;
enum { most_bytes = HEED_INT_LAYER_BYTES(98, 64, 1, 1, 64, 256, 0) };
static int8_t matrix[64 * 256];
static int32_t biases[256];
static heed_multiplier multipliers[4][256]; /* of a product, by its outputs: see heed_int_layer */
static int8_t activation[256];
static heed_int_layer layer;
static size_t least(const shape *s) { return heed_int_layer_min_bytes(&layer, s->n); }
static size_t full(const shape *s) { return heed_int_layer_bytes(&layer, s->n); }
#elif defined(FLOAT_LAYER)
typedef float number;
enum { most_bytes = HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(98, 64, 1, 1, 64, 64, 256, 0) };
static float matrix[64 * 256];
static heed_attention_layer attention;
static heed_transformer_layer layer;
static size_t least(const shape *s) { return heed_transformer_layer_min_bytes(&layer, s->n); }
static size_t full(const shape *s) { return heed_transformer_layer_bytes(&layer, s->n); }
#else
typedef float number;
enum { most_bytes = HEED_WORKSPACE_BYTES(64, 64) };
static number y[98 * 64];
static size_t least(const shape *s) { return heed_workspace_min_bytes(s->dim, s->dim); }
static size_t full(const shape *s) { return heed_workspace_bytes(s->dim, s->dim); }
#endif
static number x[98 * 64];
HEED_ALIGNED static unsigned char memory[most_bytes];

/* x and y are as many numbers of a shape; a layer writes over x. */
static heed_status call(const shape *s, size_t bytes) {
  const heed_memory room = heed_memory_of(memory, bytes);
#if defined(INT_LAYER)
  return heed_int_layer_run(&layer, heed_int_matrix_of(x, HEED_INT16, s->n, s->dim, 0),
                            heed_int_matrix_out_of(x, HEED_INT16, s->n, s->dim, 0), room, NULL);
#elif defined(FLOAT_LAYER)
  return heed_transformer_layer_run(&layer, heed_matrix_of(x, s->n, s->dim), heed_matrix_out_of(x, s->n, s->dim), room,
                                    NULL);
#else
  return heed_self_attention(heed_matrix_of(x, s->n, s->dim), HEED_SCALE_DEFAULT, heed_matrix_out_of(y, s->n, s->dim),
                             room);
#endif
}

/* One matrix serves all projections: what they compute does not matter here, and memory is short. */
static void make_layer(const shape *s) {
#if defined(INT_LAYER)
  const heed_multiplier one = {0x40000000, 1}, half = {0x40000000, 0};
  const heed_weights to_heads = heed_weights_of(matrix, NULL, HEED_INT8, HEED_OUT_IN, s->dim, s->dim);
  const heed_weights up = heed_weights_of(matrix, NULL, HEED_INT8, HEED_OUT_IN, s->dim, s->hidden);
  const heed_weights down = heed_weights_of(matrix, NULL, HEED_INT8, HEED_OUT_IN, s->hidden, s->dim);
  const heed_int_norm norm = {biases, NULL, 16, 1};
  for (int32_t i = 0; i < 256; i++) {
    biases[i] = 30 << 16;
    for (int32_t kind = 0; kind < 4; kind++) multipliers[kind][i].m = 0x40000000 + (i << 16);
    multipliers[0][i].e = -8, multipliers[1][i].e = -4, multipliers[2][i].e = -8, multipliers[3][i].e = -4;
  }
  layer = heed_int_layer_default(s->dim, s->n_heads, s->hidden, heed_int_layer_norm);
  layer.norm_first = 1;
  layer.wq.w = layer.wk.w = layer.wv.w = layer.wo.w = to_heads, layer.w_up.w = up, layer.w_down.w = down;
  layer.wq.multipliers = layer.wk.multipliers = layer.wv.multipliers = multipliers[0];
  layer.wo.multipliers = multipliers[1], layer.w_up.multipliers = multipliers[2];
  layer.w_down.multipliers = multipliers[3];
  layer.norm1 = layer.norm2 = norm;
  layer.activation = activation;
  layer.score.m = 0x40000000, layer.score.e = -12, layer.value = one;
  layer.of_x = layer.of_attention = layer.of_a = layer.of_hidden = half;
#elif defined(FLOAT_LAYER)
  attention = heed_attention_layer_default(s->dim, s->n_heads);
  attention.wq = heed_weights_of(matrix, NULL, HEED_F32, HEED_IN_OUT, s->dim, s->dim);
  attention.wk = attention.wv = attention.wo = attention.wq;
  layer = heed_transformer_layer_default(&attention, s->hidden, heed_layer_norm, heed_gelu);
  layer.norm_first = 1;
  layer.w_up = heed_weights_of(matrix, NULL, HEED_F32, HEED_IN_OUT, s->dim, s->hidden);
  layer.w_down = heed_weights_of(matrix, NULL, HEED_F32, HEED_IN_OUT, s->hidden, s->dim);
#else
  (void)s;
#endif
}

#ifdef FLASH

int start(void);
int start(void) {
  make_layer(&shapes[2]);
  return call(&shapes[2], most_bytes);
}

#else

static uint32_t state;

/* A number of [-1, 1), in units of a type's own. */
static int32_t next(void) {
  state = state * 1664525u + 1013904223u;
  return (int32_t)(state >> 16) - 32768;
}

static void fill(void) {
  state = 1;
  for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
#ifdef INT_LAYER
    x[i] = (int16_t)(next() / 8);
#else
    x[i] = (float)next() / 32768;
#endif
  }
#ifdef INT_LAYER
  for (size_t i = 0; i < sizeof matrix; i++) matrix[i] = (int8_t)(next() / 256);
  for (int32_t i = 0; i < 256; i++) activation[i] = (int8_t)(i < 128 ? 0 : i - 128);
#elif defined(FLOAT_LAYER)
  for (size_t i = 0; i < sizeof matrix / sizeof *matrix; i++) matrix[i] = (float)next() / 262144;
#endif
}

static size_t most_stack;

static int measure(const heed_clock *clock, const shape *s, const char *name, size_t bytes) {
  fill();
  port_paint_stack();
  const heed_status status = call(s, bytes);
  const size_t stack = port_painted_stack_used();
  if (stack > most_stack) most_stack = stack;
  if (status != HEED_OK) {
    port_write("refused: "), port_write(heed_status_argument(status)), port_write(": ");
    port_write(heed_status_text(status)), port_write("\n");
    return 1;
  }
  fill();
  const uint64_t before = clock->read();
  (void)call(s, bytes);
  const uint64_t after = clock->read();
  port_write("plan "), port_write(s->name), port_write(" "), port_write(name), port_write(" ");
  port_write_count(bytes, 1), port_write(" "), port_write_count(after - before, 1), port_write("\n");
  return 0;
}

int main(void) {
  const heed_clock clock = heed_clock_start();
  int failed = 0;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const shape *s = &shapes[i];
    make_layer(s);
    failed |= measure(&clock, s, "least", least(s));
    failed |= measure(&clock, s, "more", least(s) + 1024);
    failed |= measure(&clock, s, "full", full(s));
  }
  port_write("stack "), port_write_count(most_stack, 1), port_write("\nend\n");
  return failed;
}

#endif
