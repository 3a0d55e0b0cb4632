// Files around keyword spotting: the model file's reader under damage of every kind, WAV and expected.tsv.
// Tests of the published model need its folder in the environment variable HEED_KWT1. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "../ports/import/tensor.hpp"
#include "../ports/import/tflite_graph.hpp"
#include "host_files.hpp"
#include "kwt.h"
#include "kwt_network.hpp"
#include "support/random.hpp"

namespace {

using bytes = std::vector<uint8_t>;
using heed_test::random_source;
using heed_test::repetitions;

// What the reader says; empty when it accepts. Anything but a refusal fails the test.
std::string refusal_of(const bytes &file) {
  try {
    // A copy of exactly this size lets the address sanitizer see a read beyond the end.
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[file.size()]);
    std::copy(file.begin(), file.end(), exact.get());
    network::read_kwt(exact.get(), file.size());
    return "";
  } catch (const heed_import::refusal &error) {
    return error.what();
  }
}

TEST(kwt_model_file, that_is_none_is_refused) {
  EXPECT_NE(refusal_of({}).find("not a TensorFlow Lite file"), std::string::npos);
  EXPECT_NE(refusal_of(bytes(7, 0)).find("not a TensorFlow Lite file"), std::string::npos);
  EXPECT_NE(refusal_of(bytes(100000, 0xff)).find("not a TensorFlow Lite file"), std::string::npos);
  EXPECT_NE(refusal_of({4, 0, 0, 0, 'T', 'F', 'L', '3'}), "");
  EXPECT_NE(refusal_of({0, 0, 0, 0, 'T', 'F', 'L', '3'}), "");
  EXPECT_NE(refusal_of({255, 255, 255, 255, 'T', 'F', 'L', '3'}), "");
}

TEST(kwt_model_file, of_random_bytes_is_refused) {
  random_source r(1);
  for (int i = 0; i < repetitions(20000); ++i) {
    bytes file(size_t(r.between(8, 400)));
    // Small numbers lead deeper into the tables than large ones, which point outside at once.
    for (uint8_t &b : file) b = r.chance(60) ? 0 : uint8_t(r.between(0, r.chance(80) ? 32 : 255));
    std::memcpy(&file[4], "TFL3", 4);
    ASSERT_NE(refusal_of(file), "");
  }
}

class kwt_published_model : public testing::Test {
 protected:
  void SetUp() override {
    const char *folder = std::getenv("HEED_KWT1");
    if (folder == nullptr || *folder == '\0')
      GTEST_SKIP() << "HEED_KWT1 does not name the folder of the published model";
    file_ = files::read(std::string(folder) + "/non_stream.tflite");
    ASSERT_EQ(refusal_of(file_), "");
  }
  // The file with one number of a constant changed: the first float constant of one element that equals `from`.
  bytes with_scalar(float from, float to) const {
    bytes changed = file_;
    for (const tflite::tensor &t : tflite::read_graph(file_.data(), file_.size()).tensors) {
      if (t.element_type == 0 && t.data.length == 4 && std::memcmp(&file_[t.data.first], &from, 4) == 0) {
        std::memcpy(&changed[t.data.first], &to, 4);
        return changed;
      }
    }
    throw std::runtime_error("no such constant");
  }
  bytes file_;
};

TEST_F(kwt_published_model, has_these_weights) {
  const auto weights = network::read_kwt(file_.data(), file_.size());
  EXPECT_FLOAT_EQ(weights->log_floor, 1e-12f);
  EXPECT_FLOAT_EQ(weights->norm_epsilon, 1e-6f);
  // Facts of the front end that a wrong transpose or a wrong pair of matrices would break.
  EXPECT_NEAR(weights->window[240], 1.0, 1e-6);
  EXPECT_EQ(weights->dft[0][0], 1.0f);
  EXPECT_EQ(weights->dft[1][0], 1.0f);
  EXPECT_EQ(weights->dft[0][1], 1.0f);
  EXPECT_NEAR(weights->dft[1][1], 0.99992472, 1e-6);
  EXPECT_EQ(weights->dft[0][KWT_N_BINS], 0.0f);
  for (const int32_t dtype : {HEED_F32, HEED_INT8}) {
    const std::vector<uint32_t> file = network::flat_file(*weights, dtype);
    EXPECT_EQ(4 * file.size(), KWT_WEIGHTS_BYTES(dtype));
    EXPECT_EQ(reinterpret_cast<const kwt_header *>(file.data())->checksum,
              dtype == HEED_F32 ? 0x16ebe9a4u : 0x4d845abdu);
  }
  weights->dft[400][77] += 1e-3f;
  EXPECT_THROW(network::flat_file(*weights, HEED_F32), std::runtime_error);
}

TEST_F(kwt_published_model, is_refused_when_truncated) {
  random_source r(2);
  for (size_t n = 0; n < 4096; n += 7) ASSERT_NE(refusal_of(bytes(file_.begin(), file_.begin() + ptrdiff_t(n))), "");
  for (int i = 0; i < repetitions(200); ++i) {
    const ptrdiff_t n = r.between(0, int32_t(file_.size()) - 1);
    // Only the very end, names that nobody needs, may be missing; usually not even that.
    const std::string why = refusal_of(bytes(file_.begin(), file_.begin() + n));
    if (n < ptrdiff_t(file_.size()) * 9 / 10) {
      ASSERT_NE(why, "") << n;
    }
  }
}

