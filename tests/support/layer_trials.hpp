// Trials of both layers, with and without a cache, of several sequences, of some rows, in little memory. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_LAYER_TRIALS_HPP
#define HEED_TESTS_SUPPORT_LAYER_TRIALS_HPP

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "cache_steps.hpp"
#include "layer_parts.hpp"
#include "primitive_trials.hpp"
#include "staged_options.hpp"

namespace heed_test {

// Norms and activations of the caller's, which choose another kernel and then call heed's with what the layer gives.
inline random_source &source_of_callbacks() {
  static random_source r(0);
  return r;
}
template <heed_norm *f>
heed_status restless(heed_matrix x, const float *weight, const float *bias, float eps, heed_matrix_out y,
                     const heed_executor *executor) {
  choose_in_a_call(any_kernel(source_of_callbacks()));
  return f(x, weight, bias, eps, y, executor);
}
template <heed_activation *f>
heed_status restless(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor) {
  choose_in_a_call(any_kernel(source_of_callbacks()));
  return f(x, up, y, executor);
}
inline heed_norm *restless_one(heed_norm *f) {
  return f == heed_rms_norm            ? restless<heed_rms_norm>
         : f == heed_rms_norm_plus_one ? restless<heed_rms_norm_plus_one>
         : f == heed_l2_norm           ? restless<heed_l2_norm>
                                       : restless<heed_layer_norm>;
}
inline heed_activation *restless_one(heed_activation *f) {
  return f == heed_gelu        ? restless<heed_gelu>
         : f == heed_gelu_tanh ? restless<heed_gelu_tanh>
         : f == heed_silu      ? restless<heed_silu>
         : f == heed_tanh      ? restless<heed_tanh>
         : f == heed_sigmoid   ? restless<heed_sigmoid>
                               : restless<heed_relu>;
}

class layer_trial : public matrix_trial {
 public:
  layer_trial(random_source &r, extent e) : matrix_trial(&r, e), numbers_(r, r.chance(50), r.chance(50)) {
    const heed_attention_layer &a = numbers_.attention;
    const auto most =
        static_cast<int32_t>(std::min(std::max(60000 / numbers_.work_of_a_row(), int64_t{2}), int64_t{40}));
    n_ = e == extent::large ? std::min(rows_worth_threads(a.n_heads, a.head_dim + a.v_dim), 600)
                            : r.between(e == extent::regular ? 2 : 1, most);
    if (a.causal && r.chance(60)) add_cache(r);
    if (r.chance(60)) draw_options(r, n_, n_before_, cache_ ? &cache_->cache.shape : nullptr, &numbers_);
    draw_rows(r);
    if (a.rope && r.chance(50)) {
      turn_ = random_rope(r, a.head_dim);
      plain_rope_ = rope_from(turn_);
      numbers_.attention.rope = &plain_rope_;
    }
    placed_ = numbers_;
    place_numbers();
    if (cache_) placed_.attention.cache = &cache_->cache;
    if (!lengths_.empty()) placed_.attention.batch = &batch_;
    if (a.rope) rope_ = a.rope == &plain_rope_ ? place_rope(turn_, &memory) : *a.rope, placed_.attention.rope = &rope_;
    heed_transformer_layer &t = placed_.transformer;
    if (numbers_.is_transformer && r.chance(25)) t.norm = restless_one(t.norm);
    if (numbers_.is_transformer && r.chance(25)) t.activation = restless_one(t.activation);
    seed_of_callbacks_ = r.next();
    placed_.transformer.attention = &placed_.attention;
    place_rows(r, e);
    const int32_t at_once = rows_at_once(placed_.attention.cache, n_);
    // Of a cut prompt the last piece is kept.
    const auto kept = numbers_.is_transformer || !lengths_.empty()
                          ? size_t{0}
                          : numbers_.kept_floats(n_ - (n_ - 1) / at_once * at_once);
    besides_workspace_ = numbers_.bytes_besides_workspace(at_once);
    const bool in_pieces = can_be_cut() && r.chance(50);
    const size_t least = least_bytes(), whole = besides_workspace_ + workspace_bytes(r, a.head_dim, a.v_dim);
    const size_t bytes =
        in_pieces && least < whole ? least + (r.chance(50) ? 0 : r.below(uint32_t(whole - least))) : whole;
    const placement result = {1, 1, 1, static_cast<int32_t>(kept), 0, 0, 0};
    memory_ = memory.scratch(bytes, HEED_ALIGNMENT, kept ? result : placement());
    executor_argument_ = executor();
    options_ = staged_options(attention_of(numbers_, n_, n_before_ + n_), r, &memory);
    placed_.attention.options = options_.get();
  }
  std::string text() const override {
    return numbers_.text() + " rows " + std::to_string(n_) +
           (cache_ ? " after " + std::to_string(n_before_) + " in " + text_of(cache_->cache.shape) : "") +
           (lengths_.empty() ? "" : " of " + std::to_string(lengths_.size()) + " sequences") + " out_rows " +
           std::to_string(placed_.transformer.out_rows);
  }
  heed_status call() override {
    source_of_callbacks() = random_source(seed_of_callbacks_);
    return numbers_.is_transformer
               ? heed_transformer_layer_run(transformer_argument_, x_, y_, memory_, executor_argument_)
               : heed_attention_layer_run(attention_argument_, x_, y_, memory_, executor_argument_);
  }
  floats plain() const override {
    floats buffer, result;
    heed_cache copy = {};
    if (cache_) copy = cache_->copy(&buffer);
    const int32_t dim = numbers_.attention.model_dim, out_dim = numbers_.attention.out_dim;
    if (!lengths_.empty()) {  // each sequence alone
      for (int32_t i = 0, first = 0; i < int32_t(lengths_.size()); first += lengths_[size_t(i++)])
        append(&result, compose(numbers_, rows_from(x_numbers_.values, dim, first, lengths_[size_t(i)]),
                                lengths_[size_t(i)], nullptr)
                            .y);
      return result;
    }
    const layer_result parts = compose(numbers_, x_numbers_.values, n_, cache_ ? &copy : nullptr);
    if (cache_) result = cache_->contents(copy);  // in the order of the arrays
    append(&result, rows_from(parts.y, out_dim, numbers_.transformer.out_rows < 0 ? n_ - n_out_ : 0, n_out_));
    append(&result, parts.kept), append(&result, extra_results(parts.attended));
    return result;
  }
  std::vector<spoilings> flaws(random_source &r) override {
    heed_attention_layer &a = placed_.attention;
    std::vector<spoilings> all = {
        wrong_count("model_dim", &a.model_dim, HEED_MAX_DIM),
        wrong_count("n_heads", &a.n_heads, HEED_MAX_DIM),
        wrong_count("n_kv_heads", &a.n_kv_heads, HEED_MAX_DIM),
        wrong_count("head_dim", &a.head_dim, HEED_MAX_DIM),
        wrong_count("v_dim", &a.v_dim, HEED_MAX_DIM),
        wrong_count("out_dim", &a.out_dim, HEED_MAX_DIM),
        wrong_count("rows of y", &y_.n_rows, y_.n_rows),
        wrong_values<int32_t>("causal", &a.causal, {2, -1, INT32_MIN}),
        wrong_scale(&a.scale),
        wrong_values<uint32_t>("struct_size", &a.struct_size, {0, sizeof a - 1, sizeof a + 1, UINT32_MAX}),
        wrong_workspace(&memory_, least_bytes()),
        executor_flaws_in(&executor_argument_),
        weights_flaws("wq", &a.wq, &a.bq, true),
        weights_flaws("wk", &a.wk, &a.bk, true),
        weights_flaws("wv", &a.wv, &a.bv, true),
        weights_flaws("wo", &a.wo, &a.bo, numbers_.is_transformer)};
    if (numbers_.is_transformer) add_transformer_flaws(&all);
    if (!lengths_.empty()) all.push_back(batch_flaws());
    if (a.model_dim > 8) all.push_back(flaws_in("x", &x_, matrix_flaws<heed_matrix>(HEED_MAX_DIM)));
    if (a.out_dim > 8 && y_.n_rows > 1)  // of one row nobody looks at the stride
      all.push_back(flaws_in("y", &y_, output_flaws(HEED_MAX_DIM)));
    all.push_back(all_overlaps(r));
    all.push_back(object_flaws());
    for (const spoilings &s : options_.flaws(r, &a.options, static_cast<float *>(memory_.data))) all.push_back(s);
    return all;
  }

