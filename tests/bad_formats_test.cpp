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

// Everything that can be wrong with (3, 5) narrow rows by themselves; bytes are aligned anywhere.
template <typename Rows>
std::vector<flaw<Rows>> row_flaws(int32_t dtype) {
  std::vector<flaw<Rows>> all = {
      {"null", [](Rows &m) { m.data = nullptr; }, HEED_NULL_POINTER},
      {"other rows", [](Rows &m) { m.n_rows = 2; }, HEED_SHAPE_MISMATCH},
      {"other columns", [](Rows &m) { m.dim = 4; }, HEED_SHAPE_MISMATCH},
      {"stride -1", [](Rows &m) { m.row_stride = -1; }, HEED_BAD_STRIDE},
      {"greatest stride", [](Rows &m) { m.row_stride = huge_stride; }, HEED_OVERFLOW},
      {"at the top", [](Rows &m) { m.data = reinterpret_cast<char *>(top_of_memory()) + 28; }, HEED_OVERFLOW}};
  for (const int32_t wrong : {-1, 4, INT32_MAX, INT32_MIN})
    all.push_back({"format", [=](Rows &m) { m.dtype = wrong; }, HEED_BAD_DTYPE});
  if (dtype != HEED_INT8) {
    all.push_back({"misaligned", [](Rows &m) { m.data = misaligned(m.data); }, HEED_MISALIGNED});
    return all;
  }
  all.push_back({"no scales", [](Rows &m) { m.scales = nullptr; }, HEED_BAD_SCALES});
  all.push_back({"scales misaligned", [](Rows &m) { m.scales = misaligned(m.scales, 2); }, HEED_BAD_SCALES});
  all.push_back({"scales at the top", [](Rows &m) { m.scales = top_of_memory() + 7; }, HEED_OVERFLOW});
  return all;
}

TEST_F(bad_formats, narrow) {
  for (const int32_t dtype : formats) {
    const heed_matrix x = heed_matrix_of(x_, 3, 5);
    const heed_typed_matrix_out y = heed_typed_matrix_out_of(y_, scales_, dtype, 3, 5);
    const auto refused = [&](heed_typed_matrix_out to, heed_fault fault, const std::string &what) {
      refuses([&] { return heed_convert_from_f32(x, to); }, fault, HEED_ARG_Y, what);
    };
    const auto at = [&](void *data, float *scales) { return heed_typed_matrix_out_of(data, scales, dtype, 3, 5); };
    for (const flaw<heed_matrix> &wrong : matrix_flaws<heed_matrix>(HEED_MAX_COUNT)) {
      heed_matrix bad = x;
      wrong.apply(bad);
      refuses([&] { return heed_convert_from_f32(bad, y); }, wrong.fault, HEED_ARG_X, wrong.what);
    }
    for (const auto &wrong : row_flaws<heed_typed_matrix_out>(dtype)) {
      heed_typed_matrix_out bad = y;
      wrong.apply(bad);
      refused(bad, wrong.fault, wrong.what);
    }
    for (const ptrdiff_t stride : {0, 4}) {
      heed_typed_matrix_out bad = y;
      bad.row_stride = stride;
      refused(bad, HEED_BAD_STRIDE, "rows overlap");
    }
    for (float *shared : {x_, x_ + 14}) refused(at(shared, scales_), HEED_OVERLAP, "overlap");
    EXPECT_EQ(status_name(heed_convert_from_f32(x, y)), "HEED_OK");
    if (dtype != HEED_INT8) {
      EXPECT_EQ(status_name(heed_convert_from_f32(x, at(y_, nullptr))), "HEED_OK");
      continue;
    }
    refused(at(y_, x_ + 2), HEED_OVERLAP, "scales in x");
    refused(at(y_, y_ + 3), HEED_OVERLAP, "scales in y");
    for (const float special : {not_a_number, infinity, -infinity}) {
      const float before = x_[14];
      x_[14] = special;
      refuses([&] { return heed_convert_from_f32(x, y); }, HEED_NOT_FINITE, HEED_ARG_X, "not finite");
      x_[14] = before;
    }
  }
}

