// Calls of integers in hostile memory and with hostile executors, for the differential programs: attention, whole and in
// parts. What each must leave is known from plain loops. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_INT_TRIALS_HPP
#define HEED_TESTS_SUPPORT_INT_TRIALS_HPP

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "integers.hpp"
#include "trial.hpp"

namespace heed_test {

// Chooses another kernel of integers before each task: it changes no bit.
inline std::unique_ptr<test_executor> hostile_int_executor(random_source &r) {
  if (r.chance(70)) return random_executor(r);
  static const std::vector<std::string> names = int_kernels();
  return std::make_unique<meddling_executor>(
      r.between(2, 12), [own = random_source(r.next())]() mutable { heed_int_isa_use(own.pick(names).c_str()); });
}

class int_trial {
 public:
  explicit int_trial(random_source &r) : memory(&r) {
    memory.allow_unwritten();  // any byte may be a result
    if (r.chance(40)) executor_ = hostile_int_executor(r);
  }
  virtual ~int_trial() = default;
  virtual std::string text() const = 0;
  virtual heed_status call() = 0;
  // The bytes of all outputs with their gaps, in the order in which they were made: by plain loops, or by the function in
  // the plainest setting on the kernel without vectors.
  virtual std::vector<unsigned char> expected() = 0;
  // What is left to say after a call; empty if all is well.
  virtual std::string complaint() { return {}; }
  // What must be refused, whatever the call.
  virtual spoilings flaws() { return {}; }

  stage memory;

 protected:
  const heed_executor *executor() const { return executor_ ? executor_->get() : nullptr; }
  int32_t n_workers() const { return executor_ ? executor_->get()->n_workers : 1; }

  int8_t *put_bytes(random_source &r, size_t n, int32_t most = 127) {
    int8_t *data = static_cast<int8_t *>(memory.input_bytes(n, 1));
    for (size_t i = 0; i < n; ++i) data[i] = any_byte(r, most);
    return data;
  }
  template <class T>
  const T *put_numbers(const std::vector<T> &numbers) {
    if (numbers.empty()) return nullptr;
    T *data = memory.inputs<T>(numbers.size());
    std::copy(numbers.begin(), numbers.end(), data);
    return data;
  }
  static int8_t any_byte(random_source &r, int32_t most = 127) {
    const int32_t x = static_cast<int32_t>(r.uniform() * (static_cast<float>(most) + 1.5f));
    return static_cast<int8_t>(std::min(most, std::max(-most - 1, x)));
  }
  static int32_t stage_format(int32_t dtype) { return dtype == HEED_INT16 ? HEED_F16 : HEED_INT8; }  // of as many bytes
  template <class T>
  static void view(T *t, const placement &p) {
    t->batch_stride = p.batch_stride, t->head_stride = p.head_stride, t->row_stride = p.row_stride;
  }

