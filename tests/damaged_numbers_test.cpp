// Damaged counts, dimensions and flags of matrices, weights, calls, options, partials and sequences.
// SPDX-License-Identifier: MIT
#include "support/damage.hpp"

namespace heed_test {
namespace {

constexpr int32_t n = 3, dim = 4, n_kv = 5, n_heads = 2;
constexpr size_t workspace_bytes = HEED_WORKSPACE_BYTES(dim, dim);

void run_in_order(void *, int32_t n_tasks, heed_task task, void *context) {
  for (int32_t i = 0; i < n_tasks; ++i) task(context, i, 0);
}

template <typename Matrix>
numbers numbers_of_narrow(const std::string &name, Matrix *m) {
  return {{name + ".format", &m->dtype}, {name + ".n_rows", &m->n_rows}, {name + ".dim", &m->dim}};
}

class damaged_numbers : public damage_test {
 protected:
  heed_memory memory_of_partial() {
    constexpr size_t n_bytes = HEED_PARTIAL_BYTES(1, n_heads, n, dim);
    return heed_memory_of(output<char>(n_bytes), n_bytes);
  }
  heed_executor *e_ = object<heed_executor>(heed_executor_of(run_in_order, nullptr, 2));
  const heed_memory workspace_ = heed_memory_of(output<char>(workspace_bytes), workspace_bytes);
};

TEST_F(damaged_numbers, of_matrices) {
  heed_matrix *const x = object(heed_matrix_of(floats(n * dim), n, dim));
  heed_matrix *const up = object(heed_matrix_of(floats(n * dim), n, dim));
  heed_matrix *const w = object(heed_matrix_of(floats(dim * dim), dim, dim));
  const float *const bias = floats(dim);
  heed_matrix_out *const y = object<heed_matrix_out>();
  *y = heed_matrix_out_of(output(n * dim), n, dim);
  numbers all = numbers_of("x", x);
  append(&all, numbers_of("up", up)), append(&all, numbers_of("w", w)), append(&all, numbers_of("y", y));
  all.push_back({"n_workers", &e_->n_workers});
  damage(all, {{"softmax", [=] { return heed_softmax(*x, 1, *y, e_); }},
               {"weighted sum", [=] { return heed_weighted_sum(*x, *w, *y, e_); }},
               {"linear", [=] { return heed_linear(*x, heed_weights_of_matrix(*w), bias, *y, e_); }},
               {"rms_norm", [=] { return heed_rms_norm(*x, bias, bias, 1, *y, e_); }},
               {"layer_norm", [=] { return heed_layer_norm(*x, bias, bias, 1, *y, e_); }},
               {"gelu", [=] { return heed_gelu(*x, *up, *y, e_); }},
               {"gelu_tanh", [=] { return heed_gelu_tanh(*x, *up, *y, e_); }},
               {"silu", [=] { return heed_silu(*x, *up, *y, e_); }},
               {"relu", [=] { return heed_relu(*x, *up, *y, e_); }},
               {"tanh", [=] { return heed_tanh(*x, *up, *y, e_); }},
               {"sigmoid", [=] { return heed_sigmoid(*x, *up, *y, e_); }},
               {"group_norm", [=] { return heed_group_norm(*x, bias, bias, 1, 1, *y, e_); }},
               {"argmax", [=] { return heed_argmax(*x, reinterpret_cast<int32_t *>(y->data)); }},
               {"largest", [=] { return heed_topk(*x, 2, reinterpret_cast<int32_t *>(y->data), nullptr); }},
               {"mean_rows", [=] { return heed_mean_rows(*x, y->data, e_); }},
               {"add", [=] { return heed_add(*x, *up, *y, e_); }},
               {"self-attention", [=] { return heed_self_attention(*x, HEED_SCALE_DEFAULT, *y, workspace_); }}});
}

TEST_F(damaged_numbers, of_formats) {
  heed_matrix *const x = object(heed_matrix_of(floats(n * dim), n, dim));
  int32_t *const layout = integers({HEED_IN_OUT}), *const count = integers({n});
  const float *const bias = floats(dim), *const scales = floats(dim);
  heed_typed_matrix *const stored = object(heed_typed_matrix_of(floats(n * dim), floats(n), HEED_INT8, n, dim));
  heed_weights *const w = object(heed_weights_of(floats(dim * dim), scales, HEED_INT8, HEED_IN_OUT, dim, dim));
  heed_matrix_out *const y = object<heed_matrix_out>();
  heed_typed_matrix_out *const narrow = object<heed_typed_matrix_out>();
  *y = heed_matrix_out_of(output(n * dim), n, dim);
  float *const numbers_out = output(n * dim), *const new_scales = output(n * dim);
  *narrow = heed_typed_matrix_out_of(numbers_out, new_scales, HEED_INT8, n, dim);
  numbers all = {{"layout", layout}, {"n", count}, {"n_workers", &e_->n_workers}};
  append(&all, numbers_of("x", x)), append(&all, numbers_of("w", w)), append(&all, numbers_of("y", y));
  append(&all, numbers_of_narrow("stored", stored)), append(&all, numbers_of_narrow("narrow", narrow));
  damage(all,
         {{"narrow", [=] { return heed_convert_from_f32(*x, *narrow); }},
          {"widen", [=] { return heed_convert_to_f32(*stored, *y); }},
          {"projection", [=] { return heed_linear(*x, *w, bias, *y, e_); }},
          {"gather", [=] { return heed_gather_rows(*w, layout, heed_matrix_out_of(y->data, 1, y->dim)); }},
          {"quantize",
           [=] { return heed_weights_quantize(*x, *layout, reinterpret_cast<int8_t *>(numbers_out), new_scales); }},
          {"dot", [=] { return heed_dot(x->data, bias, *count, new_scales); }}});
}

TEST_F(damaged_numbers, of_rope) {
  heed_rope *const rope = object<heed_rope>();
  ASSERT_EQ(heed_rope_init(rope, HEED_ROPE_HALVES), HEED_OK);
  rope->rotary_dim = 2;
  int32_t *const sizes = integers({n, n_heads, dim, 7}), *const positions = integers({1, 2, 3});
  const float *const frequencies = floats(2), *const x = floats(n * n_heads * dim);
  float *const y = output(n * n_heads * dim);
  numbers all = numbers_of(rope);
  append(&all, numbers_in("n, n_heads, head_dim, position", sizes, 4));
  append(&all, numbers_in("positions", positions, 3));
  all.push_back({"n_workers", &e_->n_workers});
  const auto apply = [=](const int32_t *where) {
    return heed_rope_apply(rope, heed_token_major(x, n, n_heads, dim), sizes[0], sizes[1], sizes[2], sizes[3], where,
                           heed_token_major_out(y, n, n_heads, dim), e_);
  };
  damage(all, {{"rope", [=] { return apply(nullptr); }}, {"rope with positions", [=] { return apply(positions); }}});
  rope->inverse_frequencies = frequencies;
  damage(all, {{"rope with frequencies", [=] { return apply(nullptr); }}});
}

// A call with every option, and one with all that a partial allows.
class damaged_options : public damaged_numbers {
 protected:
  void SetUp() override {
    *call_ = *partial_call_ = heed_attention_of(q_, k_, v_, n, n_kv, n_heads, 1, dim, out_, workspace_);
    call_->executor = partial_call_->executor = e_, call_->causal = 1, call_->options = options_;
    partial_call_->options = of_partial_, partial_call_->out.data = nullptr;
    heed_ranges_init(ranges_), heed_mask_init_boolean(mask_, reinterpret_cast<const uint8_t *>(q_), n_kv, 0, 0, n_kv);
    heed_softcap_init(softcap_, 3), heed_alibi_init(alibi_, each_), heed_sinks_init(sinks_, each_);
    heed_scores_init(scores_, HEED_SCORES_RAW, heed_head_major_out(rows_, n, n_heads, n_kv));
    heed_attention_weights_init(weights_, heed_head_major_out(weight_, n, n_heads, n_kv));
    heed_lse_init(lse_, heed_head_major_out(row_, n, n_heads, 1));
    heed_column_sums_init(sums_, heed_head_major_out(others_, 1, n_heads, n_kv));
    heed_topk_weights_init(top_k_, 2, top_, keys_);
    ranges_->left_window = ranges_->right_window = 2, ranges_->pinned = 1;
    ASSERT_EQ(heed_partial_init(partial_, 1, n_heads, n, dim, 0, sum_), HEED_OK);
    *options_ = *of_partial_ = heed_options_default();
    for (heed_options *o : {options_, of_partial_})
      o->ranges = ranges_, o->mask = mask_, o->softcap = softcap_, o->alibi = alibi_, o->scores = scores_;
    options_->sinks = sinks_, options_->weights = weights_, options_->lse = lse_;
    options_->column_sums = sums_, options_->topk_weights = top_k_;
    of_partial_->partial = partial_;
    all_ = numbers_of(call_);
    append(&all_, numbers_of(partial_call_)), append(&all_, numbers_of(partial_));
    append(&all_, {{"n_keys of the mask", &mask_->n_keys},
                   {"stage", &scores_->stage},
                   {"k", &top_k_->k},
                   {"left_window", &ranges_->left_window},
                   {"right_window", &ranges_->right_window},
                   {"pinned", &ranges_->pinned},
                   {"n_workers", &e_->n_workers}});
  }

