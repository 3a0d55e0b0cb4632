// Every argument of the primitives and of plain self-attention, wrong in every way. SPDX-License-Identifier: MIT
#include "support/executors.hpp"
#include "support/floats.hpp"
#include "support/refusal.hpp"

namespace heed_test {
namespace {

class bad_primitives : public ::testing::Test {
 protected:
  // A call of three matrices: softmax ignores the second.
  struct arguments {
    heed_matrix x, w;
    heed_matrix_out y;
    const float *bias;
    float scale;
    const heed_executor *executor;
  };
  using function = std::function<heed_status(const arguments &)>;

  arguments good() {
    return {heed_matrix_of(x_, 3, 5), heed_matrix_of(w_, 5, 4), heed_matrix_out_of(y_, 3, 4), bias_, 1.0f, nullptr};
  }
  void refuses(const function &f, const arguments &a, heed_fault fault, heed_argument argument,
               const std::string &what) {
    memory_.refuses([&] { return f(a); }, fault, argument, what);
  }
  void refuses_executors(const function &f) {
    reverse_executor executor(2);
    for (const flaw<heed_executor> &wrong : executor_flaws()) {
      heed_executor bad = *executor.get();
      wrong.apply(bad);
      arguments a = good();
      a.executor = &bad;
      refuses(f, a, wrong.fault, HEED_ARG_EXECUTOR, wrong.what);
    }
  }
  // x times w into y: linear and weighted sum, with the names that their arguments have.
  void refuses_product(const function &f, heed_argument x, heed_argument w, heed_argument y) {
    for (const flaw<heed_matrix> &wrong : matrix_flaws<heed_matrix>(HEED_MAX_COUNT)) {
      arguments a = good(), b = good();
      wrong.apply(a.x);
      refuses(f, a, wrong.fault, x, wrong.what);
      wrong.apply(b.w);
      refuses(f, b, wrong.fault, w, wrong.what);
    }
    for (const flaw<heed_matrix_out> &wrong : output_flaws(HEED_MAX_COUNT)) {
      arguments a = good();
      wrong.apply(a.y);
      refuses(f, a, wrong.fault, y, wrong.what);
    }
    arguments a = good();
    a.w.n_rows = 4;
    refuses(f, a, HEED_SHAPE_MISMATCH, w, "inner dimension");
    a = good();
    a.y.n_rows = 2;
    refuses(f, a, HEED_SHAPE_MISMATCH, y, "rows");
    a = good();
    a.y.dim = 3;
    refuses(f, a, HEED_SHAPE_MISMATCH, y, "columns");
    for (float *shared : {x_, x_ + 14, w_, w_ + 19, w_ - 11}) {
      a = good();
      a.y.data = shared;
      refuses(f, a, HEED_OVERLAP, y, "overlap");
    }
    refuses_executors(f);
  }

