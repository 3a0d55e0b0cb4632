// heed_import reads .npy, .safetensors, GGUF and its own flat files: whole ones, written here byte by byte, and damaged ones.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>

#include "convert.hpp"
#include "flat_file.hpp"
#include "ggml_blocks.hpp"
#include "receipts.hpp"
#include "select.hpp"
#include "support/import_files.hpp"

namespace {

using namespace heed_import;
using namespace import_files;

bytes numbers_of(const tensor &t) { return bytes(t.numbers().data, t.numbers().data + t.numbers().size); }

// --- .npy

bytes npy(const std::string &type, const std::string &shape, const bytes &numbers, const char *order = "False") {
  std::string header = "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header.resize((header.size() + 10) / 64 * 64 + 64 - 10 - 1, ' ');
  header += "\n";
  return add(letters("\x93NUMPY"), bytes{1, 0}, little(header.size(), 2), letters(header), numbers);
}
std::vector<tensor> read_w(span file) { return read_npy(file, "w"); }
std::string npy_refusal(const bytes &file) { return refusal_of(read_w, file); }

TEST(import_npy, reads_an_array) {
  const bytes file = npy("<f4", "(2, 3)", floats({1, 2, 3, 4, 5, 6}));
  const std::vector<tensor> t = read_w({file.data(), file.size()});
  EXPECT_EQ(t.at(0).name, "w");
  EXPECT_EQ(t[0].dims, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(numbers_of(t[0]), floats({1, 2, 3, 4, 5, 6}));
  const bytes one = npy("<f8", "()", {0, 0, 0, 0, 0, 0, 0xf8, 0x3f}), bytes_alone = npy("|u1", "(3,)", {1, 2, 255});
  EXPECT_EQ(floats_of(read_w({one.data(), one.size()})[0]), std::vector<float>{1.5f});
  EXPECT_EQ(floats_of(read_w({bytes_alone.data(), bytes_alone.size()})[0]), (std::vector<float>{1, 2, 255}));
}

TEST(import_npy, refuses_what_it_does_not_read) {
  EXPECT_EQ(npy_refusal(npy("<c8", "(1,)", bytes(8))), "is of '<c8': '<f8', '<f4', '<f2', '|u1' and '|i1' are read");
  EXPECT_EQ(npy_refusal(npy("<f4", "(2, 2)", bytes(16), "True")),
            "lies in Fortran's order: save numpy.ascontiguousarray(a)");
  EXPECT_EQ(npy_refusal(npy("<f4", "(2, 2)", bytes(15))), "has more or fewer bytes than its shape says");
  EXPECT_EQ(npy_refusal(npy("<f4", "(99999999999999999999, 2)", {})), "has 2^31 numbers or more");
  EXPECT_EQ(npy_refusal(npy("<f4", "(65536, 65536)", {})), "has 2^31 numbers or more");
  EXPECT_EQ(npy_refusal(npy("<f4", "(0, 3)", bytes(4))), "has more or fewer bytes than its shape says");
  EXPECT_EQ(npy_refusal(npy("<f4", "(1, 1, 1, 1, 1)", bytes(4))), "has 5 dimensions, at most 4 fit");
}

TEST(import_npy, says_that_it_has_no_numbers) {
  const bytes file = npy("<f4", "(0, 3)", {});
  EXPECT_EQ(read_w({file.data(), file.size()}).at(0).left_out, "has no numbers");
}

TEST(import_npy, does_no_harm_when_damaged) {
  expect_no_harm(read_w, npy("<f4", "(2, 3)", floats({1, 2, 3, 4, 5, 6})));
}

// --- receipts

std::string receipt_of_two_rows() {
  receipts::writer w({"net", {}, 1, false}, {});
  const std::vector<float> row = {1, 2, 3};
  w.input("rows", row);
  for (const int32_t layer : {0, 1}) receipts::writer::see(&w, layer, 0, heed_matrix_of(row.data(), 1, 3));
  return w.finish();
}
std::vector<tensor> read_any(span file) { return read_model(file, "net.receipt"); }

TEST(import_receipt, becomes_a_text_that_a_device_finds) {
  const std::string text = receipt_of_two_rows();
  const bytes file = letters(text);
  std::vector<tensor> t = read_any({file.data(), file.size()});
  ASSERT_EQ(t.size(), 1u);
  EXPECT_EQ(t[0].name.compare(0, 7, "golden."), 0) << t[0].name;
  const bytes flat = flat_file(t);
  expect_written(aligned_bytes(flat).all(), t);
  const aligned_bytes copy(flat);
  heed_file opened;
  ASSERT_EQ(heed_file_open(&opened, copy.all().data, copy.all().size), nullptr);
  EXPECT_EQ(heed_file_check(&opened), nullptr);
  const char *found = nullptr;
  size_t n = 0;
  ASSERT_EQ(heed_file_text(&opened, t[0].name.c_str(), &found, &n), nullptr);
  EXPECT_EQ(std::string(found, n), text);
  EXPECT_STREQ(heed_file_text(&opened, "golden", &found, &n), "the file has no tensor of this name");
  heed_weights w;
  EXPECT_NE(heed_file_weights(&opened, t[0].name.c_str(), 1, int32_t(n), &w), nullptr);
}

TEST(import_receipt, is_refused_if_it_is_not_whole) {
  const bytes file = letters(receipt_of_two_rows());
  EXPECT_EQ(refusal_of(read_any, bytes(file.begin(), file.end() - 1)),
            "the receipt is cut: its last line, \"end\", is missing");
  expect_no_harm(read_any, file);
}

// --- .safetensors

bytes safetensors(const std::string &header, const bytes &numbers) {
  return add(little(header.size(), 8), letters(header), numbers);
}

#ifdef HEED_IMPORT_SAFETENSORS
bytes some_safetensors() {
  return safetensors(R"({"__metadata__":{"dtype":"pt"},"wq":{"dtype":"F32","shape":[2,2],"data_offsets":[4,20]},)"
                     R"("norm":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
                     R"("position_ids":{"dtype":"I64","shape":[1],"data_offsets":[20,28]}})",
                     add(bytes{0x80, 0x3f, 0, 0xc0}, floats({1, 2, 3, 4}), bytes(8)));
}

TEST(import_safetensors, reads_tensors) {
  const bytes file = some_safetensors();
  const tensors t(read_safetensors({file.data(), file.size()}));
  EXPECT_EQ(t.numbers_of("wq"), floats({1, 2, 3, 4}));
  EXPECT_EQ(t.of("wq").layout, HEED_OUT_IN);
  EXPECT_EQ(floats_of(t.of("norm")), (std::vector<float>{1, -2}));
  EXPECT_EQ(t.of("position_ids").left_out, "is of integers");
}

TEST(import_safetensors, refuses_what_lies) {
  const auto refusal = [](const std::string &of_w, const bytes &numbers = bytes(16)) {
    return refusal_of(read_safetensors, safetensors("{\"w\":" + of_w + "}", numbers));
  };
  const std::string size = "w: has more or fewer bytes than its shape says",
                    beyond = "w: lies beyond the end: the file is truncated or damaged";
  EXPECT_EQ(refusal(R"({"dtype":"F32","shape":[2,2],"data_offsets":[0,16]})"), "");
  EXPECT_EQ(refusal(R"({"dtype":"F32","shape":[2,2],"data_offsets":[0,17]})"), size);
  EXPECT_EQ(refusal(R"({"dtype":"F32","shape":[2,3],"data_offsets":[0,24]})"), beyond);
  EXPECT_EQ(refusal(R"({"dtype":"I64","shape":[3],"data_offsets":[0,24]})"), beyond);
  EXPECT_EQ(refusal(R"({"dtype":"F32","shape":[2,2],"data_offsets":[8,4]})"),
            "w: has data_offsets that are no begin and end");
  EXPECT_EQ(refusal(R"({"dtype":"F32","shape":[2,2],"data_offsets":[0,16,16]})"),
            "w: has data_offsets that are no begin and end");
  EXPECT_EQ(refusal(R"({"dtype":"F32","shape":[2,1],"data_offsets":[0,16]})"), size);
  EXPECT_EQ(refusal(R"({"dtype":"F32","shape":[0],"data_offsets":[0,16]})"), size);
  EXPECT_EQ(refusal(R"({"dtype":"I64","shape":[1],"data_offsets":[0,16]})"), size);
  EXPECT_EQ(refusal(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,16]})"), size);
  EXPECT_EQ(refusal(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,16]})"),
            "w: has a shape that is not made of numbers");
  EXPECT_EQ(refusal(R"({"shape":[4],"data_offsets":[0,16]})"), "w: has no dtype");
  EXPECT_EQ(refusal(R"([])"), "w: is not an object of JSON");
  EXPECT_EQ(refusal_of(read_safetensors, safetensors("[1]", {})),
            "is no safetensors file: its header is not an object of JSON");
  EXPECT_EQ(refusal_of(read_safetensors, little(UINT64_MAX, 8)), "is no safetensors file, or it is truncated");
  const bytes deep = letters(std::string(100000, '['));
  EXPECT_EQ(refusal_of(read_safetensors, safetensors(std::string(deep.begin(), deep.end()), {})),
            "is no safetensors file: its header is not an object of JSON");
  const bytes narrow = safetensors(R"({"w":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", {0});
  EXPECT_EQ(read_safetensors({narrow.data(), narrow.size()})[0].refused, "is of F8_E4M3, which heed has not");
}