TEST_F(bad_formats, widen) {
  for (const int32_t dtype : formats) {
    const heed_typed_matrix x = heed_typed_matrix_of(x_, scales_, dtype, 3, 5);
    const heed_matrix_out y = heed_matrix_out_of(y_, 3, 5);
    for (const flaw<heed_matrix_out> &wrong : output_flaws(HEED_MAX_COUNT)) {
      heed_matrix_out bad = y;
      wrong.apply(bad);
      refuses([&] { return heed_convert_to_f32(x, bad); }, wrong.fault, HEED_ARG_Y, wrong.what);
    }
    for (const auto &wrong : row_flaws<heed_typed_matrix>(dtype)) {
      heed_typed_matrix bad = x;
      wrong.apply(bad);
      refuses([&] { return heed_convert_to_f32(bad, y); }, wrong.fault, HEED_ARG_X, wrong.what);
    }
    const auto overlaps = [&](const void *data, const float *scales, const std::string &what) {
      const heed_typed_matrix from = heed_typed_matrix_of(data, scales, dtype, 3, 5);
      refuses([&] { return heed_convert_to_f32(from, y); }, HEED_OVERLAP, HEED_ARG_Y, what);
    };
    overlaps(y_ + 2, scales_, "overlap");
    if (dtype == HEED_INT8) overlaps(x_, y_ + 1, "scales in y");
    heed_typed_matrix repeated = x;
    repeated.row_stride = 0;
    EXPECT_EQ(status_name(heed_convert_to_f32(repeated, y)), "HEED_OK");
    repeated.scales = nullptr;
    if (dtype == HEED_INT8) continue;
    EXPECT_EQ(status_name(heed_convert_to_f32(repeated, y)), "HEED_OK");
  }
}

TEST_F(bad_formats, quantize_weights) {
  const heed_matrix w = heed_matrix_of(x_, 3, 5);
  int8_t *const q = reinterpret_cast<int8_t *>(y_);
  for (const int32_t layout : {HEED_IN_OUT, HEED_OUT_IN}) {
    const auto refused = [&](int8_t *to, float *scales, heed_fault fault, const std::string &what) {
      refuses([&] { return heed_weights_quantize(w, layout, to, scales); }, fault, HEED_ARG_Y, what);
    };
    for (const flaw<heed_matrix> &wrong : matrix_flaws<heed_matrix>(HEED_MAX_COUNT)) {
      heed_matrix bad = w;
      wrong.apply(bad);
      refuses([&] { return heed_weights_quantize(bad, layout, q, scales_); }, wrong.fault, HEED_ARG_W, wrong.what);
    }
    refused(nullptr, scales_, HEED_NULL_POINTER, "null");
    refused(q, nullptr, HEED_BAD_SCALES, "no scales");
    refused(q, misaligned(scales_), HEED_BAD_SCALES, "scales misaligned");
    refused(q, top_of_memory() + 7, HEED_OVERFLOW, "scales at the top of memory");
    refused(reinterpret_cast<int8_t *>(x_) + 3, scales_, HEED_OVERLAP, "overlap");
    refused(q, x_ + 14, HEED_OVERLAP, "scales in w");
    refused(q, y_ + 3, HEED_OVERLAP, "scales in y");
    const float before = x_[7];
    x_[7] = not_a_number;
    refuses([&] { return heed_weights_quantize(w, layout, q, scales_); }, HEED_NOT_FINITE, HEED_ARG_W, "NaN");
    x_[7] = before;
    EXPECT_EQ(status_name(heed_weights_quantize(w, layout, q, scales_)), "HEED_OK");
  }
  for (const int32_t layout : {-1, 2})
    refuses([&] { return heed_weights_quantize(w, layout, q, scales_); }, HEED_BAD_LAYOUT, HEED_ARG_LAYOUT, "layout");
}

