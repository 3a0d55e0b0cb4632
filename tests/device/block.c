/* Norms, activations, sums and rotary embedding: random rows, then bad input. SPDX-License-Identifier: MIT */
#include "pool.h"

enum { n_block = 64 };

static heed_activation *const activations[] = {heed_gelu, heed_gelu_tanh, heed_silu, heed_relu};
static heed_norm *const norms[] = {heed_rms_norm, heed_layer_norm};

/* Numbers from -16 to 16, now and then one of any bits above 2^-95: no product with another is subnormal. */
static void fill_wide(float *x, int32_t n) {
  fill(x, n);
  for (int32_t i = 0; i < n; i++) {
    const uint32_t bits = next();
    x[i] *= 16;
    if (bits % 8 == 0 && (bits & 0x7f800000) >= 0x10000000) x[i] = float_of(bits);
  }
}

/* In place or not, with gaps between rows or not. */
static void elements(int i) {
  const int32_t n = between(1, 5), dim = between(1, 70), gap = between(0, 2), in_place = between(0, 1);
  const int32_t stride = dim + gap;
  used = 0;
  float *x = take(n * stride), *other = take_filled(n * dim), *y = in_place ? x : take(n * stride);
  fill_wide(x, n * stride);
  const heed_matrix from = {x, n, dim, stride}, up = heed_matrix_of(i % 2 ? other : NULL, n, dim);
  const heed_matrix_out to = {y, n, dim, stride};
  heed_status status;
  if (i % 5 == 4)
    MEASURED(of_elements, status = heed_add(from, heed_matrix_of(other, n, dim), to, i % 3 ? NULL : &backwards));
  else
    MEASURED(of_elements, status = activations[i % 5](from, up, to, i % 3 ? NULL : &backwards));
  check(status);
  for (int32_t r = 0; r < n; r++) add(y + r * stride, (size_t)dim);
}

static void norm(int i) {
  const int32_t n = between(1, 5), dim = between(1, 150);
  used = 0;
  const float *weight = take_filled(dim), *bias = take_filled(dim);
  float *x = take_filled(n * dim), *y = take(n * dim);
  if (i % 8 == 7) x[between(0, n * dim - 1)] = float_of(next() % 2 ? 0x7f800000 : 0x7fc00000);
  MEASURED(of_norm, check(norms[i % 2](heed_matrix_of(x, n, dim), i % 3 ? weight : NULL, i % 5 ? bias : NULL, 1e-5f,
                                       heed_matrix_out_of(y, n, dim), i % 4 ? NULL : &backwards)));
  add(y, (size_t)(n * dim));
}

static void turn(int i) {
  const int32_t n = between(1, 4), n_heads = between(1, 3), head_dim = 2 * between(1, 40);
  int32_t positions[4];
  heed_rope rope;
  used = 0;
  for (int t = 0; t < 4; t++) positions[t] = (int32_t)next();
  const float *frequencies = take_filled(head_dim / 2);
  float *x = take_filled(n * n_heads * head_dim), *y = i % 3 ? take(n * n_heads * head_dim) : x;
  check(heed_rope_init(&rope, between(0, 1)));
  if (i % 2) rope.rotary_dim = 2 * between(1, head_dim / 2);
  if (i % 4 == 1) rope.inverse_frequencies = frequencies;
  if (i % 5 == 1) rope.scale = 0.125f;
  if (i % 7 == 1) rope.base = 500000;
  const int32_t position = between(0, 100000) - 50000;
  MEASURED(of_rope, check(heed_rope_apply(&rope, heed_token_major(x, n, n_heads, head_dim), n, n_heads, head_dim,
                                          position, next() % 2 ? positions : NULL,
                                          heed_token_major_out(y, n, n_heads, head_dim), i % 6 ? NULL : &backwards)));
  add(y, (size_t)(n * n_heads * head_dim));
}

int random_block(void) {
  n_refused = 0;
  digest_begin();
  for (int i = 0; i < 2 * n_block; i++) elements(i), print_each_32("elements", i);
  for (int i = 0; i < n_block; i++) norm(i), print_each_32("norms", i);
  for (int i = 0; i < n_block; i++) turn(i), print_each_32("rope", i);
  return n_refused;
}

static heed_status refused(int i) {
  const heed_matrix x = heed_matrix_of(pool, 3, 4), odd = heed_matrix_of(pool + 20, 3, 5);
  const heed_matrix none = heed_matrix_of(NULL, 0, 0);
  const heed_matrix_out y = heed_matrix_out_of(pool + 64, 3, 4), shifted = heed_matrix_out_of(pool + 1, 3, 4);
  const heed_tensor q = heed_token_major(pool, 2, 1, 6);
  const heed_tensor_out turned = heed_token_major_out(pool + 64, 2, 1, 6);
  heed_rope rope;
  if (heed_rope_init(&rope, HEED_ROPE_HALVES) != HEED_OK) return HEED_OK;
  switch (i) {
    case 0:
      return heed_rms_norm(x, NULL, NULL, -1, y, NULL);
    case 1:
      return heed_rms_norm(x, NULL, NULL, float_of(0x7fc00000), y, NULL);
    case 2:
      return heed_layer_norm(x, (const float *)((uintptr_t)pool + 2), NULL, 0, y, NULL);
    case 3:
      return heed_layer_norm(x, NULL, pool + 66, 0, y, NULL);
    case 4:
      return heed_layer_norm(odd, NULL, NULL, 0, y, NULL);
    case 5:
      return heed_gelu(none, none, y, NULL);
    case 6:
      return heed_silu(x, odd, y, NULL);
    case 7:
      return heed_gelu_tanh(x, none, shifted, NULL);
    case 8:
      return heed_add(x, none, y, NULL);
    case 9:
      return heed_rope_init(NULL, 0);
    case 10:
      rope.rotary_dim = 5;
      break;
    case 11:
      rope.base = 1;
      break;
    case 12:
      rope.scale = float_of(0x7f800000);
      break;
    case 13:
      rope.code = NULL;
      break;
    case 14:
      rope.style = 2;
      break;
    case 15:
      return heed_rope_apply(&rope, q, 2, 1, 6, INT64_MAX, NULL, turned, NULL);
    case 16:
      return heed_rope_apply(NULL, q, 2, 1, 6, 0, NULL, turned, NULL);
    default:
      rope.inverse_frequencies = pool + 64;
  }
  return heed_rope_apply(&rope, q, 2, 1, 6, 0, NULL, turned, NULL);
}

int refused_block(void) {
  int accepted = 0;
  digest_begin();
  fill(pool, pool_floats);
  digest_begin();
  add(pool, pool_floats);
  const uint64_t before = digest;
  for (int i = 0; i < 18; i++) {
    const heed_status status = refused(i);
    print_status("block", i, status);
    accepted += status == HEED_OK;
  }
  digest_begin();
  add(pool, pool_floats);
  if (digest != before) port_write("refused calls have written\n");
  return accepted + (digest != before);
}
