// Trials of caches and sequences. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_SEQUENCE_TRIALS_HPP
#define HEED_TESTS_SUPPORT_SEQUENCE_TRIALS_HPP

#include <string>
#include <vector>

#include "layer_trials.hpp"

namespace heed_test {

// New tokens, with and without rope, and attention over the cache that then holds them.
class cache_trial : public trial {
 public:
  cache_trial(random_source &r, extent e) : trial(&r, e) {
    const int32_t n_kv_heads = r.between(1, 2), head_dim = 2 * r.size(1, 20), v_dim = r.size(1, 40);
    const int32_t n_heads = n_kv_heads * r.between(1, 3), before = r.between(0, 40);
    const int32_t n = e == extent::large ? rows_worth_threads(n_heads, head_dim + v_dim) : r.between(1, 12);
    const bool ring = r.chance(40);
    cache_ = std::make_unique<staged_cache>(
        r,
        cache_shape(ring ? HEED_CACHE_RING : HEED_CACHE_LINEAR, ring ? r.between(1, 60) : before + n, n_kv_heads,
                    head_dim, v_dim, r.between(HEED_F32, HEED_INT8), ring ? r.between(0, 5) : 0,
                    ring ? std::max(n - 1, before) : 0),
        before, &memory);
    const placement k = random_input_placement(r, 1, n_kv_heads, n, head_dim);
    const placement v = random_input_placement(r, 1, n_kv_heads, n, v_dim);
    std::vector<float> keys = bell_floats(r, size_t(n) * n_kv_heads * head_dim),
                       values = bell_floats(r, size_t(n) * n_kv_heads * v_dim),
                       queries = bell_floats(r, size_t(n) * n_heads * head_dim);
    k_ = input_view(k, put(k, &keys)), v_ = input_view(v, put(v, &values));
    const placement q = random_placement(r, 1, n_heads, n, head_dim);
    out_place_ = random_placement(r, 1, n_heads, n, v_dim);
    call_ = heed_attention_of_cache(&cache_->cache, nullptr, n, n_heads, nullptr, {});
    call_.n_kv = before + n;
    call_.q = input_view(q, put(q, &queries));
    call_.out = output_view(out_place_, memory.output(out_place_));
    call_.workspace = place_workspace(r, head_dim, v_dim);
    call_.executor = executor();
    if (r.chance(60)) heed_rope_init(&rope_, r.between(0, 1)), with_rope_ = true;
  }
  std::string text() const override {
    return "cache " + text_of(cache_->cache.shape) + (with_rope_ ? " rope" : "") + " new tokens " +
           std::to_string(call_.n_q) + " queries of heads " + std::to_string(call_.n_heads);
  }
  heed_status call() override { return run(call_, &cache_->cache); }
  std::vector<float> plain() const override {
    std::vector<float> buffer, out(out_place_.extent()), result,
        memory_of_call(call_.workspace.bytes / sizeof(float) + 16);
    heed_cache copy = cache_->copy(&buffer);
    heed_attention simple = call_;
    simple.executor = nullptr;
    simple.out.data = out.data();
    const uintptr_t address = reinterpret_cast<uintptr_t>(memory_of_call.data());
    simple.workspace = heed_memory_of(reinterpret_cast<void *>((address + 63) / 64 * 64),
                                      heed_workspace_min_bytes(call_.head_dim, call_.v_dim));
    EXPECT_EQ(status_name(run(simple, &copy)), "HEED_OK") << text();
    cache_->add_contents(copy, &result);
    const std::vector<float> rows = gather(out_place_, out.data());
    result.insert(result.end(), rows.begin(), rows.end());
    return result;
  }
  std::vector<spoilings> flaws(random_source &) override { return {}; }

 private:
  heed_status run(heed_attention call, heed_cache *cache) const {
    const heed_status status = heed_cache_append(cache, 0, k_, v_, call.n_q, with_rope_ ? &rope_ : nullptr);
    call.cache = cache;
    return status == HEED_OK ? heed_attention_run(&call) : status;
  }

  std::unique_ptr<staged_cache> cache_;
  placement out_place_;
  heed_tensor k_, v_;
  heed_attention call_;
  heed_rope rope_;
  bool with_rope_ = false;
};

// A life of two sequences: filled, cleared, filled again in portions, attended to. Refused calls are those that have
// arguments enough.
class sequence_trial : public matrix_trial {
 public:
  sequence_trial(random_source &r, extent e) : matrix_trial(&r, e) {
    const int32_t least = e == extent::regular ? 9 : 1, dim = r.size(least, 34);
    rows_numbers_ = any_matrix(r, r.between(2, 30), dim);
    scale_ = r.chance(50) ? HEED_SCALE_DEFAULT : r.scale();
    rows_ = put_matrix(r, e, &rows_numbers_);
    n_first_ = r.between(1, rows_.n_rows - 1);
    data_ = memory.output({1, 1, rows_.n_rows, dim, 0, 0, dim});
    out_data_ = memory.output({1, 1, rows_.n_rows, dim, 0, 0, dim});
    workspace_ = place_workspace(r, dim, dim);
    x_ = memory.scratch<heed_sequence>(sizeof(heed_sequence), 8);
    out_ = memory.scratch<heed_sequence>(sizeof(heed_sequence), 8);
    *x_ = {sizeof(heed_sequence), rows_.n_rows, dim, 0, data_};
    *out_ = {sizeof(heed_sequence), rows_.n_rows, dim, 0, out_data_};
    spoiled_ = e == extent::regular;
    appends_ = r.chance(40), pushes_ = r.chance(50);
    if (spoiled_ && !appends_) x_->length = rows_.n_rows;
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
    if (!spoiled_) fill();
    return heed_sequence_attention(x_, scale_, causal_, options_argument_, out_, workspace_);
  }
  std::vector<float> plain() const override {
    problem p = attention_;
    p.q = p.k = p.v = rows_numbers_.values;
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
  void fill() {
    heed_matrix first = rows_, rest = rows_;
    first.n_rows = n_first_;
    rest.n_rows -= n_first_;
    rest.data += n_first_ * rows_.row_stride;
    EXPECT_EQ(heed_sequence_init(x_, rows_.n_rows, rows_.dim,
                                 heed_memory_of(data_, HEED_SEQUENCE_BYTES(rows_.n_rows, rows_.dim))),
              HEED_OK);
    EXPECT_EQ(heed_sequence_append(x_, rows_), HEED_OK);
    EXPECT_EQ(heed_sequence_clear(x_), HEED_OK);
    EXPECT_EQ(heed_sequence_append(x_, rest), HEED_OK);
    EXPECT_EQ(x_->length, rest.n_rows);
    EXPECT_EQ(heed_sequence_append(x_, first), HEED_OK);
    EXPECT_EQ(x_->length, rows_.n_rows);
    EXPECT_EQ(heed_sequence_append(x_, first), HEED_STATUS(HEED_FULL, HEED_ARG_SEQUENCE));
    EXPECT_EQ(heed_sequence_push(x_, rest), HEED_OK);  // what was appended first goes
    EXPECT_EQ(x_->length, rows_.n_rows);
  }

  matrix rows_numbers_;
  float scale_;
  heed_matrix rows_;
  int32_t n_first_;
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