 private:
  void add_cache(random_source &r) {
    const heed_attention_layer &a = numbers_.attention;
    const bool ring = r.chance(50), cut = r.chance(50);
    n_before_ = r.between(0, 20);
    const int32_t capacity = ring ? r.between(1, 30) : n_before_ + n_ + r.between(0, 9);
    const int32_t spare = ring ? cut ? r.between(0, n_) : n_ - 1 : 0;
    const heed_cache_shape shape =
        cache_shape(ring ? HEED_CACHE_RING : HEED_CACHE_LINEAR, capacity, a.n_kv_heads, a.head_dim, a.v_dim,
                    r.between(HEED_F32, HEED_INT8), ring ? r.between(0, 5) : 0, spare);
    cache_ = std::make_unique<staged_cache>(r, shape, n_before_, &memory);
  }
  // Several sequences, or some rows of one: neither with options, which count by the rows.
  void draw_rows(random_source &r) {
    n_out_ = n_;
    if (numbers_.options.any()) return;
    if (!cache_ && r.chance(30)) {
      for (int32_t left = n_; left > 0; left -= lengths_.back()) lengths_.push_back(r.between(0, left));
      int32_t *const lengths = memory.inputs<int32_t>(lengths_.size());
      std::copy(lengths_.begin(), lengths_.end(), lengths);
      EXPECT_EQ(heed_ragged_batch_init(&batch_, int32_t(lengths_.size()), lengths), HEED_OK);
    } else if (numbers_.is_transformer && r.chance(30)) {
      n_out_ = r.between(1, n_);
      numbers_.transformer.out_rows = r.chance(50) ? n_out_ : -n_out_;
    }
  }
  bool can_be_cut() const { return numbers_.is_transformer && !cache_ && lengths_.empty() && !numbers_.options.any(); }
  size_t least_bytes() const {
    const heed_attention_layer &a = numbers_.attention;
    heed_transformer_layer t = numbers_.transformer;
    t.attention = &a;
    return numbers_.is_transformer && !cache_ && lengths_.empty()
               ? heed_transformer_layer_min_bytes(&t, n_)
               : besides_workspace_ + heed_workspace_min_bytes(a.head_dim, a.v_dim);
  }
  spoilings batch_flaws() {
    spoilings all = {{"batch without code", [=] { batch_.code = nullptr; }},
                     {"batch of size 0", [=] { batch_.struct_size = 0; }},
                     {"lengths of no sequence", [=] { batch_.n_sequences = 0; }},
                     {"misaligned lengths", [=] { batch_.lengths = misaligned(batch_.lengths, 2); }},
                     {"no lengths", [=] { batch_.lengths = nullptr; }}};
    auto *const lengths = const_cast<int32_t *>(batch_.lengths);
    for (const int32_t wrong : {lengths_[0] + 1, -1, INT32_MAX, INT32_MIN})
      all.push_back({"length " + std::to_string(wrong), [=] { memory.edit([=] { *lengths = wrong; }); }});
    return all;
  }
  // Weights in arrays of their own; scales, biases and norms in one, since there are not so many regions.
  void place_numbers() {
    size_t n_floats = 0;
    const auto is_small = [](auto &pointer, size_t alignment) {
      return std::is_same_v<decltype(pointer), const float *&> || alignment == 0;
    };
    placed_.each_array([&](auto &pointer, size_t bytes, size_t alignment) {
      if (is_small(pointer, alignment)) n_floats += (bytes + 3) / sizeof(float);
    });
    float *next = memory.input(n_floats);
    placed_.each_array([&](auto &pointer, size_t bytes, size_t alignment) {
      void *copy = next;
      if (is_small(pointer, alignment))
        next += (bytes + 3) / sizeof(float);
      else
        copy = memory.input_bytes(bytes, alignment);
      std::memcpy(copy, pointer, bytes);
      pointer = static_cast<std::remove_reference_t<decltype(pointer)>>(copy);
    });
  }
  void place_rows(random_source &r, extent e) {
    const int32_t dim = numbers_.attention.model_dim, out_dim = numbers_.attention.out_dim;
    const bool ordinary = numbers_.is_transformer || cache_;
    x_numbers_ = ordinary ? matrix{n_, dim, bell_floats(r, size_t(n_) * size_t(dim))} : any_matrix(r, n_, dim);
    if (numbers_.is_transformer && e != extent::regular && numbers_.transformer.out_rows == 0 && r.chance(30)) {
      const placement view = random_placement(r, 1, 1, n_, dim);
      y_ = output_rows(view, memory.output(view));
      scatter(view, x_numbers_.values, y_.data);
      x_ = input_rows(view, y_.data);
    } else {
      x_ = put_matrix(r, e, &x_numbers_);
      y_ = place_result(r, n_out_, out_dim);
    }
  }

