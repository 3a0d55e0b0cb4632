// Every argument of heed_layer_run, wrong in every way. SPDX-License-Identifier: MIT
#include "support/executors.hpp"
#include "support/floats.hpp"
#include "support/refusal.hpp"

namespace heed_test {
namespace {

class bad_layer : public ::testing::Test {
 protected:
  struct arguments {
    heed_layer layer;
    heed_matrix x;
    heed_matrix_out y;
    float *activations;
    size_t n_activations;
    unsigned char *workspace;
    size_t workspace_bytes;
    const heed_executor *executor;
  };
  static constexpr int32_t n = 3, model_dim = 5, heads = 4, kv_heads = 2, dim = 6, v_dim = 3, out_dim = 7;
  static constexpr size_t n_activations = HEED_LAYER_ACTIVATIONS(n, heads, kv_heads, dim, v_dim);
  static constexpr size_t workspace_bytes = HEED_WORKSPACE_BYTES(dim, v_dim);

  arguments good() {
    const heed_layer layer = {sizeof(heed_layer),
                              model_dim,
                              heads,
                              kv_heads,
                              dim,
                              v_dim,
                              out_dim,
                              0,
                              0,
                              wq_,
                              wk_,
                              wv_,
                              wo_,
                              bq_,
                              bk_,
                              bv_,
                              bo_,
                              nullptr};
    return {layer,
            heed_matrix_of(x_, n, model_dim),
            heed_matrix_out_of(y_, n, out_dim),
            activations_,
            n_activations,
            workspace_,
            workspace_bytes,
            nullptr};
  }
  static heed_status call(const arguments &a) {
    return heed_layer_run(&a.layer, a.x, a.y, a.activations, a.n_activations, a.workspace, a.workspace_bytes,
                          a.executor);
  }
  void refuses(heed_fault fault, heed_argument argument, const std::string &what,
               const std::function<void(arguments &)> &apply) {
    arguments a = good();
    apply(a);
    memory_.refuses([&] { return call(a); }, fault, argument, what);
  }
  void refuses_count(heed_argument argument, int32_t heed_layer::*count) {
    for (const int32_t wrong : {0, -1, INT32_MIN, beyond_count, INT32_MAX})
      refuses(HEED_OUT_OF_RANGE, argument, "count " + std::to_string(wrong),
              [=](arguments &a) { a.layer.*count = wrong; });
  }

