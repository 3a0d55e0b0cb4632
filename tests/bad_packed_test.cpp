// Packing, opening, and calls with packed weights or blocks: every argument wrong in every way.
// SPDX-License-Identifier: MIT
#include "heed/integers.h"
#include "support/executors.hpp"
#include "support/numbers.hpp"
#include "support/refusal.hpp"

namespace heed_test {
namespace {

constexpr int32_t all_formats[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8, HEED_Q8_0, HEED_Q4_0};
constexpr int32_t n_in = 32, n_out = 4;

class bad_packed : public ::testing::Test {
 protected:
  using flaws_of_weights = std::vector<flaw<heed_weights>>;

  heed_memory room(int32_t dtype) const {
    return heed_memory_of(packed_, HEED_WEIGHTS_PACKED_BYTES(dtype, n_in, n_out));
  }
  heed_weights plain() const { return heed_weights_of(w_, nullptr, HEED_F32, HEED_OUT_IN, n_in, n_out); }
  heed_weights opened(int32_t dtype) {
    heed_weights w = {};
    EXPECT_EQ(heed_weights_pack(plain(), dtype, room(dtype)), HEED_OK);
    EXPECT_EQ(heed_weights_open(&w, packed_, room(dtype).bytes), HEED_OK);
    return w;
  }
  heed_status project(const heed_weights &w) {
    return heed_linear(heed_matrix_of(x_, 3, n_in), w, bias_, heed_matrix_out_of(y_, 3, n_out), nullptr);
  }
  void refuses(const std::function<heed_status()> &f, heed_fault fault, heed_argument argument,
               const std::string &what) {
    memory_.refuses(f, fault, argument, what);
  }
  void refuses_all(const heed_weights &good, const flaws_of_weights &flaws) {
    for (const flaw<heed_weights> &wrong : flaws) {
      heed_weights bad = good;
      wrong.apply(bad);
      refuses([&] { return project(bad); }, wrong.fault, HEED_ARG_W, "project: " + wrong.what);
    }
    EXPECT_EQ(status_name(project(good)), "HEED_OK");
  }

