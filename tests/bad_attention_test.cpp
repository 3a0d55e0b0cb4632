// Every argument of heed_attention_run, wrong in every way. SPDX-License-Identifier: MIT
#include "support/executors.hpp"
#include "support/floats.hpp"
#include "support/refusal.hpp"

namespace heed_test {
namespace {

class bad_attention : public ::testing::Test {
 protected:
  using call_flaw = flaw<heed_attention>;
  static constexpr int32_t batch = 2, heads = 4, kv_heads = 2, n_q = 5, n_kv = 7, dim = 8, v_dim = 6;

  void SetUp() override {
    q_ = memory_.take_aligned(batch * heads * n_q * dim);
    k_ = memory_.take(batch * kv_heads * n_kv * dim);
    v_ = memory_.take(batch * kv_heads * n_kv * v_dim);
    memory_.take(1024);  // room behind v for overlaps from above
    out_ = memory_.take(batch * heads * n_q * v_dim);
    weights_data_ = memory_.take(batch * heads * n_q * n_kv);
    workspace_ = memory_.take_aligned(workspace_bytes / 4);
  }

  // With weights, so that there is a second output.
  heed_attention good() {
    heed_attention c = heed_attention_of(q_, k_, v_, n_q, n_kv, heads, kv_heads, dim, out_,
                                         heed_memory_of(workspace_, workspace_bytes));
    c.batch_size = batch, c.v_dim = v_dim;
    c.v = heed_token_major(v_, n_kv, kv_heads, v_dim);
    c.out = heed_token_major_out(out_, n_q, heads, v_dim);
    EXPECT_EQ(heed_attention_weights_init(&weights_, heed_head_major_out(weights_data_, n_q, heads, n_kv)), HEED_OK);
    options_ = heed_options_default();
    options_.weights = &weights_;
    c.options = &options_;
    return c;
  }
  void refuses(heed_argument argument, const std::vector<call_flaw> &flaws) {
    for (const call_flaw &f : flaws) {
      heed_attention call = good();
      f.apply(call);
      memory_.refuses([&] { return heed_attention_run(&call); }, f.fault, argument, f.what);
    }
  }
  // A count that must lie in 1..most.
  void refuses_count(heed_argument argument, int32_t heed_attention::*count, int32_t most) {
    for (const int32_t wrong : {0, -1, INT32_MIN, most + 1, INT32_MAX})
      refuses(argument,
              {{"count " + std::to_string(wrong), [=](heed_attention &c) { c.*count = wrong; }, HEED_OUT_OF_RANGE}});
  }
  template <typename Tensor>
  using tensor_of = std::function<Tensor &(heed_attention &)>;
  tensor_of<heed_tensor_out> weights() {
    return [this](heed_attention &) -> heed_tensor_out & { return weights_.out; };
  }
  template <typename Tensor>
  void refuses_tensor(heed_argument argument, const tensor_of<Tensor> &t) {
    refuses(argument, {{"null", [=](heed_attention &c) { t(c).data = nullptr; }, HEED_NULL_POINTER}});
    for (const flaw<Tensor> &f : tensor_flaws<Tensor>())
      refuses(argument, {{f.what, [=](heed_attention &c) { f.apply(t(c)); }, f.fault}});
  }
  // An output whose first or last element lies in another argument.
  void refuses_overlap(heed_argument argument, const tensor_of<heed_tensor_out> &t, float *first, ptrdiff_t floats,
                       ptrdiff_t own_floats) {
    for (const ptrdiff_t shift : {ptrdiff_t{0}, floats - 1, ptrdiff_t{1}, 1 - own_floats})
      refuses(argument, {{"overlap shifted by " + std::to_string(shift),
                          [=](heed_attention &c) { t(c).data = first + shift; }, HEED_OVERLAP}});
  }

