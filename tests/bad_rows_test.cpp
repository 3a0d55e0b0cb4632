// Every argument of norms, activations and sums, wrong in every way. SPDX-License-Identifier: MIT
#include "support/executors.hpp"
#include "support/refusal.hpp"

namespace heed_test {
namespace {

class bad_rows : public ::testing::Test {
 protected:
  struct arguments {
    heed_matrix x, other;
    heed_matrix_out y;
    const float *weight, *bias;
    float eps;
    const heed_executor *executor;
  };
  using function = std::function<heed_status(const arguments &)>;

  arguments good() {
    return {heed_matrix_of(x_, 3, 5),
            heed_matrix_of(other_, 3, 5),
            heed_matrix_out_of(y_, 3, 5),
            weight_,
            bias_,
            1e-5f,
            nullptr};
  }
  void refuses(const function &f, const arguments &a, heed_fault fault, heed_argument argument,
               const std::string &what) {
    memory_.refuses([&] { return f(a); }, fault, argument, what);
  }
  void refuses_inputs(const function &f, heed_matrix arguments::*input, heed_argument name) {
    for (const flaw<heed_matrix> &wrong : matrix_flaws<heed_matrix>(HEED_MAX_COUNT)) {
      arguments a = good();
      wrong.apply(a.*input);
      refuses(f, a, wrong.fault, name, wrong.what);
    }
    for (const ptrdiff_t shift : {-14, -1, 1, 14}) {
      arguments a = good();
      a.y.data = const_cast<float *>((a.*input).data) + shift;
      refuses(f, a, HEED_OVERLAP, HEED_ARG_Y, "shifted by " + std::to_string(shift));
    }
    arguments a = good();
    a.y = {const_cast<float *>((a.*input).data), 3, 5, 6};
    refuses(f, a, HEED_OVERLAP, HEED_ARG_Y, "in place with another stride");
    a.y.row_stride = 5;
    EXPECT_EQ(status_name(f(a)), "HEED_OK") << "in place";
    a.x.n_rows = a.other.n_rows = a.y.n_rows = 1, a.y.row_stride = 6;
    EXPECT_EQ(status_name(f(a)), "HEED_OK") << "one row in place has no stride";
  }
  void refuses_outputs(const function &f) {
    for (const flaw<heed_matrix_out> &wrong : output_flaws(HEED_MAX_COUNT)) {
      arguments a = good();
      wrong.apply(a.y);
      refuses(f, a, wrong.fault, HEED_ARG_Y, wrong.what);
    }
    arguments a = good();
    a.y.n_rows = 2;
    refuses(f, a, HEED_SHAPE_MISMATCH, HEED_ARG_Y, "rows");
    a = good();
    a.y.dim = 4;
    refuses(f, a, HEED_SHAPE_MISMATCH, HEED_ARG_Y, "columns");
    reverse_executor executor(2);
    for (const flaw<heed_executor> &wrong : executor_flaws()) {
      heed_executor bad = *executor.get();
      wrong.apply(bad);
      a = good();
      a.executor = &bad;
      refuses(f, a, wrong.fault, HEED_ARG_EXECUTOR, wrong.what);
    }
    EXPECT_EQ(status_name(f(good())), "HEED_OK");
  }
  void refuses_pairs(const function &f, heed_argument x, heed_argument other) {
    refuses_inputs(f, &arguments::x, x);
    refuses_inputs(f, &arguments::other, other);
    refuses_outputs(f);
    for (const bool rows : {false, true}) {
      arguments a = good();
      --(rows ? a.other.n_rows : a.other.dim);
      refuses(f, a, HEED_SHAPE_MISMATCH, other, "another shape");
    }
  }

