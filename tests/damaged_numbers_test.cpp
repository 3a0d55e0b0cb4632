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

class damaged_numbers : public damage_test {
 protected:
  heed_executor *e_ = object<heed_executor>({sizeof(heed_executor), 2, run_in_order, nullptr});
};

TEST_F(damaged_numbers, of_matrices) {
  heed_matrix *const x = object(heed_matrix_of(floats(n * dim), n, dim));
  heed_matrix *const up = object(heed_matrix_of(floats(n * dim), n, dim));
  heed_matrix *const w = object(heed_matrix_of(floats(dim * dim), dim, dim));
  const float *const bias = floats(dim);
  heed_matrix_out *const y = object<heed_matrix_out>();
  *y = heed_matrix_out_of(output(n * dim), n, dim);
  void *const workspace = output<char>(workspace_bytes);
  numbers all = numbers_of("x", x);
  append(&all, numbers_of("up", up)), append(&all, numbers_of("w", w)), append(&all, numbers_of("y", y));
  all.push_back({"n_workers", &e_->n_workers});
  damage(all, {{"softmax", [=] { return heed_softmax(*x, 1, *y, e_); }},
               {"weighted sum", [=] { return heed_weighted_sum(*x, *w, *y, e_); }},
               {"linear", [=] { return heed_linear(*x, *w, bias, *y, e_); }},
               {"rms_norm", [=] { return heed_rms_norm(*x, bias, bias, 1, *y, e_); }},
               {"layer_norm", [=] { return heed_layer_norm(*x, bias, bias, 1, *y, e_); }},
               {"gelu", [=] { return heed_gelu(*x, *up, *y, e_); }},
               {"gelu_tanh", [=] { return heed_gelu_tanh(*x, *up, *y, e_); }},
               {"silu", [=] { return heed_silu(*x, *up, *y, e_); }},
               {"relu", [=] { return heed_relu(*x, *up, *y, e_); }},
               {"add", [=] { return heed_add(*x, *up, *y, e_); }},
               {"self-attention", [=] { return heed_self_attention(*x, 0, *y, workspace, workspace_bytes); }}});
}

