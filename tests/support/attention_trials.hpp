// Trials of attention, plain self-attention, layers and sequences. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_ATTENTION_TRIALS_HPP
#define HEED_TESTS_SUPPORT_ATTENTION_TRIALS_HPP

#include <string>
#include <vector>

#include "layers.hpp"
#include "primitive_trials.hpp"
#include "trial.hpp"

namespace heed_test {

inline void judge_attention(const problem &p, const std::vector<float> &result, double chain) {
  attention_result actual;
  actual.out = part_of(result, 0, p.out_floats());
  actual.weights = part_of(result, p.out_floats(), result.size() - p.out_floats());
  compare_with_oracle(
      p, actual, chain,
      [](double found, double exact, double bound, double unit) {
        if (in_range(unit)) judge_error(found, exact, bound);
      },
      [](double found, double exact, double bound, double) { judge_error(found, exact, bound); });
}

class attention_trial : public trial {
 public:
  attention_trial(random_source &r, extent e) : trial(&r, e), numbers_(draw(r, e)) {
    call_ = call_of(numbers_);
    place_inputs(r, e);
    const problem &p = numbers_;
    const placement out = random_placement(r, p.batch, p.n_heads, p.n_q, p.v_dim);
    const placement weights = random_placement(r, p.batch, p.n_heads, p.n_q, p.n_kv);
    out_floats_ = out.extent();
    call_.out = output_view(out, memory.output(out));
    if (r.chance(40)) call_.weights = output_view(weights, memory.output(weights));
    call_.workspace_bytes = workspace_bytes(r, p.head_dim, p.v_dim);
    call_.workspace = memory.scratch<void>(call_.workspace_bytes, HEED_WORKSPACE_ALIGNMENT);
    call_.executor = executor();
  }
  std::string text() const override {
    return "attention of " + numbers_.text() + " workspace " + std::to_string(call_.workspace_bytes);
  }
  heed_status call() override { return heed_attention_run(argument_); }
  std::vector<float> plain() const override {
    attention_result result = run(numbers_, plain_setting(numbers_, call_.weights.data != nullptr));
    result.out.insert(result.out.end(), result.weights.begin(), result.weights.end());
    return result.out;
  }
  void judge(const std::vector<float> &result, double chain) const override {
    judge_attention(numbers_, result, chain);
  }
  std::vector<spoilings> flaws(random_source &r) override {
    heed_attention &c = call_;
    std::vector<spoilings> all = {
        wrong_count("batch", &c.batch, HEED_MAX_COUNT),
        wrong_count("n_heads", &c.n_heads, HEED_MAX_COUNT),
        wrong_count("n_kv_heads", &c.n_kv_heads, HEED_MAX_COUNT),
        wrong_count("n_q", &c.n_q, HEED_MAX_COUNT),
        wrong_count("n_kv", &c.n_kv, HEED_MAX_COUNT),
        wrong_count("head_dim", &c.head_dim, HEED_MAX_DIM),
        wrong_count("v_dim", &c.v_dim, HEED_MAX_DIM),
        wrong_values<int32_t>("causal", &c.causal, {2, -1, INT32_MIN}),
        wrong_scale(&c.scale),
        wrong_values<uint32_t>("struct_size", &c.struct_size, {0, sizeof c - 1, sizeof c + 1, UINT32_MAX}),
        wrong_workspace(&c.workspace, &c.workspace_bytes, heed_workspace_min_bytes(c.head_dim, c.v_dim)),
        executor_flaws_in(&c.executor),
        flaws_in("q", &c.q, tensor_flaws<heed_tensor>()),
        flaws_in("k", &c.k, tensor_flaws<heed_tensor>()),
        flaws_in("v", &c.v, tensor_flaws<heed_tensor>()),
        wrong_values<const float *>("null q", &c.q.data, {nullptr}),
        output_flaws_in("out", &c.out, c.v_dim),
        overlaps(r),
        structures_in_written_memory()};
    if (c.weights.data) all.push_back(output_flaws_in("weights", &c.weights, c.n_kv));
    return all;
  }

