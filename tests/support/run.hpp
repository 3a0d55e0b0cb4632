// Runs a problem through heed_attention_run in a given memory layout, workspace size and executor, and checks
// everything around the call: status, fences, gaps between rows. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_RUN_HPP
#define HEED_TESTS_SUPPORT_RUN_HPP

#include <vector>

#include "fence.hpp"
#include "problem.hpp"

namespace heed_test {

enum class layout { head_major, token_major, packed, padded, token_major_padded };
constexpr layout all_layouts[] = {layout::head_major, layout::token_major, layout::packed, layout::padded,
                                  layout::token_major_padded};

// How a problem is run. No field of it may change a bit of the result.
struct setting {
  layout in = layout::head_major;
  layout out = layout::head_major;
  int32_t padding = 1;         // floats between rows where the layout has padding
  size_t workspace_bytes = 0;  // 0: the recommended size
  const heed_executor *executor = nullptr;
  bool weights = false;
};

struct attention_result {
  std::vector<float> out;      // (batch, n_heads, n_q, v_dim)
  std::vector<float> weights;  // (batch, n_heads, n_q, n_kv), if wanted
};

// Where element (b, h, t, i) of one tensor lies.
struct placement {
  int32_t n_batch, n_heads, n_rows, dim;
  ptrdiff_t batch_stride, head_stride, row_stride;
  size_t at(int32_t b, int32_t h, int32_t t) const {
    return static_cast<size_t>(b * batch_stride + h * head_stride + t * row_stride);
  }
  size_t extent() const { return at(n_batch - 1, n_heads - 1, n_rows - 1) + size_t(dim); }
  size_t count() const { return size_t(n_batch) * n_heads * n_rows * dim; }
};

inline placement place(layout how, int32_t padding, int32_t n_batch, int32_t n_heads, int32_t n_rows, int32_t dim) {
  placement p = {n_batch, n_heads, n_rows, dim, 0, 0, 0};
  if (how == layout::head_major || how == layout::padded) {
    const int32_t pad = how == layout::padded ? padding : 0;
    p.row_stride = dim + pad;
    p.head_stride = n_rows * p.row_stride + 3 * pad;
    p.batch_stride = n_heads * p.head_stride + 5 * pad;
  } else {
    const int32_t pad = how == layout::token_major_padded ? padding : 0;
    p.head_stride = dim + pad;
    p.row_stride = n_heads * p.head_stride + 2 * pad;
    p.batch_stride = n_rows * p.row_stride + pad;
  }
  return p;
}

// Visits every row: visit(offset in the laid-out buffer, index of the row's first float in canonical order).
template <typename Visit>
void each_row(const placement &p, Visit visit) {
  size_t index = 0;
  for (int32_t b = 0; b < p.n_batch; ++b)
    for (int32_t h = 0; h < p.n_heads; ++h)
      for (int32_t t = 0; t < p.n_rows; ++t, index += size_t(p.dim)) visit(p.at(b, h, t), index);
}

inline void scatter(const placement &p, const std::vector<float> &from, float *to) {
  each_row(p, [&](size_t at, size_t index) { std::memcpy(to + at, &from[index], size_t(p.dim) * sizeof(float)); });
}

inline std::vector<float> gather(const placement &p, const float *from) {
  std::vector<float> to(p.count());
  each_row(p, [&](size_t at, size_t index) { std::memcpy(&to[index], from + at, size_t(p.dim) * sizeof(float)); });
  return to;
}

// The same of a result, and the checks of what lies around its rows.
inline std::vector<float> gather(const placement &p, const fenced_floats &from) {
  std::vector<bool> is_row(from.count());
  each_row(p, [&](size_t at, size_t) { std::fill_n(is_row.begin() + std::ptrdiff_t(at), p.dim, true); });
  size_t n_written = 0, n_left = 0;
  for (size_t i = 0; i < from.count(); ++i) {
    n_written += !is_row[i] && !from.untouched(i);
    n_left += is_row[i] && from.untouched(i);
  }
  EXPECT_EQ(n_written, 0u) << "floats between rows were written";
  EXPECT_EQ(n_left, 0u) << "floats of the result were not written";
  EXPECT_TRUE(from.guard_intact()) << "memory in front of the result was written";
  return gather(p, from.data());
}

inline heed_tensor input_view(const placement &p, const float *data) {
  return {data, p.batch_stride, p.head_stride, p.row_stride};
}
inline heed_tensor_out output_view(const placement &p, float *data) {
  return {data, p.batch_stride, p.head_stride, p.row_stride};
}

inline heed_attention call_of(const problem &p) {
  heed_attention call = heed_attention_of(p.n_q, p.n_kv, p.n_heads, p.n_kv_heads, p.head_dim, nullptr, nullptr, nullptr,
                                          nullptr, nullptr, 0);
  call.batch = p.batch;
  call.v_dim = p.v_dim;
  call.scale = p.scale;
  call.causal = p.causal;
  call.causal_offset = p.causal_offset;
  return call;
}

// Puts q, k and v into fenced memory; what lies between their rows is NaN.
inline void place_inputs(const problem &p, const setting &s, heed_attention *call) {
  placement q = place(s.in, s.padding, p.batch, p.n_heads, p.n_q, p.head_dim);
  placement k = place(s.in, s.padding, p.batch, p.n_kv_heads, p.n_kv, p.head_dim);
  placement v = place(s.in, s.padding, p.batch, p.n_kv_heads, p.n_kv, p.v_dim);
  if (s.in == layout::packed && p.n_q == p.n_kv) {
    const int32_t k_start = p.n_heads * p.head_dim, v_start = k_start + p.n_kv_heads * p.head_dim;
    q.row_stride = k.row_stride = v.row_stride = v_start + p.n_kv_heads * p.v_dim;
    q.batch_stride = k.batch_stride = v.batch_stride = p.n_q * q.row_stride;
    const fenced_floats all(slot_q, size_t(p.batch) * size_t(q.batch_stride), unread_bits);
    call->q = input_view(q, all.data());
    call->k = input_view(k, all.data() + k_start);
    call->v = input_view(v, all.data() + v_start);
  } else {
    call->q = input_view(q, fenced_floats(slot_q, q.extent(), unread_bits).data());
    call->k = input_view(k, fenced_floats(slot_k, k.extent(), unread_bits).data());
    call->v = input_view(v, fenced_floats(slot_v, v.extent(), unread_bits).data());
  }
  scatter(q, p.q, const_cast<float *>(call->q.data));
  scatter(k, p.k, const_cast<float *>(call->k.data));
  scatter(v, p.v, const_cast<float *>(call->v.data));
}

inline attention_result run(const problem &p, const setting &s = {}) {
  heed_attention call = call_of(p);
  place_inputs(p, s, &call);
  const placement out_place = place(s.out, s.padding, p.batch, p.n_heads, p.n_q, p.v_dim);
  const placement weights_place = place(s.out, s.padding, p.batch, p.n_heads, p.n_q, p.n_kv);
  const fenced_floats out(slot_out, out_place.extent(), unwritten_bits);
  const fenced_floats weights(slot_weights, s.weights ? weights_place.extent() : 0, unwritten_bits);
  const size_t workspace_bytes = s.workspace_bytes ? s.workspace_bytes : heed_workspace_bytes(p.head_dim, p.v_dim);
  const fenced_bytes workspace(slot_workspace, workspace_bytes);
  call.out = output_view(out_place, out.data());
  if (s.weights) call.weights = output_view(weights_place, weights.data());
  call.workspace = workspace.data();
  call.workspace_bytes = workspace_bytes;
  call.executor = s.executor;

  const heed_status status = heed_attention_run(&call);
  EXPECT_EQ(status, HEED_OK) << heed_status_argument(status) << ": " << heed_status_text(status) << ": " << p.text();
  EXPECT_TRUE(workspace.guard_intact()) << "memory around the workspace was written: " << p.text();
  if (status != HEED_OK) return {};
  attention_result result;
  result.out = gather(out_place, out);
  if (s.weights) result.weights = gather(weights_place, weights);
  return result;
}

}  // namespace heed_test

#endif
