// Files of models, written byte by byte, and damaged. SPDX-License-Identifier: MIT
#ifndef HEED_TEST_IMPORT_FILES_HPP
#define HEED_TEST_IMPORT_FILES_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>

#include "convert.hpp"
#include "readers.hpp"
#include "support/random.hpp"

namespace import_files {

using heed_import::bytes;
using heed_import::tensor;

// Appends parts, and returns the whole.
template <typename... Parts>
bytes add(bytes &&to, const Parts &...parts) {
  (to.insert(to.end(), parts.begin(), parts.end()), ...);
  return std::move(to);
}
template <typename... Parts>
bytes &add(bytes &to, const Parts &...parts) {
  (to.insert(to.end(), parts.begin(), parts.end()), ...);
  return to;
}
inline bytes little(uint64_t number, int n_bytes) {
  bytes b;
  heed_import::put(b, number, n_bytes);
  return b;
}
inline bytes floats(const std::vector<float> &numbers) {
  bytes b;
  for (const float f : numbers) heed_import::put(b, f);
  return b;
}
inline bytes letters(const std::string &text) { return bytes(text.begin(), text.end()); }

// The wire format of ONNX.
namespace protobuf {
inline bytes varint(uint64_t n) {
  bytes b;
  for (; n > 127; n >>= 7) b.push_back(uint8_t(n | 128));
  b.push_back(uint8_t(n));
  return b;
}
inline bytes number(uint32_t field, uint64_t n) { return add(varint(field << 3), varint(n)); }
inline bytes fixed(uint32_t field, float f) { return add(varint(field << 3 | 5), floats({f})); }
inline bytes text(uint32_t field, const bytes &content) {
  return add(varint(field << 3 | 2), varint(content.size()), content);
}
inline bytes text(uint32_t field, const std::string &content) { return text(field, letters(content)); }
}  // namespace protobuf

// What a reader returned, by name.
class tensors {
 public:
  explicit tensors(std::vector<tensor> &&all) : all_(std::move(all)) {}
  const tensor &of(const std::string &name) const {
    for (const tensor &t : all_) {
      if (t.name == name) return t;
    }
    throw std::runtime_error("no tensor " + name);
  }
  bytes numbers_of(const std::string &name) const {
    const heed_import::span numbers = of(name).numbers();
    return bytes(numbers.data, numbers.data + numbers.size);
  }

 private:
  std::vector<tensor> all_;
};

inline bytes read_file(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(path + " cannot be opened");
  return bytes(std::istreambuf_iterator<char>(in), {});
}

// What a reader says; empty when it accepts. Anything but a refusal fails the test. A copy of exactly this size lets the
// address sanitizer see a read beyond the end.
template <typename Reader>
std::string refusal_of(Reader read, const bytes &file) {
  const std::unique_ptr<uint8_t[]> exact(new uint8_t[file.size() + (file.empty() ? 1 : 0)]);
  std::copy(file.begin(), file.end(), exact.get());
  try {
    for (const tensor &t : read({exact.get(), file.size()})) {
      if (t.numbers().size == 0) continue;
      EXPECT_EQ(heed_import::floats_of(t).size(), t.count());  // reads every byte
    }
    return "";
  } catch (const heed_import::refusal &error) {
    return error.what();
  }
}

// Cut at every byte, every byte made 0 and 255 and turned in one bit, and damaged in several places.
template <typename Reader>
void expect_no_harm(Reader read, const bytes &file) {
  EXPECT_EQ(refusal_of(read, file), "");
  int n_refused = 0;
  for (size_t n = 0; n < file.size(); ++n) {
    n_refused += !refusal_of(read, bytes(file.begin(), file.begin() + ptrdiff_t(n))).empty();
    for (const int kind : {0, 255, 1, 128}) {
      bytes damaged = file;
      damaged[n] = uint8_t(kind == 1 || kind == 128 ? damaged[n] ^ kind : kind);
      refusal_of(read, damaged);
    }
  }
  EXPECT_GT(n_refused, int(file.size()) / 2);
  heed_test::random_source r(1);
  for (int i = 0; i < heed_test::repetitions(2000); ++i) {
    bytes damaged = file;
    for (int k = 1 << r.between(0, 4); k > 0; --k) {
      damaged[size_t(r.between(0, int32_t(file.size()) - 1))] = uint8_t(r.chance(50) ? r.between(0, 32) : r.between(0, 255));
    }
    refusal_of(read, damaged);
  }
}

}  // namespace import_files

#endif