// As the format's own reader does: each byte belongs to one tensor, each key stands once.
TEST(import_safetensors, refuses_holes_overlaps_and_what_stands_twice) {
  const auto refusal = [](const std::string &header, size_t n) {
    return refusal_of(read_safetensors, safetensors(header, bytes(n)));
  };
  const auto two = [](const std::string &first, const std::string &second) {
    return R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)" + first +
           R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + second + "}}";
  };
  EXPECT_EQ(refusal(two("[0,4]", "[4,8]"), 8), "");
  EXPECT_EQ(refusal(two("[4,8]", "[0,4]"), 8), "");
  EXPECT_EQ(refusal(two("[0,4]", "[8,12]"), 12),
            "b: does not begin where the tensor before it ends: the file is damaged");
  EXPECT_EQ(refusal(two("[4,8]", "[8,12]"), 12),
            "a: does not begin where the tensor before it ends: the file is damaged");
  EXPECT_EQ(refusal(two("[0,4]", "[2,6]"), 8),
            "b: does not begin where the tensor before it ends: the file is damaged");
  EXPECT_EQ(refusal(two("[0,4]", "[0,4]"), 4),
            "b: does not begin where the tensor before it ends: the file is damaged");
  EXPECT_EQ(refusal(two("[0,4]", "[4,8]"), 9), "has bytes that belong to no tensor: the file is damaged");
  EXPECT_EQ(refusal("{}", 1), "has bytes that belong to no tensor: the file is damaged");
  EXPECT_EQ(refusal("{}      ", 0), "");
  EXPECT_EQ(refusal(" {}", 0), "is no safetensors file: its header is not an object of JSON");
  const std::string w = R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_EQ(refusal("{" + w + "," + w + "}", 4), "w: stands twice in the header");
  EXPECT_EQ(refusal(R"({"w":{"dtype":"F32","shape":[4],"shape":[1],"data_offsets":[0,4]}})", 4),
            "shape: stands twice in the header");
  EXPECT_EQ(refusal(R"({"__metadata__":{"dtype":1}})", 0), "__metadata__: is no table of texts");
  EXPECT_EQ(refusal(R"({"__metadata__":{"dtype":"pt"}})", 0), "");
  const std::string long_header = "{}" + std::string(100000000, ' ');
  EXPECT_EQ(refusal(long_header, 0), "has a header of more than 100 MB");
}

