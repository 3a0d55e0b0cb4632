// Products in integers: the steps of each kernel against the scalar's. Everything that is read ends at an inaccessible
// page. SPDX-License-Identifier: MIT
#include "../lib/isa_choice/int_product_dispatch.hpp"
#include "../lib/reference/int_product_reference.hpp"
#include "support/fence.hpp"
#include "support/random.hpp"
#include "support/steps.hpp"

namespace heed_test {
namespace {

class steps_of_int_products : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const int_steps *k = find_int_kernel(GetParam().c_str());
    if (!k->available()) GTEST_SKIP() << "this processor cannot run it";
    k_ = int_products_of(k);
  }
  const int_product_steps *k_ = nullptr;
};

std::vector<std::string> int_kernels() {
  std::vector<std::string> names;
  for (int32_t i = 0; available_int_kernel(i); i++) names.push_back(available_int_kernel(i)->name);
  return names;
}
std::string test_name(const testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(kernels, steps_of_int_products, testing::ValuesIn(int_kernels()), test_name);

struct int_shape {
  int32_t n_rows, depth, n_cols;
};

// All depths around a word, a register and a piece, all numbers of rows and outputs around a tile; some at random.
template <class F>
void each_int_shape(F f) {
  for (int32_t depth = 1; depth <= 70; depth++) f(int_shape{1 + depth % 8, depth, 1 + depth * 7 % 64});
  for (int32_t depth : {127, 128, 129, 191, 192, 193, 383, 384, 385, 600, 1025})
    for (int32_t n_rows : {1, 2, 5, 13}) f(int_shape{n_rows, depth, 64 - depth % 3});
  for (int32_t n_rows = 1; n_rows <= 30; n_rows++) f(int_shape{n_rows, 50 + n_rows, 48 + n_rows % 17});
  for (int32_t n_cols = 1; n_cols <= 64; n_cols++) f(int_shape{1 + n_cols % 7, 67, n_cols});
}

std::vector<int8_t> any_bytes(random_source &r, size_t n) {
  std::vector<int8_t> bytes(n);
  const int32_t kind = r.between(0, 9);  // full range; only the least; only the greatest
  for (int8_t &b : bytes) b = static_cast<int8_t>(kind == 0 ? -128 : kind == 1 ? 127 : r.between(-128, 127));
  return bytes;
}

struct int_case {
  int_product b = {};
  std::vector<int8_t> x, w;
  std::vector<int32_t> bias, multipliers;
};

int_case any_case(random_source &r, const int_shape &s, int_layout layout) {
  int_case c;
  int_product &b = c.b;
  b.n_rows = s.n_rows, b.depth = s.depth, b.n_cols = s.n_cols;
  b.x_stride = s.depth + r.between(0, 3);
  c.x = any_bytes(r, static_cast<size_t>((s.n_rows - 1) * b.x_stride + s.depth));
  const int32_t gap = r.between(0, 3);
  if (layout == int_layout::panel) {
    const int32_t width = rounded_up(s.n_cols, panel_step), words = (s.depth + 3) / 4;
    c.w = any_bytes(r, static_cast<size_t>(4 * words * width));
    for (int32_t i = s.depth; i < 4 * words; i++)
      for (int32_t n = 0; n < width; n++) c.w[static_cast<size_t>((i / 4 * width + n) * 4 + i % 4)] = 0;
    b.w = int_panel(fenced_copy(slot_k, c.w), width);
  } else if (layout == int_layout::out_in) {
    c.w = any_bytes(r, static_cast<size_t>((s.n_cols - 1) * (s.depth + gap) + s.depth));
    b.w = int_rows_of_outputs(fenced_copy(slot_k, c.w), s.n_cols > 1 ? s.depth + gap : 0);
  } else {
    c.w = any_bytes(r, static_cast<size_t>((s.depth - 1) * (s.n_cols + gap) + s.n_cols));
    b.w = int_rows_of_inputs(fenced_copy(slot_k, c.w), s.depth > 1 ? s.n_cols + gap : 0);
  }
  if (r.chance(70))
    for (int32_t n = 0; n < s.n_cols; n++)
      c.bias.push_back(r.chance(5) ? (r.chance(50) ? INT32_MAX : INT32_MIN) : r.between(-100000, 100000));
  const bool any_e = r.chance(20);
  for (int32_t n = 0; n < s.n_cols; n++) {
    c.multipliers.push_back(r.chance(5) ? INT32_MAX : r.between(0x40000000, INT32_MAX));
    c.multipliers.push_back(any_e ? r.between(-31, 30) : r.between(-14, -4));
  }
  b.x = fenced_copy(slot_q, c.x);
  b.bias = fenced_copy(slot_v, c.bias);
  b.multipliers = fenced_copy(slot_mask, c.multipliers);
  b.x_zero_point = r.chance(30) ? 0 : r.chance(30) ? -128 : r.between(-128, 127);
  b.wide = r.chance(40);
  b.y_zero_point = r.chance(30) ? 0 : b.wide ? r.between(-32768, 32767) : r.between(-128, 127);
  b.y_stride = s.n_cols + r.between(0, 3);
  return c;
}

TEST_P(steps_of_int_products, project) {
  random_source r(20001);
  for (const int_layout layout : {int_layout::out_in, int_layout::in_out, int_layout::panel})
    each_int_shape([&](const int_shape &s) {
      for (int32_t turn = 0; turn < 3 && !HasFailure(); turn++) {
        int_case c = any_case(r, s, layout);
        const auto n = static_cast<size_t>((s.n_rows - 1) * c.b.y_stride + s.n_cols);
        guarded<int16_t> y(n), expected(n);  // twice as large as int8 needs
        c.b.y = y.data(), k_->project(c.b);
        c.b.y = expected.data(), scalar::int_project(c.b);
        EXPECT_TRUE(y.intact());
        EXPECT_EQ(std::memcmp(y.data(), expected.data(), 2 * n), 0)
            << "layout " << int(layout) << ", " << s.n_rows << " x " << s.depth << " x " << s.n_cols << ", zero point "
            << c.b.x_zero_point << (c.b.wide ? ", int16" : ", int8");
      }
    });
}

// Panels whose words are random, scales finite.
std::vector<unsigned char> any_panels(random_source &r, int32_t dtype, int32_t depth, int32_t n_out) {
  std::vector<unsigned char> bytes;
  for (int32_t first = 0; first < n_out; first += panel_outputs) {
    const auto width = static_cast<size_t>(panel_width(n_out, first));
    std::vector<unsigned char> panel(width * packed_output_bytes(dtype, static_cast<uint64_t>(depth)));
    for (unsigned char &p : panel) p = static_cast<unsigned char>(r.between(0, 255));
    const bool blocks = !has_output_scales(dtype);
    const size_t run = blocks ? width * (dtype == stored_q8_0 ? q8_0_bytes : q4_0_bytes) : panel.size();
    for (size_t at = 0; at < panel.size(); at += run)
      for (size_t n = 0; n < width; n++) {
        const float scale = r.bell() * 0.01f;
        uint16_t half;
        heed_convert_from_f32(heed_matrix_of(&scale, 1, 1), heed_typed_matrix_out_of(&half, nullptr, HEED_F16, 1, 1));
        if (blocks)
          std::memcpy(&panel[at + 2 * n], &half, 2);
        else
          std::memcpy(&panel[4 * n], &scale, 4);
      }
    bytes.insert(bytes.end(), panel.begin(), panel.end());
  }
  return bytes;
}

void special_rows(random_source &r, std::vector<float> &x, int32_t n_rows, int32_t depth) {
  for (int32_t row = 0; row < n_rows; row++) {
    float *const at = &x[static_cast<size_t>(row) * static_cast<size_t>(depth)];
    const int32_t kind = r.between(0, 15);
    const float by = kind == 0 ? 0x1p-110f : kind == 1 ? 0x1p-99f : kind == 2 ? 0x1p124f : kind == 3 ? 0.0f : 1.0f;
    for (int32_t i = 0; i < depth; i++) at[i] *= by;
    if (kind == 4) at[r.between(0, depth - 1)] = std::numeric_limits<float>::infinity();
    if (kind == 5) at[r.between(0, depth - 1)] = std::numeric_limits<float>::quiet_NaN();
    if (kind == 6) at[r.between(0, depth - 1)] = 0x1.fffffep127f;
  }
}

TEST_P(steps_of_int_products, project_floats) {
  random_source r(20002);
  for (const int32_t dtype : {stored_int8, stored_q8_0, stored_q4_0, stored_uint8})
    each_int_shape([&](int_shape s) {
      for (int32_t turn = 0; turn < 2 && !HasFailure(); turn++) {
        const int32_t first = turn ? 0 : 64 * r.between(0, 1),
                      n_cols = turn ? 64 * r.between(0, 2) + s.n_cols : s.n_cols,
                      n_out = first + n_cols + (n_cols % 64 && !turn ? r.between(0, 63 - n_cols % 64) : 0);
        const auto panels = any_panels(r, dtype, s.depth, n_out);
        std::vector<float> x, bias;
        for (int32_t i = 0; i < s.n_rows * s.depth; i++) x.push_back(r.bell());
        special_rows(r, x, s.n_rows, s.depth);
        for (int32_t n = 0; n < n_cols; n++) bias.push_back(r.bell());
        const ptrdiff_t y_stride = n_cols + r.between(0, 3);
        linear_block b = {fenced_copy(slot_q, x),
                          s.depth,
                          nullptr,
                          0,
                          r.chance(30) ? nullptr : fenced_copy(slot_v, bias),
                          nullptr,
                          y_stride,
                          s.n_rows,
                          s.depth,
                          n_cols};
        // Panels of the library are aligned to 64; they end at a fence here when their bytes allow it.
        const size_t aligned = (panels.size() + 63) / 64 * 64;
        unsigned char *const at = fence_of(slot_k) - aligned;
        std::memcpy(at, panels.data(), panels.size());
        const int_panels w = {at, dtype, n_out};
        const auto n = static_cast<size_t>((s.n_rows - 1) * y_stride + n_cols);
        guarded<float> y(n), expected(n);
        b.y = y.data(), k_->project_floats(b, w, first);
        b.y = expected.data(), scalar::int_project_floats(b, w, first);
        EXPECT_TRUE(y.intact());
        step_check check("floats of " + std::to_string(s.n_rows) + " x " + std::to_string(s.depth) + " x " +
                         std::to_string(n_cols) + ", format " + std::to_string(dtype));
        for (size_t i = 0; i < n; i++) check.equal("y " + std::to_string(i), expected.data()[i], y.data()[i]);
      }
    });
}

}  // namespace
}  // namespace heed_test