  void add_transformer_flaws(std::vector<spoilings> *all) {
    heed_transformer_layer &t = placed_.transformer;
    spoilings norms;
    for (const float **x : {&t.norm1_weight, &t.norm1_bias, &t.norm2_weight, &t.norm2_bias})
      if (*x)
        for (const spoiling &s : wrong_values<const float *>("norm", x, {misaligned(*x)})) norms.push_back(s);
    const std::vector<spoilings> more = {
        norms,
        wrong_count("ffn_dim", &t.ffn_dim, HEED_MAX_DIM),
        wrong_values<int32_t>("norm_first", &t.norm_first, {2, -1, INT32_MIN}),
        wrong_values<int32_t>("post_norm", &t.post_norm, {2, -1, INT32_MIN}),
        wrong_values<int32_t>("parallel", &t.parallel, {2, -1, INT32_MIN}),
        wrong_values<int32_t>("ffn_order", &t.ffn_order, {3, -1, INT32_MIN}),
        wrong_values<int32_t>("out_rows", &t.out_rows, {n_ + 1, -n_ - 1, INT32_MIN, INT32_MAX}),
        wrong_values<float>("eps", &t.eps, {not_a_number, infinity, -1.0f}),
        wrong_values<heed_norm *>("norm", &t.norm, {nullptr}),
        wrong_values<heed_activation *>("activation", &t.activation, {nullptr}),
        wrong_values<uint32_t>("struct_size", &t.struct_size, {0, sizeof t - 1, sizeof t + 1, UINT32_MAX}),
        wrong_values<const heed_attention_layer *>("attention", &t.attention, {nullptr, misaligned(t.attention)}),
        weights_flaws("w_up", &t.w_up, &t.b_up, true),
        weights_flaws("w_gate", &t.w_gate, &t.b_gate, false),
        weights_flaws("w_down", &t.w_down, &t.b_down, true)};
    all->insert(all->end(), more.begin(), more.end());
  }
  // One list, because two of these might only swap places.
  spoilings all_overlaps(random_source &r) {
    heed_attention_layer &a = placed_.attention;
    const auto floats_at = [](const void *p) { return static_cast<const float *>(p); };
    std::vector<const float *> inputs = {floats_at(a.wq.data), floats_at(a.wv.scales), a.bq, a.bo,
                                         floats_at(memory_.data)};
    if (!numbers_.is_transformer) inputs.push_back(x_.data);  // in place of it is no flaw
    if (cache_) inputs.push_back(floats_at(cache_->cache.buffer));
    spoilings all = overlaps(r, &y_, inputs);
    const auto add = [&](const spoilings &more) { all.insert(all.end(), more.begin(), more.end()); };
    std::vector<void *> onto;
    for (const void *p : {static_cast<const void *>(y_.data), static_cast<const void *>(x_.data), a.wk.data})
      onto.push_back(reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(p) / HEED_ALIGNMENT * HEED_ALIGNMENT));
    add(wrong_values<void *>("memory on", &memory_.data, onto));
    add(wrong_values<const float *>("bk on", &a.bk, {floats_at(memory_.data), y_.data}));
    all.push_back({"attention layer in written memory",
                   [=, &a] { attention_argument_ = placed_.transformer.attention = memory.plant(memory_.data, a); }});
    if (numbers_.is_transformer)
      all.push_back({"transformer layer in written memory",
                     [=] { transformer_argument_ = memory.plant(memory_.data, placed_.transformer); }});
    return all;
  }
  // Of the cache and rope; without either no argument.
  spoilings object_flaws() {
    spoilings all;
    if (cache_) {
      heed_cache *c = &cache_->cache;
      all = {{"cache without code", [=] { c->code = nullptr; }},
             {"cache of size 0", [=] { c->struct_size = 0; }},
             {"cache without memory", [=] { c->buffer = nullptr; }},
             {"cache of another shape", [=] { ++c->shape.head_dim; }},
             {"cache, not causal", [=] { placed_.attention.causal = 0; }}};
      if (c->shape.dtype == HEED_INT8 && rows_at_once(c, n_) == n_)  // the activations are there by then
        all.push_back({"NaN for an int8 cache", [=] {
                         memory.edit([=] { *const_cast<float *>(x_.data) = not_a_number; });
                         memory.release(memory_.data);
                       }});
    } else if (placed_.attention.rope) {
      all = {{"rope without code", [=] { rope_.code = nullptr; }},
             {"rope of size 0", [=] { rope_.struct_size = 0; }},
             {"style of rope", [=] { rope_.style = 2; }},
             {"odd rotary_dim", [=] { rope_.rotary_dim = 1; }},
             {"base of rope", [=] { rope_.base = 0.5f, rope_.inverse_frequencies = nullptr; }}};
    }
    return all;
  }

  random_layer numbers_, placed_ = numbers_;
  int32_t n_, n_out_, n_before_ = 0;
  std::vector<int32_t> lengths_;  // of several sequences; empty: of one
  heed_ragged_batch batch_;
  std::unique_ptr<staged_cache> cache_;
  rope_problem turn_;
  heed_rope plain_rope_, rope_;
  uint32_t seed_of_callbacks_;
  const heed_attention_layer *attention_argument_ = &placed_.attention;
  const heed_transformer_layer *transformer_argument_ = &placed_.transformer;
  matrix x_numbers_;
  heed_matrix x_;
  heed_matrix_out y_;
  heed_memory memory_;
  size_t besides_workspace_;
  const heed_executor *executor_argument_;
  staged_options options_;
};

}  // namespace heed_test

#endif