  arena memory_;
  float *unused_ = memory_.take(512);
  float *x_ = memory_.take(n * model_dim), *y_ = memory_.take(n * out_dim);
  float *wq_ = memory_.take(model_dim * heads * dim), *wk_ = memory_.take(model_dim * kv_heads * dim);
  float *wv_ = memory_.take(model_dim * kv_heads * v_dim), *wo_ = memory_.take(heads * v_dim * out_dim);
  float *bq_ = memory_.take(heads * dim), *bk_ = memory_.take(kv_heads * dim), *bv_ = memory_.take(kv_heads * v_dim);
  float *bo_ = memory_.take(out_dim), *activations_ = memory_.take(n_activations);
  unsigned char *workspace_ = reinterpret_cast<unsigned char *>(memory_.take_aligned(workspace_bytes / 4));
};

TEST_F(bad_layer, the_good_call_is_accepted) {
  EXPECT_EQ(status_name(call(good())), "HEED_OK");
  arguments a = good();
  a.layer.bq = a.layer.bk = a.layer.bv = a.layer.bo = nullptr;
  EXPECT_EQ(status_name(call(a)), "HEED_OK");
  a.layer.wo = nullptr;
  a.layer.out_dim = a.y.dim = heads * v_dim;
  a.y.row_stride = a.y.dim;
  a.y.data = unused_;
  EXPECT_EQ(status_name(call(a)), "HEED_OK");
}

// Without wo the context is the result, and the activations hold q, k and v alone.
TEST_F(bad_layer, without_wo_needs_no_room_for_the_context) {
  const size_t needed = n_activations - size_t{n} * heads * v_dim;
  arguments a = good();
  a.layer.wo = a.layer.bo = nullptr;
  a.layer.out_dim = a.y.dim = heads * v_dim;
  a.y.row_stride = a.y.dim;
  a.y.data = unused_;
  a.n_activations = needed;
  activations_[needed] = 7.0f;
  EXPECT_EQ(status_name(call(a)), "HEED_OK");
  EXPECT_EQ(activations_[needed], 7.0f);
  --a.n_activations;
  memory_.refuses([&] { return call(a); }, HEED_TOO_SMALL, HEED_ARG_ACTIVATIONS, "one float short");
}

TEST_F(bad_layer, structure) {
  const arguments a = good();
  memory_.refuses(
      [&] {
        return heed_layer_run(nullptr, a.x, a.y, a.activations, a.n_activations, a.workspace, a.workspace_bytes,
                              nullptr);
      },
      HEED_NULL_POINTER, HEED_ARG_LAYER, "null");
  for (const uint32_t size : {0u, 1u, uint32_t{sizeof(heed_layer)} - 1, uint32_t{sizeof(heed_layer)} + 8, UINT32_MAX})
    refuses(HEED_UNKNOWN_STRUCT, HEED_ARG_LAYER, "size", [=](arguments &b) { b.layer.struct_size = size; });
}

// Options change nothing in what the rest must be.
TEST_F(bad_layer, beside_options) {
  const heed_options options = HEED_OPTIONS;
  const auto with_options = [&](arguments &a) { a.layer.options = &options; };
  arguments a = good();
  with_options(a);
  EXPECT_EQ(status_name(call(a)), "HEED_OK");
  refuses(HEED_TOO_SMALL, HEED_ARG_ACTIVATIONS, "with options",
          [&](arguments &b) { with_options(b), --b.n_activations; });
  refuses(HEED_OUT_OF_RANGE, HEED_ARG_CAUSAL, "with options",
          [&](arguments &b) { with_options(b), b.layer.causal = 2; });
}

TEST_F(bad_layer, dimensions) {
  refuses_count(HEED_ARG_MODEL_DIM, &heed_layer::model_dim);
  refuses_count(HEED_ARG_N_HEADS, &heed_layer::n_heads);
  refuses_count(HEED_ARG_N_KV_HEADS, &heed_layer::n_kv_heads);
  refuses_count(HEED_ARG_HEAD_DIM, &heed_layer::head_dim);
  refuses_count(HEED_ARG_V_DIM, &heed_layer::v_dim);
  refuses_count(HEED_ARG_OUT_DIM, &heed_layer::out_dim);
  for (const int32_t misfit : {3, 8})
    refuses(HEED_MISFIT, HEED_ARG_N_KV_HEADS, "heads", [=](arguments &a) { a.layer.n_kv_heads = misfit; });
  for (const int32_t causal : {-1, 2, INT32_MAX})
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_CAUSAL, "causal", [=](arguments &a) { a.layer.causal = causal; });
  for (const auto count : {&heed_layer::head_dim, &heed_layer::v_dim})
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_N_HEADS, "rows of all heads",
            [=](arguments &a) { a.layer.*count = HEED_MAX_DIM / heads + 1; });
  for (const float scale : {NAN, INFINITY, -INFINITY, 2.4e38f})
    refuses(HEED_NOT_FINITE, HEED_ARG_SCALE, "scale", [=](arguments &a) { a.layer.scale = scale; });
  refuses(HEED_OUT_OF_RANGE, HEED_ARG_SCALE, "scale", [=](arguments &a) { a.layer.scale = greatest_subnormal; });
  refuses(HEED_MISFIT, HEED_ARG_OUT_DIM, "without wo, out_dim is the context's width",
          [](arguments &a) { a.layer.wo = a.layer.bo = nullptr; });
}

