// A problem's options in the hostile memory of a trial, and all that can be made wrong with them.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_STAGED_OPTIONS_HPP
#define HEED_TESTS_SUPPORT_STAGED_OPTIONS_HPP

#include <algorithm>
#include <string>
#include <vector>

#include "option_flaws.hpp"
#include "trial.hpp"

namespace heed_test {

// What options ask for besides out, in the order in which staged_options places it.
inline std::vector<float> extra_results(const attention_result &r) {
  std::vector<float> all;
  for (const std::vector<float> *part : {&r.scores, &r.weights, &r.lse, &r.column_sums, &r.top_weights})
    all.insert(all.end(), part->begin(), part->end());
  for (const int32_t key : r.top_keys) all.push_back(float_of(static_cast<uint32_t>(key)));
  return all;
}
// Takes them back from the floats at *at.
inline void split_extra_results(const problem &p, const std::vector<float> &all, size_t *at, attention_result *r) {
  const size_t rows = size_t(p.batch) * p.n_heads * p.n_q;
  const auto take = [&](bool wanted, size_t n) {
    const std::vector<float> part = part_of(all, *at, wanted ? n : 0);
    *at += part.size();
    return part;
  };
  r->scores = take(p.options.scores_stage >= 0, p.weights_floats());
  r->weights = take(p.options.weights, p.weights_floats());
  r->lse = take(p.options.lse, rows);
  r->column_sums = take(p.options.column_sums, size_t(p.batch) * p.n_heads * p.n_kv);
  r->top_weights = take(p.options.k > 0, rows * size_t(p.options.k));
  r->top_keys.clear();
  for (const float key : take(p.options.k > 0, rows * size_t(p.options.k)))
    r->top_keys.push_back(static_cast<int32_t>(bits_of(key)));
}

class staged_options {
 public:
  staged_options() = default;
  // with_narrow: narrow tensors are among them, for the caller to fill.
  staged_options(const problem &p, random_source &r, stage *memory, bool with_narrow = false)
      : shape_{p.batch, p.n_heads, p.n_q, p.n_kv}, r_(&r), memory_(memory) {
    additive_ = p.options.mask.kind == mask_kind::additive;
    if (!p.options.any() && !with_narrow) return;
    all_ = memory->inputs<objects>(1);
    *all_ = {};
    all_->options = heed_options_default();
    put_ranges(p.options);
    put_mask(p);
    put_numbers(p.options);
    put_outputs(p);
    if (!with_narrow) return;
    expect(heed_typed_tensors_init(&all_->typed));
    all_->options.typed = &all_->typed;
  }
  // Null: none.
  heed_options *get() const { return all_ ? &all_->options : nullptr; }

  heed_typed_tensors *typed() const { return all_ && all_->options.typed ? &all_->typed : nullptr; }

  // For a call that begins at this key: scores and masks count from there, by copies of their objects.
  struct piece {
    heed_options options = heed_options_default();
    heed_mask mask;
    heed_scores scores;
    heed_typed_tensors typed;
  };
  void make_piece(int32_t first_key, piece *p) const {
    static const float hidden = -infinity;
    static const uint8_t hides = 0;
    if (all_) p->options = all_->options;
    if (p->options.scores) {
      p->scores = *p->options.scores;
      p->scores.out.data += first_key;
      p->options.scores = &p->scores;
    }
    if (p->options.typed) {
      p->typed = *p->options.typed;
      for (heed_typed_tensor *t : {&p->typed.k, &p->typed.v}) {
        if (!t->data) continue;
        t->data = static_cast<const char *>(t->data) + first_key * t->row_stride * HEED_DTYPE_BYTES(t->dtype);
        if (t->dtype == HEED_INT8) t->scales.data += first_key * t->scales.row_stride;
      }
      p->options.typed = &p->typed;
    }
    if (!p->options.mask) return;
    p->mask = *p->options.mask;
    p->options.mask = &p->mask;
    p->mask.data = static_cast<const char *>(p->mask.data) + first_key * (additive_ ? sizeof hidden : sizeof hides);
    p->mask.n_keys -= first_key;
    if (p->mask.n_keys > 0) return;
    p->mask.data = additive_ ? static_cast<const void *>(&hidden) : &hides;
    p->mask.n_keys = 1;
    p->mask.batch_stride = p->mask.head_stride = p->mask.query_stride = 0;
  }

