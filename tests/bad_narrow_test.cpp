// Narrow tensors of a call of attention, wrong in every way: the status names the argument, and no byte has changed.
// SPDX-License-Identifier: MIT
#include "support/option_takers.hpp"

namespace heed_test {
namespace {

class bad_narrow : public options_test {
 protected:
  using N = heed_typed_tensors;
  bad_narrow() { restore(); }

  // All four narrow, in the formats that have most to check.
  void restore() {
    EXPECT_EQ(heed_typed_tensors_init(narrow_), HEED_OK);
    narrow_->q = heed_typed_token_major(in_, q_scales_, HEED_INT8, n_q, heads, dim);
    narrow_->k = heed_typed_head_major(in_, k_scales_, HEED_INT8, n_kv, kv_heads, dim);
    narrow_->v = heed_typed_token_major(in_, v_scales_, HEED_INT8, n_kv, kv_heads, v_dim);
    narrow_->out = heed_typed_head_major_out(out_, HEED_F16, n_q, heads, v_dim);
    options_ = heed_options_default();
    options_.typed = narrow_;
  }
  heed_attention call() {
    heed_attention c = attention();
    c.q = c.k = c.v = {nullptr, -1, -1, -1};  // strides of no account
    c.out = {nullptr, -1, -1, -1};
    c.options = &options_;
    return c;
  }
  void wrong(
      heed_fault fault, heed_argument argument, const std::string &what, const std::function<void(N &)> &spoil,
      const std::function<void(heed_attention &)> &change = [](heed_attention &) {}) {
    spoil(*narrow_);
    heed_attention c = call();
    change(c);
    memory_.refuses([&] { return heed_attention_run(&c); }, fault, argument, what);
    restore();
  }
  void accepted(const std::string &what, const std::function<void(N &)> &spoil) {
    spoil(*narrow_);
    const heed_attention c = call();
    EXPECT_EQ(status_name(heed_attention_run(&c)), "HEED_OK") << what;
    restore();
  }
  static constexpr heed_argument names[3] = {HEED_ARG_Q, HEED_ARG_K, HEED_ARG_V};