 private:
  std::unique_ptr<test_executor> executor_;
};

class int_attention_trial : public int_trial {
 public:
  // in_parts: partial results may be drawn, too.
  int_attention_trial(random_source &r, bool in_parts) : int_trial(r) {
    int_limits limits;
    if (r.chance(20)) limits.n_q = 4, limits.n_kv = 3000;
    if (r.chance(5)) limits.n_q = 3, limits.n_kv = 40, limits.dim = 700;
    draw(r, p_, limits);
    heed_int_attention &c = p_.call;
    const auto tensor = [&](heed_int_tensor *t, int32_t n_heads, int32_t n_rows, int32_t dim, int32_t most) {
      const placement at = random_input_placement(r, c.batch_size, n_heads, n_rows, dim);
      view(t, at);
      t->data = put_bytes(r, at.extent(), most);
    };
    tensor(&c.q, c.n_heads, c.n_q, c.head_dim, 127);
    tensor(&c.k, c.n_kv_heads, c.n_kv, c.head_dim, r.chance(20) ? 3 : 127);
    tensor(&c.v, c.n_kv_heads, c.n_kv, c.v_dim, 127);
    if (c.mask.data) place_mask(r);
    c.kv_lengths = put_numbers(p_.lengths);
    c.sinks = put_numbers(p_.sinks);
    c.scores = put_numbers(p_.scores);
    c.values = put_numbers(p_.values);
    const placement at = random_placement(r, c.batch_size, c.n_heads, c.n_q, c.v_dim);
    view(&c.out, at);
    out_bytes_ = at.extent() * (c.out.dtype == HEED_INT16 ? 2 : 1);
    c.out.data = memory.output(stage_format(c.out.dtype), at);
    if (c.lse) c.lse = memory.state<int32_t>(4 * p_.n_rows(), 4);
    const size_t bytes = c.workspace.bytes * static_cast<size_t>(r.chance(50) ? std::min(n_workers(), 9) : 1);
    c.workspace = memory.scratch(bytes);
    c.executor = executor();
    if (in_parts && r.chance(30)) draw_parts(r);
    const unsigned char *out = static_cast<const unsigned char *>(c.out.data);
    wanted_.out.assign(out, out + out_bytes_);
  }
  std::string text() const override {
    const heed_int_attention &c = p_.call;
    return "attention in integers, batch " + std::to_string(c.batch_size) + ", heads " + std::to_string(c.n_heads) +
           " / " + std::to_string(c.n_kv_heads) + ", " + std::to_string(c.n_q) + " x " + std::to_string(c.n_kv) +
           ", dim " + std::to_string(c.head_dim) + " / " + std::to_string(c.v_dim) + (c.causal ? ", causal" : "") +
           (c.mask.data ? ", mask" : "") + (c.sinks ? ", sinks" : "") + (c.lse ? ", lse" : "") +
           (c.out.dtype == HEED_INT16 ? ", int16" : "") + ", parts " + std::to_string(parts_.size());
  }
  heed_status call() override {
    if (parts_.empty()) return heed_int_attention_run(&p_.call);
    heed_status status = HEED_OK;
    const auto then = [&](heed_status next) { status = status == HEED_OK ? next : status; };
    const int32_t n_rows = static_cast<int32_t>(p_.n_rows());
    for (const heed_memory &m : states_) then(heed_int_partial_clear(n_rows, p_.call.v_dim, m));
    for (const part &each : parts_) {
      const heed_int_attention c = call_of(each);
      then(heed_int_attention_run(&c));
    }
    for (size_t i = 1; i < states_.size(); ++i)
      then(heed_int_partial_merge(n_rows, p_.call.v_dim, states_[0], states_[i]));
    heed_int_attention last = p_.call;
    last.partial = states_[0];
    then(heed_int_partial_finish(&last));
    return status;
  }
  std::vector<unsigned char> expected() override {
    wanted_ = expect(p_.call, wanted_.out);
    return wanted_.out;
  }
  std::string complaint() override {
    if (!p_.call.lse) return {};
    const std::vector<int32_t> lse(p_.call.lse, p_.call.lse + p_.n_rows());
    for (size_t i = 0; i < lse.size(); ++i)
      if (std::abs(static_cast<int64_t>(lse[i]) - wanted_.lse[i]) > 1) return "lse of row " + std::to_string(i);
    if (lse_.empty()) lse_ = lse;
    return lse == lse_ ? "" : "lse differs from that of another kernel";
  }
  spoilings flaws() override {
    heed_int_attention &c = p_.call;
    char *const workspace = static_cast<char *>(c.workspace.data);
    spoilings all = wrong_values<uint32_t>("struct_size", &c.struct_size, {0, c.struct_size - 1});
    const auto add = [&](spoilings more) { all.insert(all.end(), more.begin(), more.end()); };
    for (int32_t *n : {&c.batch_size, &c.n_heads, &c.n_kv_heads, &c.n_q, &c.n_kv, &c.head_dim, &c.v_dim})
      add(wrong_values<int32_t>("count", n, {0, -1, INT32_MIN}));
    add(wrong_values<int32_t>("n_kv_heads", &c.n_kv_heads, {c.n_heads + 1}));
    add(wrong_values<int32_t>("n_kv", &c.n_kv, {HEED_INT_MAX_KEYS + 1}));
    add(wrong_values<int32_t>("window", &c.left_window, {-2, INT32_MIN}));
    add(wrong_values<int32_t>("causal", &c.causal, {-1, 2}));
    for (heed_int_tensor *t : {&c.q, &c.k, &c.v}) {
      add(wrong_values<const int8_t *>("tensor", &t->data, {nullptr}));
      add(wrong_values<int32_t>("zero point", &t->zero_point, {-129, 128}));
    }
    add(wrong_values<void *>("workspace", &c.workspace.data, {nullptr, workspace + 1, workspace + 32}));
    add(wrong_values<size_t>("bytes of workspace", &c.workspace.bytes,
                             {0, HEED_INT_WORKSPACE_MIN_BYTES(c.head_dim, c.v_dim) - 1, SIZE_MAX}));

    add(wrong_values<void *>("out", &c.out.data, {nullptr, workspace, const_cast<int8_t *>(c.q.data)}));
    add(wrong_values<int32_t>("format of out", &c.out.dtype, {-1, HEED_F32, HEED_Q8_0}));
    return all;
  }

