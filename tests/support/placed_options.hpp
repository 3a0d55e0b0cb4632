// A problem's options as objects of options.h, their arrays and outputs in fenced memory. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_PLACED_OPTIONS_HPP
#define HEED_TESTS_SUPPORT_PLACED_OPTIONS_HPP

#include <optional>
#include <vector>

#include "setting.hpp"

namespace heed_test {

class placed_options {
 public:
  placed_options(const problem &p, const setting &s) : p_(p), x_(p.options), s_(s) {}
  placed_options(const placed_options &) = delete;
  placed_options &operator=(const placed_options &) = delete;

  const heed_options *get() const { return &all_; }
  const heed_sinks *sinks() const { return x_.sinks ? &sinks_ : nullptr; }
  const heed_lse *lse() const { return x_.lse ? &lse_ : nullptr; }

  void put_ranges() {
    EXPECT_EQ(heed_ranges_init(&ranges_), HEED_OK);
    ranges_.left_window = x_.left_window, ranges_.right_window = x_.right_window;
    ranges_.left_windows = fenced_copy(slot_left_windows, x_.left_windows);
    ranges_.right_windows = fenced_copy(slot_right_windows, x_.right_windows);
    ranges_.positions = fenced_copy(slot_offsets, x_.offsets);
    ranges_.kv_lengths = fenced_copy(slot_kv_lengths, x_.kv_lengths);
    ranges_.pinned = x_.pinned;
    all_.ranges = &ranges_;
  }
  void put_mask() {
    const problem_mask &m = x_.mask;
    mask_place_ = place(s_.in, s_.padding, m.n_batch, m.n_heads, m.n_q, m.n_keys);
    if (m.kind == mask_kind::boolean)
      mask_data_ = place_mask<uint8_t>(1);
    else
      mask_data_ = place_mask<float>(float_of(unread_bits));
    init_mask(0);
    all_.mask = &mask_;
  }
  void put_softcap() {
    EXPECT_EQ(heed_softcap_init(&softcap_, x_.cap), HEED_OK);
    all_.softcap = &softcap_;
  }
  void put_alibi() {
    EXPECT_EQ(heed_alibi_init(&alibi_, fenced_copy(slot_slopes, x_.slopes)), HEED_OK);
    alibi_.symmetric = x_.symmetric;
    all_.alibi = &alibi_;
  }
  void put_sinks() {
    EXPECT_EQ(heed_sinks_init(&sinks_, fenced_copy(slot_sinks, x_.sink_logits)), HEED_OK);
    all_.sinks = &sinks_;
  }
  void put_scores() {
    scores_rows_.emplace(slot_scores, place(s_.out, s_.padding, p_.batch, p_.n_heads, p_.n_q, p_.n_kv));
    init_scores(0);
    all_.scores = &scores_;
  }
  void put_weights() {
    weights_rows_.emplace(slot_weights, place(s_.out, s_.padding, p_.batch, p_.n_heads, p_.n_q, p_.n_kv));
    EXPECT_EQ(heed_attention_weights_init(&weights_, weights_rows_->view()), HEED_OK);
    all_.weights = &weights_;
  }
  void put_lse() {
    lse_rows_.emplace(slot_lse, place(s_.out, s_.padding, p_.batch, p_.n_heads, p_.n_q, 1));
    EXPECT_EQ(heed_lse_init(&lse_, lse_rows_->view()), HEED_OK);
    all_.lse = &lse_;
  }
  void put_column_sums() {
    sums_rows_.emplace(slot_column_sums, place(s_.out, s_.padding, p_.batch, p_.n_heads, 1, p_.n_kv));
    heed_tensor_out view = sums_rows_->view();
    view.row_stride = s_.padding % 2 ? 0 : PTRDIFF_MAX;  // of no account
    EXPECT_EQ(heed_column_sums_init(&sums_, view), HEED_OK);
    all_.column_sums = &sums_;
  }
  void put_top_k() {
    const placement rows = place(layout::head_major, 0, p_.batch, p_.n_heads, p_.n_q, x_.k);
    top_weights_.emplace(slot_top_weights, rows);
    top_keys_.emplace(slot_top_keys, rows);
    EXPECT_EQ(heed_topk_weights_init(&top_k_, x_.k, top_weights_->view().data,
                                     reinterpret_cast<int32_t *>(top_keys_->view().data)),
              HEED_OK);
    all_.topk_weights = &top_k_;
  }
  // Instead of some of the call's tensors.
  void put_narrow(const heed_typed_tensors *narrow) { all_.typed = narrow, narrow_ = *narrow; }
  // What is no option; how partial results are asked for is up to the caller.
  void put_nothing() {}

