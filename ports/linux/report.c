/* Prints what heed_selftest and heed_int_selftest found. SPDX-License-Identifier: MIT */
#include "demo.h"

#include <heed/heed.h>
#include <heed/integers.h>
#include <stdio.h>

static int failed(heed_status status, const heed_selftest_report *report) {
  printf("self-test failed: %s (%s)\n", heed_status_text(status), heed_status_argument(status));
  if (report->kernel)
    printf("first difference: kernel %s and %s, %s, case %d, number %d: expected bits %08x, got %08x\n", report->kernel,
           report->compared_with, report->function, report->case_index, report->float_index, report->expected_bits,
           report->actual_bits);
  return 1;
}

int demo_selftest(void) {
  HEED_MEMORY(memory, HEED_SELFTEST_BYTES);
  heed_selftest_report report = heed_selftest_report_default();
  printf("heed %s, kernels that this processor can run, best first:\n", heed_version());
  for (int32_t i = 0; i < heed_isa_count(); ++i) {
    const char *name = heed_isa_name(i);
    const int has_fma = heed_isa_arithmetic(name) == HEED_ARITHMETIC_FMA;
    printf("  %-16s %s\n", name, has_fma ? "fused multiply-add" : "product, then sum");
  }
  fflush(stdout); /* what follows takes long on a slow processor */
  heed_status status = heed_selftest(memory, &report);
  if (status != HEED_OK) return failed(status, &report);
  printf(
      "all equal to the scalar reference of their arithmetic: %d kernels x %d cases, %u floats compared bit by bit\n",
      report.n_kernels, report.n_cases, report.n_floats);

  printf("kernels of integers:\n");
  const char *const current = heed_int_isa_current();
  for (int32_t i = 0; i < heed_int_isa_count() && status == HEED_OK; ++i) {
    heed_int_isa_use(heed_int_isa_name(i));
    status = heed_int_selftest(memory, &report);
    if (status == HEED_OK)
      printf("  %-16s equal to plain loops: %d cases, %u numbers\n", heed_int_isa_current(), report.n_cases,
             report.n_floats);
  }
  heed_int_isa_use(current);
  return status == HEED_OK ? 0 : failed(status, &report);
}