  float *q_scales_ = memory_.take(size_t{batch} * heads * n_q), *k_scales_ = memory_.take(size_t{batch} * heads * n_kv);
  float *v_scales_ = memory_.take(size_t{batch} * heads * n_kv);
  N *narrow_ = new (memory_.take_aligned(80)) N;
  heed_options options_;
};
constexpr heed_argument bad_narrow::names[3];

TEST_F(bad_narrow, the_good_ones_are_accepted) {
  accepted("all", [](N &) {});
  for (int32_t dtype = HEED_F32; dtype <= HEED_INT8; ++dtype)
    accepted("format " + std::to_string(dtype), [=](N &n) {
      for (heed_typed_tensor *t : {&n.q, &n.k, &n.v}) t->dtype = dtype;
      if (dtype != HEED_INT8) n.q.scales = n.k.scales = n.v.scales = {misaligned(q_scales_), -1, -1, -1};
      n.out.dtype = dtype == HEED_INT8 ? HEED_BF16 : dtype;
    });
  accepted("one row of scales for all", [](N &n) { n.k.scales = {n.k.scales.data, 0, 0, 0}; });
  accepted("bytes at any address", [](N &n) { n.k.data = static_cast<const char *>(n.k.data) + 3; });
  accepted("halves at any even address", [](N &n) { n.out.data = static_cast<char *>(n.out.data) + 2; });
  heed_attention c = attention();
  *narrow_ = {};
  ASSERT_EQ(heed_typed_tensors_init(narrow_), HEED_OK);
  narrow_->q.dtype = narrow_->out.dtype = 77;  // of no tensor
  c.options = &options_;
  EXPECT_EQ(status_name(heed_attention_run(&c)), "HEED_OK") << "none of them";
}

TEST_F(bad_narrow, object) {
  option_flaws all;
  flaws_of<N>("narrow", &heed_options::typed, HEED_ARG_TYPED, &all).object();
  for (const option_flaw &f : all) {
    f.apply(options_);
    const heed_attention c = call();
    memory_.refuses([&] { return heed_attention_run(&c); }, f.fault, f.argument, f.what);
    restore();
  }
  memory_.refuses([] { return heed_typed_tensors_init(nullptr); }, HEED_NULL_POINTER, HEED_ARG_TYPED, "null");
  memory_.refuses([&] { return heed_typed_tensors_init(misaligned(narrow_)); }, HEED_MISALIGNED, HEED_ARG_TYPED,
                  "misaligned");
}

TEST_F(bad_narrow, tensors) {
  int32_t i = 0;
  for (heed_typed_tensor N::*t : {&N::q, &N::k, &N::v}) {
    const heed_argument name = names[i++];
    for (const int32_t dtype : {-1, 4, INT32_MIN, INT32_MAX})
      wrong(HEED_BAD_DTYPE, name, "format", [=](N &n) { (n.*t).dtype = dtype; });
    wrong(HEED_MISALIGNED, name, "f16",
          [=](N &n) { (n.*t).dtype = HEED_F16, (n.*t).data = static_cast<const char *>((n.*t).data) + 1; });
    wrong(HEED_MISALIGNED, name, "f32",
          [=](N &n) { (n.*t).dtype = HEED_F32, (n.*t).data = static_cast<const char *>((n.*t).data) + 2; });
    wrong(HEED_OVERFLOW, name, "at the top of memory", [=](N &n) { (n.*t).data = top_of_memory() + 6; });
    using S = heed_typed_tensor;
    for (ptrdiff_t S::*stride : {&S::batch_stride, &S::head_stride, &S::row_stride}) {
      wrong(HEED_BAD_STRIDE, name, "stride -1", [=](N &n) { n.*t.*stride = -1; });
      wrong(HEED_OVERFLOW, name, "greatest stride", [=](N &n) { n.*t.*stride = huge_stride; });
    }
    wrong(HEED_BAD_SCALES, name, "no scales", [=](N &n) { (n.*t).scales.data = nullptr; });
    for (const flaw<heed_tensor> &f : tensor_flaws<heed_tensor>())
      if (f.what != "at the top of memory")
        wrong(f.fault == HEED_OVERFLOW ? HEED_OVERFLOW : HEED_BAD_SCALES, name, "scales " + f.what,
              [=](N &n) { f.apply((n.*t).scales); });
    wrong(HEED_OVERFLOW, name, "scales at the top of memory", [=](N &n) { (n.*t).scales.data = top_of_memory() + 7; });
  }
}

TEST_F(bad_narrow, out) {
  for (const int32_t dtype : {-1, int{HEED_INT8}, 4, INT32_MIN, INT32_MAX})
    wrong(HEED_BAD_DTYPE, HEED_ARG_OUT, "format", [=](N &n) { n.out.dtype = dtype; });
  wrong(HEED_MISALIGNED, HEED_ARG_OUT, "f16", [](N &n) { n.out.data = static_cast<char *>(n.out.data) + 1; });
  wrong(HEED_OVERFLOW, HEED_ARG_OUT, "top of memory", [](N &n) { n.out.data = top_of_memory() + 6; });
  using S = heed_typed_tensor_out;
  for (ptrdiff_t S::*stride : {&S::batch_stride, &S::head_stride, &S::row_stride}) {
    for (const ptrdiff_t to : {ptrdiff_t{-1}, ptrdiff_t{0}, ptrdiff_t{v_dim - 1}})
      wrong(HEED_BAD_STRIDE, HEED_ARG_OUT, "stride", [=](N &n) { n.out.*stride = to; });
    wrong(HEED_OVERFLOW, HEED_ARG_OUT, "greatest stride", [=](N &n) { n.out.*stride = huge_stride; });
  }
}

TEST_F(bad_narrow, given_twice_or_not_at_all) {
  const auto as_it_is = [](N &) {};
  wrong(HEED_CONFLICT, HEED_ARG_Q, "q", as_it_is, [&](heed_attention &c) { c.q = attention().q; });
  wrong(HEED_CONFLICT, HEED_ARG_K, "k", as_it_is, [&](heed_attention &c) { c.k = attention().k; });
  wrong(HEED_CONFLICT, HEED_ARG_V, "v", as_it_is, [&](heed_attention &c) { c.v = attention().v; });
  wrong(HEED_CONFLICT, HEED_ARG_OUT, "out", as_it_is, [&](heed_attention &c) { c.out = attention().out; });
  wrong(HEED_NULL_POINTER, HEED_ARG_Q, "no q", [](N &n) { n.q.data = nullptr; });
  wrong(HEED_NULL_POINTER, HEED_ARG_K, "no k", [](N &n) { n.k.data = nullptr; });
  wrong(HEED_NULL_POINTER, HEED_ARG_V, "no v", [](N &n) { n.v.data = nullptr; });
  wrong(HEED_NULL_POINTER, HEED_ARG_OUT, "no out", [](N &n) { n.out.data = nullptr; });
}

TEST_F(bad_narrow, overlaps) {
  wrong(HEED_OVERLAP, HEED_ARG_OUT, "on q", [&](N &n) { n.out.data = in_; });
  wrong(HEED_OVERLAP, HEED_ARG_OUT, "on its own last byte",
        [&](N &n) { n.q.data = reinterpret_cast<char *>(out_) + batch * heads * n_q * v_dim * 2 - 1; });
  wrong(HEED_OVERLAP, HEED_ARG_OUT, "on scales", [&](N &n) { n.v.scales.data = out_ + 1; });
  wrong(HEED_OVERLAP, HEED_ARG_OUT, "on the object", [&](N &n) { n.out.data = narrow_; });
  wrong(HEED_OVERLAP, HEED_ARG_WORKSPACE, "scales in the workspace",
        [&](N &n) { n.k.scales.data = reinterpret_cast<float *>(workspace_); });
  wrong(HEED_OVERLAP, HEED_ARG_WORKSPACE, "out in the workspace", [&](N &n) { n.out.data = workspace_; });
}

// Neither layers nor sequences take it; partial results have no out, and a cache has keys and values.
TEST_F(bad_narrow, where_it_does_not_fit) {
  for (const options_taker &t : takers())
    if (t.set != &in_attention_) refuses(t, &options_, HEED_UNSUPPORTED, HEED_ARG_TYPED, "narrow");
  HEED_MEMORY(data, HEED_PARTIAL_BYTES(batch, heads, n_q, v_dim));
  heed_partial partial;
  ASSERT_EQ(heed_partial_init(&partial, batch, heads, n_q, v_dim, 0, data), HEED_OK);
  options_.partial = &partial;
  heed_attention c = call();
  memory_.refuses([&] { return heed_attention_run(&c); }, HEED_CONFLICT, HEED_ARG_OUT, "out beside a partial");
  EXPECT_EQ(partial.n_keys, 0);
  narrow_->out.data = nullptr;
  EXPECT_EQ(status_name(heed_attention_run(&c)), "HEED_OK");
  restore();
  heed_cache_shape shape = heed_cache_shape_default(n_kv, kv_heads, dim);
  shape.n_sequences = batch, shape.v_dim = v_dim;
  const size_t bytes = heed_cache_bytes(&shape);
  heed_cache cache;
  ASSERT_EQ(heed_cache_init(&cache, &shape, heed_memory_of(memory_.take_aligned(bytes / 4), bytes)), HEED_OK);
  const auto with_cache = [&](heed_argument name, const std::function<void()> &spoil) {
    narrow_->k.data = narrow_->v.data = nullptr;
    spoil();
    c = call();
    c.cache = &cache;
    if (name == HEED_ARG_CALL)
      EXPECT_EQ(status_name(heed_attention_run(&c)), "HEED_OK");
    else
      memory_.refuses([&] { return heed_attention_run(&c); }, HEED_CONFLICT, name, "beside a cache");
    restore();
  };
  with_cache(HEED_ARG_K, [&] { narrow_->k.data = in_; });
  with_cache(HEED_ARG_V, [&] { narrow_->v.data = in_; });
  with_cache(HEED_ARG_CALL, [] {});
}

}  // namespace
}  // namespace heed_test
