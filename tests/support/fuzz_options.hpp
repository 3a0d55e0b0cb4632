// Turns a fuzzer's bytes into options of a call, each object and array in an allocation of its own.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_FUZZ_OPTIONS_HPP
#define HEED_TESTS_SUPPORT_FUZZ_OPTIONS_HPP

#include <cmath>

#include "fuzz_input.hpp"

namespace heed_test {

template <typename Tensor>
Tensor tensor_of(fuzz_bytes *in, fuzz_memory *memory, int32_t batch, int32_t heads, int32_t rows, int32_t dim,
                 bool written) {
  const bool token_major = in->byte() % 2;
  const ptrdiff_t d = dim, h = heads, t = rows;
  Tensor x = {};
  x.row_stride = in->stride(token_major ? d * (h & 0xffff) : d);
  x.head_stride = in->stride(token_major ? d : d * (t & 0xffff));
  x.batch_stride = in->stride(d * (h & 0xffff) * (t & 0xffff));
  x.data = memory->tensor({batch, heads, rows}, {x.batch_stride, x.head_stride, x.row_stride}, dim, written);
  return x;
}

class fuzz_options {
 public:
  fuzz_options(fuzz_bytes *in, fuzz_memory *memory, int32_t batch, int32_t n_heads, int32_t n_q, int32_t n_kv)
      : in_(in), memory_(memory), batch_(batch), n_heads_(n_heads), n_q_(n_q), n_kv_(n_kv) {}

  // Null, or any of them; with a partial those that go with it.
  heed_options *draw(bool partial) {
    if (!partial && in_->byte() < 110) return nullptr;
    heed_options *o = memory_->object<heed_options>();
    *o = heed_options_default();
    const int which = in_->byte() | in_->byte() << 8;
    if (which & 1) o->ranges = ranges();
    if (which & 2) o->mask = mask();
    if (which & 4) o->softcap = softcap();
    if (which & 8) o->alibi = made<heed_alibi>([&](auto *a) { return heed_alibi_init(a, of_heads()); });
    if ((which & 0x70) == 0x70) o->scores = scores();
    if (partial && !in_->rarely()) return o;
    if (which & 0x2000) o->weights = weights();
    if (which & 0x80) o->sinks = sinks();
    if (which & 0x100) o->lse = lse();
    if ((which & 0x600) == 0x600) o->column_sums = column_sums();
    if ((which & 0x1800) == 0x1800) o->top_k = top_k();
    if (in_->rarely()) o->struct_size = uint32_t(in_->word());
    return o;
  }
  const heed_sinks *sinks() {
    const float *logits = in_->byte() % 3 ? of_heads() : nullptr;
    return made<heed_sinks>([&](auto *s) { return heed_sinks_init(s, logits); });
  }
  const heed_lse *lse() {
    const auto out = tensor_of<heed_tensor_out>(in_, memory_, batch_, n_heads_, n_q_, 1, true);
    return made<heed_lse>([&](auto *l) { return heed_lse_init(l, out); });
  }

 private:
  // What its init function refuses stays as it was, but for the size: not initialised. Some are damaged afterwards.
  template <typename T, typename Init>
  T *made(Init init) {
    T *object = memory_->object<T>();
    if (init(object) != HEED_OK) {
      static const T zeros = {};
      if (std::memcmp(&zeros, object, sizeof zeros) != 0) std::abort();
      object->struct_size = sizeof *object;
    }
    const uint8_t damage = in_->byte();
    if (damage == 255) object->struct_size = uint32_t(in_->word());
    if (damage == 254) object->code = nullptr;
    return object;
  }
  const heed_softcap *softcap() {
    const float number = in_->number(), cap = in_->byte() < 230 ? std::fabs(number) + 0.5f : number;
    return made<heed_softcap>([=](auto *s) { return heed_softcap_init(s, cap); });
  }
  const float *of_heads() { return memory_->tensor({1}, {0}, n_heads_, false); }

