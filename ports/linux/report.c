/* Prints what heed_selftest found. SPDX-License-Identifier: MIT */
#include "demo.h"

#include <heed/heed.h>
#include <stdio.h>

int demo_selftest(void) {
  HEED_MEMORY(memory, HEED_SELFTEST_BYTES);
  heed_selftest_report report = heed_selftest_report_default();
  const heed_status status = heed_selftest(memory, &report);

  printf("heed %s, kernels that this processor can run, best first:\n", heed_version());
  for (int32_t i = 0; i < heed_kernel_count(); ++i) {
    const char *name = heed_kernel_name(i);
    const int fused = heed_kernel_profile(name) == HEED_PROFILE_FUSED;
    printf("  %-16s %s\n", name, fused ? "fused multiply-add" : "product, then sum");
  }
  if (status == HEED_OK) {
    printf("all equal to the scalar reference of their profile: %d kernels x %d cases, %u floats compared bit by bit\n",
           report.n_kernels, report.n_cases, report.n_floats);
    return 0;
  }
  printf("self-test failed: %s (%s)\n", heed_status_text(status), heed_status_argument(status));
  if (report.kernel)
    printf("first difference: kernel %s and %s, %s, case %d, float %d: expected bits %08x, got %08x\n", report.kernel,
           report.compared_with, report.function, report.case_index, report.float_index, report.expected_bits,
           report.actual_bits);
  return 1;
}