TEST(import_safetensors, reads_what_stands_beside_a_tensor_of_no_numbers) {
  const bytes file = safetensors(
      R"({"e":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
      floats({1, 2}));
  const tensors t(read_safetensors({file.data(), file.size()}));
  EXPECT_EQ(t.of("e").left_out, "has no numbers");
  EXPECT_EQ(t.numbers_of("w"), floats({1, 2}));
}

TEST(import_safetensors, does_no_harm_when_damaged) { expect_no_harm(read_safetensors, some_safetensors()); }
#endif

// --- GGUF

bytes gguf_text(const std::string &text) { return add(little(text.size(), 8), letters(text)); }

bytes gguf_entry(const std::string &name, const std::vector<uint64_t> &dims, uint64_t type, uint64_t offset) {
  bytes e = add(gguf_text(name), little(dims.size(), 4));
  for (const uint64_t dim : dims) add(e, little(dim, 8));
  return add(e, little(type, 4), little(offset, 8));
}

bytes gguf(const std::vector<bytes> &entries, const bytes &numbers, uint64_t alignment = 64) {
  bytes file = add(letters("GGUF"), little(3, 4), little(entries.size(), 8), little(8, 8));
  add(file, gguf_text("general.name"), little(8, 4), gguf_text("small"));
  add(file, gguf_text("general.alignment"), little(4, 4), little(alignment, 4));
  add(file, gguf_text("tokens"), little(9, 4), little(8, 4), little(2, 8), gguf_text("a"), gguf_text("b"));
  add(file, gguf_text("scores"), little(9, 4), little(6, 4), little(2, 8), bytes(8));
  add(file, gguf_text("kinds"), little(9, 4), little(5, 4), little(2, 8), little(6, 4), little(0xffffffff, 4));
  add(file, gguf_text("block_count"), little(4, 4), little(28, 4));
  add(file, gguf_text("offset"), little(11, 4), little(uint64_t(-5), 8));
  add(file, gguf_text("eps"), little(6, 4), floats({0.5f}));
  for (const bytes &entry : entries) add(file, entry);
  if (alignment) file.resize((file.size() + alignment - 1) / alignment * alignment);
  return add(file, numbers);
}

