// heed for C++17: what attention may do besides, for arrays of known shapes. Include heed.hpp; options.h says what each
// option does. SPDX-License-Identifier: MIT
#ifndef HEED_HEED_OPTIONS_HPP
#define HEED_HEED_OPTIONS_HPP

#include "types.hpp"

namespace heed {

// How attention may differ from the plain one: fields of heed_attention.
struct attention_options {
  float scale = HEED_SCALE_DEFAULT;
  bool causal = false;
  int32_t position = 0;
  const heed_executor *executor = nullptr;
};
inline void set_options(heed_attention *call, const attention_options &o) noexcept {
  call->scale = o.scale;
  call->causal = o.causal;
  call->position = o.position;
  call->executor = o.executor;
}

// All that options.h has, for attention of these shapes (of a sequence: 1 head, its capacity twice). Each function
// makes one object and adds it; a program holds the code of those that it names. Arrays stay the caller's. The call
// refuses what is wrong.
template <int Heads, int NQ, int NKV>
class options : public attention_options {
 public:
  options() = default;
  options(const options &) = delete;  // it points into itself
  options &operator=(const options &) = delete;

  // Keys besides the query's own position; -1: all.
  options &window(int32_t left, int32_t right = -1) noexcept {
    open_ranges();
    ranges_.left_window = left;
    ranges_.right_window = right;
    return *this;
  }
  // The first n keys alone.
  options &keys(int32_t n) noexcept {
    open_ranges();
    n_keys_ = n;
    ranges_.kv_lengths = &n_keys_;
    return *this;
  }

  // Elements are bool or uint8_t (0 hides), or float (added; -infinity hides); the same for all queries, for all heads,
  // or for each.
  template <class T>
  options &mask(const T (&m)[NKV]) noexcept {
    return add_mask(m, 0, 0);
  }
  template <class T>
  options &mask(const T (&m)[NQ][NKV]) noexcept {
    return add_mask(m[0], 0, NKV);
  }
  template <class T>
  options &mask(const T (&m)[Heads][NQ][NKV]) noexcept {
    return add_mask(m[0][0], ptrdiff_t{NQ} * NKV, NKV);
  }

  options &softcap(float cap) noexcept { return add(&heed_options::softcap, &softcap_, heed_softcap_init, cap); }
  options &alibi(const float (&slopes)[Heads]) noexcept {
    return add(&heed_options::alibi, &alibi_, heed_alibi_init, slopes);
  }
  options &sinks(const float (&logits)[Heads]) noexcept {
    return add(&heed_options::sinks, &sinks_, heed_sinks_init, logits);
  }
  options &smooth_softmax() noexcept { return add(&heed_options::sinks, &sinks_, heed_sinks_init, nullptr); }

  options &scores(heed_scores_stage stage, float (&out)[Heads][NQ][NKV]) noexcept {
    return add(&heed_options::scores, &scores_, heed_scores_init, stage,
               heed_head_major_out(out[0][0], NQ, Heads, NKV));
  }
  options &weights(float (&out)[Heads][NQ][NKV]) noexcept {
    return add(&heed_options::weights, &weights_, heed_attention_weights_init,
               heed_head_major_out(out[0][0], NQ, Heads, NKV));
  }
  options &lse(float (&out)[Heads][NQ]) noexcept {
    return add(&heed_options::lse, &lse_, heed_lse_init, heed_head_major_out(out[0], NQ, Heads, 1));
  }
  options &column_sums(float (&out)[Heads][NKV]) noexcept {
    return add(&heed_options::column_sums, &column_sums_, heed_column_sums_init,
               heed_head_major_out(out[0], 1, Heads, NKV));
  }
  template <int K>
  options &top_k(float (&largest)[Heads][NQ][K], int32_t (&keys)[Heads][NQ][K]) noexcept {
    static_assert(K <= NKV, "more than there are keys");
    return add(&heed_options::top_k, &top_k_, heed_top_k_init, K, largest[0][0], keys[0][0]);
  }

  const heed_options *c_options() const noexcept { return &c_; }  // for the functions of heed.h

 private:
  // An init function looks at its object alone: it cannot fail here.
  template <class T, class... Arguments, class... Given>
  options &add(const T *heed_options::*place, T *object, heed_status (*init)(T *, Arguments...),
               Given... given) noexcept {
    init(object, given...);
    c_.*place = object;
    return *this;
  }
  void open_ranges() noexcept {
    if (!c_.ranges) add(&heed_options::ranges, &ranges_, heed_ranges_init);
  }
  options &add_mask(const uint8_t *m, ptrdiff_t head_stride, ptrdiff_t query_stride) noexcept {
    return add(&heed_options::mask, &mask_, heed_mask_init_boolean, m, NKV, 0, head_stride, query_stride);
  }
  options &add_mask(const bool *m, ptrdiff_t head_stride, ptrdiff_t query_stride) noexcept {
    static_assert(sizeof(bool) == 1, "a byte each");
    return add_mask(reinterpret_cast<const uint8_t *>(m), head_stride, query_stride);
  }
  options &add_mask(const float *m, ptrdiff_t head_stride, ptrdiff_t query_stride) noexcept {
    return add(&heed_options::mask, &mask_, heed_mask_init_additive, m, NKV, 0, head_stride, query_stride);
  }

  heed_options c_ = heed_options_default();
  int32_t n_keys_;
  heed_ranges ranges_;
  heed_mask mask_;
  heed_softcap softcap_;
  heed_alibi alibi_;
  heed_sinks sinks_;
  heed_scores scores_;
  heed_attention_weights weights_;
  heed_lse lse_;
  heed_column_sums column_sums_;
  heed_top_k top_k_;
};

// Attention over some of the keys, in the object itself (all zeros before begin(), so a static one costs no flash).
template <int Heads, int NQ, int V>
class partial {
 public:
  static constexpr size_t n_bytes = HEED_PARTIAL_BYTES(1, Heads, NQ, V);

  constexpr partial() = default;
  partial(const partial &) = delete;  // it points into itself
  partial &operator=(const partial &) = delete;

  // Empties it. The next key is first_key of the context, a multiple of 1024.
  status begin(int32_t first_key = 0) noexcept {
    return heed_partial_init(&c_, 1, Heads, NQ, V, first_key, heed_memory_of(data_, n_bytes));
  }
  // Adds the one that follows, of at most 1024 keys.
  status merge(const partial &next) noexcept { return heed_partial_merge(&c_, &next.c_); }
  status finish(float (&out)[NQ][Heads][V]) const noexcept {
    return heed_partial_finish(&c_, nullptr, heed_token_major_out(out[0][0], NQ, Heads, V), nullptr);
  }
  // With the sinks and the lse of these options.
  template <int NKV>
  status finish(float (&out)[NQ][Heads][V], const options<Heads, NQ, NKV> &o) const noexcept {
    return heed_partial_finish(&c_, o.c_options()->sinks, heed_token_major_out(out[0][0], NQ, Heads, V),
                               o.c_options()->lse);
  }

  heed_partial *c_partial() noexcept { return &c_; }  // for the functions of heed.h, and to be sent
  const heed_partial *c_partial() const noexcept { return &c_; }

 private:
  heed_partial c_ = {};
  alignas(HEED_ALIGNMENT) float data_[n_bytes / sizeof(float)] = {};
};

}  // namespace heed

#endif