  // A list for each object and one for the options, whose pointer is `argument`. `written` is memory that the call
  // writes: of at least 32 floats.
  std::vector<spoilings> flaws(random_source &r, const heed_options **argument, float *written) {
    std::vector<spoilings> all = object_flaws(true);
    if (!all_) return all;
    all.push_back(options_in_written_memory(argument, written));
    all.push_back(overlaps(r, written));
    return all;
  }
  std::vector<spoilings> object_flaws(bool with_options) {
    std::vector<spoilings> all;
    if (!all_) return all;
    std::string last;
    for (const option_flaw &f : flaws_of_options(shape_, all_->options, additive_)) {
      const std::string object = f.what.substr(0, f.what.find(':'));
      if (object == "options" && !with_options) continue;
      if (object != last) all.emplace_back();
      last = object;
      all.back().push_back({f.what, [=] { memory_->edit([&] { f.apply(all_->options); }); }});
    }
    return all;
  }

 private:
  struct objects {
    heed_options options;
    heed_ranges ranges;
    heed_mask mask;
    heed_softcap softcap;
    heed_alibi alibi;
    heed_sinks sinks;
    heed_scores scores;
    heed_attention_weights weights;
    heed_lse lse;
    heed_column_sums column_sums;
    heed_topk_weights topk_weights;
    heed_typed_tensors typed;
  };

  static void expect(heed_status status) { EXPECT_EQ(status_name(status), "HEED_OK"); }
  template <typename T>
  const T *copy(const std::vector<T> &numbers) {
    if (numbers.empty()) return nullptr;
    T *data = memory_->inputs<T>(numbers.size());
    std::copy(numbers.begin(), numbers.end(), data);
    return data;
  }
  void put_ranges(const extras &x) {
    if (!x.ranges) return;
    heed_ranges &ranges = all_->ranges;
    expect(heed_ranges_init(&ranges));
    ranges.left_window = x.left_window, ranges.right_window = x.right_window;
    ranges.left_windows = copy(x.left_windows), ranges.right_windows = copy(x.right_windows);
    ranges.positions = copy(x.offsets), ranges.kv_lengths = copy(x.kv_lengths), ranges.pinned = x.pinned;
    all_->options.ranges = &ranges;
  }

  // Columns beyond n_kv may be missing from memory: nobody reads them.
  template <typename T>
  T *put_mask_elements(const placement &at, const problem_mask &m) {
    const size_t n = at.extent() - size_t(std::max(0, m.n_keys - shape_.n_kv));
    T *data = memory_->inputs<T>(n);
    each_row(at, [&](size_t row, size_t index) {
      for (size_t j = 0; j < std::min(size_t(m.n_keys), n - row); ++j)
        data[row + j] = static_cast<T>(m.elements[index + j]);
    });
    return data;
  }
  void put_mask(const problem &p) {
    const problem_mask &m = p.options.mask;
    if (m.kind == mask_kind::none) return;
    placement at = random_placement(*r_, m.n_batch, m.n_heads, m.n_q, m.n_keys);
    if (m.n_batch < p.batch) at.batch_stride = 0;
    if (m.n_heads < p.n_heads) at.head_stride = 0;
    if (m.n_q < p.n_q) at.row_stride = 0;
    if (additive_)
      expect(heed_mask_init_additive(&all_->mask, put_mask_elements<float>(at, m), m.n_keys, at.batch_stride,
                                     at.head_stride, at.row_stride));
    else
      expect(heed_mask_init_boolean(&all_->mask, put_mask_elements<uint8_t>(at, m), m.n_keys, at.batch_stride,
                                    at.head_stride, at.row_stride));
    all_->options.mask = &all_->mask;
  }
  void put_numbers(const extras &x) {
    if (x.cap != 0) expect(heed_softcap_init(&all_->softcap, x.cap)), all_->options.softcap = &all_->softcap;
    if (!x.slopes.empty()) {
      expect(heed_alibi_init(&all_->alibi, copy(x.slopes)));
      all_->alibi.symmetric = x.symmetric;
      all_->options.alibi = &all_->alibi;
    }
    if (x.sinks) expect(heed_sinks_init(&all_->sinks, copy(x.sink_logits))), all_->options.sinks = &all_->sinks;
  }