bytes some_gguf() {
  bytes numbers = floats({1, 2, 3, 4, 5, 6});
  numbers.resize(64);
  add(numbers, bytes{0, 0x3c}, bytes(16, 0x91));  // scale 1: 1 - 8 in the low halves, 9 - 8 in the high ones
  numbers.resize(128);
  add(numbers, bytes{0, 0x40}, bytes(32, 0xff));
  return gguf({gguf_entry("f", {3, 2}, 0, 0), gguf_entry("q4", {32}, 2, 64), gguf_entry("q8", {32, 1}, 8, 128),
               gguf_entry("k", {256}, 19, 0), gguf_entry("table", {2}, 26, 0), gguf_entry("none", {4, 0}, 0, 0)},
              numbers);
}

TEST(import_gguf, reads_tensors) {
  const bytes file = some_gguf();
  const tensors t(read_gguf({file.data(), file.size()}));
  EXPECT_EQ(t.of("f").dims, (std::vector<uint32_t>{2, 3}));  // 3 inputs, 2 outputs
  EXPECT_EQ(t.numbers_of("f"), floats({1, 2, 3, 4, 5, 6}));
  const std::vector<float> q4 = floats_of(t.of("q4"));
  EXPECT_EQ(q4[0], -7);
  EXPECT_EQ(q4[15], -7);
  EXPECT_EQ(q4[16], 1);
  EXPECT_EQ(floats_of(t.of("q8")), std::vector<float>(32, -2));
  EXPECT_EQ(t.of("table").left_out, "is of integers");
  EXPECT_EQ(t.of("none").left_out, "has no numbers");
  EXPECT_EQ(
      t.of("k").refused,
      "has the format IQ1_S, which is not read: llama-quantize makes another one of the file from which it was made");
}

TEST(import_gguf, keeps_what_it_says_of_the_model) {
  const bytes source = some_gguf();
  std::vector<std::string> left_out;
  selection everything;
  everything.leave_out = {"k"};
  everything.only = {"f"};
  const std::vector<tensor> chosen = selected(read_gguf({source.data(), source.size()}), everything, left_out);
  const bytes flat = flat_file(chosen);
  const aligned_bytes copy(flat);
  expect_written(copy.all(), chosen);
  heed_file file;
  ASSERT_EQ(heed_file_open(&file, copy.data(), copy.size()), nullptr);
  EXPECT_EQ(heed_file_check(&file), nullptr);
  const char *text = nullptr;
  size_t n = 0;
  ASSERT_EQ(heed_file_text(&file, "general.name", &text, &n), nullptr);
  EXPECT_EQ(std::string(text, n), "small");
  heed_file_list tokens;
  ASSERT_EQ(heed_file_open_list(&file, "tokens", &tokens), nullptr);
  ASSERT_EQ(tokens.n, 2u);
  text = heed_file_text_at(&tokens, 1, &n);
  EXPECT_EQ(std::string(text, n), "b");
  const int32_t *kinds = nullptr;
  ASSERT_EQ(heed_file_integers(&file, "kinds", 2, &kinds), nullptr);
  EXPECT_EQ(kinds[0], 6);
  EXPECT_EQ(kinds[1], -1);
  const float *scores = nullptr;
  EXPECT_EQ(heed_file_floats(&file, "scores", 2, &scores), nullptr);
  int64_t number = 0;
  EXPECT_EQ(heed_file_whole_number(&file, "block_count", 1, 100, &number), nullptr);
  EXPECT_EQ(number, 28);
  EXPECT_EQ(heed_file_whole_number(&file, "offset", -10, 100, &number), nullptr);
  EXPECT_EQ(number, -5);
  EXPECT_STREQ(heed_file_whole_number(&file, "block_count", 1, 27, &number), "the value is out of range");
  EXPECT_STREQ(heed_file_whole_number(&file, "eps", 0, 27, &number), "the value is no whole number, or too large");
  EXPECT_STREQ(heed_file_whole_number(&file, "block", 0, 27, &number), "the file has no value of this key");
  ASSERT_EQ(heed_file_value(&file, "eps", &text, &n), nullptr);
  EXPECT_EQ(std::string(text, n), "0.5");
}

