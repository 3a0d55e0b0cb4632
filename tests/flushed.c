/* Where subnormal numbers are flushed, every function has the bits that it has elsewhere, on every kernel; activations
 * also of numbers of every size. All self-tests pass. C99 and no test framework, so that it builds for any target. Exit
 * status: 0 if all is well, 1 if not. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "support/all_calls.h"
#include "support/flushing.h"

enum { n = 1 << 12 };
static float x[n], up[n], plain[n], found[n];
static float plain_a[calls_floats], plain_out[calls_floats],
    plain_weights[sizeof calls_weights / sizeof *calls_weights];
static int n_wrong;

static heed_status from_the_start(heed_status (*run)(void)) {
  calls_fill();
  memset(calls_out, 0, sizeof calls_out);
  memset(calls_weights, 0, sizeof calls_weights);
  memset(calls_workspace, 0, sizeof calls_workspace);
  memset(calls_buffer, 0, sizeof calls_buffer);
  return run();
}

/* A call's results, and those where subnormal numbers are flushed. They lie in calls_a of calls that work in place, whose
 * memory is calls_out. A self-test has its status. */
static void compare(const char *kernel, const char *name, heed_status (*run)(void)) {
  const uint32_t before = float_control();
  heed_status status[2];
  status[0] = from_the_start(run);
  memcpy(plain_a, calls_a, sizeof calls_a);
  memcpy(plain_out, calls_out, sizeof calls_out);
  memcpy(plain_weights, calls_weights, sizeof calls_weights);
  calls_fill();
  const int in_place = memcmp(plain_a, calls_a, sizeof calls_a) != 0;
  set_float_control(before | flush_bits);
  status[1] = from_the_start(run);
  set_float_control(before);
  if (status[0] == HEED_OK && status[1] == HEED_OK && memcmp(plain_a, calls_a, sizeof calls_a) == 0 &&
      (in_place || memcmp(plain_out, calls_out, sizeof calls_out) == 0) &&
      memcmp(plain_weights, calls_weights, sizeof calls_weights) == 0)
    return;
  printf("%s: %s differs; status %d, flushed %d\n", kernel, name, (int)status[0], (int)status[1]);
  n_wrong++;
}

/* Numbers of either sign and any size; what is subnormal, or whose half is, becomes 0. */
static void fill(uint32_t piece) {
  uint32_t bits = piece * n * 0x000ffffdu;
  for (int i = 0; i < n; i++, bits += 0x000ffffdu) {
    const uint32_t kept = (bits & 0x7fffffffu) < 0x03800000u ? bits & 0x80000000u : bits;
    memcpy(&x[i], &kept, sizeof kept);
    up[i] = 1.0f + (float)i * 0x1p-13f;
  }
}

static void activations(const char *kernel, heed_matrix other) {
  static const struct {
    const char *name;
    heed_activation *call;
  } functions[] = {{"gelu", heed_gelu}, {"gelu_tanh", heed_gelu_tanh}, {"silu", heed_silu},
                   {"relu", heed_relu}, {"tanh", heed_tanh},           {"sigmoid", heed_sigmoid}};
  const uint32_t before = float_control();
  for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
    heed_status status[2];
    status[0] = functions[f].call(heed_matrix_of(x, 1, n), other, heed_matrix_out_of(plain, 1, n), NULL);
    set_float_control(before | flush_bits);
    status[1] = functions[f].call(heed_matrix_of(x, 1, n), other, heed_matrix_out_of(found, 1, n), NULL);
    set_float_control(before);
    n_wrong += status[0] != HEED_OK || status[1] != HEED_OK;
    for (int i = 0; i < n; i++) {
      if (memcmp(&plain[i], &found[i], sizeof *plain) == 0 || x[i] != x[i] || plain[i] != plain[i]) continue;
      printf("%s: %s(%.9g) is %.9g, flushed %.9g\n", kernel, functions[f].name, x[i], plain[i], found[i]);
      n_wrong++;
      break;
    }
  }
}

int main(void) {
  if (!flush_bits) return puts("there is no mode that flushes subnormal numbers") < 0;
  for (int32_t i = 0; i < heed_isa_count(); i++) {
    const char *name = heed_isa_name(i);
    if (heed_isa_use(name) != HEED_OK) continue; /* a build with one fixed kernel */
    for (int c = 0; c < n_all_calls; c++) compare(name, all_calls[c].name, all_calls[c].run);
    for (uint32_t piece = 0; piece < 16; piece++) {
      fill(piece);
      activations(name, heed_no_matrix());
      activations(name, heed_matrix_of(up, 1, n));
    }
    printf("%s: %s\n", name, n_wrong ? "WRONG" : "the same bits");
  }
  if (!flushing_works()) n_wrong += puts("the mode that flushes subnormal numbers does not work here") >= 0;
  return n_wrong != 0;
}
