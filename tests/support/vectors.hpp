// Reads a folder of vectors of the ONNX operator Attention: cases.txt, one fact a line, and cases.bin, the tensors,
// little endian and row-major:
//   case NAME OPSET
//   attr NAME VALUE
//   in   NAME TYPE NDIM DIM... OFFSET
//   out  NAME TYPE NDIM DIM... OFFSET
//   end
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_VECTORS_HPP
#define HEED_TESTS_SUPPORT_VECTORS_HPP

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace heed_test {

// What is wrong with a folder, a case or a tensor.
struct vector_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// 0: no such type.
inline size_t bytes_per_element(const std::string &type) {
  static const std::map<std::string, size_t> sizes = {{"f32", 4}, {"f16", 2}, {"bool", 1},
                                                      {"i64", 8}, {"i32", 4}, {"f64", 8}};
  const auto found = sizes.find(type);
  return found == sizes.end() ? 0 : found->second;
}

inline double number_of_half(uint64_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double fraction = static_cast<double>(bits & 1023);
  double magnitude = exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
  if (exponent == 31) magnitude = fraction != 0 ? std::nan("") : std::numeric_limits<double>::infinity();
  return bits >> 15 ? -magnitude : magnitude;
}

template <typename Number, typename Bits>
double number_of_bits(uint64_t bits) {
  const Bits exact = static_cast<Bits>(bits);
  Number x;
  std::memcpy(&x, &exact, sizeof x);
  return static_cast<double>(x);
}

// A double that no float can hold becomes an infinity, without the undefined behaviour of a cast.
inline float nearest_float(double x) {
  const float infinite = std::numeric_limits<float>::infinity();
  if (std::fabs(x) >= 0x1.ffffffp127) return x > 0 ? infinite : -infinite;
  return static_cast<float>(x);
}

struct vector_tensor {
  std::string type;
  std::vector<int32_t> dims;
  const unsigned char *bytes = nullptr;  // in the folder's data

  size_t size() const {
    size_t n = 1;
    for (const int32_t d : dims) n *= static_cast<size_t>(d);
    return n;
  }
  double number(size_t i) const {
    const size_t width = bytes_per_element(type);
    uint64_t bits = 0;
    for (size_t n = width; n-- > 0;) bits = bits << 8 | bytes[i * width + n];
    if (type == "f32") return number_of_bits<float, uint32_t>(bits);
    if (type == "f64") return number_of_bits<double, uint64_t>(bits);
    if (type == "f16") return number_of_half(bits);
    if (type == "i32") return number_of_bits<int32_t, uint32_t>(bits);
    if (type == "i64") return number_of_bits<int64_t, uint64_t>(bits);
    return bits != 0;
  }
  std::vector<double> numbers() const {
    std::vector<double> all(size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = number(i);
    return all;
  }
  std::vector<float> floats() const {
    std::vector<float> all(size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = nearest_float(number(i));
    return all;
  }
  bool is_floating() const { return type == "f32" || type == "f16" || type == "f64"; }
  std::string shape() const {
    std::string text = type + "(";
    for (size_t n = 0; n < dims.size(); ++n) text += (n ? ", " : "") + std::to_string(dims[n]);
    return text + ")";
  }
};

struct vector_case {
  std::string name;
  std::string damage;  // what is wrong with its lines; empty: nothing
  std::map<std::string, double> attributes;
  std::map<std::string, vector_tensor> inputs, outputs;

  double attribute(const std::string &key, double otherwise) const {
    const auto found = attributes.find(key);
    return found == attributes.end() ? otherwise : found->second;
  }
  const vector_tensor *input(const std::string &key) const {
    const auto found = inputs.find(key);
    return found == inputs.end() ? nullptr : &found->second;
  }
};

class vector_folder {
 public:
  std::vector<vector_case> cases;
  std::vector<std::string> complaints;  // about what belongs to no case

  explicit vector_folder(const std::string &folder) : path_(folder + "/cases.txt") {
    std::ifstream text(path_), data(folder + "/cases.bin", std::ios::binary);
    if (!text) complaints.push_back(path_ + " cannot be read");
    if (!data) complaints.push_back(folder + "/cases.bin cannot be read");
    if (!text || !data) return;
    data_.assign(std::istreambuf_iterator<char>(data), std::istreambuf_iterator<char>());
    for (std::string line; std::getline(text, line);) take(line);
    if (open_) cases.back().damage = at_line("the file ends before the case does");
    if (cases.empty()) complaints.push_back(path_ + " holds no cases");
  }
  vector_folder(const vector_folder &) = delete;
  vector_folder &operator=(const vector_folder &) = delete;

 private:
  std::string at_line(const std::string &why) const { return path_ + ":" + std::to_string(line_) + ": " + why; }

  // A case whose lines are wrong fails, and the next one is read.
  void take(const std::string &line) {
    ++line_;
    std::istringstream stream(line);
    const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
    if (words.empty()) return;
    try {
      if (words[0] == "case")
        begin(words);
      else if (!open_)
        complaints.push_back(at_line("\"" + line + "\" belongs to no case"));
      else if (words[0] == "end" && words.size() == 1)
        open_ = false;
      else
        add(words, &cases.back());
    } catch (const vector_error &error) {
      if (cases.back().damage.empty()) cases.back().damage = at_line(error.what());
    }
  }

  void begin(const std::vector<std::string> &words) {
    if (open_) cases.back().damage = at_line("a case begins before the last one ends");
    open_ = true;
    cases.emplace_back();
    if (words.size() < 2 || words.size() > 3) throw vector_error("a case has a name and an opset");
    cases.back().name = words[1];
  }

  void add(const std::vector<std::string> &words, vector_case *c) const {
    if (words[0] == "attr") {
      if (words.size() != 3) throw vector_error("an attribute has a name and a value");
      if (!c->attributes.emplace(words[1], number_in(words[2])).second) throw vector_error("a second " + words[1]);
    } else if (words[0] == "in" || words[0] == "out") {
      auto &tensors = words[0] == "in" ? c->inputs : c->outputs;
      if (words.size() < 4) throw vector_error("a tensor has a name, a type, a rank, dimensions and an offset");
      if (!tensors.emplace(words[1], tensor_in(words)).second) throw vector_error("a second " + words[1]);
    } else {
      throw vector_error("\"" + words[0] + "\" is none of case, attr, in, out, end");
    }
  }

  static double number_in(const std::string &word) {
    char *rest = nullptr;
    const double x = std::strtod(word.c_str(), &rest);
    if (*rest) throw vector_error("\"" + word + "\" is not a number");
    return x;
  }
  static uint64_t count_in(const std::string &word, uint64_t most) {
    if (word.find_first_not_of("0123456789") != std::string::npos || word.size() > 18 || std::stoull(word) > most)
      throw vector_error("\"" + word + "\" is not a number from 0 to " + std::to_string(most));
    return std::stoull(word);
  }

  vector_tensor tensor_in(const std::vector<std::string> &words) const {
    vector_tensor t;
    t.type = words[2];
    const size_t width = bytes_per_element(t.type), n_dims = static_cast<size_t>(count_in(words[3], 8));
    if (width == 0) throw vector_error("\"" + t.type + "\" is not a type");
    if (words.size() != 5 + n_dims)
      throw vector_error(words[1] + " has other than " + words[3] + " dimensions and an offset");
    const uint64_t offset = count_in(words[4 + n_dims], INT64_MAX);
    uint64_t n_bytes = width;
    for (size_t n = 0; n < n_dims; ++n) {
      t.dims.push_back(static_cast<int32_t>(count_in(words[4 + n], 0x40000000)));
      n_bytes *= static_cast<uint64_t>(t.dims.back());
      if (n_bytes > data_.size()) break;
    }
    if (n_bytes > data_.size() || offset > data_.size() - n_bytes)
      throw vector_error(words[1] + " lies beyond the " + std::to_string(data_.size()) + " bytes of cases.bin");
    t.bytes = data_.data() + offset;
    return t;
  }

  std::string path_;
  std::vector<unsigned char> data_;
  size_t line_ = 0;
  bool open_ = false;
};

}  // namespace heed_test

#endif
