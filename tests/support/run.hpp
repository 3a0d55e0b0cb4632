// Runs a problem through heed_attention_run in a given memory layout, workspace size and executor, and checks
// everything around the call: status, fences, gaps between rows. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_RUN_HPP
#define HEED_TESTS_SUPPORT_RUN_HPP

#include <vector>

#include "features.hpp"
#include "fence.hpp"
#include "problem.hpp"
#include "setting.hpp"

namespace heed_test {

inline heed_attention call_of(const problem &p) {
  heed_attention call = heed_attention_of(nullptr, nullptr, nullptr, p.n_q, p.n_kv, p.n_heads, p.n_kv_heads, p.head_dim,
                                          nullptr, heed_memory_of(nullptr, 0));
  call.batch_size = p.batch;
  call.v_dim = p.v_dim;
  call.scale = p.scale;
  call.causal = p.causal;
  call.position = p.causal_offset;
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

// Of a call whose out is narrow: widens it to where the rows of out are looked for.
class narrow_part {
 public:
  virtual ~narrow_part() = default;
  virtual void copy_out(const fenced_floats &to) const = 0;
};

// A call in fenced memory, with all that its problem and setting ask for.
class placed_call {
 public:
  placed_call(const problem &p, const setting &s)
      : call(call_of(p)),
        options(p, s),
        p_(p),
        out_place_(place(s.out, s.padding, p.batch, p.n_heads, p.n_q, p.v_dim)),
        out_(slot_out, out_place_.extent(), unwritten_bits),
        workspace_(slot_workspace, s.workspace_bytes ? s.workspace_bytes : heed_workspace_bytes(p.head_dim, p.v_dim)) {
    place_inputs(p, s, &call);
    call.out = output_view(out_place_, out_.data());
    call.workspace = heed_memory_of(workspace_.data(), workspace_.count());
    call.executor = s.executor;
    for (const feature &f : features())
      if (f.in(p)) (options.*f.put)();
    if (s.weights && !p.options.weights) options.put_weights();
    if (s.weights || p.options.any()) call.options = options.get();
  }
  // Keys and values come from a cache.
  void read(const heed_cache *cache) {
    call.k = call.v = {};
    call.cache = cache;
  }
  bool succeeds(heed_status status) const {
    EXPECT_EQ(status, HEED_OK) << heed_status_argument(status) << ": " << heed_status_text(status) << ": " << p_.text();
    EXPECT_TRUE(workspace_.guard_intact()) << "memory around the workspace was written: " << p_.text();
    return status == HEED_OK;
  }
  attention_result result() const {
    attention_result result;
    if (narrow) narrow->copy_out(out_);
    result.out = gather(out_place_, out_);
    options.collect(&result);
    return result;
  }

  heed_attention call;
  placed_options options;
  const narrow_part *narrow = nullptr;

 private:
  const problem &p_;
  const placement out_place_;
  const fenced_floats out_;
  const fenced_bytes workspace_;
};

inline size_t partial_floats(const problem &p) {
  return HEED_PARTIAL_BYTES(p.batch, p.n_heads, p.n_q, p.v_dim) / sizeof(float);
}
// A partial in memory of the least size.
class placed_partial {
 public:
  placed_partial(const problem &p, slot which, int32_t first_key) : memory_(which, partial_floats(p), unwritten_bits) {
    EXPECT_EQ(heed_partial_init(&partial, p.batch, p.n_heads, p.n_q, p.v_dim, first_key,
                                heed_memory_of(memory_.data(), memory_.count() * sizeof(float))),
              HEED_OK);
  }
  bool guard_intact() const { return memory_.guard_intact(); }
  heed_partial partial;

 private:
  fenced_floats memory_;
};

// Adds keys first .. end - 1 to a partial.
inline bool add_keys(placed_call *placed, int32_t first, int32_t end, heed_partial *partial) {
  heed_attention call = placed->call;
  call.out.data = nullptr;
  if (call.k.data) call.k.data += first * call.k.row_stride;
  if (call.v.data) call.v.data += first * call.v.row_stride;
  call.n_kv = end - first;
  call.options = placed->options.piece(first, partial);
  return placed->succeeds(heed_attention_run(&call)) && partial->first_key + partial->n_keys == end;
}

// In pieces: one partial handed on, or one for each chunk, from the last to the first, merged in ascending order.
inline attention_result run_partial(placed_call *placed_pointer, const problem &p, const setting &s) {
  placed_call &placed = *placed_pointer;
  placed_partial total(p, slot_partial, 0);
  bool ok = true;
  if (s.keys == keys_in::calls) {
    std::vector<int32_t> ends = s.splits;
    ends.push_back(p.n_kv);
    for (const int32_t end : ends) ok = ok && add_keys(&placed, total.partial.n_keys, end, &total.partial);
  } else {
    std::vector<heed_partial> parts;
    std::vector<std::vector<float>> buffers;
    for (int32_t first = (p.n_kv - 1) / 1024 * 1024; first >= 0; first -= 1024) {
      const placed_partial part(p, slot_part, first);
      parts.push_back(part.partial);
      ok = ok && add_keys(&placed, first, std::min(p.n_kv, first + 1024), &parts.back());
      buffers.emplace_back(part.partial.data, part.partial.data + partial_floats(p));
    }
    for (size_t i = parts.size(); i-- > 0;) {
      parts[i].data = buffers[i].data();
      ok = ok && placed.succeeds(heed_partial_merge(&total.partial, &parts[i]));
    }
  }
  EXPECT_TRUE(ok && total.partial.n_keys == p.n_kv) << "keys of partial results: " << p.text();
  EXPECT_TRUE(total.guard_intact()) << "memory in front of the partial was written";
  ok = ok && placed.succeeds(
                 heed_partial_finish(&total.partial, placed.options.sinks(), placed.call.out, placed.options.lse()));
  return ok ? placed.result() : attention_result();
}

inline attention_result run(placed_call *placed, const problem &p, const setting &s) {
  if (s.keys != keys_in::one_call) return run_partial(placed, p, s);
  return placed->succeeds(heed_attention_run(&placed->call)) ? placed->result() : attention_result();
}
inline attention_result run(const problem &p, const setting &s = {}) {
  placed_call placed(p, s);
  return run(&placed, p, s);
}

}  // namespace heed_test

#endif