  arena memory_;
  float *unused_ = memory_.take(64);
  float *x_ = memory_.take(15), *w_ = memory_.take(20), *bias_ = memory_.take(4), *y_ = memory_.take(16);
  float *workspace_ = memory_.take_aligned(HEED_WORKSPACE_BYTES(5, 5) / 4);
};

TEST_F(bad_primitives, linear) {
  const function f = [](const arguments &a) {
    return heed_linear(a.x, heed_weights_of_matrix(a.w), a.bias, a.y, a.executor);
  };
  refuses_product(f, HEED_ARG_X, HEED_ARG_W, HEED_ARG_Y);
  arguments a = good();
  a.bias = misaligned(bias_);
  refuses(f, a, HEED_MISALIGNED, HEED_ARG_BIAS, "misaligned");
  a = good();
  a.bias = y_ + 11;
  refuses(f, a, HEED_OVERLAP, HEED_ARG_Y, "the result lies in the bias");
  a = good();
  a.bias = top_of_memory() + 5;
  refuses(f, a, HEED_OVERFLOW, HEED_ARG_BIAS, "at the top of memory");
  EXPECT_EQ(status_name(f(good())), "HEED_OK");
  a = good();
  a.bias = nullptr;
  EXPECT_EQ(status_name(f(a)), "HEED_OK");
}

TEST_F(bad_primitives, weighted_sum) {
  const function f = [](const arguments &a) { return heed_weighted_sum(a.x, a.w, a.y, a.executor); };
  refuses_product(f, HEED_ARG_WEIGHTS, HEED_ARG_ROWS, HEED_ARG_OUT);
  EXPECT_EQ(status_name(f(good())), "HEED_OK");
}

TEST_F(bad_primitives, softmax) {
  const function f = [this](const arguments &a) {
    heed_matrix_out y = a.y;
    if (y.dim == 4) y.dim = 5, y.row_stride = y.row_stride == 4 ? 5 : y.row_stride;
    return heed_softmax(a.x, a.scale, y, a.executor);
  };
  for (const flaw<heed_matrix> &wrong : matrix_flaws<heed_matrix>(HEED_MAX_COUNT)) {
    arguments a = good();
    wrong.apply(a.x);
    refuses(f, a, wrong.fault, HEED_ARG_X, wrong.what);
  }
  for (const flaw<heed_matrix_out> &wrong : output_flaws(HEED_MAX_COUNT)) {
    arguments a = good();
    a.y.dim = 5, a.y.row_stride = 5;
    wrong.apply(a.y);
    refuses(f, a, wrong.fault, HEED_ARG_Y, wrong.what);
  }
  for (const float scale : {NAN, INFINITY, -INFINITY, HEED_SCALE_DEFAULT}) {
    arguments a = good();
    a.scale = scale;
    refuses(f, a, HEED_NOT_FINITE, HEED_ARG_SCALE, "scale");
    for (const float small : {greatest_subnormal, 0.0f}) {
      a.scale = std::copysign(small, scale);
      refuses(f, a, HEED_OUT_OF_RANGE, HEED_ARG_SCALE, "scale of 0, or subnormal");
    }
  }
  arguments a = good();
  a.y.n_rows = 2;
  refuses(f, a, HEED_SHAPE_MISMATCH, HEED_ARG_Y, "rows");
  a = good();
  a.y.dim = 3;
  refuses(f, a, HEED_SHAPE_MISMATCH, HEED_ARG_Y, "columns");
  for (const ptrdiff_t shift : {-14, -1, 1, 14}) {
    a = good();
    a.y.data = x_ + shift;
    refuses(f, a, HEED_OVERLAP, HEED_ARG_Y, "shifted by " + std::to_string(shift));
  }
  a = good();
  a.y = {x_, 3, 5, 6};
  refuses(f, a, HEED_OVERLAP, HEED_ARG_Y, "in place with another stride");
  refuses_executors(f);
  EXPECT_EQ(status_name(f(good())), "HEED_OK");
  a.y = {x_, 3, 5, 5};
  EXPECT_EQ(status_name(f(a)), "HEED_OK");
}

TEST_F(bad_primitives, dot) {
  const auto refuses_dot = [this](const float *a, const float *b, int32_t n, float *result, heed_fault fault,
                                  heed_argument argument) {
    memory_.refuses([=] { return heed_dot(a, b, n, result); }, fault, argument, "dot");
  };
  refuses_dot(nullptr, w_, 15, y_, HEED_NULL_POINTER, HEED_ARG_A);
  refuses_dot(x_, nullptr, 15, y_, HEED_NULL_POINTER, HEED_ARG_B);
  refuses_dot(x_, w_, 15, nullptr, HEED_NULL_POINTER, HEED_ARG_RESULT);
  refuses_dot(misaligned(x_), w_, 15, y_, HEED_MISALIGNED, HEED_ARG_A);
  refuses_dot(x_, misaligned(w_, 3), 15, y_, HEED_MISALIGNED, HEED_ARG_B);
  refuses_dot(x_, w_, 15, misaligned(y_, 2), HEED_MISALIGNED, HEED_ARG_RESULT);
  for (const int32_t n : {0, -1, INT32_MIN, beyond_count, INT32_MAX})
    refuses_dot(x_, w_, n, y_, HEED_OUT_OF_RANGE, HEED_ARG_N);
  refuses_dot(top_of_memory(), w_, 15, y_, HEED_OVERFLOW, HEED_ARG_A);
  refuses_dot(x_, top_of_memory(), 15, y_, HEED_OVERFLOW, HEED_ARG_B);
  for (float *inside : {x_, x_ + 14, w_, w_ + 14}) refuses_dot(x_, w_, 15, inside, HEED_OVERLAP, HEED_ARG_RESULT);
  EXPECT_EQ(status_name(heed_dot(x_, x_, 15, y_)), "HEED_OK");
  EXPECT_EQ(status_name(heed_dot(x_, w_, 15, w_ + 15)), "HEED_OK");
}

TEST_F(bad_primitives, self_attention) {
  const float usual = HEED_SCALE_DEFAULT;
  const heed_memory workspace = heed_memory_of(workspace_, HEED_WORKSPACE_BYTES(5, 5));
  const heed_matrix x = heed_matrix_of(x_, 3, 5);
  const heed_matrix_out out = {y_, 3, 5, 5};
  const auto refused = [this](heed_matrix in, float scale, heed_matrix_out to, heed_memory room, heed_fault fault,
                              heed_argument argument, const std::string &what) {
    memory_.refuses([=] { return heed_self_attention(in, scale, to, room); }, fault, argument, what);
  };
  const auto refused_room = [&](void *data, size_t bytes, heed_fault fault, const std::string &what) {
    refused(x, usual, out, heed_memory_of(data, bytes), fault, HEED_ARG_WORKSPACE, what);
  };
  for (const flaw<heed_matrix> &wrong : matrix_flaws<heed_matrix>(HEED_MAX_DIM)) {
    heed_matrix bad = x;
    wrong.apply(bad);
    const heed_argument name = bad.n_rows != x.n_rows ? HEED_ARG_N : bad.dim != x.dim ? HEED_ARG_HEAD_DIM : HEED_ARG_X;
    refused(bad, usual, out, workspace, wrong.fault, name, wrong.what);
  }
  for (const flaw<heed_matrix_out> &wrong : output_flaws(HEED_MAX_DIM)) {
    heed_matrix_out bad = out;
    wrong.apply(bad);
    const bool shape = bad.n_rows != out.n_rows || bad.dim != out.dim;
    refused(x, usual, bad, workspace, shape ? HEED_SHAPE_MISMATCH : wrong.fault, HEED_ARG_OUT, wrong.what);
  }
  for (const float scale : {NAN, INFINITY, -INFINITY})
    refused(x, scale, out, workspace, HEED_NOT_FINITE, HEED_ARG_SCALE, "scale");
  for (const float scale : {least_subnormal, 0.0f, -0.0f})
    refused(x, scale, out, workspace, HEED_OUT_OF_RANGE, HEED_ARG_SCALE, "scale of 0, or subnormal");
  for (const ptrdiff_t shift : {-14, 0, 1, 14})
    refused(x, usual, {x_ + shift, 3, 5, 5}, workspace, HEED_OVERLAP, HEED_ARG_OUT, "overlap");
  refused_room(nullptr, workspace.bytes, HEED_NULL_POINTER, "null");
  refused_room(misaligned(workspace_, 16), workspace.bytes, HEED_MISALIGNED, "misaligned");
  refused_room(workspace_, HEED_WORKSPACE_MIN_BYTES(5, 5) - 1, HEED_TOO_SMALL, "short");
  refused_room(workspace_, 0, HEED_TOO_SMALL, "empty");
  refused_room(workspace_, SIZE_MAX, HEED_OVERFLOW, "as large as memory");
  refused({workspace_ + 3, 3, 5, 5}, usual, out, workspace, HEED_OVERLAP, HEED_ARG_WORKSPACE, "overlap");
}

}  // namespace
}  // namespace heed_test
