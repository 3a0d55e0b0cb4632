// A call of attention that adds to a partial result, wrong in every way. SPDX-License-Identifier: MIT
#include "support/partials.hpp"

namespace heed_test {
namespace {

class bad_partial : public partial_test {
 protected:
  heed_attention call() {
    heed_attention c = heed_attention_of(in_, in_, in_, n_q, n_kv, heads, kv_heads, dim, nullptr, workspace());
    c.batch_size = batch, c.v_dim = v_dim;
    c.v = heed_token_major(in_, n_kv, kv_heads, v_dim);
    set_.options->partial = total_;
    c.options = set_.options;
    return c;
  }
  heed_status run() {
    const heed_attention c = call();
    return heed_attention_run(&c);
  }
  void call_refuses(
      heed_fault fault, heed_argument argument, const std::string &what,
      const std::function<void(heed_attention &)> &change = [](heed_attention &) {}) {
    heed_attention c = call();
    change(c);
    memory_.refuses([&] { return heed_attention_run(&c); }, fault, argument, what);
    set_.restore();
    set_.leave_partial_options();
    make(total_, total_data_, 0);
  }
};

TEST_F(bad_partial, the_good_ones_are_accepted) {
  set_.leave_partial_options();
  EXPECT_EQ(status_name(run()), "HEED_OK");
  EXPECT_EQ(total_->n_keys, n_kv);
  EXPECT_EQ(total_->first_key, 0);
  EXPECT_EQ(status_name(heed_partial_finish(total_, nullptr, out(), nullptr)), "HEED_OK");
  EXPECT_EQ(status_name(heed_partial_finish(total_, set_.sinks, out(), set_.lse)), "HEED_OK");
  make(total_, total_data_, 0, 1024);
  make(part_, part_data_, 1024, 1024);
  EXPECT_EQ(status_name(heed_partial_merge(total_, part_)), "HEED_OK");
  EXPECT_EQ(total_->n_keys, 2048);
  heed_attention c = call();
  c.out.row_stride = -1;
  EXPECT_EQ(status_name(heed_attention_run(&c)), "HEED_OK") << "there is no out";
}

TEST_F(bad_partial, in_a_call) {
  set_.leave_partial_options();
  const heed_argument partial = HEED_ARG_PARTIAL;
  for (const uintptr_t by : {1, 2})
    call_refuses(HEED_MISALIGNED, partial, "object",
                 [&](heed_attention &) { set_.options->partial = misaligned(total_, by); });
  for (const flaw<P> &f : partial_flaws()) {
    f.apply(*total_);
    call_refuses(f.fault, partial, f.what);
  }
  for (int32_t P::*count : {&P::batch_size, &P::n_heads, &P::n_q, &P::v_dim})
    for (const int32_t change : {-1, 1}) {
      total_->*count += change;
      call_refuses(HEED_SHAPE_MISMATCH, partial, "shape");
    }
  for (const int32_t wrong : {1, 1023, 1025}) {
    total_->n_keys = wrong;
    call_refuses(HEED_BAD_SPLIT, HEED_ARG_FIRST_KEY, "keys so far");
    total_->first_key = wrong;
    call_refuses(HEED_BAD_SPLIT, HEED_ARG_FIRST_KEY, "first key");
  }
  total_->first_key = HEED_MAX_COUNT - 1024, total_->n_keys = 1024;
  call_refuses(HEED_OUT_OF_RANGE, partial, "more keys than there may be");
  call_refuses(HEED_CONFLICT, HEED_ARG_OUT, "out", [this](heed_attention &c) { c.out = out(); });
}

// More rows than a size_t can count, of which the call names no memory.
TEST_F(bad_partial, rows_beyond_the_address_space) {
  set_.leave_partial_options();
  heed_options options = heed_options_default();
  options.partial = total_, options.topk_weights = set_.topk_weights;
  call_refuses(HEED_OVERFLOW, HEED_ARG_TOPK_WEIGHTS, "top k", [&](heed_attention &c) {
    c.batch_size = c.n_q = HEED_MAX_COUNT, c.n_heads = HEED_MAX_DIM, c.n_kv_heads = 1;
    for (heed_tensor *t : {&c.q, &c.k, &c.v}) *t = {t->data, 0, 0, 0};
    c.options = &options;
  });
}

// What needs the whole row cannot be had of a part.
TEST_F(bad_partial, what_does_not_go_with_it) {
  set_.leave_partial_options();
  heed_options &o = *set_.options;
  call_refuses(HEED_UNSUPPORTED, HEED_ARG_SINKS, "sinks", [&](heed_attention &) { o.sinks = set_.sinks; });
  call_refuses(HEED_UNSUPPORTED, HEED_ARG_WEIGHTS, "weights", [&](heed_attention &) { o.weights = set_.weights; });
  call_refuses(HEED_UNSUPPORTED, HEED_ARG_LSE, "lse", [&](heed_attention &) { o.lse = set_.lse; });
  call_refuses(HEED_UNSUPPORTED, HEED_ARG_COLUMN_SUMS, "sums", [&](heed_attention &) { o.column_sums = set_.sums; });
  call_refuses(HEED_UNSUPPORTED, HEED_ARG_TOPK_WEIGHTS, "top k",
               [&](heed_attention &) { o.topk_weights = set_.topk_weights; });
}

TEST_F(bad_partial, other_options_of_the_call) {
  set_.leave_partial_options();
  set_.options->partial = total_;
  for (const option_flaw &f : flaws_of_options(set_.shape(), *set_.options, true)) {
    f.apply(*set_.options);
    call_refuses(f.fault, f.argument, f.what);
  }
  set_.kv_lengths[0] = n_kv + 1, set_.kv_lengths[1] = INT32_MAX;
  EXPECT_EQ(status_name(run()), "HEED_OK") << "lengths of the whole context";
}

TEST_F(bad_partial, overlap_in_a_call) {
  set_.leave_partial_options();
  std::vector<option_set::piece> pieces = set_.pieces_read();
  pieces.push_back({"q, k, v", in_, 256});
  for (const option_set::piece &p : pieces) {
    if (p.name == "sinks" || p.name == "logits" || p.name == "weights" || p.name == "lse" || p.name == "column sums" ||
        p.name == "top k")
      continue;  // not of this call
    for (const ptrdiff_t shift : {ptrdiff_t{0}, 1 - ptrdiff_t{n_floats}}) {
      total_->data = static_cast<float *>(p.data) + shift;
      call_refuses(HEED_OVERLAP, HEED_ARG_PARTIAL, "on " + p.name);
    }
  }
  total_->data = reinterpret_cast<float *>(&total_->data);
  call_refuses(HEED_OVERLAP, HEED_ARG_PARTIAL, "in itself");
  call_refuses(HEED_OVERLAP, HEED_ARG_PARTIAL, "the object is written, too",
               [this](heed_attention &c) { c.q.data = reinterpret_cast<const float *>(&total_->n_keys); });
  total_->data = reinterpret_cast<float *>(workspace_) + 40;
  call_refuses(HEED_OVERLAP, HEED_ARG_WORKSPACE, "in the workspace");
  total_->data = set_.scores_data + 1;
  call_refuses(HEED_OVERLAP, HEED_ARG_SCORES, "in the scores");
}

}  // namespace
}  // namespace heed_test
