/* What JavaScript calls: flat functions over heed.h. SPDX-License-Identifier: MIT */
#include "heed.h"

#define EXPORT(name) __attribute__((export_name(#name)))

EXPORT(version) const char *version(void) { return heed_version(); }
EXPORT(kernel) const char *kernel(void) { return heed_isa_current(); }
EXPORT(fault) const char *fault(heed_status status) { return heed_status_text(status); }
EXPORT(argument) const char *argument(heed_status status) { return heed_status_argument(status); }

/* The kernel against the reference and known answers; workspace of selftest_bytes(). */
EXPORT(selftest_bytes) size_t selftest_bytes(void) { return HEED_SELFTEST_BYTES; }
EXPORT(selftest) heed_status selftest(void *workspace) {
  heed_selftest_report report = heed_selftest_report_default();
  return heed_selftest(heed_memory_of(workspace, HEED_SELFTEST_BYTES), &report);
}

EXPORT(default_scale) float default_scale(void) { return HEED_SCALE_DEFAULT; }
EXPORT(attention_bytes) size_t attention_bytes(int32_t head_dim) { return heed_workspace_bytes(head_dim, head_dim); }
/* q and out (n_q, n_heads, head_dim), k and v (n_kv, n_kv_heads, head_dim), weights null or (n_heads, n_q, n_kv). */
EXPORT(attention)
heed_status attention(const float *q, const float *k, const float *v, float *out, float *weights, int32_t n_q,
                      int32_t n_kv, int32_t n_heads, int32_t n_kv_heads, int32_t head_dim, int32_t causal, float scale,
                      void *workspace) {
  heed_attention call = heed_attention_of(q, k, v, n_q, n_kv, n_heads, n_kv_heads, head_dim, out,
                                          heed_memory_of(workspace, heed_workspace_bytes(head_dim, head_dim)));
  heed_options options = heed_options_default();
  heed_attention_weights all;
  call.causal = causal;
  call.scale = scale;
  if (weights) {
    const heed_status status = heed_attention_weights_init(&all, heed_head_major_out(weights, n_q, n_heads, n_kv));
    if (status != HEED_OK) return status;
    options.weights = &all;
    call.options = &options;
  }
  return heed_attention_run(&call);
}
