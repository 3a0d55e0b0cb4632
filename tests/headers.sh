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
#include "heed/openmp.h"
#include "heed/threads.h"
HEED_SEQUENCE(words, 8, 3);
HEED_WORKSPACE(scratch, 3, 3);
HEED_ALIGNED static float own[16];
heed_status use(void);
heed_status use(void) {
  const heed_status status = heed_sequence_append(&words, heed_matrix_of(own, 5, 3));
  return status ? status : heed_sequence_self_attention(&words, 0, &words, scratch, sizeof scratch);
}
heed_status use_options(void);
heed_status use_options(void) {
  static float of_partial[HEED_PARTIAL_FLOATS(1, 1, 8, 3)];
  heed_partial partial;
  heed_options options = HEED_OPTIONS;
  heed_status status =
      heed_partial_init(&partial, of_partial, sizeof of_partial / sizeof *of_partial, 1, 1, 8, 3, 0);
  options.partial = &partial;
  return status ? status : heed_sequence_attention(&words, 0, 1, &options, &words, scratch, sizeof scratch);
}
heed_status use_cache(void);
heed_status use_cache(void) {
  HEED_ALIGNED static unsigned char buffer[HEED_CACHE_BYTES(HEED_CACHE_RING, 8, 1, 2, 1, 1, 3, 3, HEED_INT8)];
  heed_cache cache;
  heed_cache_shape shape = HEED_CACHE_SHAPE;
  heed_rope rope;
  const heed_status status = heed_rope_init(&rope, HEED_ROPE_HALVES);
  shape.kind = HEED_CACHE_RING, shape.capacity = 8, shape.pinned = 1, shape.spare = 2;
  shape.head_dim = shape.v_dim = 3, shape.format = HEED_INT8;
  if (status || heed_cache_init(&cache, &shape, buffer, sizeof buffer)) return status;
  rope.rotary_dim = 2;
  return heed_cache_append(&cache, 0, 2, heed_head_major(own, 2, 1, 3), heed_head_major(own, 2, 1, 3), &rope);
}
heed_status use_narrow(void);
heed_status use_narrow(void) {
  static uint16_t halves[24];
  heed_narrow_tensors narrow;
  heed_options options = HEED_OPTIONS;
  heed_attention call = heed_attention_of(2, 4, 1, 1, 3, own, NULL, NULL, NULL, scratch, sizeof scratch);
  const heed_status status = heed_narrow_tensors_init(&narrow);
  narrow.k = heed_narrow_head_major(halves, HEED_F16, NULL, 4, 1, 3);
  narrow.v = heed_narrow_token_major(halves, HEED_BF16, NULL, 4, 1, 3);
  narrow.out = heed_narrow_token_major_out(halves + 16, HEED_F16, 2, 1, 3);
  options.narrow = &narrow;
  call.options = &options;
  return status ? status : heed_attention_run(&call);
}
END
{
  cat "$work/user.c"
  cat <<'END'
#include "heed/heed.hpp"
static float q[2][1][3], k[4][1][3], of_heads[1], lse[1][2], top[1][2][3];
static int32_t keys[1][2][3];
static bool attend[2][4];
heed::status use_cpp();
heed::status use_cpp() {
  static heed::workspace<3> room;
  static heed::partial<1, 2, 3> partial;
  heed::options<1, 2, 4> options;
  options.window(1).keys(3).mask(attend).softcap(1).alibi(of_heads).sinks(of_heads).lse(lse).top_k(top, keys);
  if (auto status = heed::attention(q, k, k, q, room, options); !status) return status;
  static heed::half halves[4][1][3];
  if (auto status = heed::attention(q, halves, k, q, room, options); !status) return status;
  if (auto status = partial.begin(); !status) return status;
  if (auto status = heed::attention(q, k, k, partial, room, options); !status) return status;
  return partial.finish(q, options);
}
heed::status use_block();
heed::status use_block() {
  static float x[3][6], w[6][6], w_up[6][9], w_down[9][6];
  static heed::ring_cache<8, 1, 6, 6, HEED_F16> kv;
  static heed::block_memory<3, 6, 1, 1, 6, 9> memory;
  const heed::rope turn(HEED_ROPE_HALVES);
  heed::block<6, 1, 1, 6, 9> layer(heed_rms_norm, true);
  layer.attention(heed::in_out(w), heed::out_in(w), heed::in_out(w), heed::in_out(w)).turn(turn).keep(kv);
  layer.feed_forward(heed_silu, heed::in_out(w_up), heed::in_out(w_down));
  if (auto status = heed::norm(heed_layer_norm, x, x); !status) return status;
  if (auto status = kv.begin(); !status) return status;
  return layer.run(x, x, memory);
}
END
} >"$work/user.cpp"
# Every public macro, with constants and with variables: their text is judged by the warnings that users have switched on.
cat >"$work/macros.c" <<'END'
#include "heed/heed.h"
#include "heed/openmp.h"
#include "heed/threads.h"
#if HEED_VERSION_MAJOR * 10000 + HEED_VERSION_MINOR * 100 + HEED_VERSION_PATCH < 201
#error "this is an older version"
#endif
HEED_SEQUENCE(words, 8, 3);
HEED_WORKSPACE(scratch, 3, 3);
HEED_ALIGNED static unsigned char least[HEED_WORKSPACE_MIN_BYTES(3, 3)];
static unsigned char of_cache[HEED_CACHE_BYTES(HEED_CACHE_RING, 8, 1, 2, 1, 1, 3, 3, HEED_INT8)];
static unsigned char of_all[HEED_STACK_BYTES + HEED_SELFTEST_BYTES + HEED_SELFTEST_BOOT_BYTES +
                            HEED_SELFTEST_FEATURES_BYTES + HEED_WORKSPACE_ALIGNMENT + HEED_CACHE_ALIGNMENT];
