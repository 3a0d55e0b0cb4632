// All options of a call at once, each object and each array in memory that the tests watch. SPDX-License-Identifier:
// MIT
#ifndef HEED_TESTS_SUPPORT_OPTION_SET_HPP
#define HEED_TESTS_SUPPORT_OPTION_SET_HPP

#include <cmath>
#include <new>

#include "option_flaws.hpp"

namespace heed_test {

// Everything that is read lies in one part of the arena, everything written in another, with room in front of both.
class option_set {
 public:
  option_set(arena *memory, const option_shape &shape) : shape_(shape), n_scores_(rows() * shape.n_kv) {
    take_read(memory);
    take_written(memory);
    restore();
  }

  const option_shape &shape() const { return shape_; }
  size_t rows() const { return size_t(shape_.batch) * shape_.n_heads * shape_.n_q; }

  // As good as new, without a partial.
  void restore() {
    restore_ranges();
    for (size_t i = 0; i < n_scores_; ++i) mask_data[i] = static_cast<float>(i % 5) * -0.5f;
    for (int32_t h = 0; h < shape_.n_heads; ++h) {
      slopes[h] = 0.25f / static_cast<float>(h + 1);
      logits[h] = h % 3 == 2 ? -INFINITY : 0.5f * static_cast<float>(h);
    }
    const ptrdiff_t n_q = shape_.n_q, n_kv = shape_.n_kv, heads = shape_.n_heads;
    const heed_tensor_out sums_out = {sums_data, heads * n_kv, n_kv, 0};
    expect(heed_mask_init_additive(mask, mask_data, shape_.n_kv, heads * n_q * n_kv, n_q * n_kv, n_kv));
    expect(heed_softcap_init(softcap, 30.0f));
    expect(heed_alibi_init(alibi, slopes));
    expect(heed_sinks_init(sinks, logits));
    expect(heed_scores_init(scores, HEED_SCORES_BIASED,
                            heed_head_major_out(scores_data, shape_.n_q, shape_.n_heads, shape_.n_kv)));
    expect(heed_attention_weights_init(weights,
                                       heed_head_major_out(weights_data, shape_.n_q, shape_.n_heads, shape_.n_kv)));
    expect(heed_lse_init(lse, heed_head_major_out(lse_data, shape_.n_q, shape_.n_heads, 1)));
    expect(heed_column_sums_init(sums, sums_out));
    expect(heed_topk_weights_init(topk_weights, k, top_weights, top_keys));
    *options = heed_options_default();
    options->ranges = ranges, options->mask = mask, options->softcap = softcap, options->alibi = alibi;
    options->sinks = sinks, options->scores = scores, options->weights = weights, options->lse = lse;
    options->column_sums = sums, options->topk_weights = topk_weights;
  }
  // What a partial allows.
  void leave_partial_options() {
    options->sinks = nullptr, options->weights = nullptr, options->lse = nullptr;
    options->column_sums = nullptr, options->topk_weights = nullptr;
  }
  void make_mask_boolean() {
    uint8_t *bytes = reinterpret_cast<uint8_t *>(mask_data);
    for (size_t i = 0; i < n_scores_; ++i) bytes[i] = static_cast<uint8_t>(i % 4);
    expect(heed_mask_init_boolean(mask, bytes, shape_.n_kv, mask->batch_stride, mask->head_stride, mask->query_stride));
  }

  // Memory that a call reads or writes, in bytes.
  struct piece {
    std::string name;
    void *data;
    size_t bytes;
  };
  std::vector<piece> pieces_read() const {
    const size_t batch = size_t(shape_.batch) * 4, heads = size_t(shape_.n_heads) * 4;
    return {{"options", options, sizeof *options},
            {"ranges", ranges, sizeof *ranges},
            {"mask", mask, sizeof *mask},
            {"softcap", softcap, sizeof *softcap},
            {"alibi", alibi, sizeof *alibi},
            {"sinks", sinks, sizeof *sinks},
            {"scores", scores, sizeof *scores},
            {"weights", weights, sizeof *weights},
            {"lse", lse, sizeof *lse},
            {"column sums", sums, sizeof *sums},
            {"top k", topk_weights, sizeof *topk_weights},
            {"left windows", left_windows, batch},
            {"right windows", right_windows, batch},
            {"positions", positions, batch},
            {"lengths", kv_lengths, batch},
            {"mask data", mask_data, n_scores_ * 4},
            {"slopes", slopes, heads},
            {"logits", logits, heads}};
  }

