// heed_import reads ONNX: files written here byte by byte, damaged ones, and those that HEED_MOONSHINE names, whose table
// weights.tsv says what every weight is. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "support/import_files.hpp"

#ifdef HEED_IMPORT_ONNX
namespace {

using namespace heed_import;
using namespace import_files;

using protobuf::number;
using protobuf::text;

using onnx::initializer;
using onnx::model_of;
using onnx::node;

// Floats, halves, a quantised matrix, a quantised convolution with a zero point that is added, a scale for each output.
bytes small_model() {
  bytes g;
  add(g, text(1, node("MatMul", {"x", "w"})),
      text(1, node("Gemm", {"x", "turned"}, text(5, add(text(1, "transB"), number(3, 1))))));
  add(g, text(1, node("DequantizeLinear", {"q", "q_scales"}, {}, {"q_numbers"})),
      text(1, node("MatMulInteger", {"x", "m_quantized"})));
  add(g, text(5, initializer("w", {2, 3}, 1, floats({1, 2, 3, 4, 5, 6}))));
  add(g, text(5, initializer("turned", {3, 2}, 10, {0, 0x3c, 0, 0x40, 0, 0x42, 0, 0x44, 0, 0x45, 0, 0x46})));
  add(g, text(5, initializer("shape", {2}, 7, bytes(16))));
  add(g, text(5, initializer("m_quantized", {2, 2}, 2, {0, 128, 255, 3})));
  add(g, text(5, initializer("m_scale", {}, 1, floats({0.5f}))), text(5, initializer("m_zero_point", {}, 2, {128})));
  add(g, text(5, initializer("c_quantized", {2, 1, 2}, 3, {0x80, 0xff, 1, 2})));
  add(g, text(5, initializer("c_scale", {1}, 1, floats({0.25f}))),
      text(5, initializer("c_zero_point", {1}, 1, floats({1.5f}))));
  add(g, text(5, initializer("q", {2, 2}, 3, {1, 2, 3, 4})), text(5, initializer("q_scales", {2}, 1, floats({2, 4}))));
  return model_of(g);
}

TEST(import_onnx, reads_initializers) {
  const bytes file = small_model();
  const tensors t(read_onnx({file.data(), file.size()}));
  EXPECT_EQ(t.of("w").layout, HEED_IN_OUT);
  EXPECT_EQ(t.of("w").dims, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(bytes(t.of("w").numbers().data, t.of("w").numbers().data + 24), floats({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(t.of("turned").layout, HEED_OUT_IN);
  EXPECT_EQ(t.of("turned").dtype, HEED_F16);
  EXPECT_EQ(t.of("shape").left_out, "is of integers");
  EXPECT_EQ(t.of("m").dtype, HEED_FILE_U8);
  EXPECT_EQ(t.of("m").layout, HEED_IN_OUT);
  EXPECT_EQ(t.of("m").zeros, std::vector<int32_t>{128});
  EXPECT_EQ(t.of("m").scales, std::vector<float>{0.5f});
  EXPECT_THROW(t.of("m_scale"), std::runtime_error);
  EXPECT_EQ(t.of("c").dtype, HEED_FILE_I8_PLUS);
  EXPECT_EQ(t.of("c").float_zeros, std::vector<float>{1.5f});
  EXPECT_EQ(t.of("q").scales, (std::vector<float>{2, 4}));
  EXPECT_EQ(t.of("q").zeros, (std::vector<int32_t>{0, 0}));
}

TEST(import_onnx, suggests_names_of_nodes) {
  const bytes reads =
      add(node("MatMulInteger", {"x", "onnx::MatMul_1_quantized"}), text(3, "/layers.0/q_proj/MatMul_quant"));
  const bytes adds = add(node("Add", {"x", "onnx::Add_2"}), text(3, "/norm/Add")),
              plain = add(node("Mul", {"x", "onnx::Mul_3"}), text(3, "Mul_3"));
  bytes g = add(text(1, reads), text(1, adds), text(1, plain),
                text(5, initializer("onnx::MatMul_1_quantized", {1, 2}, 2, {1, 2})));
  add(g, text(5, initializer("onnx::MatMul_1_scale", {}, 1, floats({2}))),
      text(5, initializer("onnx::Add_2", {1}, 1, floats({2}))));
  const bytes file = model_of(add(g, text(5, initializer("onnx::Mul_3", {1}, 1, floats({2})))));
  const tensors t(read_onnx({file.data(), file.size()}));
  EXPECT_EQ(t.of("onnx::MatMul_1").suggested, "layers.0.q_proj.weight");
  EXPECT_EQ(t.of("onnx::Add_2").suggested, "norm.bias");
  EXPECT_EQ(t.of("onnx::Mul_3").suggested, "");
}

TEST(import_onnx, reads_numbers_in_lists) {
  bytes w, packed;
  for (const float f : {1.0f, -2.0f}) add(w, protobuf::fixed(4, f));
  add(w, number(1, 2), number(2, 1), text(8, "one by one"));
  add(packed, text(1, bytes{1, 2}), number(2, 1), text(8, "packed"), text(4, floats({3, 4})));
  bytes halves, zero;
  add(halves, number(1, 2), number(2, 10), text(8, "halves"), text(5, bytes{0x80, 0x78, 0}));
  add(zero, number(2, 2), text(8, "scalar"), number(5, 129));
  const bytes file = model_of(add(text(5, w), text(5, packed), text(5, halves), text(5, zero)));
  const tensors t(read_onnx({file.data(), file.size()}));
  EXPECT_EQ(t.numbers_of("one by one"), floats({1, -2}));
  EXPECT_EQ(t.numbers_of("packed"), floats({3, 4}));
  EXPECT_EQ(t.numbers_of("halves"), (bytes{0, 0x3c, 0, 0}));
  EXPECT_EQ(t.numbers_of("scalar"), bytes{129});
}

TEST(import_onnx, refuses_by_name) {
  const auto refusal_of = [](const bytes &graph) { return import_files::refusal_of(read_onnx, model_of(graph)); };
  const bytes w = initializer("w", {2, 2}, 1, floats({1, 2, 3, 4}));
  EXPECT_EQ(refusal_of(text(5, w)), "");
  EXPECT_EQ(refusal_of(add(text(5, w), text(5, w))), "w: two initializers have this name");
  EXPECT_EQ(refusal_of(text(5, initializer("w", {2, 3}, 1, floats({1, 2, 3, 4})))),
            "w: has more or fewer numbers than its shape says");
  bytes deep = text(5, w);
  for (int i = 0; i < 40; ++i) deep = text(1, text(5, text(6, deep)));
  EXPECT_EQ(refusal_of(deep), "is damaged: graphs in graphs, more than 16 deep");
  EXPECT_EQ(import_files::refusal_of(read_onnx, number(1, 8)), "is no ONNX file: it has no graph");
}

TEST(import_onnx, says_what_it_cannot_read) {
  bytes elsewhere = initializer("w", {2, 2}, 1, {});
  add(elsewhere, number(14, 1));
  const bytes file = model_of(add(text(5, elsewhere), text(5, initializer("narrow", {2}, 17, {1, 2})),
                                  text(5, initializer("deep", {1, 1, 1, 1, 2}, 1, floats({1, 2}))),
                                  text(5, initializer("wide", {uint64_t(1) << 40, uint64_t(1) << 40}, 1, {})),
                                  text(5, initializer("large", {1u << 30, 1u << 30, 1u << 30}, 1, {})),
                                  text(5, initializer("roi", {0}, 1, {}))));
  const tensors t(read_onnx({file.data(), file.size()}));
  EXPECT_EQ(t.of("w").refused, "lies in a file of its own, and the folder of the model is not known");
  EXPECT_EQ(t.of("narrow").refused, "is of ONNX's type 17, which heed has not");
  EXPECT_EQ(t.of("deep").refused, "has 5 dimensions, at most 4 fit");
  EXPECT_EQ(t.of("wide").refused, "has 2^31 numbers or more");
  EXPECT_EQ(t.of("large").refused, "has 2^31 numbers or more");
  EXPECT_EQ(t.of("roi").left_out, "has no numbers");
}

// Numbers in a file beside the model, at an offset; its path is told, so that no output replaces it.
TEST(import_onnx, reads_external_data) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("heed_import_onnx." + std::to_string(getpid()));
  fs::create_directories(folder);
  const auto entry = [](const std::string &key, const std::string &value) {
    return text(13, add(text(1, key), text(2, value)));
  };
  const auto model = [&](const std::string &location) {
    bytes w = add(number(1, 2), number(2, 1), text(8, std::string("w")), number(14, 1));
    add(w, entry("location", location), entry("offset", "4"), entry("length", "8"));
    return model_of(text(5, w));
  };
  const bytes data = floats({9, 1, 2});
  std::ofstream(folder / "w.bin", std::ios::binary)
      .write(reinterpret_cast<const char *>(data.data()), std::streamsize(data.size()));
  const std::string path = (folder / "m.onnx").string();
  std::vector<std::string> others;
  const bytes file = model("w.bin");
  const tensors t(read_model({file.data(), file.size()}, path, &others));
  EXPECT_EQ(t.numbers_of("w"), floats({1, 2}));
  EXPECT_EQ(others, std::vector<std::string>{(folder / "w.bin").string()});
  const auto read = [&](span s) { return read_model(s, path); };
  EXPECT_EQ(import_files::refusal_of(read, model("../w.bin")),
            "w: its external data lies at ../w.bin, which is not in the folder of the model");
  EXPECT_EQ(import_files::refusal_of(read, model("none")),
            "w: its numbers lie in " + (folder / "none").string() + ", which cannot be opened");
  fs::remove_all(folder);
}

TEST(import_onnx, does_no_harm_when_damaged) { import_files::expect_no_harm(read_onnx, small_model()); }

// The published speech model: every weight's shape, scale, zero point, first and last number and sum.
class import_moonshine : public testing::Test {
 protected:
  void SetUp() override {
    const char *folder = std::getenv("HEED_MOONSHINE");
    if (folder == nullptr || *folder == '\0')
      GTEST_SKIP() << "HEED_MOONSHINE does not name the folder of the speech model";
    folder_ = folder;
  }
  std::string folder_;
};

// As the table's README says it: the product, then perhaps the sum, each rounded to f32.
float number_of(const tensor &t, size_t i) {
  const uint8_t *p = t.numbers().data;
  if (t.dtype == HEED_F32) return f32_at(p + 4 * i);
  const int32_t q = t.dtype == HEED_FILE_U8 ? int32_t(p[i]) : int32_t(int8_t(p[i]));
  if (t.dtype == HEED_FILE_U8) return float(q - t.zeros.at(0)) * t.scales.at(0);
  const volatile float product = float(q) * t.scales.at(0);
  return product + t.float_zeros.at(0);
}

TEST_F(import_moonshine, has_the_weights_of_its_table) {
  std::ifstream table(folder_ + "/weights.tsv");
  std::string line, file_name;
  std::map<std::string, std::pair<bytes, std::unique_ptr<tensors>>> files;
  std::getline(table, line);
  int n = 0;
  while (std::getline(table, line)) {
    std::istringstream in(line);
    std::string file, weight, initializer, type, shape, offset, n_bytes, scale, zero;
    double first, last, sum;
    in >> file >> weight >> initializer >> type >> shape >> offset >> n_bytes >> scale >> zero >> first >> last >> sum;
    auto &[content, read] = files[file];
    if (!read) {
      content = read_file(folder_ + "/" + file);
      read = std::make_unique<tensors>(read_onnx({content.data(), content.size()}));
    }
    if (type != "f32") initializer.resize(initializer.size() - 10);  // "_quantized"
    const tensor &t = read->of(initializer);
    SCOPED_TRACE(weight);
    std::string dims;
    for (const uint32_t dim : t.dims) dims += (dims.empty() ? "" : "x") + std::to_string(dim);
    EXPECT_EQ(dims, shape);
    EXPECT_EQ(t.numbers().data, content.data() + std::stoull(offset));
    EXPECT_EQ(t.numbers().size, std::stoull(n_bytes));
    if (type != "f32") {
      EXPECT_EQ(t.scales.at(0), std::stof(scale));
    }
    const bool is_matrix = type == "u8" && initializer.find("embed") == std::string::npos;
    EXPECT_EQ(t.layout, is_matrix ? HEED_IN_OUT : HEED_OUT_IN);
    double total = 0;
    for (size_t i = 0; i < t.count(); ++i) total += double(number_of(t, i));
    EXPECT_NEAR(number_of(t, 0), first, 1e-8 * std::fabs(first));
    EXPECT_NEAR(number_of(t, t.count() - 1), last, 1e-8 * std::fabs(last));
    EXPECT_NEAR(total, sum, 1e-7 * std::fabs(sum) + 1e-6);
    ++n;
  }
  EXPECT_EQ(n, 162);
}

}  // namespace
#endif
