#!/bin/sh
# headers.sh SOURCE COMPILER...: the public headers in strict C99 and C11, C++17, and for Microsoft's compilers, which clang
# can stand in for; every macro under the warnings that careful users switch on. Exit status 77, with the reason, if no
# compiler is there. SPDX-License-Identifier: MIT
set -eu
source=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/user.c" <<'END'
#include "heed/heed.h"
#include "heed/integers.h"
#include "heed/openmp.h"
#include "heed/threads.h"
HEED_SEQUENCE(words, 8, 3);
HEED_MEMORY(scratch, HEED_WORKSPACE_BYTES(3, 3));
HEED_ALIGNED static float own[16];
heed_status use(void);
heed_status use(void) {
  const heed_status status = heed_sequence_push(&words, heed_matrix_of(own, 5, 3));
  return status ? status : heed_sequence_attention(&words, HEED_SCALE_DEFAULT, 0, HEED_NULL, &words, scratch);
}
heed_status use_options(void);
heed_status use_options(void) {
  HEED_MEMORY(of_partial, HEED_PARTIAL_BYTES(1, 1, 8, 3));
  heed_partial partial;
  heed_attention_weights weights;
  heed_options options = heed_options_default();
  heed_status status = heed_partial_init(&partial, 1, 1, 8, 3, 0, of_partial);
  if (!status) status = heed_attention_weights_init(&weights, heed_tensor_out_of(heed_matrix_out_of(own, 4, 4), 1));
  options.partial = &partial;
  options.weights = &weights;
  return status ? status : heed_sequence_attention(&words, 1, 1, &options, &words, scratch);
}
heed_status use_cache(void);
heed_status use_cache(void) {
  HEED_MEMORY(memory, HEED_RING_BYTES(8, 1, 2, 1, 1, 3, 3, HEED_INT8));
  heed_cache cache;
  heed_cache_shape shape = heed_cache_shape_default(8, 1, 3);
  heed_attention call;
  heed_rope rope;
  const heed_status status = heed_rope_init(&rope, HEED_ROPE_HALVES);
  shape.kind = HEED_CACHE_RING, shape.pinned = 1, shape.spare = 2, shape.dtype = HEED_INT8;
  if (status || heed_cache_init(&cache, &shape, memory)) return status;
  rope.rotary_dim = 2;
  call = heed_attention_of_cache(&cache, own, 1, 1, own + 8, scratch);
  return heed_cache_append(&cache, 0, heed_head_major(own, 2, 1, 3), heed_head_major(own, 2, 1, 3), 2, &rope) ||
         heed_attention_run(&call);
}
heed_status use_narrow(void);
heed_status use_narrow(void) {
  static uint16_t halves[24];
  heed_typed_tensors narrow;
  heed_options options = heed_options_default();
  heed_attention call = heed_attention_of(own, HEED_NULL, HEED_NULL, 2, 4, 1, 1, 3, HEED_NULL, scratch);
  heed_status status = heed_typed_tensors_init(&narrow);
  if (!status)
    status = heed_convert_from_f32(heed_matrix_of(own, 4, 3), heed_typed_matrix_out_of(halves, HEED_NULL, HEED_F16, 4, 3));
  if (!status)
    status = heed_convert_to_f32(heed_typed_matrix_of(halves, HEED_NULL, HEED_F16, 4, 3), heed_matrix_out_of(own, 4, 3));
  narrow.k = heed_typed_head_major(halves, HEED_NULL, HEED_F16, 4, 1, 3);
  narrow.v = heed_typed_token_major(halves, HEED_NULL, HEED_BF16, 4, 1, 3);
  narrow.out = heed_typed_token_major_out(halves + 16, HEED_F16, 2, 1, 3);
  options.typed = &narrow;
  call.options = &options;
  return status ? status : heed_attention_run(&call);
}
static void run(void *user, int32_t n_tasks, heed_task task, void *context) {
  int32_t i;
  (void)user;
  for (i = 0; i < n_tasks; i++) task(context, i, 0);
}
heed_status use_layers(void);
heed_status use_layers(void) {
  HEED_MEMORY(memory, HEED_TRANSFORMER_LAYER_BYTES(2, 4, 2, 2, 4, 0));
  heed_attention_layer attention = heed_attention_layer_default(4, 2);
  heed_transformer_layer layer = heed_transformer_layer_default(&attention, 4, heed_layer_norm, heed_relu);
  const heed_executor executor = heed_executor_of(run, HEED_NULL, 1);
  const int32_t lengths[2] = {1, 1};
  heed_ragged_batch batch;
  if (heed_ragged_batch_init(&batch, 2, lengths)) return 1;
  attention.batch = &batch;
  attention.wq = attention.wk = attention.wv = attention.wo = layer.w_up = layer.w_down =
      heed_weights_of(own, HEED_NULL, HEED_F32, HEED_OUT_IN, 4, 4);
  return heed_transformer_layer_run(&layer, heed_matrix_of(own, 2, 4), heed_matrix_out_of(own + 8, 2, 4), memory,
                                    &executor);
}
heed_status use_choice(void);
heed_status use_choice(void) {
  HEED_MEMORY(memory, HEED_SAMPLE_BYTES(8));
  int32_t token = 0;
  heed_status status = heed_argmax(heed_matrix_of(own, 1, 8), &token);
  if (status == 0) status = heed_gather_rows(heed_weights_of(own, HEED_NULL, HEED_F32, HEED_OUT_IN, 4, 4), &token,
                                             heed_matrix_out_of(own + 16, 1, 4));
  return status ? status : heed_sample(own, 8, 1, 8, 1, 0.5f, &token, memory);
}
heed_status use_integers(void);
heed_status use_integers(void) {
  HEED_MEMORY(memory, HEED_INT_WORKSPACE_BYTES(4, 4));
  static int8_t x[32];
  heed_int_attention call = heed_int_attention_of(x, x, x, 2, 2, 2, 1, 4, x + 16, memory);
  call.score = heed_multiplier_of(0.01f);
  call.value = heed_multiplier_one();
  return heed_int_attention_run(&call);
}
heed_status use_int_selftest(void);
heed_status use_int_selftest(void) {
  HEED_MEMORY(memory, HEED_INT_SELFTEST_BYTES);
  return heed_int_selftest(memory, HEED_NULL);
}
heed_status use_int_cache(void);
heed_status use_int_cache(void) {
  HEED_MEMORY(memory, HEED_INT_WORKSPACE_BYTES(4, 4));
  HEED_MEMORY(kept, HEED_INT_CACHE_BYTES(8, 1, 1, 4, 4));
  static int8_t x[32];
  heed_int_cache cache;
  heed_int_cache_shape shape = heed_int_cache_shape_default(8, 1, 4);
  heed_int_attention call;
  if (heed_int_cache_init(&cache, &shape, kept)) return 1;
  call = heed_int_attention_of_cache(&cache, x, 1, 2, x + 16, memory);
  return heed_int_cache_append(&cache, 0, heed_int_token_major(x, 2, 1, 4, 0), heed_int_token_major(x, 2, 1, 4, 0), 2) ||
         heed_int_attention_run(&call);
}
heed_status use_selftest(void);
heed_status use_selftest(void) {
  HEED_MEMORY(memory, HEED_SELFTEST_BOOT_BYTES);
  heed_selftest_report report = heed_selftest_report_default();
  return heed_selftest_boot(memory, &report);
}
END
{
  cat "$work/user.c"
  cat <<'END'
#include "heed/heed.hpp"
static float q[2][1][3], k[4][1][3], of_heads[1], weights[1][2][4], lse[1][2], top[1][2][3];
static int32_t keys[1][2][3];
static bool attend[2][4];
heed::status use_cpp();
heed::status use_cpp() {
  static heed::workspace<3> room;
  static heed::partial<1, 2, 3> partial;
  heed::options<1, 2, 4> options;
  options.window(1).keys(3).mask(attend).softcap(1).alibi(of_heads).sinks(of_heads);
  options.weights(weights).lse(lse).topk_weights(top, keys);
  if (auto status = heed::attention(q, k, k, q, room, options); !status) return status;
  static heed::half halves[4][1][3];
  if (auto status = heed::attention(q, halves, k, q, room, options); !status) return status;
  if (auto status = partial.begin(); !status) return status;
  if (auto status = heed::attention(q, k, k, partial, room, options); !status) return status;
  return partial.finish(q, options);
}
heed::status use_views();
heed::status use_views() {
  static float x[3][6], w[6][6], tokens[3][2][3];
  static int8_t bytes[3][6];
  static int16_t sums[3][6];
  static heed::bfloat16 brains[3][6];
  static heed::sequence<8, 6> window;
  static heed::ring_cache<8, 1, 6, 6, HEED_F16> kv;
  static heed::memory<HEED_ATTENTION_LAYER_BYTES(3, 1, 1, 6, 6)> memory;
  heed_attention_layer layer = heed_attention_layer_default(6, 1);
  layer.wq = heed::in_out(w), layer.wk = heed::out_in(w), layer.wv = layer.wo = heed::in_out(w);
  if (auto status = window.push(x); !status) return status;
  if (auto status = window.push(x[0]); !status) return status;
  if (auto status = kv.begin(); !status) return status;
  layer.cache = kv;
  heed::status status = heed_layer_norm(heed::rows(x), w[0], nullptr, 1e-5f, heed::rows(x), nullptr);
  if (!status) return status;
  status = heed_convert_from_f32(heed::row(x[0]), heed::row(brains[0]));
  if (!status) return status;
  status = heed_rope_apply(nullptr, heed::heads(tokens), 3, 2, 3, 0, nullptr, heed::heads(tokens), nullptr);
  if (!status) return status;
  status = heed_int_rescale(heed::rows(bytes, 3), heed_multiplier_one(), heed::rows(sums), nullptr);
  if (!status) return status;
  static const int16_t table[3][2] = {{16384, 0}};
  const heed_int_rope rope = {table[0], 3, 2, HEED_ROPE_HALVES};
  status = heed_int_rope_run(&rope, heed::rows(bytes, 3), 2, 0, nullptr);
  if (!status) return status;
  return heed_attention_layer_run(&layer, heed::rows(x), heed::rows(x), memory, nullptr);
}
END
} >"$work/user.cpp"
# Every public macro, with constants and with variables: their text is judged by the warnings that users have switched on.
cat >"$work/macros.c" <<'END'
#include "heed/heed.h"
#include "heed/integers.h"
#include "heed/openmp.h"
#include "heed/threads.h"
#if HEED_VERSION_MAJOR * 10000 + HEED_VERSION_MINOR * 100 + HEED_VERSION_PATCH < 300
#error "this is an older version"
#endif
HEED_SEQUENCE(words, 8, 3);
HEED_MEMORY(scratch, HEED_WORKSPACE_BYTES(3, 3));
HEED_ALIGNED static unsigned char least[HEED_WORKSPACE_MIN_BYTES(3, 3)];
static unsigned char of_sample[HEED_SAMPLE_BYTES(8)];
static unsigned char of_cache[HEED_CACHE_BYTES(8, 1, 1, 3, 3, HEED_INT8)];
static unsigned char of_ring[HEED_RING_BYTES(8, 1, 2, 1, 1, 3, 3, HEED_F16)];
static unsigned char of_all[HEED_STACK_BYTES + HEED_SELFTEST_BYTES + HEED_SELFTEST_BOOT_BYTES +
                            HEED_SELFTEST_FEATURES_BYTES + HEED_ALIGNMENT + HEED_ROPE_MAX_AXES];