  // Memory that a call writes, and how to put it elsewhere.
  struct output {
    heed_argument argument;
    size_t floats;
    std::function<void(float *)> move;
  };
  std::vector<output> outputs() {
    const size_t n_sums = size_t(shape_.batch) * shape_.n_heads * shape_.n_kv, n_top = rows() * k;
    return {
        {HEED_ARG_SCORES, n_scores_, [this](float *to) { scores->out.data = to; }},
        {HEED_ARG_WEIGHTS, n_scores_, [this](float *to) { weights->out.data = to; }},
        {HEED_ARG_LSE, rows(), [this](float *to) { lse->out.data = to; }},
        {HEED_ARG_COLUMN_SUMS, n_sums, [this](float *to) { sums->out.data = to; }},
        {HEED_ARG_TOPK_WEIGHTS, n_top, [this](float *to) { topk_weights->weights = to; }},
        {HEED_ARG_TOPK_WEIGHTS, n_top, [this](float *to) { topk_weights->keys = reinterpret_cast<int32_t *>(to); }}};
  }

  static constexpr int32_t k = 2;
  heed_options *options;
  heed_ranges *ranges;
  heed_mask *mask;
  heed_softcap *softcap;
  heed_alibi *alibi;
  heed_sinks *sinks;
  heed_scores *scores;
  heed_attention_weights *weights;
  heed_lse *lse;
  heed_column_sums *sums;
  heed_topk_weights *topk_weights;
  int32_t *left_windows, *right_windows, *positions, *kv_lengths, *top_keys;
  float *mask_data, *slopes, *logits, *scores_data, *weights_data, *lse_data, *sums_data, *top_weights;

 private:
  static void expect(heed_status status) { EXPECT_EQ(status_name(status), "HEED_OK"); }
  template <typename T>
  static T *make(arena *memory) {
    return new (memory->take_aligned((sizeof(T) + 3) / 4)) T();
  }
  void take_read(arena *memory) {
    memory->take(1024);
    options = make<heed_options>(memory), ranges = make<heed_ranges>(memory), mask = make<heed_mask>(memory);
    softcap = make<heed_softcap>(memory), alibi = make<heed_alibi>(memory), sinks = make<heed_sinks>(memory);
    scores = make<heed_scores>(memory), weights = make<heed_attention_weights>(memory), lse = make<heed_lse>(memory),
    sums = make<heed_column_sums>(memory);
    topk_weights = make<heed_topk_weights>(memory);
    for (int32_t **array : {&left_windows, &right_windows, &positions, &kv_lengths})
      *array = reinterpret_cast<int32_t *>(memory->take(size_t(shape_.batch)));
    // Apart, so that an output at the end of one overlaps nothing else.
    memory->take(1024), mask_data = memory->take(n_scores_);
    memory->take(1024), slopes = memory->take(size_t(shape_.n_heads));
    memory->take(1024), logits = memory->take(size_t(shape_.n_heads));
    memory->take(1024);
  }
  void take_written(arena *memory) {
    memory->take(1024);
    scores_data = memory->take(n_scores_), weights_data = memory->take(n_scores_), lse_data = memory->take(rows());
    sums_data = memory->take(size_t(shape_.batch) * shape_.n_heads * shape_.n_kv);
    top_weights = memory->take(rows() * k);
    top_keys = reinterpret_cast<int32_t *>(memory->take(rows() * k));
    memory->take(1024);
  }
  void restore_ranges() {
    expect(heed_ranges_init(ranges));
    for (int32_t b = 0; b < shape_.batch; ++b) {
      left_windows[b] = b == 0 ? -1 : 3, right_windows[b] = b == 0 ? 1 : -1;
      positions[b] = 2 - b, kv_lengths[b] = shape_.n_kv - b;
    }
    ranges->left_windows = left_windows, ranges->right_windows = right_windows;
    ranges->positions = positions, ranges->kv_lengths = kv_lengths;
  }

  option_shape shape_;
  size_t n_scores_;
};

}  // namespace heed_test

#endif