  const int32_t *of_batch(bool lengths = false) {
    if (in_->byte() < 150) return nullptr;
    int32_t *numbers = static_cast<int32_t *>(memory_->array({1}, {0}, batch_, 4, false));
    if (!memory_->usable() || batch_ < 1 || reinterpret_cast<uintptr_t>(numbers) % 4 != 0) return numbers;
    for (int32_t b = 0; numbers && b < batch_; ++b) {
      numbers[b] = position();
      if (lengths && in_->byte() < 240) numbers[b] &= n_kv_ >= 255 ? 255 : n_kv_ >= 15 ? 15 : 1;
    }
    return numbers;
  }
  int32_t position() { return in_->byte() < 220 ? in_->byte() - 3 : in_->word(); }
  const heed_ranges *ranges() {
    heed_ranges *r = made<heed_ranges>([](auto *o) { return heed_ranges_init(o); });
    if (in_->byte() % 2) r->left_window = position();
    if (in_->byte() % 2) r->right_window = position();
    r->left_windows = of_batch(), r->right_windows = of_batch(), r->positions = of_batch(),
    r->kv_lengths = of_batch(true);
    if (in_->byte() % 4 == 0) r->pinned = position();
    return r;
  }

  const heed_mask *mask() {
    const bool additive = in_->byte() % 2;
    const int32_t n_keys = in_->byte() < 200 ? n_kv_ : in_->size();
    const ptrdiff_t columns = n_keys & 0xffff, rows = n_q_ & 0xffff;
    const ptrdiff_t query = in_->stride(in_->byte() % 2 ? columns : 0);
    const ptrdiff_t head = in_->stride(in_->byte() % 2 ? columns * rows : 0);
    const ptrdiff_t batch = in_->stride(in_->byte() % 2 ? columns * rows * (n_heads_ & 0xffff) : 0);
    void *data = memory_->array({batch_, n_heads_, n_q_}, {batch, head, query}, n_keys, additive ? 4 : 1, false);
    if (additive)
      return made<heed_mask>(
          [&](auto *m) { return heed_mask_init_additive(m, static_cast<float *>(data), n_keys, batch, head, query); });
    return made<heed_mask>(
        [&](auto *m) { return heed_mask_init_boolean(m, static_cast<uint8_t *>(data), n_keys, batch, head, query); });
  }

  const heed_scores *scores() {
    const auto out = tensor_of<heed_tensor_out>(in_, memory_, batch_, n_heads_, n_q_, n_kv_, true);
    const int32_t stage = in_->rarely() ? in_->word() : in_->byte() % 3;
    return made<heed_scores>([&](auto *s) { return heed_scores_init(s, stage, out); });
  }
  const heed_attention_weights *weights() {
    const auto out = tensor_of<heed_tensor_out>(in_, memory_, batch_, n_heads_, n_q_, n_kv_, true);
    return made<heed_attention_weights>([&](auto *w) { return heed_attention_weights_init(w, out); });
  }
  const heed_column_sums *column_sums() {
    const auto out = tensor_of<heed_tensor_out>(in_, memory_, batch_, n_heads_, 1, n_kv_, true);
    return made<heed_column_sums>([&](auto *c) { return heed_column_sums_init(c, out); });
  }
  const heed_top_k *top_k() {
    const int32_t k = in_->byte() < 200 ? 1 + in_->byte() % 5 : in_->size();
    if (double(batch_) * n_heads_ * n_q_ * k > 1e6) memory_->give_up();  // contiguous, so the strides must be right
    const ptrdiff_t of_query = k & 0xffff, of_head = of_query * (n_q_ & 0xffff);
    const std::vector<ptrdiff_t> strides = {of_head * (n_heads_ & 0xffff), of_head, of_query};
    void *weights = memory_->array({batch_, n_heads_, n_q_}, strides, k, 4, true);
    void *keys = memory_->array({batch_, n_heads_, n_q_}, strides, k, 4, true);
    return made<heed_top_k>(
        [&](auto *t) { return heed_top_k_init(t, k, static_cast<float *>(weights), static_cast<int32_t *>(keys)); });
  }

  fuzz_bytes *in_;
  fuzz_memory *memory_;
  int32_t batch_, n_heads_, n_q_, n_kv_;
};

}  // namespace heed_test

#endif