struct projection {
  heed_matrix x;
  heed_weights w;
  const float *bias;
  heed_matrix_out y;
  const heed_executor *executor;
};
// Of the weights and of how arguments go together, for any format and layout.
std::vector<std::pair<flaw<projection>, heed_argument>> projection_flaws(float *w, float *bias) {
  using P = projection;
  return {{{"no data", [](P &p) { p.w.data = nullptr; }, HEED_NULL_POINTER}, HEED_ARG_W},
          {{"at the top", [](P &p) { p.w.data = top_of_memory() + 7; }, HEED_OVERFLOW}, HEED_ARG_W},
          {{"no inputs", [](P &p) { p.w.n_in = 0; }, HEED_OUT_OF_RANGE}, HEED_ARG_W},
          {{"no outputs", [](P &p) { p.w.n_out = -1; }, HEED_OUT_OF_RANGE}, HEED_ARG_W},
          {{"too many", [](P &p) { p.w.n_out = beyond_count; }, HEED_OUT_OF_RANGE}, HEED_ARG_W},
          {{"other inputs", [](P &p) { p.w.n_in = 4; }, HEED_SHAPE_MISMATCH}, HEED_ARG_W},
          {{"other outputs", [](P &p) { p.w.n_out = 3; }, HEED_SHAPE_MISMATCH}, HEED_ARG_Y},
          {{"stride -1", [](P &p) { p.w.row_stride = -1; }, HEED_BAD_STRIDE}, HEED_ARG_W},
          {{"greatest stride", [](P &p) { p.w.row_stride = huge_stride; }, HEED_OVERFLOW}, HEED_ARG_W},
          {{"rows", [](P &p) { p.y.n_rows = 2; }, HEED_SHAPE_MISMATCH}, HEED_ARG_Y},
          {{"columns", [](P &p) { p.y.dim = 3; }, HEED_SHAPE_MISMATCH}, HEED_ARG_Y},
          {{"format", [](P &p) { p.w.dtype = 6; }, HEED_BAD_DTYPE}, HEED_ARG_W},
          {{"format", [](P &p) { p.w.dtype = -1; }, HEED_BAD_DTYPE}, HEED_ARG_W},
          {{"layout", [](P &p) { p.w.layout = 3; }, HEED_BAD_LAYOUT}, HEED_ARG_W},
          {{"layout", [](P &p) { p.w.layout = -1; }, HEED_BAD_LAYOUT}, HEED_ARG_W},
          {{"bias", [](P &p) { p.bias = misaligned(p.bias); }, HEED_MISALIGNED}, HEED_ARG_BIAS},
          {{"bias", [](P &p) { p.bias = top_of_memory() + 6; }, HEED_OVERFLOW}, HEED_ARG_BIAS},
          {{"y is x", [](P &p) { p.y.data = const_cast<float *>(p.x.data) + 14; }, HEED_OVERLAP}, HEED_ARG_Y},
          {{"y is w", [=](P &p) { p.y.data = w; }, HEED_OVERLAP}, HEED_ARG_Y},
          {{"y is bias", [=](P &p) { p.y.data = bias; }, HEED_OVERLAP}, HEED_ARG_Y}};
}

TEST_F(bad_formats, project) {
  const auto refused = [this](const projection &p, heed_fault fault, heed_argument argument, const std::string &what) {
    refuses([&] { return heed_linear(p.x, p.w, p.bias, p.y, p.executor); }, fault, argument, what);
  };
  for (const int32_t dtype : formats)
    for (const int32_t layout : {HEED_IN_OUT, HEED_OUT_IN}) {
      const projection good = {heed_matrix_of(x_, 3, 5), heed_weights_of(w_, scales_, dtype, layout, 5, 4), bias_,
                               heed_matrix_out_of(y_, 3, 4), nullptr};
      for (const flaw<heed_matrix> &wrong : matrix_flaws<heed_matrix>(HEED_MAX_COUNT)) {
        projection p = good;
        wrong.apply(p.x);
        refused(p, wrong.fault, HEED_ARG_X, wrong.what);
      }
      for (const flaw<heed_matrix_out> &wrong : output_flaws(HEED_MAX_COUNT)) {
        projection p = good;
        wrong.apply(p.y);
        refused(p, wrong.fault, HEED_ARG_Y, wrong.what);
      }
      for (const auto &[wrong, argument] : projection_flaws(w_, bias_)) {
        projection p = good;
        wrong.apply(p);
        refused(p, wrong.fault, argument, wrong.what);
      }
      projection p = good;
      if (dtype != HEED_INT8) {
        p.w.data = misaligned(w_);
        refused(p, HEED_MISALIGNED, HEED_ARG_W, "misaligned");
        p = good;
        p.w.scales = nullptr;
        EXPECT_EQ(status_name(heed_linear(p.x, p.w, p.bias, p.y, nullptr)), "HEED_OK");
      } else {
        p.w.scales = nullptr;
        refused(p, HEED_BAD_SCALES, HEED_ARG_W, "no scales");
        p.w.scales = misaligned(scales_);
        refused(p, HEED_BAD_SCALES, HEED_ARG_W, "scales misaligned");
        p.w.scales = top_of_memory() + 6;
        refused(p, HEED_OVERFLOW, HEED_ARG_W, "scales at the top of memory");
        p.w.scales = y_ + 11;
        refused(p, HEED_OVERLAP, HEED_ARG_Y, "y is scales");
      }
      reverse_executor executor(2);
      for (const flaw<heed_executor> &wrong : executor_flaws()) {
        heed_executor bad = *executor.get();
        wrong.apply(bad);
        p = good, p.executor = &bad;
        refused(p, wrong.fault, HEED_ARG_EXECUTOR, wrong.what);
      }
      EXPECT_EQ(status_name(heed_linear(good.x, good.w, good.bias, good.y, nullptr)), "HEED_OK");
    }
}

}  // namespace
}  // namespace heed_test
