// heed_import reads the tensors of TensorFlow Lite: names, shapes, scales and zero points; what it cannot use, it says; damaged files do
// no harm; the published KWT-1, if HEED_KWT1 names its folder. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>

#include "file_bytes.hpp"
#include "support/import_files.hpp"

namespace {

using namespace heed_import;
using namespace import_files;

enum { float32 = 0, float16 = 1, int32 = 2, uint8 = 3, int8 = 9, float64 = 10 };

tensor read_one(const tflite_tensor &t) {
  const bytes file = tflite_file({t});
  std::vector<tensor> all = read_model({file.data(), file.size()}, "model.tflite");
  EXPECT_EQ(all.size(), 1u);
  tensor one = std::move(all.at(0));
  one.own(bytes(one.numbers().data, one.numbers().data + one.numbers().size));
  return one;
}

TEST(import_tflite, reads_floats) {
  const tensor t = read_one({"dense/kernel", {2, 3}, float32, floats({1, 2, 3, 4, 5, 6}), {}, {}, 0});
  EXPECT_EQ(t.name, "dense/kernel");
  EXPECT_EQ(t.dims, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(t.layout, HEED_OUT_IN);
  EXPECT_EQ(floats_of(t), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(floats_of(read_one({"h", {2}, float16, {0, 0x3c, 0, 0xc0}, {}, {}, 0})), (std::vector<float>{1, -2}));
  EXPECT_EQ(floats_of(read_one({"d", {}, float64, {0, 0, 0, 0, 0, 0, 0xf8, 0x3f}, {}, {}, 0})),
            (std::vector<float>{1.5f}));
}

TEST(import_tflite, reads_scales_and_zero_points) {
  const tensor rows = read_one(small_tflite_tensor());
  EXPECT_EQ(rows.dtype, HEED_FILE_I8);
  EXPECT_EQ(rows.scales, (std::vector<float>{0.5f, 2}));
  EXPECT_EQ(rows.zeros, (std::vector<int32_t>{0, -1}));
  EXPECT_EQ(floats_of(rows), (std::vector<float>{0.5f, 1, 1.5f, 0, -2, -4}));
  const tensor columns = read_one({"w", {2, 3}, int8, {1, 2, 3, 4, 5, 6}, {1, 10, 100}, {0, 0, 0}, 1});
  EXPECT_EQ(columns.layout, HEED_IN_OUT);
  EXPECT_EQ(columns.scales.size(), 3u);
  const tensor whole = read_one({"w", {2, 2}, uint8, {128, 130, 126, 0}, {0.5f}, {128}, 0});
  EXPECT_EQ(floats_of(whole), (std::vector<float>{0, 1, -1, -64}));
  EXPECT_EQ(read_one({"w", {2}, int8, {1, 2}, {}, {}, 0}).scales, std::vector<float>{1});
}

TEST(import_tflite, says_what_it_cannot_use) {
  const auto why = [](const tflite_tensor &t) {
    const tensor found = read_one(t);
    return found.refused + found.left_out;
  };
  EXPECT_EQ(why({"i", {1}, int32, bytes(4), {}, {}, 0}), "is of integers, texts or another kind that is no weight");
  const tflite_tensor good = small_tflite_tensor();
  tflite_tensor bad = good;
  bad.zeros = {0};
  EXPECT_EQ(why(bad), "has more or fewer zero points than scales");
  bad = good, bad.dimension = 1;
  EXPECT_EQ(why(bad), "has 2 scales, neither one nor one for each output");
  bad = good, bad.dimension = 0x80000000;
  EXPECT_EQ(why(bad), "has 2 scales, neither one nor one for each output");
  bad = {"w", {1, 2, 3}, int8, bytes(6), {1, 1}, {0, 0}, 1};
  EXPECT_EQ(why(bad), "has its scales along dimension 1, neither the first nor the last");
  bad = good, bad.zeros = {0, 128};
  EXPECT_EQ(why(bad), "has a zero point beyond its numbers");
  bad = good, bad.scales = {1, NAN};
  EXPECT_EQ(why(bad), "has a scale that is not finite");
}

TEST(import_tflite, refuses_what_does_not_fit) {
  const auto why = [](const tflite_tensor &t) { return refusal_of(read_tflite, tflite_file({t})); };
  EXPECT_EQ(why({"w", {2, 3}, float32, bytes(20), {}, {}, 0}), "w: has more or fewer bytes than its shape says");
  EXPECT_EQ(why({"w", {0xffffffff}, float32, bytes(4), {}, {}, 0}), "w: has a dimension below 0");
  EXPECT_EQ(refusal_of(read_tflite, letters("no file")), "not a TensorFlow Lite file (no TFL3 mark)");
}

TEST(import_tflite, does_no_harm_when_damaged) {
  tflite_tensor second = small_tflite_tensor();
  second.type = float32, second.data = floats({1, 2, 3, 4, 5, 6}), second.scales.clear(), second.zeros.clear();
  expect_no_harm(read_tflite, tflite_file({small_tflite_tensor(), second}));
}

TEST(import_tflite, gives_equal_names_a_number) {
  const bytes file = tflite_file({small_tflite_tensor(), small_tflite_tensor()});
  const std::vector<tensor> all = read_tflite({file.data(), file.size()});
  EXPECT_EQ(all.at(0).name, "w");
  EXPECT_EQ(all.at(1).name, "w.1");
}

TEST(import_tflite, reads_a_published_model) {
  const char *const folder = std::getenv("HEED_KWT1");
  if (folder == nullptr) GTEST_SKIP() << "HEED_KWT1 does not name the folder of the model";
  const file_bytes file(std::string(folder) + "/non_stream.tflite");
  size_t n_matrices = 0, n_numbers = 0;
  for (const tensor &t : read_tflite(file.all())) {
    if (!is_usable(t)) continue;
    n_matrices += t.dims == std::vector<uint32_t>{64, 64};
    n_numbers += t.count();
    for (const float x : floats_of(t)) ASSERT_TRUE(std::isfinite(x));
  }
  EXPECT_EQ(n_matrices, 48u);  // queries, keys, values and outputs of 12 layers
  EXPECT_GT(n_numbers, 600000u);
}

}  // namespace
