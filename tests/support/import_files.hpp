// Files of models, written byte by byte, and damaged. SPDX-License-Identifier: MIT
#ifndef HEED_TEST_IMPORT_FILES_HPP
#define HEED_TEST_IMPORT_FILES_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>

#include "convert.hpp"
#include "flat_file.hpp"
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

// The tables of FlatBuffers, as TensorFlow Lite has them: what a table refers to stands behind it.
class tflite_tables {
 public:
  bytes file = add(bytes(4), letters("TFL3"));

  // A table whose fields have 4 bytes each; returns where the first of them is.
  size_t table(const std::vector<int> &fields) {
    const size_t vtable = file.size(), n_entries = fields.empty() ? 0 : size_t(fields.back()) + 1;
    add(file, little(4 + 2 * n_entries, 2), little(4 + 4 * fields.size(), 2), bytes(2 * n_entries));
    for (size_t i = 0; i < fields.size(); ++i) put(vtable + 4 + 2 * size_t(fields[i]), 4 + 4 * i, 2);
    const size_t table = file.size();
    add(file, little(table - vtable, 4), bytes(4 * fields.size()));
    return table + 4;
  }
  void put(size_t at, uint64_t number, int n_bytes = 4) {
    const bytes b = little(number, n_bytes);
    std::copy(b.begin(), b.end(), file.begin() + ptrdiff_t(at));
  }
  void refer(size_t place, size_t to) { put(place, to - place); }
  void vector(size_t place, size_t n, const bytes &content) {
    refer(place, file.size());
    add(file, little(n, 4), content);
  }
  // n places for tables.
  size_t list(size_t place, size_t n) {
    vector(place, n, bytes(4 * n));
    return file.size() - 4 * n;
  }
};

struct tflite_tensor {
  std::string name;
  std::vector<uint32_t> shape;
  uint32_t type;
  bytes data;
  std::vector<float> scales;
  std::vector<int64_t> zeros;
  uint32_t dimension;
};
inline tflite_tensor small_tflite_tensor() { return {"w", {2, 3}, 9, {1, 2, 3, 255, 254, 253}, {0.5f, 2}, {0, -1}, 0}; }

inline bytes tflite_file(const std::vector<tflite_tensor> &tensors) {
  tflite_tables t;
  const size_t model = t.table({0, 2, 4});
  t.refer(0, model - 4);
  t.put(model, 3);
  const size_t graphs = t.list(model + 4, 1), graph = t.table({0});
  t.refer(graphs, graph - 4);
  const size_t list = t.list(graph, tensors.size()), buffers = t.list(model + 8, tensors.size() + 1);
  t.refer(buffers, t.table({}) - 4);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const tflite_tensor &from = tensors[i];
    const bool is_scaled = !from.scales.empty();
    const size_t at = t.table(is_scaled ? std::vector<int>{0, 1, 2, 3, 4} : std::vector<int>{0, 1, 2, 3});
    t.refer(list + 4 * i, at - 4);
    t.put(at + 4, from.type), t.put(at + 8, i + 1);
    bytes shape, zeros;
    for (const uint32_t dim : from.shape) heed_import::put(shape, dim, 4);
    for (const int64_t zero : from.zeros) heed_import::put(zeros, uint64_t(zero), 8);
    t.vector(at, from.shape.size(), shape);
    t.vector(at + 12, from.name.size(), letters(from.name));
    const size_t buffer = t.table({0});
    t.refer(buffers + 4 * (i + 1), buffer - 4);
    t.vector(buffer, from.data.size(), from.data);
    if (!is_scaled) continue;
    const size_t of = t.table({2, 3, 6});
    t.refer(at + 16, of - 4);
    t.put(of + 8, from.dimension);
    t.vector(of, from.scales.size(), floats(from.scales));
    t.vector(of + 4, from.zeros.size(), zeros);
  }
  return t.file;
}

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