  static constexpr size_t workspace_bytes = HEED_WORKSPACE_BYTES(dim, v_dim);
  arena memory_;
  float *unused_ = memory_.take(1024);  // room in front of q for overlaps from below
  float *q_, *k_, *v_, *out_, *weights_data_, *workspace_;
  heed_attention_weights weights_;
  heed_options options_;
};

TEST_F(bad_attention, the_good_call_is_accepted) {
  heed_attention call = good();
  EXPECT_EQ(status_name(heed_attention_run(&call)), "HEED_OK");
  call.options = nullptr;
  EXPECT_EQ(status_name(heed_attention_run(&call)), "HEED_OK");
  call.workspace.bytes = heed_workspace_min_bytes(dim, v_dim);
  EXPECT_EQ(status_name(heed_attention_run(&call)), "HEED_OK");
}

TEST_F(bad_attention, call) {
  memory_.refuses([] { return heed_attention_run(nullptr); }, HEED_NULL_POINTER, HEED_ARG_CALL, "null");
  refuses(HEED_ARG_CALL, {{"size 0", [](heed_attention &c) { c.struct_size = 0; }, HEED_NOT_INITIALIZED}});
  refuses(HEED_ARG_CALL, {{"zeroed", [](heed_attention &c) { c = {}; }, HEED_NOT_INITIALIZED}});
  for (const size_t size : {size_t{4}, sizeof(heed_attention) - 1, sizeof(heed_attention) + 1,
                            sizeof(heed_attention) * 2, size_t{UINT32_MAX}})
    refuses(HEED_ARG_CALL,
            {{"size " + std::to_string(size), [=](heed_attention &c) { c.struct_size = static_cast<uint32_t>(size); },
              HEED_BAD_STRUCT_SIZE}});
}

TEST_F(bad_attention, counts) {
  refuses_count(HEED_ARG_BATCH_SIZE, &heed_attention::batch_size, HEED_MAX_COUNT);
  refuses_count(HEED_ARG_N_HEADS, &heed_attention::n_heads, HEED_MAX_DIM);
  refuses_count(HEED_ARG_N_KV_HEADS, &heed_attention::n_kv_heads, HEED_MAX_DIM);
  refuses_count(HEED_ARG_N_Q, &heed_attention::n_q, HEED_MAX_COUNT);
  refuses_count(HEED_ARG_N_KV, &heed_attention::n_kv, HEED_MAX_COUNT);
  refuses_count(HEED_ARG_HEAD_DIM, &heed_attention::head_dim, HEED_MAX_DIM);
  refuses_count(HEED_ARG_V_DIM, &heed_attention::v_dim, HEED_MAX_DIM);
  for (const int32_t misfit : {3, 5, 8, HEED_MAX_DIM})
    refuses(HEED_ARG_N_KV_HEADS, {{"heads", [=](heed_attention &c) { c.n_kv_heads = misfit; }, HEED_SHAPE_MISMATCH}});
}

TEST_F(bad_attention, scale_and_mask) {
  for (const float scale : {NAN, -NAN, INFINITY, -INFINITY, 2.4e38f, -2.4e38f, -HEED_SCALE_DEFAULT})
    refuses(HEED_ARG_SCALE, {{"scale", [=](heed_attention &c) { c.scale = scale; }, HEED_NOT_FINITE}});
  for (const float scale : {0.0f, -0.0f, least_subnormal, -least_subnormal, greatest_subnormal, -greatest_subnormal})
    refuses(HEED_ARG_SCALE,
            {{"scale of 0, or subnormal", [=](heed_attention &c) { c.scale = scale; }, HEED_OUT_OF_RANGE}});
  for (const int32_t causal : {2, -1, 256, INT32_MIN, INT32_MAX})
    refuses(HEED_ARG_CAUSAL, {{"causal", [=](heed_attention &c) { c.causal = causal; }, HEED_OUT_OF_RANGE}});
}

TEST_F(bad_attention, tensors) {
  refuses_tensor<heed_tensor>(HEED_ARG_Q, &heed_attention::q);
  refuses_tensor<heed_tensor>(HEED_ARG_K, &heed_attention::k);
  refuses_tensor<heed_tensor>(HEED_ARG_V, &heed_attention::v);
  refuses_tensor<heed_tensor_out>(HEED_ARG_OUT, &heed_attention::out);
  refuses_tensor(HEED_ARG_WEIGHTS, weights());
}

TEST_F(bad_attention, strides_that_add_up_to_too_much) {
  const auto stretch = [](heed_tensor &t) { t.batch_stride = t.row_stride = huge_stride / 20; };
  refuses(HEED_ARG_Q, {{"q", [=](heed_attention &c) { stretch(c.q); }, HEED_OVERFLOW}});
  refuses(HEED_ARG_K, {{"k", [=](heed_attention &c) { stretch(c.k); }, HEED_OVERFLOW}});
  refuses(HEED_ARG_V, {{"v", [=](heed_attention &c) { stretch(c.v); }, HEED_OVERFLOW}});
}

TEST_F(bad_attention, output_rows_that_overlap_each_other) {
  struct row {
    heed_argument argument;
    tensor_of<heed_tensor_out> tensor;
    int32_t dim;
  };
  for (const row &t : {row{HEED_ARG_OUT, &heed_attention::out, v_dim}, row{HEED_ARG_WEIGHTS, weights(), n_kv}})
    for (ptrdiff_t heed_tensor_out::*stride :
         {&heed_tensor_out::batch_stride, &heed_tensor_out::head_stride, &heed_tensor_out::row_stride})
      for (const ptrdiff_t wrong : {0, 1, t.dim - 1})
        refuses(t.argument, {{"stride " + std::to_string(wrong),
                              [=](heed_attention &c) { t.tensor(c).*stride = wrong; }, HEED_BAD_STRIDE}});
}

TEST_F(bad_attention, overlap) {
  const ptrdiff_t out_floats = batch * heads * n_q * v_dim, weights_floats = batch * heads * n_q * n_kv;
  struct input {
    float *data;
    ptrdiff_t floats;
  };
  for (const input &i : {input{q_, batch * heads * n_q * dim}, input{k_, batch * kv_heads * n_kv * dim},
                         input{v_, batch * kv_heads * n_kv * v_dim}}) {
    refuses_overlap(HEED_ARG_OUT, &heed_attention::out, i.data, i.floats, out_floats);
    refuses_overlap(HEED_ARG_WEIGHTS, weights(), i.data, i.floats, weights_floats);
  }
  // Both are written: the first is named.
  refuses_overlap(HEED_ARG_OUT, weights(), out_, out_floats, weights_floats);
}

TEST_F(bad_attention, workspace) {
  using A = heed_attention;
  const auto shift = [](A &c, uintptr_t by) {
    c.workspace.data = misaligned(static_cast<char *>(c.workspace.data), by);
  };
  refuses(
      HEED_ARG_WORKSPACE,
      {{"null", [](A &c) { c.workspace.data = nullptr; }, HEED_NULL_POINTER},
       {"by 1", [=](A &c) { shift(c, 1); }, HEED_MISALIGNED},
       {"by 4", [=](A &c) { shift(c, 4); }, HEED_MISALIGNED},
       {"by 32", [=](A &c) { shift(c, 32); }, HEED_MISALIGNED},
       {"empty", [](A &c) { c.workspace.bytes = 0; }, HEED_TOO_SMALL},
       {"as large as memory", [](A &c) { c.workspace.bytes = SIZE_MAX; }, HEED_OVERFLOW},
       {"one byte short", [](A &c) { c.workspace.bytes = HEED_WORKSPACE_MIN_BYTES(dim, v_dim) - 1; }, HEED_TOO_SMALL},
       {"on q", [this](A &c) { c.q.data = workspace_; }, HEED_OVERLAP},
       {"on k", [this](A &c) { c.k.data = workspace_ + 3; }, HEED_OVERLAP},
       {"on v", [this](A &c) { c.v.data = workspace_ + workspace_bytes / 4 - 1; }, HEED_OVERLAP},
       // Against another output: the one that comes first in the call is named, then those of options.
       {"on weights", [this](A &) { weights_.out.data = workspace_ + 8; }, HEED_OVERLAP}});
  refuses(HEED_ARG_OUT, {{"out", [this](A &c) { c.out.data = workspace_; }, HEED_OVERLAP}});
}

TEST_F(bad_attention, executor) {
  reverse_executor executor(2);
  for (const flaw<heed_executor> &f : executor_flaws()) {
    heed_executor bad = *executor.get();
    f.apply(bad);
    refuses(HEED_ARG_EXECUTOR, {{f.what, [&](heed_attention &c) { c.executor = &bad; }, f.fault}});
  }
  EXPECT_EQ(executor.runs(), 0);
}

}  // namespace
}  // namespace heed_test