static unsigned char of_partial[HEED_PARTIAL_BYTES(1, 1, 8, 3)];
static unsigned char of_sequence[HEED_SEQUENCE_BYTES(8, 3)];
static unsigned char of_weights[HEED_WEIGHTS_PACKED_BYTES(HEED_Q4_0, 40, 20)];
static unsigned char of_attention[HEED_ATTENTION_LAYER_BYTES(8, 2, 1, 3, 3)];
static unsigned char of_integers[HEED_INT_WORKSPACE_MIN_BYTES(3, 3) + HEED_INT_PARTIAL_ROW_BYTES(3) +
                                 HEED_INT_SELFTEST_BYTES];
static unsigned char of_int_layer[HEED_INT_LAYER_MIN_BYTES(8, 6, 2, 1, 3, 12, 1)];
static unsigned char of_layer[HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(8, 6, 2, 1, 3, 3, 12, 1)];
static const float scale = HEED_SCALE_DEFAULT;
HEED_API size_t macros(int32_t n, int32_t format, heed_status status);
HEED_API size_t macros(int32_t n, int32_t format, heed_status status) {
  const float *const none = HEED_NULL;
  const int32_t limits[9] = {HEED_MAX_DIM,     HEED_MAX_COUNT,    HEED_MAX_WORKERS, HEED_CACHE_MAX_ROTARY_DIM,
                             HEED_INT_MAX_DIM, HEED_INT_MAX_KEYS, HEED_INT_BLOCK,   HEED_INT_MAX_NORM_DIM,
                             HEED_INT_MAX_IN};
  const heed_status full = HEED_STATUS(HEED_FULL, HEED_ARG_SEQUENCE), other = HEED_STATUS(n, format);
  words.length = HEED_STATUS_FAULT(status) + HEED_STATUS_ARGUMENT(status) - limits[n] + (full == other ? 1 : HEED_OK);
  if (none == &scale || scratch.bytes > sizeof least || of_cache[0] > of_all[0] || of_integers[0] > of_all[0] || of_ring[0] > of_partial[0] || of_sample[0] > of_all[0]) return 0;
  if (of_sequence[0] + of_attention[0] + of_int_layer[0] > of_layer[0] + of_weights[0]) return 0;
  return HEED_WORKSPACE_ROWS(n, n) + HEED_WORKSPACE_ROW_FLOATS(n) + HEED_WORKSPACE_BYTES(n, n) + HEED_SIZE(n) +
         HEED_WORKSPACE_MIN_BYTES(n, n) + HEED_ATTENTION_LAYER_BYTES(n, n, n, n, n) + HEED_CAST(size_t, n) +
         HEED_LAYER_QKV_FLOATS(n, n, n, n) + HEED_LAYER_ROUND(HEED_SIZE(n)) + HEED_LAYER_GREATER(of_all[0], least[0]) +
         HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(n, n, n, n, n, n, n, format) +
         HEED_TRANSFORMER_LAYER_BYTES(n, n, n, n, n, format) + HEED_TRANSFORMER_LAYER_MIN_BYTES(n, n, n, n, n, format) +
         HEED_TRANSFORMER_LAYER_MIN_BYTES_OF_HEADS(n, n, n, n, n, n, n, format) + HEED_CACHE_SLOTS(n) +
         HEED_CACHE_BYTES(n, n, n, n, n, format) + HEED_RING_BYTES(n, n, n, n, n, n, n, format) +
         HEED_CACHE_BYTES_OF_SLOTS(HEED_SIZE(n), n, n, n, n, format) + HEED_PARTIAL_BYTES(n, n, n, n) +
         HEED_WEIGHTS_PACKED_BYTES(format, n, n) + HEED_WEIGHTS_SIZE_OF_OUTPUT(format, n) +
         HEED_SEQUENCE_BYTES(n, n) + HEED_INT_WORKSPACE_BYTES(n, n) + HEED_INT_WORKSPACE_MIN_BYTES(n, n) +
         HEED_INT_PARTIAL_ROW_BYTES(n) + HEED_INT_SIZE_ROUND(n) + HEED_INT_SIZE_OF_SCORES(n, n) +
         HEED_INT_SIZE_OF_BLOCK(n, n) + HEED_INT_CACHE_BYTES(n, n, n, n, n) + HEED_INT_RING_BYTES(n, n, n, n, n, n) +
         HEED_INT_CACHE_BYTES_OF_SLOTS(HEED_SIZE(n), n, n, n, n) + HEED_INT_LAYER_BYTES(n, n, n, n, n, n, format) +
         HEED_INT_LAYER_MIN_BYTES(n, n, n, n, n, n, format) + HEED_INT_LAYER_SIZE_OF_KEYS(n, n, n) +
         HEED_INT_LAYER_SIZE_OF_ROW(n, n, n, n, format) + HEED_INT_LAYER_SIZE_OF_WORKER(n, n, n, n, format) +
         HEED_INT_LAYER_ROUND(HEED_SIZE(n)) + HEED_INT_LAYER_GREATER(of_all[0], least[0]) +
         HEED_SIZE(HEED_DTYPE_BYTES(format)) + HEED_LAYER_FFN_FLOATS(n, format) +
         HEED_SIZE_FIT(HEED_SIZE_PRODUCT(HEED_SIZE_64(n), HEED_CACHE_BYTES_OF_HEAD(HEED_SIZE_64(n), n, n, format)));
}
END
for macro in $(sed -n 's/^#define \(HEED_[A-Z0-9_]*\).*/\1/p' "$source"/include/heed/*.h | sort -u); do
  case $macro in HEED_*_H) continue ;; esac
  grep -q "\b$macro\b" "$work/macros.c" || { echo "FAILED: macros.c does not use $macro"; exit 1; }
done
strict='-Wconversion -Wsign-conversion -Wcast-qual -Wshadow -Wundef -Wdouble-promotion'
checked=0
check() { # check COMPILER FLAG...
  "$@" -ffreestanding -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I"$source/include" && checked=$((checked + 1)) ||
    { echo "FAILED: $*"; exit 1; }
}
for compiler; do
  command -v "$compiler" >/dev/null 2>&1 || continue
  check "$compiler" -std=c99 -x c "$work/user.c"
  check "$compiler" -std=c11 -x c "$work/user.c"
  check "$compiler" -std=c++17 -x c++ "$work/user.cpp"
  # shellcheck disable=SC2086
  {
    check "$compiler" $strict -std=c99 -x c "$work/macros.c"
    check "$compiler" $strict -std=c99 -x c "$work/user.c"
    check "$compiler" $strict -Wold-style-cast -Wzero-as-null-pointer-constant -std=c++17 -x c++ "$work/macros.c"
    check "$compiler" $strict -Wold-style-cast -Wzero-as-null-pointer-constant -std=c++17 -x c++ "$work/user.cpp"
  }
  case $compiler in *clang*) ;; *) continue ;; esac
  for target in x86_64-pc-windows-msvc aarch64-pc-windows-msvc; do
    check "$compiler" --target=$target -std=c11 -x c "$work/user.c"
    check "$compiler" --target=$target -std=c++17 -x c++ "$work/user.cpp"
  done
  # A compiler that is neither: alignment in the words of the standards.
  check "$compiler" -U__GNUC__ -std=c11 -x c "$work/user.c"
  check "$compiler" -U__GNUC__ -std=c++17 -x c++ "$work/user.cpp"
done
[ $checked -gt 0 ] || { echo "SKIPPED: none of $* is installed"; exit 77; }
echo "$checked times accepted without a warning"
