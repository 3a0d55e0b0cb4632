// Trials of attention and plain self-attention. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_ATTENTION_TRIALS_HPP
#define HEED_TESTS_SUPPORT_ATTENTION_TRIALS_HPP

#include <string>
#include <vector>

#include "primitive_trials.hpp"
#include "staged_options.hpp"

namespace heed_test {

inline void judge_attention(const problem &p, const std::vector<float> &result, double chain) {
  attention_result actual;
  size_t at = p.out_floats();
  actual.out = part_of(result, 0, at);
  split_extra_results(p, result, &at, &actual);
  EXPECT_EQ(at, result.size());
  judge_attention(p, actual, chain);
}

class attention_trial : public trial {
 public:
  attention_trial(random_source &r, extent e, bool partial = false)
      : trial(&r, e),
        numbers_(draw(r, e, partial)),
        narrow_(&numbers_, r.chance(35) ? random_formats(r, numbers_) : narrow_formats()) {
    call_ = call_of(numbers_);
    heed_typed_tensors narrow;
    EXPECT_EQ(heed_typed_tensors_init(&narrow), HEED_OK);
    place_inputs(r, e, &narrow);
    const problem &p = numbers_;
    place_out(random_placement(r, p.batch, p.n_heads, p.n_q, p.v_dim), &narrow);
    call_.workspace = place_workspace(r, p.head_dim, p.v_dim);
    call_.executor = executor();
    problem shape = shape_of(p);
    if (partial) shape.options.sinks = shape.options.lse = false;
    options_ = staged_options(shape, r, &memory, is_narrow());
    if (is_narrow()) *options_.typed() = narrow;
    call_.options = options_.get();
  }
  std::string text() const override {
    return "attention of " + numbers_.text() + (is_narrow() ? narrow_.formats.text() : "") + " workspace " +
           std::to_string(call_.workspace.bytes);
  }
  heed_status call() override { return heed_attention_run(argument_); }
  std::vector<float> plain() const override {
    attention_result result = narrow_.rounded(run(numbers_, plain_setting(numbers_, false)), numbers_.v_dim);
    const std::vector<float> extra = extra_results(result);
    result.out.insert(result.out.end(), extra.begin(), extra.end());
    return result.out;
  }
  void judge(const std::vector<float> &result, double chain) const override {
    if (narrow_.formats.out <= HEED_F32) judge_attention(numbers_, result, chain);
  }
  std::vector<spoilings> flaws(random_source &r) override {
    heed_attention &c = call_;
    std::vector<spoilings> all = {
        wrong_count("batch", &c.batch_size, HEED_MAX_COUNT),
        wrong_count("n_heads", &c.n_heads, HEED_MAX_COUNT),
        wrong_count("n_kv_heads", &c.n_kv_heads, HEED_MAX_COUNT),
        wrong_count("n_q", &c.n_q, HEED_MAX_COUNT),
        wrong_count("n_kv", &c.n_kv, HEED_MAX_COUNT),
        wrong_count("head_dim", &c.head_dim, HEED_MAX_DIM),
        wrong_count("v_dim", &c.v_dim, HEED_MAX_DIM),
        wrong_values<int32_t>("causal", &c.causal, {2, -1, INT32_MIN}),
        wrong_scale(&c.scale),
        wrong_values<uint32_t>("struct_size", &c.struct_size, {0, sizeof c - 1, sizeof c + 1, UINT32_MAX}),
        wrong_workspace(&c.workspace, heed_workspace_min_bytes(c.head_dim, c.v_dim)),
        executor_flaws_in(&c.executor),
        overlaps(r),
        structures_in_written_memory()};
    const std::pair<heed_tensor *, heed_typed_tensor heed_typed_tensors::*> inputs[] = {
        {&c.q, &heed_typed_tensors::q}, {&c.k, &heed_typed_tensors::k}, {&c.v, &heed_typed_tensors::v}};
    for (const auto &[t, narrow] : inputs) {
      if (t->data) {
        all.push_back(flaws_in("input", t, tensor_flaws<heed_tensor>()));
        all.back().push_back({"no input", [t = t] { t->data = nullptr; }});
      } else {
        all.push_back(narrow_flaws(options_.typed()->*narrow));
        all.back().push_back(
            {"input given twice", [t = t, this] { t->data = static_cast<float *>(call_.workspace.data); }});
      }
    }
    if (c.out.data) all.push_back(output_flaws_in("out", &c.out, c.v_dim));
    if (is_narrow()) all.push_back(flaws_of_narrow_out());
    for (const spoilings &s : options_.flaws(r, &c.options, static_cast<float *>(c.workspace.data))) all.push_back(s);
    return all;
  }