TEST_F(damaged_numbers, of_formats) {
  heed_matrix *const x = object(heed_matrix_of(floats(n * dim), n, dim));
  int32_t *const format = integers({HEED_INT8}), *const layout = integers({HEED_IN_OUT}), *const count = integers({n});
  const float *const bias = floats(dim), *const scales = floats(dim);
  heed_weights *const w = object(heed_weights_of(floats(dim * dim), HEED_INT8, HEED_IN_OUT, dim, dim, scales));
  heed_matrix_out *const y = object<heed_matrix_out>();
  *y = heed_matrix_out_of(output(n * dim), n, dim);
  float *const narrow = output(n * dim), *const new_scales = output(n * dim);
  numbers all = {{"format", format}, {"layout", layout}, {"n", count}, {"n_workers", &e_->n_workers}};
  append(&all, numbers_of("x", x)), append(&all, numbers_of("w", w)), append(&all, numbers_of("y", y));
  damage(all, {{"narrow", [=] { return heed_narrow(*x, *format, narrow, dim, new_scales); }},
               {"widen", [=] { return heed_widen(x->data, dim, scales, *format, *y); }},
               {"projection", [=] { return heed_project(*x, w, bias, *y, e_); }},
               {"quantize",
                [=] { return heed_quantize_weights(*x, *layout, reinterpret_cast<int8_t *>(narrow), new_scales); }},
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
TEST_F(damaged_numbers, of_attention_and_options) {
  heed_attention *const call = object<heed_attention>(), *const partial_call = object<heed_attention>();
  heed_options *const options = object<heed_options>(HEED_OPTIONS), *const of_partial = object<heed_options>(*options);
  heed_ranges *const ranges = object<heed_ranges>();
  heed_mask *const mask = object<heed_mask>();
  heed_softcap *const softcap = object<heed_softcap>();
  heed_alibi *const alibi = object<heed_alibi>();
  heed_sinks *const sinks = object<heed_sinks>();
  heed_scores *const scores = object<heed_scores>();
  heed_lse *const lse = object<heed_lse>();
  heed_column_sums *const sums = object<heed_column_sums>();
  heed_top_k *const top_k = object<heed_top_k>();
  heed_narrow_tensors *const narrow = object<heed_narrow_tensors>();
  const float *const numbers_in_front = floats(64);
  int32_t *const left = integers({4}), *const right = integers({5}), *const offsets = integers({1}),
                 *const lengths = integers({n_kv});
  const float *const q = floats(n * n_heads * dim), *const k = floats(n_kv * dim), *const v = floats(n_kv * dim);
  float *const out = output(n * n_heads * dim), *const rows = output(n_heads * n * n_kv);
  float *const others = output(n_heads * n * n_kv), *const top = output(n_heads * n * 2), *const row = output(64);
  int32_t *const keys = output<int32_t>(n_heads * n * 2);
  heed_partial *const partial = changing<heed_partial>();
  constexpr size_t n_floats = HEED_PARTIAL_FLOATS(1, n_heads, n, dim);
  float *const sum = output(n_floats);
  void *const workspace = output<char>(workspace_bytes);
  *call = *partial_call = heed_attention_of(n, n_kv, n_heads, 1, dim, q, k, v, out, workspace, workspace_bytes);
  call->executor = partial_call->executor = e_, call->causal = 1, call->options = options;
  partial_call->options = of_partial, partial_call->out.data = nullptr;
  heed_ranges_init(ranges), heed_mask_init_boolean(mask, reinterpret_cast<const uint8_t *>(q), n_kv, 0, 0, n_kv);
  heed_softcap_init(softcap, 3), heed_alibi_init(alibi, numbers_in_front), heed_sinks_init(sinks, numbers_in_front);
  heed_scores_init(scores, HEED_SCORES_RAW, heed_head_major_out(rows, n, n_heads, n_kv));
  heed_lse_init(lse, heed_head_major_out(row, n, n_heads, 1));
  heed_column_sums_init(sums, heed_head_major_out(others, 1, n_heads, n_kv));
  heed_top_k_init(top_k, 2, top, keys), heed_narrow_tensors_init(narrow);
  ranges->left_window = ranges->right_window = 2, ranges->pinned = 1;
  *options = {sizeof *options, ranges,  mask,    softcap, alibi, sinks, scores, lse, sums,
              top_k,           nullptr, nullptr, nullptr};
  ASSERT_EQ(heed_partial_init(partial, sum, n_floats, 1, n_heads, n, dim, 0), HEED_OK);
  *of_partial = {sizeof *options, ranges,  mask,    softcap, alibi,   nullptr, scores,
                 nullptr,         nullptr, nullptr, partial, nullptr, nullptr};
  numbers all = numbers_of(call);
  append(&all, numbers_of(partial_call)), append(&all, numbers_of(partial));
  append(&all, {{"n_keys of the mask", &mask->n_keys},
                {"stage", &scores->stage},
                {"k", &top_k->k},
                {"left_window", &ranges->left_window},
                {"right_window", &ranges->right_window},
                {"pinned", &ranges->pinned},
                {"n_workers", &e_->n_workers}});
  const std::vector<named_call> calls = {{"all options", [=] { return heed_attention_run(call); }},
                                         {"partial", [=] { return heed_attention_run(partial_call); }}};
  damage(all, calls);
  ranges->left_windows = left, ranges->right_windows = right, ranges->offsets = offsets, ranges->kv_lengths = lengths;
  append(&all, {{"left_windows", left}, {"right_windows", right}, {"offsets", offsets}, {"kv_lengths", lengths}});
  damage(all, calls);
  narrow->q = heed_narrow_token_major(q, HEED_INT8, numbers_in_front, n, n_heads, dim);
  narrow->k = heed_narrow_token_major(k, HEED_INT8, numbers_in_front, n_kv, 1, dim);
  narrow->v = heed_narrow_token_major(v, HEED_F16, nullptr, n_kv, 1, dim);
  narrow->out = heed_narrow_token_major_out(out, HEED_F16, n, n_heads, dim);
  options->narrow = narrow;
  call->q = call->k = call->v = heed_tensor(), call->out.data = nullptr;
  append(&all, {{"format of q", &narrow->q.format},
                {"format of k", &narrow->k.format},
                {"format of v", &narrow->v.format},
                {"format of out", &narrow->out.format}});
  damage(all, {{"narrow tensors", [=] { return heed_attention_run(call); }}});
}

TEST_F(damaged_numbers, of_partials) {
  constexpr size_t n_floats = HEED_PARTIAL_FLOATS(1, n_heads, n, dim);
  heed_sinks *const sinks = object<heed_sinks>();
  heed_lse *const lse = object<heed_lse>();
  const float *const logits = floats(n_heads);
  int32_t *const shape = integers({1, n_heads, n, dim, 1024});
  heed_partial *const part = object<heed_partial>(), *const total = changing<heed_partial>(),
                      *const fresh = changing<heed_partial>();
  float *const of_part = output(n_floats), *const of_total = output(n_floats), *const of_fresh = output(n_floats);
  float *const out = output(n * n_heads * dim), *const row = output(n_heads * n);
  heed_sinks_init(sinks, logits), heed_lse_init(lse, heed_head_major_out(row, n, n_heads, 1));
  numbers all = numbers_of(total);
  append(&all, numbers_of(part)), append(&all, numbers_in("argument", shape, 5));
  for (const int32_t first_key : {0, HEED_MAX_COUNT - 2048}) {
    ASSERT_EQ(heed_partial_init(total, of_total, n_floats, 1, n_heads, n, dim, first_key), HEED_OK);
    ASSERT_EQ(heed_partial_init(part, of_part, n_floats, 1, n_heads, n, dim, first_key + 1024), HEED_OK);
    total->n_keys = 1024, part->n_keys = 7;
    damage(
        all,
        {{"merge", [=] { return heed_partial_merge(total, part); }},
         {"finish", [=] { return heed_partial_finish(total, sinks, heed_token_major_out(out, n, n_heads, dim), lse); }},
         {"init", [=] {
            return heed_partial_init(fresh, of_fresh, n_floats, shape[0], shape[1], shape[2], shape[3], shape[4]);
          }}});
  }
}

TEST_F(damaged_numbers, of_sequences) {
  heed_matrix *const rows = object(heed_matrix_of(floats(n * dim), n, dim));
  int32_t *const shape = integers({2 * n, dim}), *const causal = integers({1});
  heed_sequence *const x = changing<heed_sequence>({sizeof(heed_sequence), 2 * n, dim, n, output(2 * n * dim)});
  heed_sequence *const y = changing<heed_sequence>({sizeof(heed_sequence), n, dim, 0, output(n * dim)});
  heed_sequence *const fresh = changing<heed_sequence>();
  void *const workspace = output<char>(workspace_bytes);
  float *const buffer = output(2 * n * dim);
  numbers all = numbers_of(x);
  append(&all, numbers_of(y)), append(&all, numbers_of("rows", rows)), append(&all, numbers_in("argument", shape, 2));
  all.push_back({"causal", causal});
  damage(all, {{"append", [=] { return heed_sequence_append(x, *rows); }},
               {"clear", [=] { return heed_sequence_clear(x); }},
               {"init", [=] { return heed_sequence_init(fresh, buffer, shape[0], shape[1]); }},
               {"self-attention", [=] { return heed_sequence_self_attention(x, 0, y, workspace, workspace_bytes); }},
               {"attention",
                [=] { return heed_sequence_attention(x, 0, *causal, nullptr, y, workspace, workspace_bytes); }}});
}

}  // namespace
}  // namespace heed_test