  arena memory_;
  float *unused_ = memory_.take(64);
  float *x_ = memory_.take(3 * n_in), *w_ = memory_.take(n_in * n_out), *bias_ = memory_.take(n_out);
  float *scales_ = memory_.take(n_out), *zeros_ = memory_.take(n_out), *y_ = memory_.take(3 * n_out);
  float *packed_ = memory_.take_aligned(HEED_WEIGHTS_PACKED_BYTES(HEED_F32, n_in, n_out) / 4);
  float *after_ = memory_.take(64);
};

// ------------------------------------------------------------------------------------------------------- zero points

TEST_F(bad_packed, weights_with_zero_points) {
  using W = heed_weights;
  auto *const zeros = reinterpret_cast<unsigned char *>(zeros_);
  for (const int32_t dtype : {HEED_INT8, HEED_UINT8})
    for (const int32_t layout : {HEED_IN_OUT, HEED_OUT_IN})
      for (const int32_t n : {1, n_out}) {
        const W good =
            heed_weights_with_zero_points(heed_weights_of(w_, scales_, dtype, layout, n_in, n_out), zeros, n);
        refuses_all(
            good,
            {{"null", [](W &w) { w.data = nullptr; }, HEED_NULL_POINTER},
             {"at the top", [](W &w) { w.data = reinterpret_cast<void *>(~uintptr_t{2}); }, HEED_OVERFLOW},
             {"f32", [](W &w) { w.dtype = HEED_F32; }, HEED_BAD_DTYPE},
             {"Q8_0", [](W &w) { w.dtype = HEED_Q8_0; }, HEED_BAD_DTYPE},
             {"format 8", [](W &w) { w.dtype = 8; }, HEED_BAD_DTYPE},
             {"packed", [](W &w) { w.layout = HEED_PACKED; }, HEED_BAD_LAYOUT},
             {"layout 3", [](W &w) { w.layout = 3; }, HEED_BAD_LAYOUT},
             {"no scales", [](W &w) { w.scales = nullptr; }, HEED_BAD_SCALES},
             {"misaligned scales", [](W &w) { w.scales = misaligned(w.scales); }, HEED_BAD_SCALES},
             {"no number of scales", [](W &w) { w.n_scales = 0; }, HEED_SHAPE_MISMATCH},
             {"too few scales", [](W &w) { w.n_scales = n_out - 1; }, HEED_SHAPE_MISMATCH},
             {"less than no scales", [](W &w) { w.n_scales = INT32_MIN; }, HEED_SHAPE_MISMATCH},
             {"zero points at the top",
              [](W &w) { w.n_scales = n_out, w.zero_points = reinterpret_cast<void *>(~uintptr_t{2}); }, HEED_OVERFLOW},
             {"stride", [](W &w) { w.row_stride = -1; }, HEED_BAD_STRIDE},
             {"no inputs", [](W &w) { w.n_in = 0; }, HEED_OUT_OF_RANGE},
             {"too many outputs", [](W &w) { w.n_out = beyond_count; }, HEED_OUT_OF_RANGE},
             {"other inputs", [](W &w) { w.n_in = n_in - 1; }, HEED_SHAPE_MISMATCH}});
        for (float *shared : {zeros_, scales_, w_})
          refuses(
              [&] {
                return heed_linear(heed_matrix_of(x_, 1, n_in), good, bias_, heed_matrix_out_of(shared, 1, n_out),
                                   nullptr);
              },
              HEED_OVERLAP, HEED_ARG_Y, "y in the weights");
        const heed_multiplier by[n_out] = {};
        refuses(
            [&] {
              return heed_int_linear(heed_int_matrix_of(x_, HEED_INT8, 1, n_in, 0), good, nullptr, by,
                                     heed_int_matrix_out_of(y_, HEED_INT8, 1, n_out, 0), nullptr);
            },
            HEED_UNSUPPORTED, HEED_ARG_W, "integers");
      }
  refuses([&] { return project(heed_weights_of(w_, scales_, HEED_UINT8, HEED_IN_OUT, n_in, n_out)); },
          HEED_NOT_INITIALIZED, HEED_ARG_W, "uint8 without zero points");
  for (const int32_t dtype : {HEED_F32, HEED_INT8})
    refuses(
        [&] {
          return heed_weights_pack(heed_weights_of(w_, scales_, dtype, HEED_IN_OUT, n_in, n_out), HEED_UINT8,
                                   room(HEED_F32));
        },
        HEED_BAD_DTYPE, HEED_ARG_DTYPE, "no zero points to pack");
}

// ------------------------------------------------------------------------------------------------------------- views

TEST_F(bad_packed, weights) {
  using W = heed_weights;
  for (const int32_t dtype : all_formats) {
    const heed_weights good = opened(dtype);
    refuses_all(good, {{"no code", [](W &w) { w.code = nullptr; }, HEED_NOT_INITIALIZED},
                       {"null", [](W &w) { w.data = nullptr; }, HEED_NULL_POINTER},
                       {"misaligned", [](W &w) { w.data = misaligned(static_cast<const char *>(w.data), 32); },
                        HEED_MISALIGNED},
                       {"at the top", [](W &w) { w.data = reinterpret_cast<void *>(~uintptr_t{63}); }, HEED_OVERFLOW},
                       {"format -1", [](W &w) { w.dtype = -1; }, HEED_BAD_DTYPE},
                       {"format 6", [](W &w) { w.dtype = 6; }, HEED_BAD_DTYPE},
                       {"in, out", [](W &w) { w.layout = HEED_IN_OUT; }, HEED_BAD_LAYOUT},
                       {"out, in", [](W &w) { w.layout = HEED_OUT_IN; }, HEED_BAD_LAYOUT},
                       {"layout 3", [](W &w) { w.layout = 3; }, HEED_BAD_LAYOUT},
                       {"no inputs", [](W &w) { w.n_in = 0; }, HEED_OUT_OF_RANGE},
                       {"no outputs", [](W &w) { w.n_out = -1; }, HEED_OUT_OF_RANGE},
                       {"too many outputs", [](W &w) { w.n_out = beyond_count; }, HEED_OUT_OF_RANGE},
                       {"other inputs", [](W &w) { w.n_in = n_in - 1; }, HEED_CORRUPT},
                       {"fewer outputs", [](W &w) { w.n_out = n_out / 2; }, HEED_CORRUPT}});
    refuses(
        [&] {
          return heed_linear(heed_matrix_of(x_, 1, n_in - 1), good, bias_, heed_matrix_out_of(y_, 1, n_out), nullptr);
        },
        HEED_SHAPE_MISMATCH, HEED_ARG_W, "fewer inputs");
    for (float *shared : {packed_ + 16, packed_ + room(dtype).bytes / 4 - 1})
      refuses(
          [&] {
            return heed_linear(heed_matrix_of(x_, 1, n_in), good, bias_, heed_matrix_out_of(shared, 1, n_out), nullptr);
          },
          HEED_OVERLAP, HEED_ARG_Y, "y in the weights");
  }
}

TEST_F(bad_packed, blocks) {
  using W = heed_weights;
  for (const int32_t dtype : {HEED_Q8_0, HEED_Q4_0}) {
    const heed_weights good = heed_weights_of_blocks(misaligned(w_), dtype, n_in, n_out);
    refuses_all(good, {{"no code", [](W &w) { w.code = nullptr; }, HEED_NOT_INITIALIZED},
                       {"null", [](W &w) { w.data = nullptr; }, HEED_NULL_POINTER},
                       {"at the top", [](W &w) { w.data = top_of_memory(); }, HEED_OVERFLOW},
                       {"f32", [](W &w) { w.dtype = HEED_F32; }, HEED_BAD_DTYPE},
                       {"int8", [](W &w) { w.dtype = HEED_INT8; }, HEED_BAD_DTYPE},
                       {"the other blocks", [](W &w) { w.dtype = w.dtype == HEED_Q8_0 ? HEED_Q4_0 : HEED_Q8_0; },
                        HEED_BAD_DTYPE},
                       {"format 6", [](W &w) { w.dtype = 6; }, HEED_BAD_DTYPE},
                       {"in, out", [](W &w) { w.layout = HEED_IN_OUT; }, HEED_BAD_LAYOUT},
                       {"packed", [](W &w) { w.layout = HEED_PACKED; }, HEED_BAD_LAYOUT},
                       {"no inputs", [](W &w) { w.n_in = 0; }, HEED_OUT_OF_RANGE},
                       {"too many inputs", [](W &w) { w.n_in = beyond_count; }, HEED_OUT_OF_RANGE},
                       {"no outputs", [](W &w) { w.n_out = 0; }, HEED_OUT_OF_RANGE},
                       {"a part of a block", [](W &w) { w.n_in = n_in - 1; }, HEED_SHAPE_MISMATCH},
                       {"other inputs", [](W &w) { w.n_in = 2 * n_in; }, HEED_SHAPE_MISMATCH},
                       {"stride of a part", [](W &w) { w.row_stride = n_in + 8; }, HEED_BAD_STRIDE},
                       {"stride -32", [](W &w) { w.row_stride = -32; }, HEED_BAD_STRIDE},
                       {"greatest stride", [](W &w) { w.row_stride = huge_stride / 32 * 32; }, HEED_OVERFLOW},
                       {"greatest stride of many outputs",
                        [](W &w) { w.row_stride = huge_stride / 32 * 32, w.n_out = HEED_MAX_COUNT; }, HEED_OVERFLOW},
                       {"the last row alone is beyond all memory",
                        [](W &w) { w.row_stride = huge_stride - 31, w.n_out = 33, w.n_in = 33 * 32; }, HEED_OVERFLOW}});
    heed_weights repeated = good;
    repeated.row_stride = 0;
    EXPECT_EQ(status_name(project(repeated)), "HEED_OK");
    refuses(
        [&] {
          return heed_linear(heed_matrix_of(x_, 1, n_in), good, bias_, heed_matrix_out_of(w_ + 3, 1, n_out), nullptr);
        },
        HEED_OVERLAP, HEED_ARG_Y, "y in the weights");
  }
  // Formats of blocks that heed_weights_of was told, and a layout that is only heed's.
  for (const int32_t dtype : {HEED_Q8_0, HEED_Q4_0})
    refuses([&] { return project(heed_weights_of(w_, nullptr, dtype, HEED_OUT_IN, n_in, n_out)); },
            HEED_NOT_INITIALIZED, HEED_ARG_W, "blocks that are not made");
  refuses([&] { return project(heed_weights_of(packed_, nullptr, HEED_F32, HEED_PACKED, n_in, n_out)); },
          HEED_NOT_INITIALIZED, HEED_ARG_W, "packed weights that are not opened");
}

// ---------------------------------------------------------------------------------------------------------- packing

TEST_F(bad_packed, pack_weights) {
  using W = heed_weights;
  const flaws_of_weights flaws = {
      {"null", [](W &w) { w.data = nullptr; }, HEED_NULL_POINTER},
      {"misaligned", [](W &w) { w.data = misaligned(static_cast<const char *>(w.data)); }, HEED_MISALIGNED},
      {"at the top", [](W &w) { w.data = top_of_memory(); }, HEED_OVERFLOW},
      {"format -1", [](W &w) { w.dtype = -1; }, HEED_BAD_DTYPE},
      {"blocks", [](W &w) { w.dtype = HEED_Q8_0; }, HEED_NOT_INITIALIZED},
      {"layout -1", [](W &w) { w.layout = -1; }, HEED_BAD_LAYOUT},
      {"packed", [](W &w) { w.layout = HEED_PACKED; }, HEED_NOT_INITIALIZED},
      {"no inputs", [](W &w) { w.n_in = 0; }, HEED_OUT_OF_RANGE},
      {"no outputs", [](W &w) { w.n_out = 0; }, HEED_OUT_OF_RANGE},
      {"stride -1", [](W &w) { w.row_stride = -1; }, HEED_BAD_STRIDE},
      {"greatest stride", [](W &w) { w.row_stride = huge_stride; }, HEED_OVERFLOW},
      {"int8 without scales", [](W &w) { w.dtype = HEED_INT8; }, HEED_BAD_SCALES}};
  for (const int32_t dtype : all_formats) {
    const heed_memory to = room(dtype);
    for (const flaw<heed_weights> &wrong : flaws) {
      heed_weights bad = plain();
      wrong.apply(bad);
      refuses([&] { return heed_weights_pack(bad, dtype, to); }, wrong.fault, HEED_ARG_W, wrong.what);
    }
    const auto refused = [&](heed_memory memory, heed_fault fault, const std::string &what) {
      refuses([&] { return heed_weights_pack(plain(), dtype, memory); }, fault, HEED_ARG_MEMORY, what);
    };
    refused(heed_memory_of(nullptr, to.bytes), HEED_NULL_POINTER, "null");
    refused(heed_memory_of(packed_ + 8, to.bytes), HEED_MISALIGNED, "misaligned");
    refused(heed_memory_of(packed_, to.bytes - 1), HEED_TOO_SMALL, "a byte too small");
    refused(heed_memory_of(packed_, 0), HEED_TOO_SMALL, "nothing");
    refused(heed_memory_of(reinterpret_cast<void *>(~uintptr_t{63}), to.bytes), HEED_OVERFLOW, "at the top");
    heed_weights inside = plain();
    inside.data = packed_ + 9;
    refuses([&] { return heed_weights_pack(inside, dtype, to); }, HEED_OVERLAP, HEED_ARG_MEMORY, "w in the memory");
    inside = heed_weights_of(w_, packed_ + 3, HEED_INT8, HEED_IN_OUT, n_in, n_out);
    refuses([&] { return heed_weights_pack(inside, dtype, to); }, HEED_OVERLAP, HEED_ARG_MEMORY,
            "scales in the memory");
  }
  for (const int32_t dtype : {-1, 6, INT32_MAX})
    refuses([&] { return heed_weights_pack(plain(), dtype, room(HEED_F32)); }, HEED_BAD_DTYPE, HEED_ARG_DTYPE,
            "format");
  const heed_weights packed = opened(HEED_F16);
  refuses([&] { return heed_weights_pack(packed, HEED_F16, heed_memory_of(packed_, room(HEED_F32).bytes)); },
          HEED_BAD_LAYOUT, HEED_ARG_W, "packed twice");
  // A row that repeats: more weights than any memory.
  heed_weights wide = heed_weights_of(w_, nullptr, HEED_F32, HEED_OUT_IN, n_in, HEED_MAX_COUNT);
  wide.row_stride = 0;
  refuses([&] { return heed_weights_pack(wide, HEED_F32, room(HEED_F32)); },
          sizeof(void *) == 8 ? HEED_TOO_SMALL : HEED_OVERFLOW, HEED_ARG_MEMORY, "too many");
}

// Numbers for which there is no scale; in formats without one they are packed.
TEST_F(bad_packed, pack_special_numbers) {
  const float limit_q8_0 = 65520.0f * 127, limit_q4_0 = 65520.0f * 8;
  const auto expect = [&](float special, std::initializer_list<int32_t> refused) {
    for (const int32_t at : {0, 37, n_in * n_out - 1}) {
      const float before = w_[at];
      w_[at] = special;
      for (const int32_t dtype : all_formats) {
        const auto call = [&] { return heed_weights_pack(plain(), dtype, room(dtype)); };
        if (std::find(refused.begin(), refused.end(), dtype) == refused.end())
          EXPECT_EQ(status_name(call()), "HEED_OK") << special << " as " << dtype;
        else
          refuses(call, HEED_NOT_FINITE, HEED_ARG_W, std::to_string(special) + " as " + std::to_string(dtype));
      }
      w_[at] = before;
    }
  };
  for (const float special : {not_a_number, infinity, -infinity}) expect(special, {HEED_INT8, HEED_Q8_0, HEED_Q4_0});
  expect(limit_q8_0, {HEED_Q8_0, HEED_Q4_0});
  expect(std::nextafter(limit_q8_0, 0.0f), {HEED_Q4_0});
  expect(-limit_q4_0, {HEED_Q4_0});
  expect(std::nextafter(-limit_q4_0, 0.0f), {});
  // Of int8 weights the scale decides, and the product: 127 * 3e36 is infinite.
  auto *const bytes = reinterpret_cast<int8_t *>(w_);
  for (int32_t i = 0; i < n_in * n_out; ++i) bytes[i] = 127;
  for (const float scale : {not_a_number, infinity, 3e36f})
    for (const int32_t dtype : {HEED_Q8_0, HEED_Q4_0, HEED_INT8}) {
      for (int32_t o = 0; o < n_out; ++o) scales_[o] = o == 2 ? scale : 1;
      const heed_weights w = heed_weights_of(w_, scales_, HEED_INT8, HEED_IN_OUT, n_in, n_out);
      const auto call = [&] { return heed_weights_pack(w, dtype, room(dtype)); };
      if (dtype == HEED_INT8)
        EXPECT_EQ(status_name(call()), "HEED_OK");
      else
        refuses(call, HEED_NOT_FINITE, HEED_ARG_W, "scale");
    }
}

// ---------------------------------------------------------------------------------------------------------- opening

TEST_F(bad_packed, open) {
  heed_weights *const w = reinterpret_cast<heed_weights *>(after_);
  for (const int32_t dtype : all_formats) {
    opened(dtype);
    const size_t bytes = room(dtype).bytes;
    auto *const header = reinterpret_cast<unsigned char *>(packed_);
    const auto refused = [&](const void *packed, size_t n, heed_fault fault, const std::string &what) {
      refuses([&] { return heed_weights_open(w, packed, n); }, fault, HEED_ARG_PACKED, what);
    };
    refused(nullptr, bytes, HEED_NULL_POINTER, "null");
    refused(packed_ + 8, bytes, HEED_MISALIGNED, "misaligned");
    refused(reinterpret_cast<void *>(~uintptr_t{63}), bytes, HEED_OVERFLOW, "at the top");
    for (const size_t n : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, bytes - 64, bytes - 1})
      refused(packed_, n, HEED_TOO_SMALL, "too few bytes");
    // Each byte of the header, changed.
    for (int32_t at = 0; at < 64; ++at) {
      const heed_fault fault = at < 8 ? HEED_BAD_MAGIC : at < 12 ? HEED_UNKNOWN_VERSION : HEED_CORRUPT;
      const unsigned char before = header[at];
      header[at] ^= 0x80;
      if (at != 16 && at != 17 && at != 18 && at != 20 && at != 21 && at != 22)  // else it is another shape
        refused(packed_, bytes, fault, "byte " + std::to_string(at));
      header[at] = before;
    }
    for (const int32_t at : {16, 20}) {  // a larger shape needs more bytes
      header[at] = static_cast<unsigned char>(header[at] + 128);
      refused(packed_, bytes, HEED_TOO_SMALL, "a larger shape");
      header[at] = static_cast<unsigned char>(header[at] - 128);
    }
    for (const unsigned char version : {0, 2, 4}) {
      header[8] = version;
      refused(packed_, bytes, HEED_UNKNOWN_VERSION, "version " + std::to_string(version));
    }
    header[8] = 1;
    refuses([&] { return heed_weights_open(nullptr, packed_, bytes); }, HEED_NULL_POINTER, HEED_ARG_W, "w null");
    refuses([&] { return heed_weights_open(misaligned(w), packed_, bytes); }, HEED_MISALIGNED, HEED_ARG_W,
            "w misaligned");
    for (float *inside : {packed_, packed_ + 16})
      refuses([&] { return heed_weights_open(reinterpret_cast<heed_weights *>(inside), packed_, bytes); }, HEED_OVERLAP,
              HEED_ARG_W, "w in the bytes");
    EXPECT_EQ(status_name(heed_weights_open(w, packed_, bytes)), "HEED_OK");
    EXPECT_EQ(status_name(heed_weights_open(w, packed_, room(HEED_F32).bytes)), "HEED_OK") << "more bytes";
    EXPECT_EQ(w->dtype, dtype);
    EXPECT_EQ(w->layout, HEED_PACKED);
    EXPECT_EQ(w->n_in, n_in);
    EXPECT_EQ(w->n_out, n_out);
  }
}

}  // namespace
}  // namespace heed_test
