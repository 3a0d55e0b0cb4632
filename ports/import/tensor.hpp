// A tensor on its way from a file of a model to a file of heed. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_TENSOR_HPP
#define HEED_IMPORT_TENSOR_HPP

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../names.hpp"
#include "heed_file.h"

namespace heed_import {

// What is wrong with a file or a wish, in a sentence for the user.
struct refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using bytes = std::vector<uint8_t>;

// Bytes of a file that somebody else keeps.
struct span {
  const uint8_t *data = nullptr;
  size_t size = 0;
};

// Numbers lie as the flat file has them: row-major, little-endian, in one of its formats. Only a source has f64, and blocks of
// ggml's that heed has not (ggml_blocks.hpp).
enum { format_f64 = 100 };

struct tensor {
  tensor() = default;
  tensor(tensor &&) = default;
  tensor &operator=(tensor &&) = default;

  std::string name;
  std::string suggested;  // a name that tells more, for --node-names; or empty
  std::vector<uint32_t> dims;
  int32_t dtype = HEED_F32, layout = HEED_OUT_IN;
  std::vector<float> scales;
  std::vector<int32_t> zeros;      // of HEED_FILE_U8 and HEED_FILE_I8, as many as scales
  std::vector<float> float_zeros;  // of the formats PLUS
  std::string left_out;            // why it is no weight; it then has no numbers
  std::string refused;             // why it cannot be imported, if it is selected; the same
  bool is_metadata = false;        // what the source says of its model: no weight, and kept as it is
  std::string unsure;              // why it is not known which dimension has the outputs

  span numbers() const { return own_.empty() ? of_file_ : span{own_.data(), own_.size()}; }
  // Those that still lie in the file; none, if this tensor has memory of its own, which file_bytes::forget would clear.
  span numbers_in_file() const { return own_.empty() && !kept_ ? of_file_ : span(); }
  void refer(span numbers) { of_file_ = numbers, own_.clear(), kept_.reset(); }
  void own(bytes numbers) { of_file_ = {}, own_ = std::move(numbers), kept_.reset(); }
  // Numbers in memory that is aligned, of which there is one copy.
  void keep(std::shared_ptr<const uint8_t> memory, size_t n_bytes) {
    refer({memory.get(), n_bytes});
    kept_ = std::move(memory);
  }

  // As a matrix of weights, see heed_file_tensor.
  uint64_t n_out() const {
    return dims.empty() ? 1 : layout == HEED_IN_OUT && dims.size() > 1 ? dims.back() : dims.front();
  }
  uint64_t count() const {
    uint64_t n = 1;
    for (const uint32_t dim : dims) n *= dim;  // the readers have checked that it fits
    return n;
  }
  uint64_t n_in() const { return count() / n_out(); }

 private:
  span of_file_;
  bytes own_;
  std::shared_ptr<const uint8_t> kept_;
};

// A tensor of a format of the file alone that is no weight: a text, a list of texts, integers.
inline bool is_no_weight(const tensor &t) {
  return t.dtype == HEED_FILE_TEXT || t.dtype == HEED_FILE_LIST || t.dtype == HEED_FILE_I32 ||
         t.dtype == HEED_FILE_I16 || t.is_metadata;
}

// What is wrong with this tensor, for a terminal.
[[noreturn]] inline void refuse(const std::string &name, const std::string &why) {
  throw refusal(names::for_terminal(name + ": " + why));
}

// Numbers of a source, and numbers to a file, on a processor of either byte order.
inline uint64_t number_at(const uint8_t *p, int n_bytes) {
  uint64_t n = 0;
  for (int i = 0; i < n_bytes; ++i) n |= static_cast<uint64_t>(p[i]) << (8 * i);
  return n;
}
inline float f32_at(const uint8_t *p) {
  const uint32_t word = static_cast<uint32_t>(number_at(p, 4));
  float f;
  std::memcpy(&f, &word, 4);
  return f;
}
inline void put(bytes &to, uint64_t number, int n_bytes) {
  for (int i = 0; i < n_bytes; ++i) to.push_back(static_cast<uint8_t>(number >> (8 * i)));
}
inline void put(bytes &to, float number) {
  uint32_t word;
  std::memcpy(&word, &number, 4);
  put(to, word, 4);
}

// Sets the dimensions that a source states; a scalar has none. What heed has not, such as 0 numbers or 2^31, makes the tensor
// one that is left out or refused. Else its count, its bytes and its number of dimensions are as the flat file has them.
void set_shape(tensor &t, const std::vector<uint64_t> &dims);

// Whether it has numbers to import.
inline bool is_usable(const tensor &t) { return t.left_out.empty() && t.refused.empty(); }

// Throws refusal unless dimensions, numbers, scales and zero points fit each other.
void expect_consistent(const tensor &t);

// "f32", "288 x 1152", and the like, for messages and lists.
std::string format_name(int32_t dtype);
std::string shape_text(const tensor &t);
// Bytes of the numbers of a tensor that is not packed.
uint64_t bytes_of(const tensor &t);
// Whether its numbers lie in blocks along the inputs, of heed's or of ggml's formats; and how many are in one, else 1.
int32_t block_numbers(int32_t dtype);
inline bool in_blocks(int32_t dtype) { return block_numbers(dtype) > 1; }
// Bytes of a number of a format that has no blocks.
int number_bytes(int32_t dtype);

}  // namespace heed_import

#endif