  arena memory_;
  float *unused_ = memory_.take(64);
  float *x_ = memory_.take(32), *other_ = memory_.take(32), *weight_ = memory_.take(5), *bias_ = memory_.take(5);
  float *y_ = memory_.take(32);
};

TEST_F(bad_rows, norms) {
  for (heed_norm *norm : {heed_rms_norm, heed_rms_norm_plus_one, heed_layer_norm, heed_l2_norm}) {
    const function f = [=](const arguments &a) { return norm(a.x, a.weight, a.bias, a.eps, a.y, a.executor); };
    refuses_inputs(f, &arguments::x, HEED_ARG_X);
    refuses_outputs(f);
    for (const auto &[which, name] :
         {std::pair(&arguments::weight, HEED_ARG_WEIGHT), {&arguments::bias, HEED_ARG_BIAS}}) {
      arguments a = good();
      a.*which = misaligned(weight_);
      refuses(f, a, HEED_MISALIGNED, name, "misaligned");
      a.*which = top_of_memory() + 5;
      refuses(f, a, HEED_OVERFLOW, name, "at the top of memory");
      a.*which = y_ + 14;
      refuses(f, a, HEED_OVERLAP, HEED_ARG_Y, "lies in the result");
      a.*which = nullptr;
      EXPECT_EQ(status_name(f(a)), "HEED_OK");
    }
    arguments a = good();
    for (const float eps : {NAN, INFINITY, -INFINITY}) {
      a.eps = eps;
      refuses(f, a, HEED_NOT_FINITE, HEED_ARG_EPS, "eps");
    }
    a.eps = -1e-30f;
    refuses(f, a, HEED_OUT_OF_RANGE, HEED_ARG_EPS, "negative");
    for (const float eps : {0.0f, -0.0f, 1e30f}) {
      a.eps = eps;
      EXPECT_EQ(status_name(f(a)), "HEED_OK");
    }
  }
}

TEST_F(bad_rows, group_norm) {
  const function f = [=](const arguments &a) {
    return heed_group_norm(a.x, a.weight, a.bias, 1, a.eps, a.y, a.executor);
  };
  refuses_inputs(f, &arguments::x, HEED_ARG_X);
  refuses_outputs(f);
  arguments a = good();
  a.bias = misaligned(weight_);
  refuses(f, a, HEED_MISALIGNED, HEED_ARG_BIAS, "misaligned");
  a = good();
  a.eps = NAN;
  refuses(f, a, HEED_NOT_FINITE, HEED_ARG_EPS, "eps");
  const auto grouped = [=](int32_t n_groups) -> function {
    return
        [=](const arguments &with) { return heed_group_norm(with.x, nullptr, nullptr, n_groups, 0, with.y, nullptr); };
  };
  for (const int32_t n : {0, -1, 6, INT32_MIN, INT32_MAX})
    refuses(grouped(n), good(), HEED_OUT_OF_RANGE, HEED_ARG_N_GROUPS, std::to_string(n));
  for (const int32_t n : {2, 3, 4})
    refuses(grouped(n), good(), HEED_SHAPE_MISMATCH, HEED_ARG_N_GROUPS, std::to_string(n));
  EXPECT_EQ(status_name(grouped(5)(good())), "HEED_OK");
}

TEST_F(bad_rows, means_over_rows) {
  const function f = [=](const arguments &a) { return heed_mean_rows(a.x, a.y.data, a.executor); };
  for (const flaw<heed_matrix> &wrong : matrix_flaws<heed_matrix>(HEED_MAX_COUNT)) {
    arguments a = good();
    wrong.apply(a.x);
    refuses(f, a, wrong.fault, HEED_ARG_X, wrong.what);
  }
  arguments a = good();
  a.y.data = nullptr;
  refuses(f, a, HEED_NULL_POINTER, HEED_ARG_Y, "null");
  a.y.data = misaligned(y_);
  refuses(f, a, HEED_MISALIGNED, HEED_ARG_Y, "misaligned");
  for (const int32_t shift : {0, 14, -4}) {
    a.y.data = x_ + shift;
    refuses(f, a, HEED_OVERLAP, HEED_ARG_Y, "lies in x");
  }
  heed_executor bad = {};
  a = good();
  a.executor = &bad;
  refuses(f, a, HEED_NOT_INITIALIZED, HEED_ARG_EXECUTOR, "of zeros");
  EXPECT_EQ(status_name(f(good())), "HEED_OK");
}

TEST_F(bad_rows, activations) {
  for (heed_activation *activation : {heed_gelu, heed_gelu_tanh, heed_silu, heed_relu, heed_tanh, heed_sigmoid}) {
    const function gated = [=](const arguments &a) { return activation(a.x, a.other, a.y, a.executor); };
    for (const flaw<heed_matrix> &wrong : matrix_flaws<heed_matrix>(HEED_MAX_COUNT)) {
      arguments a = good();
      wrong.apply(a.other);
      if (a.other.data) refuses(gated, a, wrong.fault, HEED_ARG_UP, wrong.what);
    }
    const function plain = [=](const arguments &a) {
      return activation(a.x, {nullptr, -7, 0, -3}, a.y, a.executor);  // without data the rest does not count
    };
    refuses_inputs(plain, &arguments::x, HEED_ARG_X);
    refuses_outputs(plain);
    refuses_inputs(gated, &arguments::x, HEED_ARG_X);
    refuses_outputs(gated);
    for (const bool rows : {false, true}) {
      arguments a = good();
      --(rows ? a.other.n_rows : a.other.dim);
      refuses(gated, a, HEED_SHAPE_MISMATCH, HEED_ARG_UP, "another shape");
    }
    arguments a = good();
    a.y.data = other_ + 1;
    refuses(gated, a, HEED_OVERLAP, HEED_ARG_Y, "lies in up");
    a.y.data = other_;
    EXPECT_EQ(status_name(gated(a)), "HEED_OK");
    a.other = a.x;
    EXPECT_EQ(status_name(gated(a)), "HEED_OK");
    a.y.data = x_;
    EXPECT_EQ(status_name(gated(a)), "HEED_OK");
  }
}

TEST_F(bad_rows, sums) {
  refuses_pairs([](const arguments &a) { return heed_add(a.x, a.other, a.y, a.executor); }, HEED_ARG_A, HEED_ARG_B);
}

}  // namespace
}  // namespace heed_test
