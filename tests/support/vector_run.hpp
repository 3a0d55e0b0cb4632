// Runs a vector_problem through heed_attention_run and its options. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_VECTOR_RUN_HPP
#define HEED_TESTS_SUPPORT_VECTOR_RUN_HPP

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "heed/heed.h"
#include "vector_problem.hpp"

namespace heed_test {

struct vector_result {
  vector_rows y, scores;  // y as flat as Q; scores or weights (batch, heads, queries, keys), empty unless wanted
};

class vector_call {
 public:
  vector_call(const vector_problem &p, bool flat, bool scores) : p_(p) {
    result_.y = rows_of(p.batch, p.n_heads, p.n_q, p.v_dim, flat);
    if (scores) result_.scores = rows_of(p.batch, p.n_heads, p.n_q, p.n_kv, false);
    result_.scores.data.assign(result_.scores.count(), std::numeric_limits<float>::quiet_NaN());
    space_.resize(HEED_WORKSPACE_BYTES(p.head_dim, p.v_dim) + HEED_ALIGNMENT);
  }
  vector_call(const vector_call &) = delete;
  vector_call &operator=(const vector_call &) = delete;

  // The operator's scores of the first two stages are those of all pairs, heed's of the pairs that a call shows: they
  // take one without ranges and mask.
  vector_result run() {
    const bool wanted = !result_.scores.data.empty(), every_pair = p_.mode < HEED_SCORES_BIASED;
    if (wanted && every_pair) call(false, true);
    call(true, wanted && !every_pair);
    return result_;
  }

 private:
  void call(bool hiding, bool with_scores) {
    result_.y.data.assign(result_.y.count(), std::numeric_limits<float>::quiet_NaN());  // what is not written shows
    heed_attention call = base();
    call.causal = hiding && p_.causal;
    heed_options options = heed_options_default();
    heed_ranges ranges;
    heed_mask mask;
    heed_softcap softcap;
    heed_scores scores;
    heed_attention_weights weights;
    if (hiding && p_.ranged) {
      made(heed_ranges_init(&ranges));
      ranges.left_window = p_.left_window;
      ranges.right_window = p_.right_window;
      if (!p_.positions.empty()) ranges.positions = p_.positions.data();
      if (!p_.kv_lengths.empty()) ranges.kv_lengths = p_.kv_lengths.data();
      options.ranges = &ranges;
    }
    if (hiding && p_.mask.present) {
      const std::ptrdiff_t b = p_.mask.batch_stride, h = p_.mask.head_stride, i = p_.mask.query_stride;
      made(p_.mask.boolean ? heed_mask_init_boolean(&mask, p_.mask.attend.data(), p_.mask.n_keys, b, h, i)
                           : heed_mask_init_additive(&mask, p_.mask.bias.data(), p_.mask.n_keys, b, h, i));
      options.mask = &mask;
    }
    if (p_.softcap > 0) {
      made(heed_softcap_init(&softcap, p_.softcap));
      options.softcap = &softcap;
    }
    if (with_scores && p_.mode == weights_mode) {
      made(heed_attention_weights_init(&weights, output(&result_.scores)));
      options.weights = &weights;
    } else if (with_scores) {
      made(heed_scores_init(&scores, p_.mode, output(&result_.scores)));
      options.scores = &scores;
    }
    call.options = &options;
    made(heed_attention_run(&call));
  }

  heed_attention base() {
    heed_attention call =
        heed_attention_of(nullptr, nullptr, nullptr, p_.n_q, p_.n_kv, p_.n_heads, p_.n_kv_heads, p_.head_dim, nullptr,
                          heed_memory_of(aligned_space(), space_.size() - HEED_ALIGNMENT));
    call.batch_size = p_.batch;
    call.v_dim = p_.v_dim;
    call.scale = p_.scale;
    call.position = p_.n_past;
    call.q = input(p_.q);
    call.k = input(p_.k);
    call.v = input(p_.v);
    call.out = output(&result_.y);
    return call;
  }

  void *aligned_space() {
    const size_t beyond = reinterpret_cast<uintptr_t>(space_.data()) % HEED_ALIGNMENT;
    return space_.data() + (HEED_ALIGNMENT - beyond);
  }
  static heed_tensor input(const vector_rows &r) {
    return {r.data.data(), r.batch_stride, r.head_stride, r.row_stride};
  }
  static heed_tensor_out output(vector_rows *r) {
    return {r->data.data(), r->batch_stride, r->head_stride, r->row_stride};
  }
  static void made(heed_status status) {
    if (status != HEED_OK)
      throw vector_error(std::string("heed refuses ") + heed_status_argument(status) + ": " + heed_status_text(status));
  }

  const vector_problem &p_;
  vector_result result_;
  std::vector<unsigned char> space_;
};

}  // namespace heed_test

#endif
