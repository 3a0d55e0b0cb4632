// Reads a folder of ONNX Attention vectors: cases.txt (one word-separated line per fact) and cases.bin (the tensors,
// little endian, row-major). SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_ONNX_CASES_HPP
#define HEED_TESTS_SUPPORT_ONNX_CASES_HPP

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace heed_test {

struct onnx_tensor {
  std::string type;
  std::vector<int32_t> dims;
  std::vector<unsigned char> bytes;

  size_t size() const {
    size_t n = 1;
    for (const int32_t d : dims) n *= static_cast<size_t>(d);
    return n;
  }
  template <typename T>
  std::vector<T> values() const {
    std::vector<T> all(size());
    if (!all.empty()) std::memcpy(all.data(), bytes.data(), all.size() * sizeof(T));
    return all;
  }
  std::vector<float> floats() const { return values<float>(); }
};

struct onnx_case {
  std::string name;
  std::map<std::string, double> attributes;
  std::map<std::string, onnx_tensor> inputs, outputs;

  double attribute(const std::string &key, double otherwise) const {
    const auto found = attributes.find(key);
    return found == attributes.end() ? otherwise : found->second;
  }
  bool has(const std::string &input) const { return inputs.count(input) != 0; }
};

inline size_t bytes_per_element(const std::string &type) {
  return type == "bool" ? 1 : type == "f16" ? 2 : type == "i64" || type == "f64" ? 8 : 4;
}

inline onnx_tensor read_tensor(std::istringstream &line, const std::vector<char> &all) {
  onnx_tensor t;
  int32_t n_dims = 0;
  line >> t.type >> n_dims;
  t.dims.resize(static_cast<size_t>(n_dims));
  for (int32_t &d : t.dims) line >> d;
  size_t offset = 0;
  line >> offset;
  const size_t n_bytes = t.size() * bytes_per_element(t.type);
  if (offset + n_bytes <= all.size())
    t.bytes.assign(all.begin() + std::ptrdiff_t(offset), all.begin() + std::ptrdiff_t(offset + n_bytes));
  return t;
}

// Empty if the folder cannot be read.
inline std::vector<onnx_case> read_onnx_cases(const std::string &folder) {
  std::ifstream text(folder + "/cases.txt"), data(folder + "/cases.bin", std::ios::binary);
  const std::vector<char> all{std::istreambuf_iterator<char>(data), std::istreambuf_iterator<char>()};
  std::vector<onnx_case> cases;
  for (std::string row; std::getline(text, row);) {
    std::istringstream line(row);
    std::string kind, name;
    line >> kind >> name;
    if (kind == "case") {
      cases.push_back({});
      cases.back().name = name;
    } else if (kind == "attr" && !cases.empty()) {
      line >> cases.back().attributes[name];
    } else if (kind == "in" && !cases.empty()) {
      cases.back().inputs[name] = read_tensor(line, all);
    } else if (kind == "out" && !cases.empty()) {
      cases.back().outputs[name] = read_tensor(line, all);
    }
  }
  return cases;
}

}  // namespace heed_test

#endif
