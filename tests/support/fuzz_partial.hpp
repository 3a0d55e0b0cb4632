// Partial results under a fuzzer. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_FUZZ_PARTIAL_HPP
#define HEED_TESTS_SUPPORT_FUZZ_PARTIAL_HPP

#include <algorithm>

#include "fuzz_call.hpp"
#include "fuzz_options.hpp"

namespace heed_test {

// What a program may do to a partial between two calls: most often nothing, seldom anything that is refused.
struct damage {
  uint8_t which;
  int32_t number;
  explicit damage(fuzz_bytes *in) : which(in->byte()), number(in->word()) {}
  void apply(heed_partial *p) const {
    int32_t *const fields[] = {&p->batch, &p->n_heads, &p->n_q, &p->v_dim, &p->first_key, &p->n_keys};
    if (which < 225) return;
    // Not to 1: strides of a count of 1 are not looked at, so that short memory would be accepted.
    int32_t &field = *fields[which % 6];
    if (which < 249) field = number % 2 && field > 2 ? field - 1 : std::min(number, 0);
    if (which == 249) p->first_key = 1024;
    if (which == 250) p->struct_size = uint32_t(number);
    if (which == 251) p->code = nullptr;
    if (which == 252) p->data = nullptr;
    if (which == 253) p->data = reinterpret_cast<float *>(reinterpret_cast<uintptr_t>(p->data) + 2);
  }
};

// A life of two partials of one call each, which are merged and finished. Any step may be refused, the same on every
// kernel, and then has changed nothing.
class partial_life {
 public:
  explicit partial_life(fuzz_bytes *in) : in_(in), memory_(in), of_total_(in), of_part_(in) {
    draw_call(in);
    if (too_much(double(c_.batch) * c_.n_heads * c_.n_q * c_.n_kv * (double(c_.head_dim) + c_.v_dim))) return;
    c_.q = tensor_of<heed_tensor>(in, &memory_, c_.batch, c_.n_heads, c_.n_q, c_.head_dim, false);
    c_.k = tensor_of<heed_tensor>(in, &memory_, c_.batch, c_.n_kv_heads, c_.n_kv, c_.head_dim, false);
    c_.v = tensor_of<heed_tensor>(in, &memory_, c_.batch, c_.n_kv_heads, c_.n_kv, c_.v_dim, false);
    c_.workspace = workspace_of(in, &memory_, c_.head_dim, c_.v_dim);
    c_.executor = executor_of(in, &executor_);
    fuzz_options options(in, &memory_, c_.batch, c_.n_heads, c_.n_q, c_.n_kv);
    c_.options = options_ = options.draw(true);
    out_ = tensor_of<heed_tensor_out>(in, &memory_, c_.batch, c_.n_heads, c_.n_q, c_.v_dim, true);
    if (in->byte() % 2) sinks_ = options.sinks();
    if (in->byte() % 2) lse_ = options.lse();
    const size_t bytes = HEED_PARTIAL_BYTES(c_.batch, c_.n_heads, c_.n_q, c_.v_dim) - (in->rarely() ? 4 : 0);
    total_memory_ = heed_memory_of(memory_.buffer(bytes, true), bytes);
    part_memory_ = heed_memory_of(memory_.buffer(bytes, true), bytes);
    first_key_ = in->rarely() ? in->word() : 1024 * (in->byte() % 3);
    drawn_ = true;
  }
  void run() {
    if (drawn_) check(in_, &memory_, [this] { return live(); });
  }

 private:
  void draw_call(fuzz_bytes *in) {
    c_.struct_size = sizeof c_;
    c_.batch = 1 + in->byte() % 2, c_.n_kv_heads = 1 + in->byte() % 2,
    c_.n_heads = c_.n_kv_heads * (1 + in->byte() % 2);
    c_.n_q = 1 + in->byte() % 20, c_.head_dim = 1 + in->byte() % 10, c_.v_dim = 1 + in->byte() % 20;
    c_.n_kv = in->byte() % 2 ? 1024 : in->size();
    c_.scale = in->scale(), c_.causal = in->flag(), c_.position = in->byte() * 16 - 200;
  }
  void init(heed_partial *p, heed_memory memory, int32_t first_key) {
    step([=] { return heed_partial_init(p, c_.batch, c_.n_heads, c_.n_q, c_.v_dim, first_key, memory); });
  }
  void attend(heed_partial *p) {
    options_->partial = p;
    step([this] { return heed_attention_run(&c_); });
  }
  heed_status live() {
    statuses_.clear();
    total_ = part_ = {};
    init(&total_, total_memory_, first_key_);
    init(&part_, part_memory_, first_key_ + (first_key_ < 1 << 20 ? 1024 : 0));
    of_total_.apply(&total_);
    attend(&total_);
    attend(&part_);
    of_part_.apply(&part_);
    step([this] { return heed_partial_merge(&total_, &part_); });
    step([this] { return heed_partial_finish(&total_, sinks_, out_, lse_); });
    if (!first_statuses_.empty() && first_statuses_ != statuses_) fail("another status on the reference");
    first_statuses_ = statuses_;
    return HEED_OK;
  }
  template <typename Call>
  void step(Call call) {
    const std::vector<uint8_t> before = memory_.contents();
    const heed_partial total = total_, part = part_;
    statuses_.push_back(call());
    if (statuses_.back() == HEED_OK) return;
    if (memory_.contents() != before || !same_fields(total, total_) || !same_fields(part, part_))
      fail("a refused step wrote");
  }
  static bool same_fields(const heed_partial &a, const heed_partial &b) {
    return a.struct_size == b.struct_size && a.batch == b.batch && a.n_heads == b.n_heads && a.n_q == b.n_q &&
           a.v_dim == b.v_dim && a.first_key == b.first_key && a.n_keys == b.n_keys && a.code == b.code &&
           a.data == b.data;
  }

  fuzz_bytes *in_;
  fuzz_memory memory_;
  bool drawn_ = false;
  const damage of_total_, of_part_;
  heed_attention c_ = {};
  heed_executor executor_;
  heed_options *options_ = nullptr;
  heed_tensor_out out_;
  const heed_sinks *sinks_ = nullptr;
  const heed_lse *lse_ = nullptr;
  heed_memory total_memory_ = {}, part_memory_ = {};
  int32_t first_key_ = 0;
  heed_partial total_ = {}, part_ = {};
  std::vector<heed_status> statuses_, first_statuses_;
};

}  // namespace heed_test

#endif