 private:
  static problem draw(random_source &r, extent e, bool partial) {
    const bool long_rows = partial && r.chance(60);
    problem p = random_shape(r, families()[long_rows ? 4 : r.next() % (e == extent::small ? families().size() : 5)]);
    if (p.n_kv >= 1000 && r.chance(40)) p.n_kv = 1024 * r.between(1, 2) + r.between(-1, 2);  // where chunks end
    if (e == extent::small) limit_work(60000, &p);
    if (e == extent::large) grow_work(r, 2100000, &p);
    if (e == extent::regular) {
      p.batch = p.n_kv_heads = 2;
      p.n_heads = 2 * r.between(1, 2);
      p.n_q = r.between(2, 5), p.n_kv = r.between(2, 9);
      p.head_dim = r.between(9, 20), p.v_dim = r.between(9, 20);
    }
    if (r.chance(60)) draw_features(r, &p);
    if (!p.options.any()) p.options.weights = r.chance(40);
    p.options.partial = partial;
    settle(&p);
    // A part beyond a short mask has a column of its own, and a score there.
    if (partial && p.options.scores_stage >= 0) p.options.scores_stage = HEED_SCORES_BIASED;
    fill_random(r, &p);
    return p;
  }
  // Each in an array of its own, or all in one, where they may overlap; packed Q, K and V are a case of that.
  void place_inputs(random_source &r, extent e, heed_typed_tensors *narrow) {
    problem &p = numbers_;
    const narrow_formats &f = narrow_.formats;
    const auto view = e == extent::regular ? random_placement : random_input_placement;
    const placement q = view(r, p.batch, p.n_heads, p.n_q, p.head_dim);
    const placement k = view(r, p.batch, p.n_kv_heads, p.n_kv, p.head_dim);
    const placement v = view(r, p.batch, p.n_kv_heads, p.n_kv, p.v_dim);
    if (is_narrow() || e == extent::regular || r.chance(75)) {
      call_.q = f.q == own ? input_view(q, put(q, &p.q)) : place_narrow(r, narrow_.q, p.n_heads, p.n_q, &narrow->q);
      call_.k = f.k == own ? input_view(k, put(k, &p.k)) : place_narrow(r, narrow_.k, p.n_kv_heads, p.n_kv, &narrow->k);
      call_.v = f.v == own ? input_view(v, put(v, &p.v)) : place_narrow(r, narrow_.v, p.n_kv_heads, p.n_kv, &narrow->v);
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
  bool is_narrow() const {
    const narrow_formats &f = narrow_.formats;
    return f.q != own || f.k != own || f.v != own || f.out != own;
  }
  // The call's own tensor: none.
  heed_tensor place_narrow(random_source &r, const narrow_numbers &from, int32_t n_heads, int32_t n_rows,
                           heed_typed_tensor *to) {
    const placement at = random_placement(r, numbers_.batch, n_heads, n_rows, from.dim);
    *to = {put(at, from), {}, from.dtype, at.batch_stride, at.head_stride, at.row_stride};
    if (from.dtype == HEED_INT8) {
      const placement of_scales = random_placement(r, numbers_.batch, n_heads, n_rows, 1);
      std::vector<float> scales = from.scales;
      to->scales = input_view(of_scales, put(of_scales, &scales));
    }
    return {nullptr, -1, PTRDIFF_MIN, PTRDIFF_MAX};
  }
  void place_out(const placement &at, heed_typed_tensors *narrow) {
    out_floats_ = at.extent();
    const int32_t dtype = narrow_.formats.out;
    if (dtype == own)
      call_.out = output_view(at, memory.output(at));
    else
      narrow->out = {memory.output(dtype, at), dtype, at.batch_stride, at.head_stride, at.row_stride};
    if (dtype != own) call_.out = {};
  }
  spoilings narrow_flaws(heed_typed_tensor &t) {
    spoilings all = edits("format", &t.dtype, {-1, 4, INT32_MIN});
    const auto add = [&](const spoilings &more) { all.insert(all.end(), more.begin(), more.end()); };
    for (ptrdiff_t *stride : {&t.batch_stride, &t.head_stride, &t.row_stride})
      add(edits("stride", stride, {-1, PTRDIFF_MIN}));
    if (t.dtype != HEED_INT8) add(edits<const void *>("data", &t.data, {static_cast<const char *>(t.data) + 1}));
    if (t.dtype != HEED_INT8) return all;
    add(edits<const float *>("scales", &t.scales.data, {nullptr, misaligned(t.scales.data)}));
    for (ptrdiff_t *stride : {&t.scales.batch_stride, &t.scales.head_stride, &t.scales.row_stride})
      add(edits("stride of scales", stride, {-1, PTRDIFF_MIN, PTRDIFF_MAX}));
    return all;
  }
  spoilings flaws_of_narrow_out() {
    heed_typed_tensors *const n = options_.typed();
    spoilings all = edits("narrow tensors", &n->struct_size, {0, uint32_t(sizeof *n) - 1, uint32_t(sizeof *n) + 1});
    const auto add = [&](const spoilings &more) { all.insert(all.end(), more.begin(), more.end()); };
    add(edits<const heed_code *>("narrow tensors without code", &n->code, {nullptr}));
    heed_typed_tensor_out &t = n->out;
    if (!t.data) return all;
    add(edits("format of out", &t.dtype, {-1, HEED_INT8, 4}));
    for (ptrdiff_t *stride : {&t.batch_stride, &t.head_stride, &t.row_stride})
      add(edits<ptrdiff_t>("stride of out", stride, {-1, 0, call_.v_dim - 1, PTRDIFF_MIN}));
    add(edits<void *>("narrow out", &t.data, {misaligned(t.data), call_.workspace.data}));
    all.push_back({"out given twice", [=] { call_.out.data = static_cast<float *>(call_.workspace.data); }});
    return all;
  }
  // Wrong values in objects that lie in the trial's memory.
  template <typename T>
  spoilings edits(const std::string &name, T *target, const std::vector<T> &values) {
    spoilings all;
    for (const T &value : values) all.push_back({name, [=] { memory.edit([&] { *target = value; }); }});
    return all;
  }
  spoilings overlaps(random_source &r) {
    heed_attention &c = call_;
    float *workspace = static_cast<float *>(c.workspace.data);
    const auto n = static_cast<int32_t>(c.workspace.bytes / sizeof(float));
    std::vector<float *> onto = {overlapping(r, out_floats_, workspace, size_t(n))};
    for (const heed_tensor *t : {&c.q, &c.k, &c.v})
      if (t->data) onto.push_back(overlapping(r, out_floats_, const_cast<float *>(t->data), 2));
    spoilings all = wrong_values<float *>("out overlaps", &c.out.data, onto);
    for (heed_tensor *t : {&c.q, &c.k, &c.v})
      all.push_back({"input in the workspace", [=, at = r.between(0, n - 1)] { t->data = workspace + at; }});
    return all;
  }
  // The call itself, or its executor, where the call writes.
  spoilings structures_in_written_memory() {
    spoilings all;
    for (void *array : {call_.workspace.data, static_cast<void *>(call_.out.data)}) {
      if (!array) continue;
      all.push_back({"the call in written memory", [=] { argument_ = memory.plant(array, call_); }});
      if (executor())
        all.push_back({"the executor in written memory", [=] { call_.executor = memory.plant(array, *executor()); }});
    }
    all.push_back({"no call", [=] { argument_ = nullptr; }});
    return all;
  }

  const heed_attention *argument_ = &call_;
  size_t out_floats_;

 protected:
  static problem shape_of(const problem &p) {
    problem shape = p;
    shape.q.clear(), shape.k.clear(), shape.v.clear();
    return shape;
  }

  problem numbers_;
  narrow_problem narrow_;
  heed_attention call_;
  staged_options options_;
};

class self_attention_trial : public matrix_trial {
 public:
  self_attention_trial(random_source &r, extent e) : matrix_trial(&r, e) {
    const int32_t least = e == extent::regular ? 9 : 1, dim = r.size(least, r.chance(90) ? 34 : 200);
    numbers_ = any_matrix(r, r.size(e == extent::regular ? 2 : 1, std::max(2, std::min(200, 12000 / (dim * 8)))), dim);
    scale_ = r.chance(50) ? HEED_SCALE_DEFAULT : r.scale();
    x_ = put_matrix(r, e, &numbers_);
    out_ = place_result(r, x_.n_rows, dim);
    workspace_ = place_workspace(r, dim, dim);
  }
  std::string text() const override {
    return "self-attention of " + std::to_string(numbers_.n_rows) + " x " + std::to_string(numbers_.dim) +
           " workspace " + std::to_string(workspace_.bytes);
  }
  heed_status call() override { return heed_self_attention(x_, scale_, out_, workspace_); }
  std::vector<float> plain() const override { return run(as_problem(), plain_setting(as_problem(), false)).out; }
  void judge(const std::vector<float> &result, double chain) const override {
    judge_attention(as_problem(), result, chain);
  }
  std::vector<spoilings> flaws(random_source &r) override {
    return {flaws_in("x", &x_, matrix_flaws<heed_matrix>(HEED_MAX_DIM)),
            flaws_in("out", &out_, output_flaws(HEED_MAX_DIM)),
            wrong_count("columns of out", &out_.dim, out_.dim),
            wrong_scale(&scale_),
            wrong_workspace(&workspace_, heed_workspace_min_bytes(x_.dim, x_.dim)),
            overlaps(r, &out_, {x_.data, static_cast<float *>(workspace_.data)})};
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
  heed_memory workspace_;
};

}  // namespace heed_test

#endif