TEST_F(bad_layer, weights_and_biases) {
  struct row {
    heed_argument argument;
    const float *heed_layer::*pointer;
    bool required;
  };
  static const row rows[] = {{HEED_ARG_WQ, &heed_layer::wq, true},  {HEED_ARG_WK, &heed_layer::wk, true},
                             {HEED_ARG_WV, &heed_layer::wv, true},  {HEED_ARG_WO, &heed_layer::wo, false},
                             {HEED_ARG_BQ, &heed_layer::bq, false}, {HEED_ARG_BK, &heed_layer::bk, false},
                             {HEED_ARG_BV, &heed_layer::bv, false}, {HEED_ARG_BO, &heed_layer::bo, false}};
  for (const row &r : rows) {
    if (r.required) refuses(HEED_NULL_POINTER, r.argument, "null", [&](arguments &a) { a.layer.*r.pointer = nullptr; });
    refuses(HEED_MISALIGNED, r.argument, "misaligned",
            [&](arguments &a) { a.layer.*r.pointer = misaligned(a.layer.*r.pointer); });
    refuses(HEED_OVERFLOW, r.argument, "at the top of memory",
            [&](arguments &a) { a.layer.*r.pointer = top_of_memory() + 6; });
    refuses(HEED_OVERLAP, HEED_ARG_Y, "the result lies in it",
            [&](arguments &a) { a.layer.*r.pointer = y_ + n * out_dim - 1; });
  }
  refuses(HEED_MISFIT, HEED_ARG_BO, "bo without wo", [](arguments &a) {
    a.layer.wo = nullptr;
    a.layer.out_dim = a.y.dim = heads * v_dim;
    a.y.row_stride = a.y.dim;
  });
}

TEST_F(bad_layer, rows) {
  for (const flaw<heed_matrix> &wrong : matrix_flaws<heed_matrix>(HEED_MAX_COUNT))
    refuses(wrong.fault, HEED_ARG_X, wrong.what, [&](arguments &a) { wrong.apply(a.x); });
  for (const flaw<heed_matrix_out> &wrong : output_flaws(HEED_MAX_COUNT))
    refuses(wrong.fault, HEED_ARG_Y, wrong.what, [&](arguments &a) { wrong.apply(a.y); });
  refuses(HEED_MISFIT, HEED_ARG_X, "columns", [](arguments &a) { --a.x.dim; });
  refuses(HEED_MISFIT, HEED_ARG_Y, "rows", [](arguments &a) { --a.y.n_rows; });
  refuses(HEED_MISFIT, HEED_ARG_Y, "columns", [](arguments &a) { --a.y.dim; });
  refuses(HEED_OVERLAP, HEED_ARG_Y, "in place", [&](arguments &a) { a.y.data = x_ + 1; });
}

TEST_F(bad_layer, buffers) {
  using A = arguments;
  const heed_argument activations = HEED_ARG_ACTIVATIONS, workspace = HEED_ARG_WORKSPACE;
  refuses(HEED_NULL_POINTER, activations, "null", [](A &a) { a.activations = nullptr; });
  refuses(HEED_MISALIGNED, activations, "misaligned", [](A &a) { a.activations = misaligned(a.activations); });
  refuses(HEED_TOO_SMALL, activations, "one float short", [](A &a) { --a.n_activations; });
  refuses(HEED_TOO_SMALL, activations, "empty", [](A &a) { a.n_activations = 0; });
  refuses(HEED_OVERFLOW, activations, "at the top of memory", [](A &a) { a.activations = top_of_memory(); });
  refuses(HEED_OVERFLOW, workspace, "as large as memory", [](A &a) { a.workspace_bytes = SIZE_MAX; });
  refuses(HEED_OVERLAP, activations, "on x", [&](A &a) { a.activations = x_ + n * model_dim - n_activations; });
  refuses(HEED_OVERLAP, activations, "on bo", [&](A &a) { a.activations = bo_ + out_dim - 1; });
  refuses(HEED_NULL_POINTER, workspace, "null", [](A &a) { a.workspace = nullptr; });
  refuses(HEED_MISALIGNED, workspace, "by 32", [](A &a) { a.workspace += 32; });
  refuses(HEED_TOO_SMALL, workspace, "one byte short",
          [](A &a) { a.workspace_bytes = HEED_WORKSPACE_MIN_BYTES(dim, v_dim) - 1; });
  refuses(HEED_OVERLAP, workspace, "on x", [&](A &a) { a.x.data = reinterpret_cast<float *>(workspace_ + 8); });
  refuses(HEED_OVERLAP, workspace, "on wk", [&](A &a) { a.layer.wk = reinterpret_cast<float *>(workspace_); });
}

TEST_F(bad_layer, executor) {
  reverse_executor executor(2);
  for (const flaw<heed_executor> &wrong : executor_flaws()) {
    heed_executor bad = *executor.get();
    wrong.apply(bad);
    refuses(wrong.fault, HEED_ARG_EXECUTOR, wrong.what, [&](arguments &a) { a.executor = &bad; });
  }
}

}  // namespace
}  // namespace heed_test
