/* Attention on narrow tensors of every format, at addresses that are multiples of nothing but their numbers' size: the
 * bits of the call on the widened numbers, and of heed_convert_from_f32 where the result is narrow, too.
 * SPDX-License-Identifier: MIT */
#include "pool.h"

enum { n_calls = 192 };

static int n_wrong;

/* A head-major tensor in a format, at any address; *wide are its numbers. Rows of scales are apart from each other. */
static heed_typed_tensor take_narrow(int32_t dtype, int32_t n_rows, int32_t n_heads, int32_t dim, float **wide) {
  const int32_t n = n_heads * n_rows, bytes = (int32_t)HEED_DTYPE_BYTES(dtype);
  *wide = take_filled(n * dim);
  float *const scales = take(2 * n);
  unsigned char *const numbers =
      (unsigned char *)take((n * dim * bytes + 7) / 4) + (bytes < 4 ? between(0, 4 / bytes - 1) * bytes : 0);
  for (int32_t r = 0; r < n; r++) {
    unsigned char *const row = numbers + r * dim * bytes;
    check(heed_convert_from_f32(heed_matrix_of(*wide + r * dim, 1, dim),
                                heed_typed_matrix_out_of(row, scales + 2 * r, dtype, 1, dim)));
    check(heed_convert_to_f32(heed_typed_matrix_of(row, scales + 2 * r, dtype, 1, dim),
                              heed_matrix_out_of(*wide + r * dim, 1, dim)));
  }
  heed_typed_tensor t = heed_typed_head_major(numbers, scales, dtype, n_rows, n_heads, dim);
  t.scales.row_stride = 2, t.scales.head_stride = 2 * n_rows;
  return t;
}

static void attend(int i) {
  int32_t n_q, n_kv, heads, kv_heads, head_dim, v_dim;
  do {
    kv_heads = between(1, 2), heads = kv_heads * between(1, 3), n_q = between(1, 5);
    n_kv = i % 8 == 7 ? between(60, 140) : between(1, 20), head_dim = between(1, 14), v_dim = between(1, 14);
  } while (3 * heads * n_q * (head_dim + v_dim + 2) + 3 * kv_heads * n_kv * (head_dim + v_dim + 4) > pool_floats - 80);
  used = 0;
  const int32_t n_out = heads * n_q * v_dim, which = 1 + i % 15;
  float *q, *k, *v;
  heed_typed_tensors narrow;
  check(heed_typed_tensors_init(&narrow));
  narrow.q = take_narrow(between(0, 3), n_q, heads, head_dim, &q);
  narrow.k = take_narrow(between(0, 3), n_kv, kv_heads, head_dim, &k);
  narrow.v = take_narrow(between(0, 3), n_kv, kv_heads, v_dim, &v);
  float *const expected = take(n_out), *const out = take(n_out), *const memory = take(n_out + 1);
  heed_attention call = heed_attention_of(q, k, v, n_q, n_kv, heads, kv_heads, head_dim, expected, workspace);
  call.v_dim = v_dim, call.causal = next() % 2, call.position = n_kv - n_q;
  call.q = heed_head_major(q, n_q, heads, head_dim), call.k = heed_head_major(k, n_kv, kv_heads, head_dim);
  call.v = heed_head_major(v, n_kv, kv_heads, v_dim), call.out = heed_head_major_out(expected, n_q, heads, v_dim);
  call.executor = next() % 4 ? NULL : &backwards;
  check(heed_attention_run(&call));
  o.all = heed_options_default();
  o.all.typed = &narrow;
  call.options = &o.all;
  if (which & 1) call.q.data = NULL;
  if (which & 2) call.k.data = NULL;
  if (which & 4) call.v.data = NULL;
  if (!(which & 1)) narrow.q.data = NULL;
  if (!(which & 2)) narrow.k.data = NULL;
  if (!(which & 4)) narrow.v.data = NULL;
  call.out.data = out;
  const int32_t dtype = between(HEED_F16, HEED_BF16);
  uint16_t *const halves = (uint16_t *)(void *)memory + next() % 2;
  if (which & 8) {
    call.out.data = NULL;
    narrow.out = heed_typed_head_major_out(halves, dtype, n_q, heads, v_dim);
    check(heed_convert_from_f32(heed_matrix_of(expected, 1, n_out),
                                heed_typed_matrix_out_of(out, NULL, dtype, 1, n_out)));
    check(
        heed_convert_to_f32(heed_typed_matrix_of(out, NULL, dtype, 1, n_out), heed_matrix_out_of(expected, 1, n_out)));
  }
  MEASURED(of_options, check(heed_attention_run(&call)));
  if (which & 8)
    check(heed_convert_to_f32(heed_typed_matrix_of(halves, NULL, dtype, 1, n_out), heed_matrix_out_of(out, 1, n_out)));
  for (int32_t a = 0; a < n_out; a++) n_wrong += bits_of(out[a]) != bits_of(expected[a]);
  add(out, (size_t)n_out);
}

/* Bad calls: the same status as on the PC. */
static heed_status refused(int i) {
  heed_typed_tensors narrow;
  heed_attention call = heed_attention_of(pool, pool, pool, 2, 3, 1, 1, 4, NULL, workspace);
  check(heed_typed_tensors_init(&narrow));
  narrow.out = heed_typed_head_major_out(pool + 100, HEED_F16, 2, 1, 4);
  o.all = heed_options_default();
  o.all.typed = &narrow;
  call.options = &o.all;
  switch (i) {
    case 0:
      narrow.out.dtype = HEED_INT8;
      break;
    case 1:
      narrow.out.data = (unsigned char *)narrow.out.data + 1;
      break;
    case 2:
      narrow.k = heed_typed_head_major(pool, NULL, HEED_F16, 3, 1, 4);
      break;
    case 3:
      call.k.data = NULL;
      narrow.k = heed_typed_head_major(pool, NULL, HEED_INT8, 3, 1, 4);
      break;
    case 4:
      call.q.data = NULL;
      narrow.q = heed_typed_head_major(pool, NULL, 4, 2, 1, 4);
      break;
    case 5:
      narrow.out.data = pool;
      break;
    case 6:
      narrow.code = NULL;
      break;
    case 7:
      return heed_typed_tensors_init(NULL);
    default:
      narrow.out.row_stride = 3;
  }
  return heed_attention_run(&call);
}

int narrow_attention(void) {
  int accepted = 0;
  n_refused = n_wrong = 0;
  digest_begin();
  for (int i = 0; i < n_calls; i++) attend(i), print_each_32("narrow", i);
  for (int i = 0; i < 9; i++) {
    const heed_status status = refused(i);
    print_status("narrow", i, status);
    accepted += status == HEED_OK;
  }
  if (n_wrong) port_write("attention on narrow tensors is not what it should be\n");
  return n_refused + n_wrong + accepted;
}