static float of_partial[HEED_PARTIAL_FLOATS(1, 1, 8, 3)];
static float of_layer[HEED_LAYER_ACTIVATIONS(8, 2, 1, 3, 3)];
static float of_block[HEED_BLOCK_ACTIVATIONS(8, 6, 2, 1, 3, 3, 12, 1)];
static const heed_options plain = HEED_OPTIONS;
HEED_API size_t macros(int32_t n, int32_t format, heed_status status);
HEED_API size_t macros(int32_t n, int32_t format, heed_status status) {
  const heed_options options = HEED_OPTIONS;
  const float *const none = HEED_NULL;
  const heed_cache_shape shape = HEED_CACHE_SHAPE;
  const int32_t limits[4] = {HEED_MAX_DIM, HEED_MAX_COUNT, HEED_MAX_WORKERS, HEED_CACHE_MAX_ROTARY_DIM};
  const heed_status full = HEED_STATUS(HEED_FULL, HEED_ARG_SEQUENCE), other = HEED_STATUS(n, format);
  words.length = HEED_STATUS_FAULT(status) + HEED_STATUS_ARGUMENT(status) - limits[n] + (full == other ? 1 : HEED_OK);
  if (options.mask != plain.mask || none != of_layer || shape.capacity > words.length || scratch[0] > least[0]) return 0;
  if (of_cache[0] > of_all[0] || of_partial[0] + of_layer[0] > of_block[0]) return 0;
  return HEED_WORKSPACE_ROWS(n, n) + HEED_WORKSPACE_ROW_FLOATS(n) + HEED_WORKSPACE_BYTES(n, n) + HEED_SIZE(n) +
         HEED_WORKSPACE_MIN_BYTES(n, n) + HEED_LAYER_ACTIVATIONS(n, n, n, n, n) + HEED_CAST(size_t, n) +
         HEED_BLOCK_ACTIVATIONS(n, n, n, n, n, n, n, format) + HEED_CACHE_SLOTS(format, n, n, n) +
         HEED_CACHE_BYTES(n, n, n, n, n, n, n, n, format) + HEED_PARTIAL_FLOATS(n, n, n, n) +
         HEED_SIZE(HEED_FORMAT_BYTES(format));
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
    check "$compiler" $strict -Wold-style-cast -Wzero-as-null-pointer-constant -std=c++17 -x c++ "$work/macros.c"
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