  // For a call that begins at this key: sinks and log-sum-exp are for the end.
  const heed_options *piece(int32_t first_key, heed_partial *partial) {
    if (all_.mask) init_mask(first_key);
    if (all_.scores) init_scores(first_key);
    if (all_.typed) narrow_of_piece(first_key);
    all_.sinks = nullptr, all_.lse = nullptr, all_.partial = partial;
    return &all_;
  }

  // all: each row must have been written; sequences of different lengths leave some out.
  void collect(attention_result *result, bool all = true) const {
    const auto take = [=](const std::optional<rows> &from) { return from ? from->take(all) : std::vector<float>(); };
    result->scores = take(scores_rows_), result->weights = take(weights_rows_), result->lse = take(lse_rows_);
    result->column_sums = take(sums_rows_), result->top_weights = take(top_weights_);
    for (const float &x : take(top_keys_)) result->top_keys.push_back(static_cast<int32_t>(bits_of(x)));
  }

 private:
  // An output in fenced memory.
  struct rows {
    rows(slot which, const placement &where) : at(where), memory(which, where.extent(), unwritten_bits) {}
    heed_tensor_out view() const { return output_view(at, memory.data()); }
    std::vector<float> take(bool all) const { return gather(at, memory, all); }
    placement at;
    fenced_floats memory;
  };

  // Columns beyond n_kv are behind the fence: nobody reads them.
  template <typename T>
  const void *place_mask(T between) const {
    const problem_mask &m = x_.mask;
    const size_t hanging = size_t(std::max(0, m.n_keys - p_.n_kv)), n = mask_place_.extent() - hanging;
    T *data = reinterpret_cast<T *>(fence_of(slot_mask)) - n;
    std::fill_n(data, n, between);
    each_row(mask_place_, [&](size_t at, size_t index) {
      for (size_t j = 0; j < std::min(size_t(m.n_keys), n - at); ++j)
        data[at + j] = static_cast<T>(m.elements[index + j]);
    });
    return data;
  }
  void init_mask(int32_t first_key) {
    static const uint8_t false_byte = 0;
    static const float hidden = -infinity;
    const problem_mask &m = x_.mask;
    const bool boolean = m.kind == mask_kind::boolean, none = first_key >= m.n_keys;
    const auto stride = [none](int32_t count, ptrdiff_t s) { return none || count == 1 ? 0 : s; };
    const ptrdiff_t b = stride(m.n_batch, mask_place_.batch_stride), h = stride(m.n_heads, mask_place_.head_stride),
                    i = stride(m.n_q, mask_place_.row_stride);
    const int32_t n = none ? 1 : m.n_keys - first_key;
    const auto *bytes = none ? &false_byte : static_cast<const uint8_t *>(mask_data_) + first_key;
    const auto *floats = none ? &hidden : static_cast<const float *>(mask_data_) + first_key;
    EXPECT_EQ(boolean ? heed_mask_init_boolean(&mask_, bytes, n, b, h, i)
                      : heed_mask_init_additive(&mask_, floats, n, b, h, i),
              HEED_OK);
  }
  void init_scores(int32_t first_key) {
    heed_tensor_out view = scores_rows_->view();
    view.data += first_key;
    EXPECT_EQ(heed_scores_init(&scores_, x_.scores_stage, view), HEED_OK);
  }

  void narrow_of_piece(int32_t first_key) {
    piece_ = narrow_;
    for (heed_typed_tensor *x : {&piece_.k, &piece_.v}) {
      if (!x->data) continue;
      x->data = static_cast<const char *>(x->data) +
                first_key * x->row_stride * static_cast<ptrdiff_t>(HEED_DTYPE_BYTES(x->dtype));
      if (x->dtype == HEED_INT8) x->scales.data += first_key * x->scales.row_stride;
    }
    all_.typed = &piece_;
  }

  const problem &p_;
  const extras &x_;
  const setting &s_;
  heed_options all_ = heed_options_default();
  heed_ranges ranges_;
  heed_mask mask_;
  heed_softcap softcap_;
  heed_alibi alibi_;
  heed_sinks sinks_;
  heed_scores scores_;
  heed_attention_weights weights_;
  heed_lse lse_;
  heed_column_sums sums_;
  heed_topk_weights top_k_;
  heed_typed_tensors narrow_, piece_;
  placement mask_place_ = {};
  const void *mask_data_ = nullptr;
  std::optional<rows> scores_rows_, weights_rows_, lse_rows_, sums_rows_, top_weights_, top_keys_;
};

}  // namespace heed_test

#endif
