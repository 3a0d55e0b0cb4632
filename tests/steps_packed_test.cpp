// Packed weights and blocks of scales: each kernel's steps against the scalar's, alone. Weights and rows of x end at an
// inaccessible page. SPDX-License-Identifier: MIT
#include "support/fence.hpp"
#include "support/step_suite.hpp"

namespace heed_test {
namespace {

class steps_of_packed : public steps {};
HEED_TEST_EVERY_KERNEL(steps_of_packed);

struct packed_shape {
  int32_t n_rows, depth, n_cols, width;
};

// Bytes whose scales are finite: as f16 in blocks, as floats otherwise.
std::vector<unsigned char> random_bytes(size_t n, uint32_t seed) {
  std::vector<unsigned char> bytes(n);
  for (size_t i = 0; i < n; i++)
    bytes[i] = static_cast<unsigned char>(bits_of(number_at(seed, static_cast<uint32_t>(i))) >> 9);
  return bytes;
}
void put_half(unsigned char *to, uint32_t i) {
  static constexpr uint16_t halves[] = {0x2e66, 0xb1c7, 0x3c00, 0x0001, 0x2001, 0x8000, 0xa5a5};
  const uint16_t half = halves[i % 7];
  to[0] = static_cast<unsigned char>(half & 255), to[1] = static_cast<unsigned char>(half >> 8);
}
void put_float(unsigned char *to, float x) {
  const uint32_t bits = bits_of(x);
  for (int i = 0; i < 4; i++) to[i] = static_cast<unsigned char>(bits >> 8 * i & 255);
}

std::vector<unsigned char> random_panel(int32_t dtype, int32_t n_in, int32_t width, uint32_t seed) {
  const auto n = static_cast<size_t>(width);
  std::vector<unsigned char> panel = random_bytes(packed_output_bytes(dtype, n_in) * n, seed);
  if (has_output_scales(dtype)) {
    for (size_t i = 0; i < n; i++) put_float(&panel[4 * i], number_at(seed + 1, static_cast<uint32_t>(i)));
  } else {
    const size_t block = n * static_cast<size_t>(dtype == stored_q8_0 ? q8_0_bytes : q4_0_bytes);
    for (size_t at = 0; at < panel.size(); at += block)
      for (size_t i = 0; i < n; i++) put_half(&panel[at + 2 * i], static_cast<uint32_t>(at / block + i));
  }
  return panel;
}

// Both kernels on the same arrays; x has some products that vanish, whose sign a sum must keep.
template <class Run>
void compare(const kernel *k, const kernel *ref, step_check &check, const packed_shape &p, Run run) {
  const auto rows = static_cast<size_t>(p.n_rows), depth = static_cast<size_t>(p.depth),
             stride = static_cast<size_t>(p.n_cols) + 3;
  std::vector<float> x(rows * depth), bias(static_cast<size_t>(p.n_cols));
  fill(x.data(), x.size(), 71), fill(bias.data(), bias.size(), 72);
  for (size_t i = 0; i < x.size(); i += 5) x[i] = i % 2 ? -0.0f : -0x1p-149f;
  guarded<float> y(rows * stride, 1), expected(y.size(), 1);
  const auto call = [&](const kernel *by, guarded<float> &to) {
    run(by,
        linear_block{fenced_copy(slot_q, x), p.depth, nullptr, 0, p.n_rows % 2 ? nullptr : fenced_copy(slot_k, bias),
                     to.data(), static_cast<ptrdiff_t>(stride), p.n_rows, p.depth, p.n_cols});
  };
  call(k, y), call(ref, expected);
  for (size_t i = 0; i < y.size(); i++) check.equal("y " + std::to_string(i), expected.data()[i], y.data()[i]);
  check.that(y.intact(), "wrote outside y");
}

const char *name_of(int32_t dtype) {
  return dtype == stored_int8 ? "int8" : dtype == stored_uint8 ? "uint8" : dtype == stored_q8_0 ? "Q8_0" : "Q4_0";
}
std::string text_of(const packed_shape &p, int32_t dtype) {
  return std::string(name_of(dtype)) + ", " + std::to_string(p.n_rows) + " x " + std::to_string(p.depth) + " x " +
         std::to_string(p.n_cols) + " of " + std::to_string(p.width);
}

// Every depth around words and blocks with some rows, every number of rows with some depths, every width.
template <class F>
void each_packed_shape(F f) {
  uint32_t i = 0;
  for (int32_t depth = 1; depth <= 70; depth++, i++) {
    const int32_t width = 16 * static_cast<int32_t>(1 + i % 4);
    f(packed_shape{1, depth, 64, 64}), f(packed_shape{static_cast<int32_t>(2 + i % 8), depth, width, width});
  }
  for (int32_t n_rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 24, 25, 49})
    for (int32_t depth : {33, 96, 172, 520})
      for (int32_t width : {16, 32, 48, 64}) {
        f(packed_shape{n_rows, depth, width, width});
        if (n_rows < 10) f(packed_shape{n_rows, depth, width - static_cast<int32_t>(1 + i++ % 15), width});
      }
}

TEST_P(steps_of_packed, panel) {
  for (const int32_t dtype : {stored_int8, stored_uint8, stored_q8_0, stored_q4_0})
    each_packed_shape([&](const packed_shape &p) {
      if (HasFailure()) return;
      step_check check("panel of " + text_of(p, dtype));
      const auto panel = random_panel(dtype, p.depth, p.width, static_cast<uint32_t>(p.depth));
      compare(k_, ref_, check, p, [&](const kernel *by, const linear_block &b) {
        packed_of(by)->panel(b, {fenced_copy(slot_v, panel), dtype, p.width});
      });
    });
}

// Zero points of all bytes, with gaps between rows of weights; nobody reads behind the last one.
TEST_P(steps_of_packed, bytes) {
  uint32_t i = 0;
  for (const bool out_in : {false, true})
    each_packed_shape([&](const packed_shape &p) {
      if (HasFailure()) return;
      step_check check(std::string(out_in ? "out_in " : "in_out ") + "bytes of " + text_of(p, stored_uint8));
      const int32_t rows = out_in ? p.n_cols : p.depth, dim = out_in ? p.depth : p.n_cols, stride = dim + p.n_rows % 3;
      const auto data = random_bytes(static_cast<size_t>(rows - 1) * static_cast<size_t>(stride) + size_t(dim), i);
      const bool one = i++ % 3 == 0;
      std::vector<float> scales(one ? 1 : static_cast<size_t>(p.n_cols));
      fill(scales.data(), scales.size(), 73);
      auto zeros = random_bytes(scales.size(), 74);
      zeros[0] = 255, zeros.back() = 0;
      stored_weights w = {nullptr, nullptr, stride, stored_int8, out_in};
      w.one_scale = one;
      w.is_uint8 = i % 2 == 0;
      compare(k_, ref_, check, p, [&](const kernel *by, const linear_block &b) {
        w.data = fenced_copy(slot_v, data), w.scales = fenced_copy(slot_mask, scales);
        w.zeros = i % 5 ? fenced_copy(slot_sinks, zeros) : nullptr;
        packed_of(by)->bytes(b, w);
      });
    });
}

TEST_P(steps_of_packed, blocks) {
  for (int32_t dtype = stored_q8_0; dtype <= stored_q4_0; dtype++)
    each_packed_shape([&](const packed_shape &p) {
      if (HasFailure()) return;
      step_check check("blocks of " + text_of(p, dtype));
      const size_t bytes = static_cast<size_t>(dtype == stored_q8_0 ? q8_0_bytes : q4_0_bytes);
      const int32_t stride = rounded_up(p.depth, block_inputs) + (p.n_rows % 3 ? 0 : block_inputs);
      const size_t n = static_cast<size_t>(p.n_cols) * static_cast<size_t>(stride / block_inputs);
      auto blocks = random_bytes(n * bytes, 5);
      for (size_t i = 0; i < n; i++) put_half(&blocks[i * bytes], static_cast<uint32_t>(i));
      compare(k_, ref_, check, p, [&](const kernel *by, const linear_block &b) {
        packed_of(by)->blocks(b, {fenced_copy(slot_v, blocks), nullptr, stride, dtype, true});
      });
    });
}

}  // namespace
}  // namespace heed_test
