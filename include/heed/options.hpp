// heed for C++17: options of attention, for arrays of known shapes. Include heed.hpp. options.h states what each option
// does. SPDX-License-Identifier: MIT
#ifndef HEED_HEED_OPTIONS_HPP
#define HEED_HEED_OPTIONS_HPP

#include "views.hpp"

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"  // GCC warns where an int is the bound of an array
#endif

namespace heed {

// The default of attention_options::causal: true over a cache, as in heed_attention_of_cache, else false.
inline constexpr int32_t causal_default = -1;

// Fields of heed_attention that may differ from a plain call.
struct attention_options {
  float scale = HEED_SCALE_DEFAULT;         // any number but 0
  int32_t causal = causal_default;          // true, false or causal_default
  int32_t position = 0;                     // of query 0; over a cache it counts from the newest tokens
  const heed_executor *executor = nullptr;  // or null: one thread

  // For the functions of C: there are no options, so they fit every call.
  const heed_options *c_options() const noexcept { return nullptr; }
  template <int, int, int>
  static constexpr bool fits = true;
  static constexpr int n_kv = 0;  // columns: as many as there are keys
};
// Puts the fields and the options into a call.
template <class Options>
void set_options(heed_attention *call, const Options &o) noexcept {
  call->scale = o.scale;
  if (o.causal != causal_default) call->causal = o.causal;
  call->position = o.position;
  call->executor = o.executor;
  call->options = o.c_options();
}

// All options of options.h, for attention of these shapes. For a sequence use options<1, capacity, capacity>. Each
// function makes one option and adds it. A program holds only the code of the options that it names. The object keeps
// pointers to the arrays. The call returns the status of an option that is wrong.
template <int Heads, int NQ, int NKV>
class options : public attention_options {
 public:
  // No options.
  options() = default;
  // An object points into itself, so it cannot be copied.
  options(const options &) = delete;
  options &operator=(const options &) = delete;

  // A window: the keys besides the query's own position; -1 means all.
  options &window(int32_t left, int32_t right = -1) noexcept {
    open_ranges();
    ranges_.left_window = left;
    ranges_.right_window = right;
    return *this;
  }
  // Only the first n keys.
  options &keys(int32_t n) noexcept {
    open_ranges();
    n_keys_ = n;
    ranges_.kv_lengths = &n_keys_;
    return *this;
  }

  // A mask for all queries and heads, for all heads, or for each head. Elements are bool or uint8_t (0 hides a key), or
  // float (added to the scores; -infinity hides a key).
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

  // heed_softcap.
  options &softcap(float cap) noexcept { return add(&heed_options::softcap, &softcap_, heed_softcap_init, cap); }
  // heed_alibi.
  options &alibi(const float (&slopes)[Heads], bool symmetric = false) noexcept {
    add(&heed_options::alibi, &alibi_, heed_alibi_init, slopes);
    alibi_.symmetric = symmetric;
    return *this;
  }
  // heed_sinks; smooth_softmax adds 1 to the denominator.
  options &sinks(const float (&logits)[Heads]) noexcept {
    return add(&heed_options::sinks, &sinks_, heed_sinks_init, logits);
  }
  options &smooth_softmax() noexcept { return add(&heed_options::sinks, &sinks_, heed_sinks_init, nullptr); }

  // The call writes the scores at one stage.
  options &scores(heed_scores_stage stage, float (&x)[Heads][NQ][NKV]) noexcept {
    return add(&heed_options::scores, &scores_, heed_scores_init, stage, heed_head_major_out(x[0][0], NQ, Heads, NKV));
  }
  // The call writes the attention weights.
  options &weights(float (&out)[Heads][NQ][NKV]) noexcept {
    return add(&heed_options::weights, &weights_, heed_attention_weights_init,
               heed_head_major_out(out[0][0], NQ, Heads, NKV));
  }
  // The call writes the log-sum-exp of each row.
  options &lse(float (&out)[Heads][NQ]) noexcept {
    return add(&heed_options::lse, &lse_, heed_lse_init, heed_head_major_out(out[0], NQ, Heads, 1));
  }
  // The call writes the sum of the weights of each key.
  options &column_sums(float (&out)[Heads][NKV]) noexcept {
    return add(&heed_options::column_sums, &column_sums_, heed_column_sums_init,
               heed_head_major_out(out[0], 1, Heads, NKV));
  }
  // The call writes the K largest weights of each row, and their keys.
  template <int K>
  options &topk_weights(float (&largest)[Heads][NQ][K], int32_t (&keys)[Heads][NQ][K]) noexcept {
    static_assert(K <= NKV, "more than there are keys");
    return add(&heed_options::topk_weights, &top_k_, heed_topk_weights_init, K, largest[0][0], keys[0][0]);
  }

  // For the functions of C: the options, and whether they are for these shapes.
  const heed_options *c_options() const noexcept { return &c_; }
  operator const heed_options *() const noexcept { return &c_; }
  template <int H, int Q, int K>
  static constexpr bool fits = H == Heads &&Q == NQ &&K == NKV;
  static constexpr int n_kv = NKV;  // columns

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
  heed_topk_weights top_k_;
};

// A partial result: attention over some of the keys. The object holds its memory. It is all zeros before begin(), so a
// static object takes no flash.
template <int Heads, int NQ, int V>
class partial {
 public:
  static constexpr size_t n_bytes = HEED_PARTIAL_BYTES(1, Heads, NQ, V);  // the size of its memory

  // Not yet a partial result: call begin() first.
  constexpr partial() = default;
  // An object points into itself, so it cannot be copied.
  partial(const partial &) = delete;
  partial &operator=(const partial &) = delete;

  // Makes it empty. The next key is key first_key of the context, a multiple of 1024.
  status begin(int32_t first_key = 0) noexcept {
    return heed_partial_init(&c_, 1, Heads, NQ, V, first_key, heed_memory_of(data_, n_bytes));
  }
  // Adds the partial result that follows, of at most 1024 keys.
  status merge(const partial &next) noexcept { return heed_partial_merge(&c_, &next.c_); }
  // Writes the result. Of the options o, only sinks and lse are used.
  status finish(float (&out)[NQ][Heads][V]) const noexcept {
    return heed_partial_finish(&c_, nullptr, heads(out), nullptr);
  }
  template <int NKV>
  status finish(float (&out)[NQ][Heads][V], const options<Heads, NQ, NKV> &o) const noexcept {
    return heed_partial_finish(&c_, o.c_options()->sinks, heads(out), o.c_options()->lse);
  }

  // For the functions of C, and to send it.
  heed_partial *c_partial() noexcept { return &c_; }
  const heed_partial *c_partial() const noexcept { return &c_; }

 private:
  heed_partial c_ = {};
  alignas(HEED_ALIGNMENT) float data_[n_bytes / sizeof(float)] = {};
};

}  // namespace heed

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

#endif