// Parts of ONNX files.
namespace onnx {
using names = std::vector<std::string>;

inline bytes initializer(const std::string &name, const std::vector<uint64_t> &dims, uint64_t type, const bytes &raw) {
  bytes t;
  for (const uint64_t dim : dims) add(t, protobuf::number(1, dim));
  return add(t, protobuf::number(2, type), protobuf::text(8, name), protobuf::text(9, raw));
}
// type: of AttributeProto, without which ONNX Runtime refuses a model.
inline bytes attribute(const std::string &name, uint64_t type, const bytes &content) {
  return protobuf::text(5, add(protobuf::text(1, name), content, protobuf::number(20, type)));
}
inline bytes of_integer(const std::string &name, int64_t value) {
  return attribute(name, 2, protobuf::number(3, uint64_t(value)));
}
inline bytes of_integers(const std::string &name, const std::vector<int64_t> &list) {
  bytes all;
  for (const int64_t i : list) add(all, protobuf::number(8, uint64_t(i)));
  return attribute(name, 7, all);
}
inline bytes of_float(const std::string &name, float f) { return attribute(name, 1, protobuf::fixed(2, f)); }
inline bytes of_text(const std::string &name, const std::string &content) {
  return attribute(name, 3, protobuf::text(4, content));
}
inline bytes of_texts(const std::string &name, const std::vector<std::string> &list) {
  bytes all;
  for (const std::string &one : list) add(all, protobuf::text(9, one));
  return attribute(name, 8, all);
}
inline bytes of_tensor(const std::string &name, const bytes &t) { return attribute(name, 4, protobuf::text(5, t)); }
inline bytes of_graph(const std::string &name, const bytes &g) { return attribute(name, 5, protobuf::text(6, g)); }
inline bytes node(const std::string &operation, const names &inputs, const bytes &attributes = {},
                  const names &outputs = {}, const std::string &domain = "") {
  bytes n;
  for (const std::string &input : inputs) add(n, protobuf::text(1, input));
  for (const std::string &output : outputs) add(n, protobuf::text(2, output));
  return add(n, protobuf::text(4, operation), protobuf::text(7, domain), attributes);
}
inline bytes model_of(const bytes &graph) { return add(protobuf::number(1, 8), protobuf::text(7, graph)); }
inline bytes int64s(const std::vector<int64_t> &list) {
  bytes b;
  for (const int64_t i : list) heed_import::put(b, uint64_t(i), 8);
  return b;
}
}  // namespace onnx

// Memory of exactly n bytes that is aligned as readers of flat files ask.
class aligned_bytes {
 public:
  explicit aligned_bytes(const bytes &file) : n_(file.size()) {
    if (posix_memalign(&data_, HEED_FILE_ALIGNMENT, n_ ? n_ : 1) != 0) throw std::bad_alloc();
    if (n_) std::memcpy(data_, file.data(), n_);
  }
  ~aligned_bytes() { std::free(data_); }
  aligned_bytes(const aligned_bytes &) = delete;
  aligned_bytes &operator=(const aligned_bytes &) = delete;
  uint8_t *data() const { return static_cast<uint8_t *>(data_); }
  size_t size() const { return n_; }
  heed_import::span all() const { return {data(), n_}; }

 private:
  void *data_;
  size_t n_;
};

inline tensor copy_of(const tensor &t) {
  tensor copy;
  copy.name = t.name, copy.dims = t.dims, copy.dtype = t.dtype, copy.layout = t.layout, copy.scales = t.scales;
  copy.zeros = t.zeros, copy.float_zeros = t.float_zeros;
  copy.own(bytes(t.numbers().data, t.numbers().data + t.numbers().size));
  return copy;
}

// Rows x (n, n_in) times the weights t, as a program has them: through a flat file.
inline std::vector<float> product(const tensor &t, const std::vector<float> &x, int32_t n_in, int32_t n_out) {
  std::vector<tensor> all;
  all.push_back(copy_of(t));
  all.back().name = "w";
  const aligned_bytes content(heed_import::flat_file(all));
  heed_file file;
  heed_weights w;
  const char *error = heed_file_open(&file, content.data(), content.size());
  if (!error) {
    auto *get = heed_file_weights;
    if (t.dtype == HEED_Q8_0 || t.dtype == HEED_Q4_0) get = heed_file_blocks;
    if (t.dtype >= HEED_FILE_U8) get = heed_file_zero_points;
    if (t.layout == HEED_PACKED) get = heed_file_packed;
    error = get(&file, "w", n_in, n_out, &w);
  }
  if (error) throw std::runtime_error(error);
  const int32_t n = int32_t(x.size()) / n_in;
  std::vector<float> y(size_t(n) * size_t(n_out));
  EXPECT_EQ(heed_linear(heed_matrix_of(x.data(), n, n_in), w, nullptr, heed_matrix_out_of(y.data(), n, n_out), nullptr),
            HEED_OK);
  return y;
}

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
      damaged[size_t(r.between(0, int32_t(file.size()) - 1))] =
          uint8_t(r.chance(50) ? r.between(0, 32) : r.between(0, 255));
    }
    refusal_of(read, damaged);
  }
}

}  // namespace import_files

#endif
