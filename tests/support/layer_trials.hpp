// Trials of layers and sequences. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_LAYER_TRIALS_HPP
#define HEED_TESTS_SUPPORT_LAYER_TRIALS_HPP

#include <string>
#include <vector>

#include "attention_trials.hpp"
#include "layers.hpp"

namespace heed_test {

class layer_trial : public matrix_trial {
 public:
  layer_trial(random_source &r, extent e) : matrix_trial(&r, e), numbers_(draw_layer(r)) {
    layer_ = numbers_.layer;
    const int64_t a_row = int64_t{layer_.model_dim} * (numbers_.q_width() + numbers_.k_width() + numbers_.v_width()) +
                          int64_t{numbers_.context_width()} * layer_.out_dim;
    const int64_t most = (e == extent::large ? 6000000 : 60000) / a_row;
    const auto n = static_cast<int32_t>(std::max(int64_t{2}, std::min<int64_t>(e == extent::large ? 200 : 40, most)));
    x_numbers_ = any_matrix(r, e == extent::large ? n : r.between(e == extent::regular ? 2 : 1, n), layer_.model_dim);
    if (r.chance(60)) draw_options(r, x_numbers_.n_rows, &numbers_);
    layer_.causal = numbers_.layer.causal;
    place_weights();
    x_ = put_matrix(r, e, &x_numbers_);
    y_ = place_result(r, x_.n_rows, layer_.out_dim);
    n_activations_ = numbers_.activations(x_.n_rows);
    // The context is kept only if it is not y itself.
    kept_ = n_activations_ - (layer_.wo ? 0 : size_t(x_.n_rows) * numbers_.context_width());
    activations_ = memory.scratch<float>(n_activations_ * sizeof(float), sizeof(float),
                                         {1, 1, 1, static_cast<int32_t>(kept_), 0, 0, 0});
    bytes_ = workspace_bytes(r, layer_.head_dim, layer_.v_dim);
    workspace_ = memory.scratch<void>(bytes_, HEED_WORKSPACE_ALIGNMENT);
    executor_argument_ = executor();
    options_ = staged_options(attention_of(numbers_, x_.n_rows), r, &memory);
    layer_.options = options_.get();
  }
  std::string text() const override {
    const heed_layer &l = numbers_.layer;
    return "layer of model_dim " + std::to_string(l.model_dim) + " heads " + std::to_string(l.n_heads) + "/" +
           std::to_string(l.n_kv_heads) + " head_dim " + std::to_string(l.head_dim) + " v_dim " +
           std::to_string(l.v_dim) + " out_dim " + std::to_string(l.out_dim) + " rows " +
           std::to_string(x_numbers_.n_rows) + " causal " + std::to_string(l.causal) + numbers_.options.text();
  }
  heed_status call() override {
    return heed_layer_run(argument_, x_, y_, activations_, n_activations_, workspace_, bytes_, executor_argument_);
  }
  std::vector<float> plain() const override {
    layer_result parts = compose(numbers_, x_numbers_);
    parts.y.values.insert(parts.y.values.end(), parts.activations.begin(),
                          parts.activations.begin() + static_cast<std::ptrdiff_t>(kept_));
    const std::vector<float> extra = extra_results(parts.attended);
    parts.y.values.insert(parts.y.values.end(), extra.begin(), extra.end());
    return parts.y.values;
  }
  std::vector<spoilings> flaws(random_source &r) override {
    heed_layer &l = layer_;
    float *workspace = static_cast<float *>(workspace_);
    std::vector<spoilings> all = {
        wrong_count("model_dim", &l.model_dim, HEED_MAX_DIM),
        wrong_count("n_heads", &l.n_heads, HEED_MAX_DIM),
        wrong_count("n_kv_heads", &l.n_kv_heads, HEED_MAX_DIM),
        wrong_count("head_dim", &l.head_dim, HEED_MAX_DIM),
        wrong_count("v_dim", &l.v_dim, HEED_MAX_DIM),
        wrong_count("out_dim", &l.out_dim, HEED_MAX_DIM),
        wrong_count("rows of y", &y_.n_rows, y_.n_rows),
        wrong_values<int32_t>("causal", &l.causal, {2, -1, INT32_MIN}),
        wrong_scale(&l.scale),
        wrong_values<uint32_t>("struct_size", &l.struct_size, {0, sizeof l - 1, sizeof l + 1, UINT32_MAX}),
        wrong_workspace(&workspace_, &bytes_, heed_workspace_min_bytes(l.head_dim, l.v_dim)),
        wrong_values<size_t>("activations", &n_activations_, {0, kept_ - 1}),
        wrong_values<float *>("activations", &activations_, {nullptr, misaligned(activations_)}),
        wrong_values<const float *>("wv", &l.wv, {nullptr, misaligned(l.wv)}),
        executor_flaws_in(&executor_argument_)};
    // One list, because two of these might only swap places.
    all.push_back(overlaps(r, &y_, {x_.data, l.wq, l.wk, l.wv, l.wo, l.bq, l.bk, l.bv, l.bo, workspace, activations_}));
    for (const spoiling &s :
         wrong_values<float *>("activations on", &activations_, {workspace, y_.data, const_cast<float *>(l.wq)}))
      all.back().push_back(s);
    for (const spoiling &s : wrong_values<const float *>("wv on", &l.wv, {activations_, workspace, y_.data}))
      all.back().push_back(s);
    const std::pair<void *, size_t> written[] = {
        {workspace_, bytes_}, {activations_, n_activations_ * sizeof(float)}, {y_.data, y_.dim * sizeof(float)}};
    for (const auto &[array, bytes] : written)
      if (bytes > sizeof l + 8)
        all.push_back({{"the layer in written memory", [=, at = array] { argument_ = memory.plant(at, layer_); }}});
    if (l.model_dim > 8) all.push_back(flaws_in("x", &x_, matrix_flaws<heed_matrix>(HEED_MAX_DIM)));
    if (l.out_dim > 8) all.push_back(flaws_in("y", &y_, output_flaws(HEED_MAX_DIM)));
    for (const spoilings &s : options_.flaws(r, &l.options, workspace)) all.push_back(s);
    return all;
  }