// Blocks of random bytes as numbers: one sum of each format, which ggml's own dequantize_row functions (d99724f) give, too.
TEST(import_gguf, has_the_numbers_of_ggml) {
  const std::pair<int32_t, uint32_t> sums[] = {{3, 2854286075},  {6, 4177086917},  {7, 2434264864},  {9, 2163013061},
                                               {10, 3853056283}, {11, 2078523141}, {12, 3073907540}, {13, 718119717},
                                               {14, 3890985131}, {20, 2565302277}, {23, 3391605299}};
  for (const auto &[type, expected] : sums) {
    const ggml_block *const b = ggml_block_of(format_ggml + type);
    ASSERT_NE(b, nullptr) << type;
    heed_test::random_source r(uint64_t(type) + 9000);
    uint32_t sum = 2166136261u;
    for (int32_t i = 0; i < 1000; ++i) {
      uint8_t block[256];
      float numbers[256];
      for (uint8_t &byte : block) byte = uint8_t(r.next());
      b->to_floats(block, numbers);
      for (size_t k = 0; k < b->numbers; ++k) {
        uint32_t bits;
        std::memcpy(&bits, &numbers[k], 4);
        sum = (sum ^ (std::isnan(numbers[k]) ? 0x7fc00000 : bits)) * 16777619u;
      }
    }
    EXPECT_EQ(sum, expected) << b->name;
  }
}

TEST(import_gguf, refuses_what_lies) {
  const auto refusal = [](const bytes &entry, uint64_t alignment = 32) {
    return refusal_of(read_gguf, gguf({entry}, bytes(64), alignment));
  };
  EXPECT_EQ(refusal(gguf_entry("w", {16}, 0, 0)), "");
  EXPECT_EQ(refusal(gguf_entry("w", {16}, 0, 32)), "w: lies beyond the end: the file is truncated or damaged");
  EXPECT_EQ(refusal(gguf_entry("w", {16}, 0, UINT64_MAX - 31)),
            "w: lies beyond the end: the file is truncated or damaged");
  EXPECT_EQ(refusal(gguf_entry("w", {16}, 8, 0)), "w: is damaged: its rows are no whole blocks of 32");
  const bytes large = gguf({gguf_entry("w", {UINT64_MAX, UINT64_MAX}, 0, 0)}, bytes(64));
  EXPECT_EQ(read_gguf({large.data(), large.size()}).back().refused, "has 2^31 numbers or more");
  EXPECT_EQ(refusal(gguf_entry("w", std::vector<uint64_t>(9, 1), 0, 0)), "w: is damaged: has 9 dimensions");
  EXPECT_EQ(refusal(gguf_entry("w", {16}, 0, 0), 0), "is damaged: an alignment of 0");
  bytes many = some_gguf();
  for (size_t i = 8; i < 16; ++i) many[i] = 0xff;
  EXPECT_EQ(refusal_of(read_gguf, many), "is truncated or damaged: it says that more follows than its bytes can hold");
  bytes old = some_gguf();
  old[4] = 1;
  EXPECT_EQ(refusal_of(read_gguf, old), "has version 1 of GGUF: 2 and 3 are read");
}

TEST(import_gguf, does_no_harm_when_damaged) { expect_no_harm(read_gguf, some_gguf()); }

// --- any

TEST(import_model, is_known_by_its_beginning_or_its_name) {
  const auto refusal = [](const bytes &file, const std::string &path) {
    return refusal_of([&](span s) { return read_model(s, path); }, file);
  };
  EXPECT_EQ(refusal(some_gguf(), "a.bin"), "");
  EXPECT_EQ(refusal(npy("<f4", "(1,)", floats({1})), "folder.x/a"), "");
  EXPECT_EQ(refusal({}, "a.bin"), "is neither .npy nor .safetensors nor GGUF nor .onnx nor .tflite nor tokenizer.json");
}

}  // namespace