  heed_attention *call_ = object<heed_attention>(), *partial_call_ = object<heed_attention>();
  heed_options *options_ = object<heed_options>(), *of_partial_ = object<heed_options>();
  heed_ranges *ranges_ = object<heed_ranges>();
  heed_mask *mask_ = object<heed_mask>();
  heed_softcap *softcap_ = object<heed_softcap>();
  heed_alibi *alibi_ = object<heed_alibi>();
  heed_sinks *sinks_ = object<heed_sinks>();
  heed_scores *scores_ = object<heed_scores>();
  heed_attention_weights *weights_ = object<heed_attention_weights>();
  heed_lse *lse_ = object<heed_lse>();
  heed_column_sums *sums_ = object<heed_column_sums>();
  heed_topk_weights *top_k_ = object<heed_topk_weights>();
  heed_typed_tensors *narrow_ = object<heed_typed_tensors>();
  const float *each_ = floats(64), *q_ = floats(n * n_heads * dim), *k_ = floats(n_kv * dim), *v_ = floats(n_kv * dim);
  int32_t *left_ = integers({4}), *right_ = integers({5}), *positions_ = integers({1}), *lengths_ = integers({n_kv});
  float *out_ = output(n * n_heads * dim), *rows_ = output(n_heads * n * n_kv);
  float *others_ = output(n_heads * n * n_kv), *weight_ = output(n_heads * n * n_kv);
  float *top_ = output(n_heads * n * 2), *row_ = output(64);
  int32_t *keys_ = output<int32_t>(n_heads * n * 2);
  heed_partial *partial_ = changing<heed_partial>();
  const heed_memory sum_ = memory_of_partial();
  numbers all_;
};

TEST_F(damaged_options, of_a_call) {
  const std::vector<named_call> calls = {{"all options", [=] { return heed_attention_run(call_); }},
                                         {"partial", [=] { return heed_attention_run(partial_call_); }}};
  damage(all_, calls);
  ranges_->left_windows = left_, ranges_->right_windows = right_;
  ranges_->positions = positions_, ranges_->kv_lengths = lengths_;
  append(&all_,
         {{"left_windows", left_}, {"right_windows", right_}, {"positions", positions_}, {"kv_lengths", lengths_}});
  damage(all_, calls);
}

TEST_F(damaged_options, of_a_call_with_narrow_tensors) {
  heed_typed_tensors_init(narrow_);
  narrow_->q = heed_typed_token_major(q_, each_, HEED_INT8, n, n_heads, dim);
  narrow_->k = heed_typed_token_major(k_, each_, HEED_INT8, n_kv, 1, dim);
  narrow_->v = heed_typed_token_major(v_, nullptr, HEED_F16, n_kv, 1, dim);
  narrow_->out = heed_typed_token_major_out(out_, HEED_F16, n, n_heads, dim);
  options_->typed = narrow_;
  call_->q = call_->k = call_->v = heed_tensor(), call_->out.data = nullptr;
  append(&all_, {{"format of q", &narrow_->q.dtype},
                 {"format of k", &narrow_->k.dtype},
                 {"format of v", &narrow_->v.dtype},
                 {"format of out", &narrow_->out.dtype}});
  damage(all_, {{"narrow tensors", [=] { return heed_attention_run(call_); }}});
}

TEST_F(damaged_numbers, of_partials) {
  heed_sinks *const sinks = object<heed_sinks>();
  heed_lse *const lse = object<heed_lse>();
  const float *const logits = floats(n_heads);
  int32_t *const shape = integers({1, n_heads, n, dim, 1024});
  heed_partial *const part = object<heed_partial>(), *const total = changing<heed_partial>(),
                      *const fresh = changing<heed_partial>();
  const heed_memory of_part = memory_of_partial(), of_total = memory_of_partial(), of_fresh = memory_of_partial();
  float *const out = output(n * n_heads * dim), *const row = output(n_heads * n);
  heed_sinks_init(sinks, logits), heed_lse_init(lse, heed_head_major_out(row, n, n_heads, 1));
  numbers all = numbers_of(total);
  append(&all, numbers_of(part)), append(&all, numbers_in("argument", shape, 5));
  for (const int32_t first_key : {0, HEED_MAX_COUNT - 2048}) {
    ASSERT_EQ(heed_partial_init(total, 1, n_heads, n, dim, first_key, of_total), HEED_OK);
    ASSERT_EQ(heed_partial_init(part, 1, n_heads, n, dim, first_key + 1024, of_part), HEED_OK);
    total->n_keys = 1024, part->n_keys = 7;
    damage(
        all,
        {{"merge", [=] { return heed_partial_merge(total, part); }},
         {"finish", [=] { return heed_partial_finish(total, sinks, heed_token_major_out(out, n, n_heads, dim), lse); }},
         {"init",
          [=] { return heed_partial_init(fresh, shape[0], shape[1], shape[2], shape[3], shape[4], of_fresh); }}});
  }
}

TEST_F(damaged_numbers, of_sequences) {
  heed_matrix *const rows = object(heed_matrix_of(floats(n * dim), n, dim));
  int32_t *const shape = integers({2 * n, dim}), *const causal = integers({1});
  heed_sequence *const x = changing<heed_sequence>({sizeof(heed_sequence), 2 * n, dim, n, output(2 * n * dim)});
  heed_sequence *const y = changing<heed_sequence>({sizeof(heed_sequence), n, dim, 0, output(n * dim)});
  heed_sequence *const fresh = changing<heed_sequence>();
  const heed_memory memory = heed_memory_of(output(2 * n * dim), HEED_SEQUENCE_BYTES(2 * n, dim));
  numbers all = numbers_of(x);
  append(&all, numbers_of(y)), append(&all, numbers_of("rows", rows)), append(&all, numbers_in("argument", shape, 2));
  all.push_back({"causal", causal});
  damage(all, {{"append", [=] { return heed_sequence_append(x, *rows); }},
               {"clear", [=] { return heed_sequence_clear(x); }},
               {"push", [=] { return heed_sequence_push(x, *rows); }},
               {"init", [=] { return heed_sequence_init(fresh, shape[0], shape[1], memory); }},
               {"attention",
                [=] { return heed_sequence_attention(x, HEED_SCALE_DEFAULT, *causal, nullptr, y, workspace_); }}});
}

}  // namespace
}  // namespace heed_test