 private:
  void place_weights() {
    const random_layer &n = numbers_;
    const std::pair<const std::vector<float> *, const float **> arrays[] = {
        {&n.wq, &layer_.wq}, {&n.wk, &layer_.wk}, {&n.wv, &layer_.wv}, {&n.wo, &layer_.wo},
        {&n.bq, &layer_.bq}, {&n.bk, &layer_.bk}, {&n.bv, &layer_.bv}, {&n.bo, &layer_.bo}};
    for (const auto &[values, pointer] : arrays) {
      if (values->empty()) continue;
      float *data = memory.input(values->size());
      std::copy(values->begin(), values->end(), data);
      *pointer = data;
    }
  }

  random_layer numbers_;
  matrix x_numbers_;
  heed_layer layer_;
  const heed_layer *argument_ = &layer_;
  heed_matrix x_;
  heed_matrix_out y_;
  float *activations_;
  size_t n_activations_, kept_;
  void *workspace_;
  size_t bytes_;
  const heed_executor *executor_argument_;
  staged_options options_;
};

// A life of two sequences: filled in two portions, cleared, filled again, attended to. Refused calls are either of the
// two that have arguments enough.
class sequence_trial : public matrix_trial {
 public:
  sequence_trial(random_source &r, extent e) : matrix_trial(&r, e) {
    const int32_t least = e == extent::regular ? 9 : 1, dim = r.size(least, 34);
    rows_numbers_ = any_matrix(r, r.between(2, 30), dim);
    scale_ = r.chance(50) ? 0.0f : r.bell();
    rows_ = put_matrix(r, e, &rows_numbers_);
    n_first_ = r.between(1, rows_.n_rows - 1);
    data_ = memory.output({1, 1, rows_.n_rows, dim, 0, 0, dim});
    out_data_ = memory.output({1, 1, rows_.n_rows, dim, 0, 0, dim});
    bytes_ = workspace_bytes(r, dim, dim);
    workspace_ = memory.scratch<void>(bytes_, HEED_WORKSPACE_ALIGNMENT);
    x_ = memory.scratch<heed_sequence>(sizeof(heed_sequence), 8);
    out_ = memory.scratch<heed_sequence>(sizeof(heed_sequence), 8);
    *x_ = {sizeof(heed_sequence), rows_.n_rows, dim, 0, data_};
    *out_ = {sizeof(heed_sequence), rows_.n_rows, dim, 0, out_data_};
    spoiled_ = e == extent::regular;
    appends_ = r.chance(40);
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
    if (spoiled_ && appends_) return heed_sequence_append(x_, rows_);
    if (!spoiled_) fill();
    if (options_argument_ || causal_ != 0)
      return heed_sequence_attention(x_, scale_, causal_, options_argument_, out_, workspace_, bytes_);
    return heed_sequence_self_attention(x_, scale_, out_, workspace_, bytes_);
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
              wrong_values<int32_t>("rows", &rows_.n_rows, {rows_.n_rows + 1}),
              wrong_values<const float *>("rows in their own place", &rows_.data, {data_, data_ + 1, data_ - 1})};
    heed_sequence in_workspace = *out_;
    in_workspace.data = static_cast<float *>(workspace_) + r.between(0, 9);
    std::vector<spoilings> all = {
        damage("x", &x_, out_data_),
        damage("out", &out_, out_data_),
        wrong_scale(&scale_),
        wrong_workspace(&workspace_, &bytes_, heed_workspace_min_bytes(rows_.dim, rows_.dim)),
        wrong_values<int32_t>("causal", &causal_, {2, -1, INT32_MIN}),
        {{"out is x", [=] { out_ = x_; }},
         {"workspace on x", [=] { workspace_ = aligned(data_); }},
         {"workspace on out", [=] { workspace_ = aligned(out_data_); }},
         {"out in the workspace", [=, place = out_] { out_ = memory.plant(place, in_workspace); }}}};
    for (const spoilings &s : options_.flaws(r, &options_argument_, static_cast<float *>(workspace_))) all.push_back(s);
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
    const uintptr_t up = HEED_WORKSPACE_ALIGNMENT - 1;
    return reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(data) + up) & ~up);
  }
  void fill() {
    heed_matrix first = rows_, rest = rows_;
    first.n_rows = n_first_;
    rest.n_rows -= n_first_;
    rest.data += n_first_ * rows_.row_stride;
    EXPECT_EQ(heed_sequence_init(x_, data_, rows_.n_rows, rows_.dim), HEED_OK);
    EXPECT_EQ(heed_sequence_append(x_, rest), HEED_OK);
    EXPECT_EQ(heed_sequence_clear(x_), HEED_OK);
    EXPECT_EQ(heed_sequence_append(x_, first), HEED_OK);
    EXPECT_EQ(x_->length, n_first_);
    EXPECT_EQ(heed_sequence_append(x_, rest), HEED_OK);
    EXPECT_EQ(x_->length, rows_.n_rows);
    EXPECT_EQ(heed_sequence_append(x_, first), HEED_STATUS(HEED_FULL, HEED_ARG_SEQUENCE));
  }

  matrix rows_numbers_;
  float scale_;
  heed_matrix rows_;
  int32_t n_first_;
  float *data_, *out_data_;
  void *workspace_;
  size_t bytes_;
  heed_sequence *x_, *out_;
  bool spoiled_, appends_;
  problem attention_;  // without numbers
  int32_t causal_;
  staged_options options_;
  const heed_options *options_argument_;
};

}  // namespace heed_test

#endif