TEST_F(kwt_published_model, does_no_harm_when_damaged) {
  random_source r(3);
  int n_refused = 0;
  const int n = repetitions(400);
  for (int i = 0; i < n; ++i) {
    bytes damaged = file_;
    // The first 134 KB and the last 42 KB hold the tables, the rest weights.
    for (int k = 1 << r.between(0, 5); k > 0; --k) {
      const int32_t size = int32_t(file_.size());
      const int32_t at = r.chance(75) ? r.between(8, 134000) : r.between(size - 42000, size - 1);
      damaged[size_t(at)] = r.chance(50) ? uint8_t(r.next()) : uint8_t(damaged[size_t(at)] ^ 1 << r.between(0, 7));
    }
    n_refused += !refusal_of(damaged).empty();
  }
  EXPECT_GT(n_refused, n / 4);
}

TEST_F(kwt_published_model, is_refused_when_a_constant_of_the_network_differs) {
  EXPECT_NE(refusal_of(with_scalar(0.125f, 0.25f)).find("is 0.250000, expected 0.125000"), std::string::npos);
  EXPECT_NE(refusal_of(with_scalar(0.5f, 0.75f)).find("expected 0.5"), std::string::npos);
  EXPECT_NE(refusal_of(with_scalar(3.0f, 2.0f)).find("expected 3.0"), std::string::npos);
  EXPECT_NE(refusal_of(with_scalar(1e-6f, -1e-6f)).find("epsilon"), std::string::npos);
  EXPECT_NE(refusal_of(with_scalar(1e-12f, 0.0f)).find("floor"), std::string::npos);
}

TEST_F(kwt_published_model, is_refused_when_a_weight_has_another_name) {
  const auto renamed = [this](const std::string &from, const std::string &to) {
    bytes changed = file_;
    for (auto at = changed.begin(); at != changed.end();) {
      at = std::search(at, changed.end(), from.begin(), from.end());
      if (at != changed.end()) at = std::copy(to.begin(), to.end(), at);
    }
    return refusal_of(changed);
  };
  EXPECT_EQ(renamed("pos_emb", "pos_emd"), "pos_emb: is not in the file, which is not that of KWT-1");
  EXPECT_EQ(renamed("dense_9/Tensordot/MatMul", "dense_2/Tensordot/MatMul"),
            "/dense_2/Tensordot/MatMul: stands for two tensors, and in KWT-1 for one");
}

TEST_F(kwt_published_model, is_refused_when_a_weight_is_not_finite) {
  const tflite::graph g = tflite::read_graph(file_.data(), file_.size());
  for (const tflite::tensor &t : g.tensors) {
    if (t.element_type != 0 || t.shape != std::vector<int32_t>{64, 256}) continue;
    bytes changed = file_;
    std::memset(&changed[t.data.first + t.data.length - 4], 0xff, 4);
    ASSERT_NE(refusal_of(changed).find("NaN"), std::string::npos);
  }
}

// A file of the test, removed afterwards.
class written_file {
 public:
  explicit written_file(const std::string &content)
      : path_(testing::TempDir() + "heed_kwt_" + std::to_string(getpid())) {
    std::ofstream(path_, std::ios::binary).write(content.data(), std::streamsize(content.size()));
  }
  ~written_file() { std::remove(path_.c_str()); }
  const std::string &path() const { return path_; }

 private:
  std::string path_;
};

TEST(kwt_expected, is_read_and_checked) {
  std::string heading = "clip\tspoken\tpredicted", numbers;
  for (int i = 0; i < KWT_N_LABELS; ++i) {
    heading += std::string("\tlogit:") + kwt_label(i);
    numbers += "\t" + std::to_string(i) + ".5";
  }
  const std::string line = "a.wav\tyes\tyes" + numbers;
  const auto read = [](const std::string &text) { return host_files::read_expected(written_file(text).path()); };
  const auto clips = read(heading + "\r\n" + line + "\r\n" + line + "\n\n");
  ASSERT_EQ(clips.size(), 2u);
  EXPECT_EQ(clips[1].file, "a.wav");
  EXPECT_EQ(clips[1].logits[11], 11.5);
  EXPECT_EQ(read(heading + "\n" + line).size(), 1u);
  EXPECT_THROW(read(heading), std::runtime_error);
  EXPECT_THROW(read(""), std::runtime_error);
  EXPECT_THROW(read(heading + "\textra\n" + line), std::runtime_error);
  EXPECT_THROW(read(heading + "\n" + line + "\t1"), std::runtime_error);
  EXPECT_THROW(read(heading + "\n" + line + "x"), std::runtime_error);
  EXPECT_THROW(read(heading + "\n" + line.substr(0, line.size() - 4) + "nan"), std::runtime_error);
  EXPECT_THROW(read(heading + "\n" + line.substr(0, line.size() - 4)), std::runtime_error);
}

}  // namespace