 private:
  static problem draw(random_source &r, extent e) {
    problem p = random_shape(r, families()[r.next() % (e == extent::small ? families().size() : 5)]);
    if (p.n_kv >= 1000 && r.chance(40)) p.n_kv = 1024 * r.between(1, 2) + r.between(-1, 2);  // where chunks end
    if (e == extent::small) limit_work(60000, &p);
    if (e == extent::large) grow_work(r, 2100000, &p);
    if (e == extent::regular) {
      p.batch = p.n_kv_heads = 2;
      p.n_heads = 2 * r.between(1, 2);
      p.n_q = r.between(2, 5), p.n_kv = r.between(2, 9);
      p.head_dim = r.between(9, 20), p.v_dim = r.between(9, 20);
    }
    fill_random(r, &p);
    return p;
  }
  // Each in an array of its own, or all in one, where they may overlap; packed Q, K and V are a case of that.
  void place_inputs(random_source &r, extent e) {
    problem &p = numbers_;
    const auto view = e == extent::regular ? random_placement : random_input_placement;
    const placement q = view(r, p.batch, p.n_heads, p.n_q, p.head_dim);
    const placement k = view(r, p.batch, p.n_kv_heads, p.n_kv, p.head_dim);
    const placement v = view(r, p.batch, p.n_kv_heads, p.n_kv, p.v_dim);
    if (e == extent::regular || r.chance(75)) {
      call_.q = input_view(q, put(q, &p.q));
      call_.k = input_view(k, put(k, &p.k));
      call_.v = input_view(v, put(v, &p.v));
      return;
    }
    const size_t n = std::max({q.extent(), k.extent(), v.extent()}) + r.next() % 64;
    float *all = memory.input(n);
    const auto start = [&](const placement &x) { return all + r.next() % (n - x.extent() + 1); };
    float *q_data = start(q), *k_data = start(k), *v_data = start(v);
    scatter(q, p.q, q_data);
    scatter(k, p.k, k_data);
    scatter(v, p.v, v_data);
    p.q = gather(q, q_data), p.k = gather(k, k_data), p.v = gather(v, v_data);
    call_.q = input_view(q, q_data), call_.k = input_view(k, k_data), call_.v = input_view(v, v_data);
  }
  static spoilings output_flaws_in(const std::string &name, heed_tensor_out *t, int32_t dim) {
    spoilings all = flaws_in(name, t, tensor_flaws<heed_tensor_out>());
    for (ptrdiff_t *stride : {&t->batch_stride, &t->head_stride, &t->row_stride})
      for (const spoiling &s : wrong_values<ptrdiff_t>(name + " stride", stride, {0, dim - 1})) all.push_back(s);
    return all;
  }
  spoilings overlaps(random_source &r) {
    heed_attention &c = call_;
    float *workspace = static_cast<float *>(c.workspace);
    const auto n = static_cast<int32_t>(c.workspace_bytes / sizeof(float));
    std::vector<float *> onto = {overlapping(r, out_floats_, workspace, size_t(n))};
    for (const heed_tensor *t : {&c.q, &c.k, &c.v})
      onto.push_back(overlapping(r, out_floats_, const_cast<float *>(t->data), 2));
    if (c.weights.data) onto.push_back(overlapping(r, out_floats_, c.weights.data, 2));
    spoilings all = wrong_values<float *>("out overlaps", &c.out.data, onto);
    for (heed_tensor *t : {&c.q, &c.k, &c.v})
      all.push_back({"input in the workspace", [=, at = r.between(0, n - 1)] { t->data = workspace + at; }});
    return all;
  }
  // The call itself, or its executor, where the call writes.
  spoilings structures_in_written_memory() {
    spoilings all;
    for (void *array : {call_.workspace, static_cast<void *>(call_.out.data)}) {
      all.push_back({"the call in written memory", [=] { argument_ = memory.plant(array, call_); }});
      if (executor())
        all.push_back({"the executor in written memory", [=] { call_.executor = memory.plant(array, *executor()); }});
    }
    all.push_back({"no call", [=] { argument_ = nullptr; }});
    return all;
  }

  problem numbers_;
  heed_attention call_;
  const heed_attention *argument_ = &call_;
  size_t out_floats_;
};

class self_attention_trial : public matrix_trial {
 public:
  self_attention_trial(random_source &r, extent e) : matrix_trial(&r, e) {
    const int32_t least = e == extent::regular ? 9 : 1, dim = r.size(least, r.chance(90) ? 34 : 200);
    numbers_ = any_matrix(r, r.size(e == extent::regular ? 2 : 1, std::max(2, std::min(200, 12000 / (dim * 8)))), dim);
    scale_ = r.chance(50) ? 0.0f : r.bell();
    x_ = put_matrix(r, e, &numbers_);
    out_ = place_result(r, x_.n_rows, dim);
    bytes_ = workspace_bytes(r, dim, dim);
    workspace_ = memory.scratch<void>(bytes_, HEED_WORKSPACE_ALIGNMENT);
  }
  std::string text() const override {
    return "self-attention of " + std::to_string(numbers_.n_rows) + " x " + std::to_string(numbers_.dim) +
           " workspace " + std::to_string(bytes_);
  }
  heed_status call() override { return heed_self_attention(x_, scale_, out_, workspace_, bytes_); }
  std::vector<float> plain() const override { return run(as_problem(), plain_setting(as_problem(), false)).out; }
  void judge(const std::vector<float> &result, double chain) const override {
    judge_attention(as_problem(), result, chain);
  }
  std::vector<spoilings> flaws(random_source &r) override {
    return {flaws_in("x", &x_, matrix_flaws<heed_matrix>(HEED_MAX_DIM)),
            flaws_in("out", &out_, output_flaws(HEED_MAX_DIM)),
            wrong_count("columns of out", &out_.dim, out_.dim),
            wrong_scale(&scale_),
            wrong_workspace(&workspace_, &bytes_, heed_workspace_min_bytes(x_.dim, x_.dim)),
            overlaps(r, &out_, {x_.data, static_cast<float *>(workspace_)})};
  }

