// Every argument of conversions and of projections with stored weights, wrong in every way.
// SPDX-License-Identifier: MIT
#include "support/executors.hpp"
#include "support/numbers.hpp"
#include "support/refusal.hpp"

namespace heed_test {
namespace {

class bad_formats : public ::testing::Test {
 protected:
  void refuses(const std::function<heed_status()> &f, heed_fault fault, heed_argument argument,
               const std::string &what) {
    memory_.refuses(f, fault, argument, what);
  }

  arena memory_;
  float *unused_ = memory_.take(64);
  float *x_ = memory_.take(15), *w_ = memory_.take(20), *bias_ = memory_.take(4), *scales_ = memory_.take(8);
  float *y_ = memory_.take(16), *after_ = memory_.take(16);
};

TEST_F(bad_formats, narrow) {
  for (const int32_t format : formats) {
    const auto narrow = [this, format](heed_matrix x, void *y, ptrdiff_t stride, float *scales) {
      return heed_narrow(x, format, y, stride, scales);
    };
    const heed_matrix x = heed_matrix_of(x_, 3, 5);
    for (const flaw<heed_matrix> &wrong : matrix_flaws<heed_matrix>(HEED_MAX_COUNT)) {
      heed_matrix bad = x;
      wrong.apply(bad);
      refuses([&] { return narrow(bad, y_, 5, scales_); }, wrong.fault, HEED_ARG_X, wrong.what);
    }
    refuses([&] { return narrow(x, nullptr, 5, scales_); }, HEED_NULL_POINTER, HEED_ARG_Y, "null");
    if (format != HEED_INT8)
      refuses([&] { return narrow(x, misaligned(y_), 5, scales_); }, HEED_MISALIGNED, HEED_ARG_Y, "misaligned");
    for (const ptrdiff_t stride : {ptrdiff_t{-1}, ptrdiff_t{0}, ptrdiff_t{4}})
      refuses([&] { return narrow(x, y_, stride, scales_); }, HEED_BAD_STRIDE, HEED_ARG_Y, "stride");
    refuses([&] { return narrow(x, y_, huge_stride, scales_); }, HEED_OVERFLOW, HEED_ARG_Y, "stride");
    refuses([&] { return narrow(x, reinterpret_cast<unsigned char *>(top_of_memory()) + 28, 5, scales_); },
            HEED_OVERFLOW, HEED_ARG_Y, "at the top of memory");
    for (float *shared : {x_, x_ + 14})
      refuses([&] { return narrow(x, shared, 5, scales_); }, HEED_OVERLAP, HEED_ARG_Y, "overlap");
    if (format == HEED_INT8) {
      refuses([&] { return narrow(x, y_, 5, nullptr); }, HEED_NULL_POINTER, HEED_ARG_SCALES, "no scales");
      refuses([&] { return narrow(x, y_, 5, misaligned(scales_)); }, HEED_MISALIGNED, HEED_ARG_SCALES, "misaligned");
      refuses([&] { return narrow(x, y_, 5, x_ + 2); }, HEED_OVERLAP, HEED_ARG_SCALES, "scales in x");
      refuses([&] { return narrow(x, y_, 5, y_ + 3); }, HEED_OVERLAP, HEED_ARG_Y, "scales in y");
      refuses([&] { return narrow(x, y_, 5, top_of_memory() + 7); }, HEED_OVERFLOW, HEED_ARG_SCALES, "at the top");
      for (const float special : {not_a_number, infinity, -infinity}) {
        const float before = x_[14];
        x_[14] = special;
        refuses([&] { return narrow(x, y_, 5, scales_); }, HEED_NOT_FINITE, HEED_ARG_X, "not finite");
        x_[14] = before;
      }
    }
    EXPECT_EQ(status_name(narrow(x, y_, 5, scales_)), "HEED_OK");
    if (format != HEED_INT8) {
      EXPECT_EQ(status_name(narrow(x, y_, 5, nullptr)), "HEED_OK");
    }
  }
  for (const int32_t format : {-1, 4, INT32_MAX, INT32_MIN})
    refuses([&] { return heed_narrow(heed_matrix_of(x_, 3, 5), format, y_, 5, scales_); }, HEED_OUT_OF_RANGE,
            HEED_ARG_FORMAT, "format");
}

TEST_F(bad_formats, widen) {
  for (const int32_t format : formats) {
    const auto widen = [format](const void *x, ptrdiff_t stride, const float *scales, heed_matrix_out y) {
      return heed_widen(x, stride, scales, format, y);
    };
    const heed_matrix_out y = heed_matrix_out_of(y_, 3, 5);
    for (const flaw<heed_matrix_out> &wrong : output_flaws(HEED_MAX_COUNT)) {
      heed_matrix_out bad = y;
      wrong.apply(bad);
      refuses([&] { return widen(x_, 5, scales_, bad); }, wrong.fault, HEED_ARG_Y, wrong.what);
    }
    refuses([&] { return widen(nullptr, 5, scales_, y); }, HEED_NULL_POINTER, HEED_ARG_X, "null");
    if (format != HEED_INT8)
      refuses([&] { return widen(misaligned(x_), 5, scales_, y); }, HEED_MISALIGNED, HEED_ARG_X, "misaligned");
    refuses([&] { return widen(x_, -1, scales_, y); }, HEED_BAD_STRIDE, HEED_ARG_X, "stride");
    refuses([&] { return widen(x_, huge_stride, scales_, y); }, HEED_OVERFLOW, HEED_ARG_X, "stride");
    refuses([&] { return widen(y_ + 2, 5, scales_, y); }, HEED_OVERLAP, HEED_ARG_Y, "overlap");
    if (format == HEED_INT8) {
      refuses([&] { return widen(x_, 5, nullptr, y); }, HEED_NULL_POINTER, HEED_ARG_SCALES, "no scales");
      refuses([&] { return widen(x_, 5, misaligned(scales_), y); }, HEED_MISALIGNED, HEED_ARG_SCALES, "misaligned");
      refuses([&] { return widen(x_, 5, y_ + 1, y); }, HEED_OVERLAP, HEED_ARG_Y, "scales in y");
      refuses([&] { return widen(x_, 5, top_of_memory() + 7, y); }, HEED_OVERFLOW, HEED_ARG_SCALES, "at the top");
    }
    EXPECT_EQ(status_name(widen(x_, 0, scales_, y)), "HEED_OK");
  }
  refuses([&] { return heed_widen(x_, 5, scales_, 4, heed_matrix_out_of(y_, 3, 5)); }, HEED_OUT_OF_RANGE,
          HEED_ARG_FORMAT, "format");
}

TEST_F(bad_formats, quantize_weights) {
  const heed_matrix w = heed_matrix_of(x_, 3, 5);
  int8_t *const q = reinterpret_cast<int8_t *>(y_);
  for (const int32_t layout : {HEED_IN_OUT, HEED_OUT_IN}) {
    for (const flaw<heed_matrix> &wrong : matrix_flaws<heed_matrix>(HEED_MAX_COUNT)) {
      heed_matrix bad = w;
      wrong.apply(bad);
      refuses([&] { return heed_quantize_weights(bad, layout, q, scales_); }, wrong.fault, HEED_ARG_W, wrong.what);
    }
    refuses([&] { return heed_quantize_weights(w, layout, nullptr, scales_); }, HEED_NULL_POINTER, HEED_ARG_Y, "null");
    refuses([&] { return heed_quantize_weights(w, layout, q, nullptr); }, HEED_NULL_POINTER, HEED_ARG_SCALES, "null");
    refuses([&] { return heed_quantize_weights(w, layout, q, misaligned(scales_)); }, HEED_MISALIGNED, HEED_ARG_SCALES,
            "misaligned");
    refuses([&] { return heed_quantize_weights(w, layout, reinterpret_cast<int8_t *>(x_) + 3, scales_); }, HEED_OVERLAP,
            HEED_ARG_Y, "overlap");
    refuses([&] { return heed_quantize_weights(w, layout, q, x_ + 14); }, HEED_OVERLAP, HEED_ARG_SCALES, "overlap");
    const float before = x_[7];
    x_[7] = not_a_number;
    refuses([&] { return heed_quantize_weights(w, layout, q, scales_); }, HEED_NOT_FINITE, HEED_ARG_W, "NaN");
    x_[7] = before;
    EXPECT_EQ(status_name(heed_quantize_weights(w, layout, q, scales_)), "HEED_OK");
  }
  for (const int32_t layout : {-1, 2})
    refuses([&] { return heed_quantize_weights(w, layout, q, scales_); }, HEED_OUT_OF_RANGE, HEED_ARG_LAYOUT, "layout");
}

TEST_F(bad_formats, project) {
  struct arguments {
    heed_matrix x;
    heed_weights w;
    const float *bias;
    heed_matrix_out y;
    const heed_executor *executor;
  };
  const auto refused = [this](const arguments &a, heed_fault fault, heed_argument argument, const std::string &what) {
    refuses([&] { return heed_project(a.x, &a.w, a.bias, a.y, a.executor); }, fault, argument, what);
  };
  for (const int32_t format : formats)
    for (const int32_t layout : {HEED_IN_OUT, HEED_OUT_IN}) {
      const arguments good = {heed_matrix_of(x_, 3, 5), heed_weights_of(w_, format, layout, 5, 4, scales_), bias_,
                              heed_matrix_out_of(y_, 3, 4), nullptr};
      for (const flaw<heed_matrix> &wrong : matrix_flaws<heed_matrix>(HEED_MAX_COUNT)) {
        arguments a = good;
        wrong.apply(a.x);
        refused(a, wrong.fault, HEED_ARG_X, wrong.what);
      }
      for (const flaw<heed_matrix_out> &wrong : output_flaws(HEED_MAX_COUNT)) {
        arguments a = good;
        wrong.apply(a.y);
        refused(a, wrong.fault, HEED_ARG_Y, wrong.what);
      }
      using A = arguments;
      const std::vector<std::pair<flaw<A>, heed_argument>> flaws = {
          {{"no data", [](A &a) { a.w.data = nullptr; }, HEED_NULL_POINTER}, HEED_ARG_W},
          {{"at the top", [](A &a) { a.w.data = top_of_memory() + 7; }, HEED_OVERFLOW}, HEED_ARG_W},
          {{"no inputs", [](A &a) { a.w.n_in = 0; }, HEED_OUT_OF_RANGE}, HEED_ARG_W},
          {{"no outputs", [](A &a) { a.w.n_out = -1; }, HEED_OUT_OF_RANGE}, HEED_ARG_W},
          {{"too many", [](A &a) { a.w.n_out = beyond_count; }, HEED_OUT_OF_RANGE}, HEED_ARG_W},
          {{"other inputs", [](A &a) { a.w.n_in = 4; }, HEED_MISFIT}, HEED_ARG_W},
          {{"other outputs", [](A &a) { a.w.n_out = 3; }, HEED_MISFIT}, HEED_ARG_Y},
          {{"stride -1", [](A &a) { a.w.row_stride = -1; }, HEED_BAD_STRIDE}, HEED_ARG_W},
          {{"greatest stride", [](A &a) { a.w.row_stride = huge_stride; }, HEED_OVERFLOW}, HEED_ARG_W},
          {{"rows", [](A &a) { a.y.n_rows = 2; }, HEED_MISFIT}, HEED_ARG_Y},
          {{"columns", [](A &a) { a.y.dim = 3; }, HEED_MISFIT}, HEED_ARG_Y},
          {{"format", [](A &a) { a.w.format = 4; }, HEED_OUT_OF_RANGE}, HEED_ARG_FORMAT},
          {{"format", [](A &a) { a.w.format = -1; }, HEED_OUT_OF_RANGE}, HEED_ARG_FORMAT},
          {{"layout", [](A &a) { a.w.layout = 2; }, HEED_OUT_OF_RANGE}, HEED_ARG_LAYOUT},
          {{"layout", [](A &a) { a.w.layout = -1; }, HEED_OUT_OF_RANGE}, HEED_ARG_LAYOUT},
          {{"bias", [](A &a) { a.bias = misaligned(a.bias); }, HEED_MISALIGNED}, HEED_ARG_BIAS},
          {{"bias", [](A &a) { a.bias = top_of_memory() + 6; }, HEED_OVERFLOW}, HEED_ARG_BIAS},
          {{"y is x", [](A &a) { a.y.data = const_cast<float *>(a.x.data) + 14; }, HEED_OVERLAP}, HEED_ARG_Y},
          {{"y is w", [this](A &a) { a.y.data = w_; }, HEED_OVERLAP}, HEED_ARG_Y},
          {{"y is bias", [this](A &a) { a.y.data = bias_; }, HEED_OVERLAP}, HEED_ARG_Y}};
      for (const auto &[wrong, argument] : flaws) {
        arguments a = good;
        wrong.apply(a);
        refused(a, wrong.fault, argument, wrong.what);
      }
      if (format != HEED_INT8) {
        arguments a = good;
        a.w.data = misaligned(w_);
        refused(a, HEED_MISALIGNED, HEED_ARG_W, "misaligned");
        a = good;
        a.w.scales = nullptr;
        EXPECT_EQ(status_name(heed_project(a.x, &a.w, a.bias, a.y, nullptr)), "HEED_OK");
      } else {
        arguments a = good;
        a.w.scales = nullptr;
        refused(a, HEED_NULL_POINTER, HEED_ARG_SCALES, "no scales");
        a.w.scales = misaligned(scales_);
        refused(a, HEED_MISALIGNED, HEED_ARG_SCALES, "misaligned");
        a.w.scales = top_of_memory() + 6;
        refused(a, HEED_OVERFLOW, HEED_ARG_SCALES, "at the top of memory");
        a.w.scales = y_ + 11;
        refused(a, HEED_OVERLAP, HEED_ARG_Y, "y is scales");
      }
      reverse_executor executor(2);
      for (const flaw<heed_executor> &wrong : executor_flaws()) {
        heed_executor bad = *executor.get();
        wrong.apply(bad);
        arguments a = good;
        a.executor = &bad;
        refused(a, wrong.fault, HEED_ARG_EXECUTOR, wrong.what);
      }
      EXPECT_EQ(status_name(heed_project(good.x, &good.w, good.bias, good.y, nullptr)), "HEED_OK");
    }
  const heed_matrix x = heed_matrix_of(x_, 3, 5);
  const heed_matrix_out y = heed_matrix_out_of(y_, 3, 4);
  refuses([&] { return heed_project(x, nullptr, nullptr, y, nullptr); }, HEED_NULL_POINTER, HEED_ARG_W, "null");
  refuses([&] { return heed_project(x, reinterpret_cast<heed_weights *>(misaligned(w_)), nullptr, y, nullptr); },
          HEED_MISALIGNED, HEED_ARG_W, "misaligned");
  // The struct itself in the memory of the result.
  heed_weights *inside = reinterpret_cast<heed_weights *>(memory_.take_aligned(sizeof(heed_weights) / 4));
  *inside = heed_weights_of(w_, HEED_F32, HEED_IN_OUT, 5, 4, nullptr);
  float *const floats = reinterpret_cast<float *>(inside);
  refuses([&] { return heed_project(x, inside, nullptr, heed_matrix_out_of(floats, 3, 4), nullptr); }, HEED_OVERLAP,
          HEED_ARG_Y, "y is the struct");
}

}  // namespace
}  // namespace heed_test
