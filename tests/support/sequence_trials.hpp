// Trials of sequences. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_SEQUENCE_TRIALS_HPP
#define HEED_TESTS_SUPPORT_SEQUENCE_TRIALS_HPP

#include <string>
#include <vector>

#include "layer_parts.hpp"
#include "primitive_trials.hpp"
#include "staged_options.hpp"

namespace heed_test {

// A life of two sequences: filled, cleared, filled again in portions, attended to. Refused calls are those that have
// arguments enough.
class sequence_trial : public matrix_trial {
 public:
  sequence_trial(random_source &r, extent e) : matrix_trial(&r, e) {
    const int32_t least = e == extent::regular ? 9 : 1, dim = r.size(least, 34);
    rows_numbers_ = any_matrix(r, r.between(2, 30), dim);
    scale_ = r.chance(50) ? HEED_SCALE_DEFAULT : r.scale();
    rows_ = put_matrix(r, e, &rows_numbers_);
    data_ = memory.output({1, 1, rows_.n_rows, dim, 0, 0, dim});
    out_data_ = memory.output({1, 1, rows_.n_rows, dim, 0, 0, dim});
    workspace_ = place_workspace(r, dim, dim);
    x_ = memory.state<heed_sequence>(sizeof(heed_sequence));
    out_ = memory.state<heed_sequence>(sizeof(heed_sequence));
    *x_ = {sizeof(heed_sequence), rows_.n_rows, dim, 0, data_};
    *out_ = {sizeof(heed_sequence), rows_.n_rows, dim, 0, out_data_};
    spoiled_ = e == extent::regular;
    appends_ = r.chance(40), pushes_ = r.chance(50);
    if (spoiled_ && !appends_) x_->length = rows_.n_rows;
    if (!spoiled_) draw_life(r);
    attention_ = shape();
    if (r.chance(60)) draw_inner_features(r, &attention_);
    causal_ = attention_.causal;
    options_ = staged_options(attention_, r, &memory);
    options_argument_ = options_.get();
  }
  std::string text() const override {
    return "sequence of " + std::to_string(rows_numbers_.n_rows) + " x " + std::to_string(rows_numbers_.dim);
  }
  heed_status call() override {
    if (spoiled_ && appends_) return pushes_ ? heed_sequence_push(x_, rows_) : heed_sequence_append(x_, rows_);
    if (!spoiled_) live();
    return one([this] { return heed_sequence_attention(x_, scale_, causal_, options_argument_, out_, workspace_); });
  }
  std::vector<float> plain() const override {
    problem p = attention_;
    for (const int32_t t : spoiled_ ? std::vector<int32_t>() : held_)
      for (const float f : rows_numbers_.row(t)) p.q.push_back(f);
    p.k = p.v = p.q;
    const attention_result result = run(p, plain_setting(p, false));
    const std::vector<float> extra = extra_results(result);
    std::vector<float> all = p.q;
    all.insert(all.end(), result.out.begin(), result.out.end());
    all.insert(all.end(), extra.begin(), extra.end());
    return all;
  }
  std::vector<spoilings> flaws(random_source &r) override {
    const auto damage = [this](const std::string &name, heed_sequence **s, float *written) {
      spoilings all;
      std::vector<flaw<heed_sequence>> flaws = sequence_flaws();
      flaws.push_back({"data at the top of memory", [](auto &x) { x.data = top_of_memory(); }, HEED_OVERFLOW});
      flaws.push_back({"data beyond the top of memory", beyond_the_top, HEED_OVERFLOW});
      for (const flaw<heed_sequence> &f : flaws) {
        heed_sequence bad = **s;
        f.apply(bad);
        all.push_back({name + ": " + f.what, [=, place = *s] { *s = memory.plant(place, bad); }});
      }
      all.push_back({name + ": null", [=] { *s = nullptr; }});
      all.push_back({name + ": in written memory", [=, good = **s] { *s = memory.plant(written, good); }});
      return all;
    };
    if (appends_)
      return {damage("sequence", &x_, data_), flaws_in("rows", &rows_, matrix_flaws<heed_matrix>(HEED_MAX_DIM)),
              pushes_ ? spoilings() : wrong_values<int32_t>("rows", &rows_.n_rows, {rows_.n_rows + 1}),
              wrong_values<const float *>("rows in their own place", &rows_.data, {data_, data_ + 1, data_ - 1})};
    float *const workspace = static_cast<float *>(workspace_.data);
    heed_sequence in_workspace = *out_;
    in_workspace.data = workspace + r.between(0, 9);
    std::vector<spoilings> all = {
        damage("x", &x_, out_data_),
        damage("out", &out_, out_data_),
        wrong_scale(&scale_),
        wrong_workspace(&workspace_, heed_workspace_min_bytes(rows_.dim, rows_.dim)),
        wrong_values<int32_t>("causal", &causal_, {2, -1, INT32_MIN}),
        {{"out is x", [=] { out_ = x_; }},
         {"workspace on x", [=] { workspace_.data = aligned(data_); }},
         {"workspace on out", [=] { workspace_.data = aligned(out_data_); }},
         {"out in the workspace", [=, place = out_] { out_ = memory.plant(place, in_workspace); }}}};
    for (const spoilings &s : options_.flaws(r, &options_argument_, workspace)) all.push_back(s);
    return all;
  }