 private:
  struct part {
    int32_t begin, end;
    size_t state;
    std::vector<int32_t> lengths;
  };

  void place_mask(random_source &r) {
    heed_int_attention &c = p_.call;
    const placement at = random_input_placement(r, c.batch_size, c.n_heads, c.n_q, c.n_kv);
    uint8_t *data = static_cast<uint8_t *>(memory.input_bytes(at.extent(), 1));
    for (size_t i = 0; i < at.extent(); ++i) data[i] = p_.mask[i % p_.mask.size()];
    c.mask = {data, at.batch_stride, at.head_stride, at.row_stride};
  }
  // Splits at blocks, in any order, on states of which each sees some.
  void draw_parts(random_source &r) {
    const size_t bytes = p_.n_rows() * HEED_INT_PARTIAL_ROW_BYTES(p_.call.v_dim);
    for (int32_t i = r.between(1, 4); i > 0; --i) states_.push_back({memory.state(bytes), bytes});
    const int32_t n_blocks = (p_.call.n_kv + 255) / 256;
    for (int32_t b = 0; b < n_blocks;) {
      const int32_t end = r.between(b + 1, n_blocks), begin = b * 256;
      part next = {begin, std::min(end * 256, p_.call.n_kv), r.below(static_cast<uint32_t>(states_.size())), {}};
      for (int32_t length : p_.lengths) next.lengths.push_back(std::min(std::max(length - begin, 0), next.end - begin));
      parts_.insert(parts_.begin() + static_cast<ptrdiff_t>(r.below(static_cast<uint32_t>(parts_.size() + 1))), next);
      b = end;
    }
  }
  heed_int_attention call_of(const part &each) const {
    heed_int_attention c = p_.call;
    c.n_kv = each.end - each.begin;
    c.position -= each.begin;
    if (each.begin > 0) {  // a stride over one key may be anything
      c.k.data += each.begin * c.k.row_stride;
      c.v.data += each.begin * c.v.row_stride;
    }
    if (c.mask.data) c.mask.data += each.begin;
    if (c.kv_lengths) c.kv_lengths = each.lengths.data();
    c.partial = states_[each.state];
    c.out.data = nullptr;  // nothing of it is used
    c.lse = nullptr;
    return c;
  }

  int_problem p_;
  size_t out_bytes_;
  int_result wanted_;
  std::vector<int32_t> lse_;
  std::vector<heed_memory> states_;
  std::vector<part> parts_;
};

}  // namespace heed_test

#endif