  heed_tensor_out output(int32_t n_rows, int32_t dim) {
    const placement at = random_placement(*r_, shape_.batch, shape_.n_heads, n_rows, dim);
    return output_view(at, memory_->output(at));
  }
  void put_outputs(const problem &p) {
    heed_options &options = all_->options;
    const extras &x = p.options;
    if (x.scores_stage >= 0)
      expect(heed_scores_init(&all_->scores, x.scores_stage, output(p.n_q, p.n_kv))), options.scores = &all_->scores;
    if (x.weights)
      expect(heed_attention_weights_init(&all_->weights, output(p.n_q, p.n_kv))), options.weights = &all_->weights;
    if (x.lse) expect(heed_lse_init(&all_->lse, output(p.n_q, 1))), options.lse = &all_->lse;
    if (x.column_sums) {
      heed_tensor_out sums = output(1, p.n_kv);
      sums.row_stride = static_cast<ptrdiff_t>(r_->next()) - PTRDIFF_MAX / 2;  // of no account
      expect(heed_column_sums_init(&all_->column_sums, sums));
      options.column_sums = &all_->column_sums;
    }
    if (x.k < 1) return;
    const placement at = place(layout::head_major, 0, p.batch, p.n_heads, p.n_q, x.k);
    float *weights = memory_->output(at);
    expect(heed_topk_weights_init(&all_->topk_weights, x.k, weights, reinterpret_cast<int32_t *>(memory_->output(at))));
    options.topk_weights = &all_->topk_weights;
  }

  spoilings options_in_written_memory(const heed_options **argument, float *written) {
    spoilings all = {{"the options in written memory", [=] { *argument = memory_->plant(written, all_->options); }}};
    const auto object = [&](const char *name, auto heed_options::*o) {
      using T = std::remove_const_t<std::remove_reference_t<decltype(*(all_->options.*o))>>;
      if (!(all_->options.*o)) return;
      all.push_back({std::string(name) + " in written memory", [=] {
                       const T *there = memory_->plant(written, T(*(all_->options.*o)));
                       memory_->edit([&] { all_->options.*o = there; });
                     }});
    };
    object("ranges", &heed_options::ranges), object("mask", &heed_options::mask);
    object("softcap", &heed_options::softcap), object("alibi", &heed_options::alibi);
    object("sinks", &heed_options::sinks), object("scores", &heed_options::scores);
    object("weights", &heed_options::weights), object("lse", &heed_options::lse);
    object("column sums", &heed_options::column_sums), object("top k", &heed_options::topk_weights);
    object("narrow tensors", &heed_options::typed);
    return all;
  }
  // What is read where the call writes, and what is written where it reads.
  spoilings overlaps(random_source &r, float *written) {
    spoilings all;
    const auto set = [&](const char *what, auto *field, auto to) {
      all.push_back({what, [=] { memory_->edit([&] { *field = to; }); }});
    };
    float *options = reinterpret_cast<float *>(&all_->options);
    const auto onto = [&](const char *what, auto *field, size_t floats) {
      using T = std::remove_reference_t<decltype(*field)>;
      set(what, field, reinterpret_cast<T>(overlapping(r, floats, options, sizeof(heed_options) / sizeof(float))));
    };
    if (all_->options.mask) set("mask in written memory", &all_->mask.data, written + r.between(0, 3));
    if (all_->options.alibi) set("slopes in written memory", &all_->alibi.slopes, written);
    if (all_->options.scores) onto("scores on the options", &all_->scores.out.data, size_t{4});
    if (all_->options.weights) onto("weights on the options", &all_->weights.out.data, size_t{4});
    if (all_->options.lse) onto("lse on the options", &all_->lse.out.data, size_t{2});
    if (all_->options.column_sums) onto("sums on the options", &all_->column_sums.out.data, size_t{2});
    if (all_->options.topk_weights) onto("weights of top k on the options", &all_->topk_weights.weights, size_t{1});
    if (all_->options.topk_weights) onto("keys of top k on the options", &all_->topk_weights.keys, size_t{1});
    return all;
  }

  option_shape shape_ = {};
  random_source *r_ = nullptr;
  stage *memory_ = nullptr;
  bool additive_ = false;
  objects *all_ = nullptr;
};

}  // namespace heed_test

#endif
