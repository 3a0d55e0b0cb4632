// The flat file of weights: what heed_import writes, the reader in C shows, whole or damaged. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdlib>

#include "flat_file.hpp"
#include "support/import_files.hpp"

namespace {

using namespace heed_import;
using namespace import_files;

tensor tensor_of(const std::string &name, const std::vector<uint32_t> &dims, int32_t dtype, int32_t layout,
                 const bytes &numbers) {
  tensor t;
  t.name = name;
  t.dims = dims;
  t.dtype = dtype;
  t.layout = layout;
  t.own(bytes(numbers));
  return t;
}

bytes counting(size_t n) {
  bytes b;
  for (size_t i = 0; i < n; ++i) b.push_back(uint8_t(i * 7 + 1));
  return b;
}

std::vector<tensor> some_tensors() {
  std::vector<tensor> all;
  all.push_back(tensor_of("norm", {3}, HEED_F32, HEED_OUT_IN, floats({1, -2, 3})));
  all.push_back(tensor_of("wq", {2, 3}, HEED_F16, HEED_IN_OUT, counting(12)));
  all.push_back(tensor_of("wk", {2, 3}, HEED_INT8, HEED_OUT_IN, counting(6)));
  all.back().scales = {0.5f, 2};
  all.push_back(tensor_of("wv", {2, 32}, HEED_Q4_0, HEED_OUT_IN, counting(36)));
  all.push_back(tensor_of("m", {3, 2}, HEED_FILE_U8, HEED_IN_OUT, counting(6)));
  all.back().scales = {0.25f};
  all.back().zeros = {130};
  all.push_back(tensor_of("conv", {2, 1, 3}, HEED_FILE_I8_PLUS, HEED_OUT_IN, counting(6)));
  all.back().scales = {0.25f, 3};
  all.back().float_zeros = {1.5f, -1};
  all.push_back(tensor_of("rope", {2, 2}, HEED_FILE_I16, HEED_OUT_IN, counting(8)));
  return all;
}

class image : public aligned_bytes {
 public:
  using aligned_bytes::aligned_bytes;
  std::string open(heed_file &file) const { return text(heed_file_open(&file, data(), size())); }
  static std::string text(const char *error) { return error ? error : ""; }
};

// Reads all that a file says; the address sanitizer watches.
std::string read_all(const bytes &content) {
  const image memory(content);
  heed_file file;
  const std::string error = memory.open(file);
  if (!error.empty()) return error;
  for (uint32_t i = 0; i < file.n_tensors; ++i) {
    const heed_file_tensor t = heed_file_tensor_at(&file, i);
    EXPECT_NE(std::string(t.name) + char('a' + t.n_dims % 20), "");
    heed_weights w;
    for (const auto &get : {heed_file_weights, heed_file_zero_points, heed_file_blocks, heed_file_packed})
      get(&file, t.name, t.n_in, t.n_out, &w);
  }
  const std::string sum = image::text(heed_file_check(&file));
  EXPECT_EQ(image::text(heed_file_swap(memory.data(), memory.size())), "");
  return sum;
}

TEST(flat_file, shows_what_was_written) {
  const image memory(flat_file(some_tensors()));
  heed_file file;
  ASSERT_EQ(memory.open(file), "");
  ASSERT_EQ(heed_file_check(&file), nullptr);
  EXPECT_EQ(file.n_tensors, 7u);
  const float *norm;
  ASSERT_EQ(heed_file_floats(&file, "norm", 3, &norm), nullptr);
  EXPECT_EQ(norm[1], -2);
  EXPECT_STREQ(heed_file_floats(&file, "norm", 4, &norm), "the tensor has another number of floats");
  EXPECT_STREQ(heed_file_floats(&file, "wq", 6, &norm), "the tensor is not of floats");
  EXPECT_STREQ(heed_file_floats(&file, "nor", 6, &norm), "the file has no tensor of this name");
  heed_weights w;
  ASSERT_EQ(heed_file_weights(&file, "wq", 2, 3, &w), nullptr);
  EXPECT_EQ(std::memcmp(w.data, counting(12).data(), 12), 0);
  EXPECT_EQ(w.row_stride, 3);
  EXPECT_EQ(w.dtype, HEED_F16);
  EXPECT_STREQ(heed_file_weights(&file, "wq", 3, 2, &w), "the tensor has another shape");
  ASSERT_EQ(heed_file_weights(&file, "wk", 3, 2, &w), nullptr);
  EXPECT_EQ(w.scales[1], 2);
  EXPECT_EQ(w.layout, HEED_OUT_IN);
  ASSERT_EQ(heed_file_blocks(&file, "wv", 32, 2, &w), nullptr);
  EXPECT_EQ(w.dtype, HEED_Q4_0);
  EXPECT_STREQ(heed_file_weights(&file, "wv", 32, 2, &w), "the weights are in blocks: use heed_file_blocks");
  EXPECT_STREQ(heed_file_packed(&file, "wv", 32, 2, &w), "the weights are not packed");
  EXPECT_STREQ(heed_file_weights(&file, "m", 3, 2, &w), "the weights have zero points: use heed_file_zero_points");
  EXPECT_STREQ(heed_file_zero_points(&file, "wv", 32, 2, &w), "the weights have no zero points");
  ASSERT_EQ(heed_file_zero_points(&file, "m", 3, 2, &w), nullptr);
  EXPECT_EQ(w.dtype, HEED_UINT8);
  heed_file_tensor t;
  ASSERT_EQ(heed_file_find(&file, "m", &t), nullptr);
  EXPECT_EQ(static_cast<const uint8_t *>(t.zeros)[0], 130);
  EXPECT_EQ(t.n_scales, 1u);
  ASSERT_EQ(heed_file_find(&file, "conv", &t), nullptr);
  EXPECT_EQ(static_cast<const float *>(t.zeros)[1], -1);
  EXPECT_EQ(t.n_in, 3);
  EXPECT_EQ(t.n_out, 2);
  EXPECT_EQ(t.dims[1], 1);
  ASSERT_EQ(heed_file_find(&file, "rope", &t), nullptr);
  EXPECT_EQ(t.dtype, HEED_FILE_I16);
  EXPECT_EQ(t.n_bytes, 8u);
  EXPECT_EQ(static_cast<const int16_t *>(t.data)[1], 15 + 22 * 256);
  EXPECT_STREQ(heed_file_weights(&file, "rope", 2, 2, &w),
               "the weights have a format of the file alone: use heed_file_find");
}

TEST(flat_file, holds_packed_weights) {
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  alignas(64) uint8_t packed[HEED_WEIGHTS_PACKED_BYTES(HEED_F32, 3, 2)];
  const heed_weights plain = heed_weights_of(numbers.data(), nullptr, HEED_F32, HEED_OUT_IN, 3, 2);
  ASSERT_EQ(heed_weights_pack(plain, HEED_F32, heed_memory{packed, sizeof packed}), HEED_OK);
  std::vector<tensor> all;
  all.push_back(tensor_of("w", {2, 3}, HEED_F32, HEED_PACKED, bytes(packed, packed + sizeof packed)));
  bytes content = flat_file(all);
  const image memory(content);
  heed_file file;
  heed_weights w;
  ASSERT_EQ(memory.open(file), "");
  ASSERT_EQ(heed_file_packed(&file, "w", 3, 2, &w), nullptr);
  const float x[3] = {1, 10, 100};
  float y[2];
  ASSERT_EQ(heed_linear(heed_matrix_of(x, 1, 3), w, nullptr, heed_matrix_out_of(y, 1, 2), nullptr), HEED_OK);
  EXPECT_EQ(y[0], 321);
  content[content.size() - sizeof packed] ^= 1;  // the mark of packed weights
  const image damaged(content);
  ASSERT_EQ(damaged.open(file), "");
  EXPECT_STREQ(heed_file_packed(&file, "w", 3, 2, &w),
               "the file is damaged: packed weights are not what the entry says");
}

TEST(flat_file, is_refused_when_it_is_not_one) {
  const bytes content = flat_file(some_tensors());
  heed_file file;
  EXPECT_STREQ(heed_file_open(&file, nullptr, 100), "there is no file: its address is null");
  bytes longer(1);
  longer.insert(longer.end(), content.begin(), content.end());
  const image shifted(longer);
  EXPECT_STREQ(heed_file_open(&file, shifted.data() + 1, content.size()), "the file is not aligned to 64 bytes");
  EXPECT_EQ(image(bytes(100)).open(file), "this is not a file of heed_import: it does not begin with HEEDFILE");
  bytes other = content;
  other[8] = 2;
  EXPECT_EQ(image(other).open(file), "the file has a version that this reader does not know");
  for (size_t n = 0; n < content.size(); ++n) {
    ASSERT_NE(read_all(bytes(content.begin(), content.begin() + ptrdiff_t(n))), "") << n;
  }
}

// Each damaged byte is seen by a sum, unless it is padding.
TEST(flat_file, shows_damage) {
  const bytes content = flat_file(some_tensors());
  ASSERT_EQ(read_all(content), "");
  for (size_t i = 0; i < content.size(); ++i) {
    bytes damaged = content;
    damaged[i] ^= 0x40;
    const std::string error = read_all(damaged);
    if (content[i] != 0) {
      ASSERT_NE(error, "") << i;
    }
  }
}

// Entries that lie, under a sum that is right.
TEST(flat_file, does_no_harm_when_it_lies) {
  const bytes content = flat_file(some_tensors());
  const size_t contents = number_at(&content[20], 4);
  heed_test::random_source r(4);
  int n_opened = 0;
  for (int i = 0; i < heed_test::repetitions(20000); ++i) {
    bytes lie = content;
    for (int k = 1 << r.between(0, 2); k > 0; --k) {
      const size_t at =
          r.chance(10) ? size_t(r.between(2, 5)) * 4 : 64 + 4 * size_t(r.between(0, int32_t(contents - 64) / 4 - 1));
      const uint32_t words[] = {
          0, 1, 64, 0xffffffff, 0x80000000, 0x7fffffff, uint32_t(r.next()), uint32_t(r.between(0, 2000))};
      const uint32_t word = words[r.between(0, 7)];
      for (size_t b = 0; b < 4; ++b) lie[at + b] = uint8_t(word >> 8 * b);
    }
    uint32_t sum = 2166136261u;
    for (size_t at = 64; at < contents; at += 4) sum = (sum ^ uint32_t(number_at(&lie[at], 4))) * 16777619u;
    for (size_t b = 0; b < 4; ++b) lie[24 + b] = uint8_t(sum >> 8 * b);
    n_opened += read_all(lie).empty();
  }
  EXPECT_GT(n_opened, 0);
}

// What a processor of the other byte order sees: here the file itself is turned.
TEST(flat_file, turns_for_the_other_byte_order) {
  const bytes content = flat_file(some_tensors());
  bytes other = content;
  std::swap(other[28], other[31]);  // the word of the byte order
  std::swap(other[29], other[30]);
  const image memory(other);
  heed_file file;
  EXPECT_EQ(memory.open(file), "the numbers have the other byte order: call heed_file_swap first");
  ASSERT_EQ(heed_file_swap(memory.data(), memory.size()), nullptr);
  ASSERT_EQ(memory.open(file), "");
  const float *norm;
  ASSERT_EQ(heed_file_floats(&file, "norm", 3, &norm), nullptr);
  uint32_t word;
  std::memcpy(&word, &norm[1], 4);
  EXPECT_EQ(word, 0x000000c0u);  // -2.0f, turned
  heed_weights w;
  ASSERT_EQ(heed_file_weights(&file, "wq", 2, 3, &w), nullptr);
  EXPECT_EQ(static_cast<const uint8_t *>(w.data)[0], counting(12)[1]);
  heed_file_tensor t;
  ASSERT_EQ(heed_file_find(&file, "rope", &t), nullptr);
  EXPECT_EQ(static_cast<const int16_t *>(t.data)[1], 22 + 15 * 256);
  ASSERT_EQ(heed_file_swap(memory.data(), memory.size()), nullptr);  // nothing left to do
  EXPECT_EQ(memory.open(file), "");
}

// What heed_import asks of a file before it gives it its name.
TEST(flat_file, is_compared_with_what_was_written) {
  const auto refusal_of = [](const bytes &content, const std::vector<tensor> &tensors) {
    const image memory(content);
    try {
      expect_written(memory.all(), tensors);
      return std::string();
    } catch (const refusal &error) {
      return std::string(error.what());
    }
  };
  const bytes content = flat_file(some_tensors());
  EXPECT_EQ(refusal_of(content, some_tensors()), "");
  bytes damaged = content;
  damaged[damaged.size() - 64] ^= 1;
  EXPECT_NE(refusal_of(damaged, some_tensors()), "");
  EXPECT_NE(refusal_of(bytes(content.begin(), content.end() - 64), some_tensors()), "");
  const auto changed = [&](void (*change)(tensor &)) {
    std::vector<tensor> tensors = some_tensors();
    change(tensors[4]);
    return refusal_of(content, tensors);
  };
  EXPECT_EQ(changed([](tensor &t) { t.scales[0] = 0.5f; }), "m: is not what was written");
  EXPECT_EQ(changed([](tensor &t) { t.zeros[0] = 1; }), "m: is not what was written");
  EXPECT_EQ(changed([](tensor &t) { t.layout = HEED_OUT_IN; }), "m: is not what was written");
  EXPECT_EQ(changed([](tensor &t) { t.dims = {2, 3}; }), "m: is not what was written");
  EXPECT_EQ(changed([](tensor &t) { t.own(bytes(6)); }), "m: is not what was written");
  EXPECT_EQ(changed([](tensor &t) { t.name = "n"; }), "n: is not what was written");
}

TEST(flat_file, is_not_written_with_what_its_reader_refuses) {
  const auto refusal_of = [](tensor &&t) {
    std::vector<tensor> all;
    all.push_back(std::move(t));
    try {
      flat_file(all);
      return std::string();
    } catch (const refusal &error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(refusal_of(tensor_of("w", {2, 32}, HEED_Q4_0, HEED_OUT_IN, counting(36))), "");
  EXPECT_EQ(refusal_of(tensor_of("w", {2, 32}, HEED_Q4_0, HEED_IN_OUT, counting(36))),
            "w: is in blocks, but no matrix of whole blocks");
  EXPECT_EQ(refusal_of(tensor_of("w", {32}, HEED_Q4_0, HEED_OUT_IN, counting(18))),
            "w: is in blocks, but no matrix of whole blocks");
  tensor scaled = tensor_of("w", {3, 4}, HEED_FILE_I8, HEED_OUT_IN, counting(12));
  scaled.scales = {1, 2, 3, 4}, scaled.zeros = {0, 0, 0, 0};
  EXPECT_EQ(refusal_of(std::move(scaled)), "w: has 4 scales for 3 outputs");
}

TEST(flat_file, has_each_name_once) {
  std::vector<tensor> all = some_tensors();
  all.back().name = "norm";
  EXPECT_THROW(flat_file(all), refusal);
}

}  // namespace
