// Turns a fuzzer's bytes into narrow tensors of a call. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_FUZZ_NARROW_HPP
#define HEED_TESTS_SUPPORT_FUZZ_NARROW_HPP

#include "fuzz_call.hpp"
#include "fuzz_options.hpp"

namespace heed_test {

class fuzz_narrow {
 public:
  fuzz_narrow(fuzz_bytes *in, fuzz_memory *memory, heed_attention *call) : in_(in), memory_(memory), call_(call) {}

  // Any of the call's tensors, which then has no data, unless both are given.
  void draw() {
    if (in_->byte() < 128) return;
    heed_narrow_tensors *n = memory_->object<heed_narrow_tensors>();
    if (heed_narrow_tensors_init(n) != HEED_OK) fail("narrow tensors were not made");
    const heed_attention &c = *call_;
    const int which = in_->byte();
    if (which & 1) n->q = input(c.n_heads, c.n_q, c.head_dim, &call_->q);
    if (which & 2) n->k = input(c.n_kv_heads, c.n_kv, c.head_dim, &call_->k);
    if (which & 4) n->v = input(c.n_kv_heads, c.n_kv, c.v_dim, &call_->v);
    if (which & 8) n->out = output();
    if (in_->rarely()) n->struct_size = uint32_t(in_->word());
    if (in_->rarely()) n->code = nullptr;
    auto *options = const_cast<heed_options *>(c.options);
    if (!options) *(options = memory_->object<heed_options>()) = heed_options_default();
    options->narrow = n;
    call_->options = options;
  }
  // Of two NaN of a narrow result only that they are counts.
  static void unify(const heed_attention &c) {
    const heed_narrow_tensors *n = c.options ? c.options->narrow : nullptr;
    if (!n || !n->out.data || n->out.format == HEED_F32) return;
    const uint16_t infinity_bits = n->out.format == HEED_F16 ? 0x7c00 : 0x7f80;
    for (int32_t b = 0; b < c.batch; ++b)
      for (int32_t h = 0; h < c.n_heads; ++h)
        for (int32_t t = 0; t < c.n_q; ++t)
          for (int32_t i = 0; i < c.v_dim; ++i) {
            uint16_t &x = static_cast<uint16_t *>(
                n->out.data)[b * n->out.batch_stride + h * n->out.head_stride + t * n->out.row_stride + i];
            if ((x & 0x7fff) > infinity_bits) x = 0x7fff;
          }
  }

 private:
  int32_t format(int32_t n) { return in_->rarely() ? in_->word() : in_->byte() % n; }
  static size_t bytes_of(int32_t format) { return format == HEED_F32 ? 4 : format == HEED_INT8 ? 1 : 2; }
  template <typename T>
  void place(T *t, int32_t heads, int32_t rows, int32_t dim, bool written) {
    t->row_stride = in_->stride(dim);
    t->head_stride = in_->stride(ptrdiff_t{dim} * (rows & 0xffff));
    t->batch_stride = in_->stride(ptrdiff_t{dim} * (heads & 0xffff) * (rows & 0xffff));
    t->data = memory_->array({call_->batch, heads, rows}, {t->batch_stride, t->head_stride, t->row_stride}, dim,
                             bytes_of(t->format), written);
  }
  heed_narrow_tensor input(int32_t heads, int32_t rows, int32_t dim, heed_tensor *own) {
    heed_narrow_tensor t = {};
    t.format = format(4);
    place(&t, heads, rows, dim, false);
    if (t.format == HEED_INT8) t.scales = tensor_of<heed_tensor>(in_, memory_, call_->batch, heads, rows, 1, false);
    if (!in_->rarely()) own->data = nullptr;
    return t;
  }
  heed_narrow_tensor_out output() {
    heed_narrow_tensor_out t = {};
    t.format = format(3);
    place(&t, call_->n_heads, call_->n_q, call_->v_dim, true);
    if (!in_->rarely()) call_->out.data = nullptr;
    return t;
  }

  fuzz_bytes *in_;
  fuzz_memory *memory_;
  heed_attention *call_;
};

}  // namespace heed_test

#endif
