/* Where subnormal numbers are flushed, all self-tests pass on every kernel, and activations of numbers of every size have
 * the bits that they have elsewhere. C99 and no test framework, so that it builds for any target. Exit status: 0 if all
 * is well, 1 if not. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "heed/heed.h"
#include "support/flushing.h"

enum { n = 1 << 12 };
HEED_MEMORY(memory, HEED_SELFTEST_BYTES);
static float x[n], up[n], plain[n], found[n];

static int n_wrong;
static void self_test(const char *kernel, const char *name, heed_status (*test)(heed_memory, heed_selftest_report *)) {
  heed_selftest_report report = heed_selftest_report_default();
  const heed_status status = test(memory, &report);
  if (status == HEED_OK) return;
  printf("%s: the %s is %d: %s of %s\n", kernel, name, (int)status, report.function, report.kernel);
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
  const uint32_t before = float_control();
  for (int32_t i = 0; i < heed_kernel_count(); i++) {
    const char *name = heed_kernel_name(i);
    if (heed_kernel_use(name) != HEED_OK) continue; /* a build with one fixed kernel */
    set_float_control(before | flush_bits);
    self_test(name, "self-test", heed_selftest);
    self_test(name, "self-test of features", heed_selftest_features);
    set_float_control(before);
    for (uint32_t piece = 0; piece < 16; piece++) {
      fill(piece);
      activations(name, heed_no_matrix());
      activations(name, heed_matrix_of(up, 1, n));
    }
    printf("%s: %s\n", name, n_wrong ? "WRONG" : "the same bits");
  }
  printf("subnormal numbers: %s\n", flushing_works() ? "flushed, as set" : "there is no mode that flushes them");
  return n_wrong != 0;
}
