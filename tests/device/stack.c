/* Stack of every public function that returns a status, on a board: each call in all_calls.h is painted for by itself.
 * Prints "stack CALL: FUNCTION BYTES" and fails if one needs more than HEED_STACK_BYTES; bytes are all that lies below
 * the stack pointer of the instruction that calls. SPDX-License-Identifier: MIT */
#include "heed/heed.h"
#include "heed/integers.h"
#include "port.h"

#define FUNCTIONS(F)             \
  F(heed_dot)                    \
  F(heed_softmax)                \
  F(heed_weighted_sum)           \
  F(heed_attention_run)          \
  F(heed_self_attention)         \
  F(heed_attention_layer_run)    \
  F(heed_sequence_init)          \
  F(heed_sequence_append)        \
  F(heed_sequence_clear)         \
  F(heed_sequence_push)          \
  F(heed_sequence_attention)     \
  F(heed_isa_use)                \
  F(heed_selftest)               \
  F(heed_selftest_boot)          \
  F(heed_selftest_features)      \
  F(heed_ranges_init)            \
  F(heed_mask_init_boolean)      \
  F(heed_mask_init_additive)     \
  F(heed_softcap_init)           \
  F(heed_alibi_init)             \
  F(heed_sinks_init)             \
  F(heed_scores_init)            \
  F(heed_attention_weights_init) \
  F(heed_lse_init)               \
  F(heed_column_sums_init)       \
  F(heed_topk_weights_init)      \
  F(heed_partial_init)           \
  F(heed_partial_merge)          \
  F(heed_partial_finish)         \
  F(heed_cache_init)             \
  F(heed_cache_append)           \
  F(heed_cache_truncate)         \
  F(heed_cache_reset)            \
  F(heed_cache_save)             \
  F(heed_cache_load)             \
  F(heed_convert_from_f32)       \
  F(heed_convert_to_f32)         \
  F(heed_typed_tensors_init)     \
  F(heed_linear)                 \
  F(heed_weights_quantize)       \
  F(heed_weights_pack)           \
  F(heed_weights_open)           \
  F(heed_weights_add_checksum)   \
  F(heed_weights_check)          \
  F(heed_rms_norm)               \
  F(heed_layer_norm)             \
  F(heed_gelu)                   \
  F(heed_gelu_tanh)              \
  F(heed_silu)                   \
  F(heed_relu)                   \
  F(heed_gather_rows)            \
  F(heed_argmax)                 \
  F(heed_topk)                   \
  F(heed_sample)                 \
  F(heed_tanh)                   \
  F(heed_sigmoid)                \
  F(heed_group_norm)             \
  F(heed_mean_rows)              \
  F(heed_add)                    \
  F(heed_rope_init)              \
  F(heed_rope_apply)             \
  F(heed_transformer_layer_run)  \
  F(heed_int_attention_run)      \
  F(heed_int_partial_clear)      \
  F(heed_int_partial_merge)      \
  F(heed_int_partial_finish)     \
  F(heed_int_cache_init)         \
  F(heed_int_cache_append)       \
  F(heed_int_cache_append_f32)   \
  F(heed_int_cache_truncate)     \
  F(heed_int_cache_reset)        \
  F(heed_int_cache_save)         \
  F(heed_int_cache_load)         \
  F(heed_weights_in_integers)    \
  F(heed_int_linear)             \
  F(heed_int_add)                \
  F(heed_int_multiply)           \
  F(heed_int_rescale)            \
  F(heed_int_layer_norm)         \
  F(heed_int_rms_norm)           \
  F(heed_int_table)              \
  F(heed_int_lookup)             \
  F(heed_int_rope_run)           \
  F(heed_int_layer_run)          \
  F(heed_int_selftest)
#define NUMBER_OF(function) of_##function,
#define NAME_OF(function) #function,
enum { FUNCTIONS(NUMBER_OF) n_functions };
static const char *const names[n_functions] = {FUNCTIONS(NAME_OF)};
static size_t most[n_functions];