 private:
  problem as_problem() const {
    problem p;
    p.n_q = p.n_kv = numbers_.n_rows, p.head_dim = p.v_dim = numbers_.dim, p.scale = scale_;
    p.q = p.k = p.v = numbers_.values;
    return p;
  }
  matrix numbers_;
  float scale_;
  heed_matrix x_;
  heed_matrix_out out_;
  void *workspace_;
  size_t bytes_;
};

class layer_trial : public matrix_trial {
 public:
  layer_trial(random_source &r, extent e) : matrix_trial(&r, e), numbers_(draw_layer(r)) {
    layer_ = numbers_.layer;
    const int64_t a_row = int64_t{layer_.model_dim} * (numbers_.q_width() + numbers_.k_width() + numbers_.v_width()) +
                          int64_t{numbers_.context_width()} * layer_.out_dim;
    const int64_t most = (e == extent::large ? 6000000 : 60000) / a_row;
    const auto n = static_cast<int32_t>(std::max(int64_t{2}, std::min<int64_t>(e == extent::large ? 200 : 40, most)));
    x_numbers_ = any_matrix(r, e == extent::large ? n : r.between(e == extent::regular ? 2 : 1, n), layer_.model_dim);
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
  }
  std::string text() const override {
    const heed_layer &l = numbers_.layer;
    return "layer of model_dim " + std::to_string(l.model_dim) + " heads " + std::to_string(l.n_heads) + "/" +
           std::to_string(l.n_kv_heads) + " head_dim " + std::to_string(l.head_dim) + " v_dim " +
           std::to_string(l.v_dim) + " out_dim " + std::to_string(l.out_dim) + " rows " +
           std::to_string(x_numbers_.n_rows);
  }
  heed_status call() override {
    return heed_layer_run(argument_, x_, y_, activations_, n_activations_, workspace_, bytes_, executor_argument_);
  }
  std::vector<float> plain() const override {
    layer_result parts = compose(numbers_, x_numbers_);
    parts.y.values.insert(parts.y.values.end(), parts.activations.begin(),
                          parts.activations.begin() + static_cast<std::ptrdiff_t>(kept_));
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
  }
  std::string text() const override {
    return "sequence of " + std::to_string(rows_numbers_.n_rows) + " x " + std::to_string(rows_numbers_.dim);
  }
  heed_status call() override {
    if (spoiled_ && appends_) return heed_sequence_append(x_, rows_);
    if (!spoiled_) fill();
    return heed_sequence_self_attention(x_, scale_, out_, workspace_, bytes_);
  }
  std::vector<float> plain() const override {
    problem p;
    p.n_q = p.n_kv = rows_numbers_.n_rows, p.head_dim = p.v_dim = rows_numbers_.dim, p.scale = scale_;
    p.q = p.k = p.v = rows_numbers_.values;
    const std::vector<float> out = run(p, plain_setting(p, false)).out;
    std::vector<float> all = p.q;
    all.insert(all.end(), out.begin(), out.end());
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
    return {damage("x", &x_, out_data_),
            damage("out", &out_, out_data_),
            wrong_scale(&scale_),
            wrong_workspace(&workspace_, &bytes_, heed_workspace_min_bytes(rows_.dim, rows_.dim)),
            {{"out is x", [=] { out_ = x_; }},
             {"workspace on x", [=] { workspace_ = aligned(data_); }},
             {"workspace on out", [=] { workspace_ = aligned(out_data_); }},
             {"out in the workspace", [=, place = out_] { out_ = memory.plant(place, in_workspace); }}}};
  }

 private:
  // Half of the rows in use, so that the free ones would start at the bottom of memory.
  static void beyond_the_top(heed_sequence &s) {
    s.data = top_of_memory();
    s.length = s.capacity;
    s.capacity *= 2;
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
};

}  // namespace heed_test

#endif