 private:
  struct step {
    bool pushes, clear;  // pushes or appends; clear: before it
    int32_t first, n;    // rows
    int32_t length;      // afterwards
    bool refused = false;
  };
  // Half of the rows in use, so that the free ones would start at the bottom of memory.
  static void beyond_the_top(heed_sequence &s) {
    s.data = top_of_memory();
    s.length = s.capacity;
    s.capacity *= 2;
  }
  problem shape() const {
    problem p;
    p.n_q = p.n_kv = rows_numbers_.n_rows, p.head_dim = p.v_dim = rows_numbers_.dim, p.scale = scale_;
    return p;
  }
  static void *aligned(float *data) {
    const uintptr_t up = HEED_ALIGNMENT - 1;
    return reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(data) + up) & ~up);
  }
  // Rows come, more than there is room for, too, and go; in the end the sequence is full.
  void draw_life(random_source &r) {
    const int32_t capacity = rows_.n_rows;
    for (int32_t n = r.between(1, 6); n > 0; --n) {
      const int32_t first = r.between(0, capacity - 1);
      add_step({r.chance(50), r.chance(10), first, r.between(1, capacity - first), 0, false});
    }
    const int32_t missing = capacity - static_cast<int32_t>(held_.size());
    if (missing > 0) add_step({r.chance(50), false, 0, missing, 0, false});
  }
  void add_step(step s) {
    const auto capacity = size_t(rows_.n_rows);
    if (s.clear) held_.clear();
    s.refused = !s.pushes && held_.size() + size_t(s.n) > capacity;
    for (int32_t t = s.first; t < s.first + s.n && !s.refused; ++t) held_.push_back(t);
    if (held_.size() > capacity) held_.erase(held_.begin(), held_.end() - rows_.n_rows);
    s.length = static_cast<int32_t>(held_.size());
    life_.push_back(s);
  }
  void live() {
    const heed_memory all = heed_memory_of(data_, HEED_SEQUENCE_BYTES(rows_.n_rows, rows_.dim));
    EXPECT_EQ(heed_sequence_init(x_, rows_.n_rows, rows_.dim, all), HEED_OK);
    for (const step &s : life_) {
      const heed_matrix rows = {rows_.data + s.first * rows_.row_stride, s.n, rows_.dim, rows_.row_stride};
      if (s.clear) expect_done(heed_sequence_clear(x_));
      const heed_status status = s.pushes ? heed_sequence_push(x_, rows) : heed_sequence_append(x_, rows);
      EXPECT_EQ(status, s.refused ? HEED_STATUS(HEED_FULL, HEED_ARG_SEQUENCE) : HEED_OK);
      EXPECT_EQ(x_->length, s.length);
    }
  }

  std::vector<step> life_;
  std::vector<int32_t> held_;  // rows, in the end
  matrix rows_numbers_;
  float scale_;
  heed_matrix rows_;
  float *data_, *out_data_;
  heed_memory workspace_;
  heed_sequence *x_, *out_;
  bool spoiled_, appends_, pushes_;
  problem attention_;  // without numbers
  int32_t causal_;
  staged_options options_;
  const heed_options *options_argument_;
};

}  // namespace heed_test

#endif