static heed_status note(int function, heed_status status) {
  const size_t used = port_painted_stack_used();
  if (used > most[function]) most[function] = used;
  return status;
}
/* A macro's own name is not expanded again, so each calls the function. */
#define MEASURED(function, ...) (port_paint_stack(), note(of_##function, function(__VA_ARGS__)))
#define heed_dot(...) MEASURED(heed_dot, __VA_ARGS__)
#define heed_softmax(...) MEASURED(heed_softmax, __VA_ARGS__)
#define heed_weighted_sum(...) MEASURED(heed_weighted_sum, __VA_ARGS__)
#define heed_attention_run(...) MEASURED(heed_attention_run, __VA_ARGS__)
#define heed_self_attention(...) MEASURED(heed_self_attention, __VA_ARGS__)
#define heed_attention_layer_run(...) MEASURED(heed_attention_layer_run, __VA_ARGS__)
#define heed_sequence_init(...) MEASURED(heed_sequence_init, __VA_ARGS__)
#define heed_sequence_append(...) MEASURED(heed_sequence_append, __VA_ARGS__)
#define heed_sequence_clear(...) MEASURED(heed_sequence_clear, __VA_ARGS__)
#define heed_sequence_push(...) MEASURED(heed_sequence_push, __VA_ARGS__)
#define heed_sequence_attention(...) MEASURED(heed_sequence_attention, __VA_ARGS__)
#define heed_isa_use(...) MEASURED(heed_isa_use, __VA_ARGS__)
#define heed_selftest(...) MEASURED(heed_selftest, __VA_ARGS__)
#define heed_selftest_boot(...) MEASURED(heed_selftest_boot, __VA_ARGS__)
#define heed_selftest_features(...) MEASURED(heed_selftest_features, __VA_ARGS__)
#define heed_ranges_init(...) MEASURED(heed_ranges_init, __VA_ARGS__)
#define heed_mask_init_boolean(...) MEASURED(heed_mask_init_boolean, __VA_ARGS__)
#define heed_mask_init_additive(...) MEASURED(heed_mask_init_additive, __VA_ARGS__)
#define heed_softcap_init(...) MEASURED(heed_softcap_init, __VA_ARGS__)
#define heed_alibi_init(...) MEASURED(heed_alibi_init, __VA_ARGS__)
#define heed_sinks_init(...) MEASURED(heed_sinks_init, __VA_ARGS__)
#define heed_scores_init(...) MEASURED(heed_scores_init, __VA_ARGS__)
#define heed_attention_weights_init(...) MEASURED(heed_attention_weights_init, __VA_ARGS__)
#define heed_lse_init(...) MEASURED(heed_lse_init, __VA_ARGS__)
#define heed_column_sums_init(...) MEASURED(heed_column_sums_init, __VA_ARGS__)
#define heed_topk_weights_init(...) MEASURED(heed_topk_weights_init, __VA_ARGS__)
#define heed_partial_init(...) MEASURED(heed_partial_init, __VA_ARGS__)
#define heed_partial_merge(...) MEASURED(heed_partial_merge, __VA_ARGS__)
#define heed_partial_finish(...) MEASURED(heed_partial_finish, __VA_ARGS__)
#define heed_cache_init(...) MEASURED(heed_cache_init, __VA_ARGS__)
#define heed_cache_append(...) MEASURED(heed_cache_append, __VA_ARGS__)
#define heed_cache_truncate(...) MEASURED(heed_cache_truncate, __VA_ARGS__)
#define heed_cache_reset(...) MEASURED(heed_cache_reset, __VA_ARGS__)
#define heed_cache_save(...) MEASURED(heed_cache_save, __VA_ARGS__)
#define heed_cache_load(...) MEASURED(heed_cache_load, __VA_ARGS__)
#define heed_convert_from_f32(...) MEASURED(heed_convert_from_f32, __VA_ARGS__)
#define heed_convert_to_f32(...) MEASURED(heed_convert_to_f32, __VA_ARGS__)
#define heed_typed_tensors_init(...) MEASURED(heed_typed_tensors_init, __VA_ARGS__)
#define heed_linear(...) MEASURED(heed_linear, __VA_ARGS__)
#define heed_weights_quantize(...) MEASURED(heed_weights_quantize, __VA_ARGS__)
#define heed_weights_pack(...) MEASURED(heed_weights_pack, __VA_ARGS__)
#define heed_weights_open(...) MEASURED(heed_weights_open, __VA_ARGS__)
#define heed_weights_add_checksum(...) MEASURED(heed_weights_add_checksum, __VA_ARGS__)
#define heed_weights_check(...) MEASURED(heed_weights_check, __VA_ARGS__)
#define heed_rms_norm(...) MEASURED(heed_rms_norm, __VA_ARGS__)
#define heed_layer_norm(...) MEASURED(heed_layer_norm, __VA_ARGS__)
#define heed_gelu(...) MEASURED(heed_gelu, __VA_ARGS__)
#define heed_gelu_tanh(...) MEASURED(heed_gelu_tanh, __VA_ARGS__)
#define heed_silu(...) MEASURED(heed_silu, __VA_ARGS__)
#define heed_relu(...) MEASURED(heed_relu, __VA_ARGS__)
#define heed_gather_rows(...) MEASURED(heed_gather_rows, __VA_ARGS__)
#define heed_argmax(...) MEASURED(heed_argmax, __VA_ARGS__)
#define heed_topk(...) MEASURED(heed_topk, __VA_ARGS__)
#define heed_sample(...) MEASURED(heed_sample, __VA_ARGS__)
#define heed_tanh(...) MEASURED(heed_tanh, __VA_ARGS__)
#define heed_sigmoid(...) MEASURED(heed_sigmoid, __VA_ARGS__)
#define heed_group_norm(...) MEASURED(heed_group_norm, __VA_ARGS__)
#define heed_mean_rows(...) MEASURED(heed_mean_rows, __VA_ARGS__)
#define heed_add(...) MEASURED(heed_add, __VA_ARGS__)
#define heed_rope_init(...) MEASURED(heed_rope_init, __VA_ARGS__)
#define heed_rope_apply(...) MEASURED(heed_rope_apply, __VA_ARGS__)
#define heed_transformer_layer_run(...) MEASURED(heed_transformer_layer_run, __VA_ARGS__)
#define heed_int_attention_run(...) MEASURED(heed_int_attention_run, __VA_ARGS__)
#define heed_int_partial_clear(...) MEASURED(heed_int_partial_clear, __VA_ARGS__)
#define heed_int_partial_merge(...) MEASURED(heed_int_partial_merge, __VA_ARGS__)
#define heed_int_partial_finish(...) MEASURED(heed_int_partial_finish, __VA_ARGS__)
#define heed_int_cache_init(...) MEASURED(heed_int_cache_init, __VA_ARGS__)
#define heed_int_cache_append(...) MEASURED(heed_int_cache_append, __VA_ARGS__)
#define heed_int_cache_append_f32(...) MEASURED(heed_int_cache_append_f32, __VA_ARGS__)
#define heed_int_cache_truncate(...) MEASURED(heed_int_cache_truncate, __VA_ARGS__)
#define heed_int_cache_reset(...) MEASURED(heed_int_cache_reset, __VA_ARGS__)
#define heed_int_cache_save(...) MEASURED(heed_int_cache_save, __VA_ARGS__)
#define heed_int_cache_load(...) MEASURED(heed_int_cache_load, __VA_ARGS__)
#define heed_weights_in_integers(...) MEASURED(heed_weights_in_integers, __VA_ARGS__)
#define heed_int_linear(...) MEASURED(heed_int_linear, __VA_ARGS__)
#define heed_int_add(...) MEASURED(heed_int_add, __VA_ARGS__)
#define heed_int_multiply(...) MEASURED(heed_int_multiply, __VA_ARGS__)
#define heed_int_rescale(...) MEASURED(heed_int_rescale, __VA_ARGS__)
#define heed_int_layer_norm(...) MEASURED(heed_int_layer_norm, __VA_ARGS__)
#define heed_int_rms_norm(...) MEASURED(heed_int_rms_norm, __VA_ARGS__)
#define heed_int_table(...) MEASURED(heed_int_table, __VA_ARGS__)
#define heed_int_lookup(...) MEASURED(heed_int_lookup, __VA_ARGS__)
#define heed_int_rope_run(...) MEASURED(heed_int_rope_run, __VA_ARGS__)
#define heed_int_layer_run(...) MEASURED(heed_int_layer_run, __VA_ARGS__)
#define heed_int_selftest(...) MEASURED(heed_int_selftest, __VA_ARGS__)

#define CALLS_ON_BOARD
#include "support/all_calls.h"

int main(void) {
  int faults = 0;
  for (int c = 0; c < n_all_calls; c++) {
    calls_fill(); /* what one call writes is another's input, and may have become too large for int8 */
    for (int f = 0; f < n_functions; f++) most[f] = 0;
    const heed_status status = all_calls[c].run();
    if (status != HEED_OK) {
      port_write(all_calls[c].name);
      port_write(" is refused: ");
      port_write(heed_status_argument(status));
      port_write(": ");
      port_write(heed_status_text(status));
      port_write("\n");
      faults++;
    }
    for (int f = 0; f < n_functions; f++) {
      if (most[f] == 0) continue;
      port_write("stack ");
      port_write(all_calls[c].name);
      port_write(": ");
      port_write(names[f]);
      port_write(" ");
      port_write_int((int32_t)most[f]);
      port_write(most[f] > HEED_STACK_BYTES ? " TOO MUCH\n" : "\n");
      faults += most[f] > HEED_STACK_BYTES;
    }
  }
  port_write("end\n");
  return faults != 0;
}
