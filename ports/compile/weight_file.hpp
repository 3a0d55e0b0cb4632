// The file NAME.heed of a program: its weights one after the other, then known answers that are computed with them.
// SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_WEIGHT_FILE_HPP
#define HEED_COMPILE_WEIGHT_FILE_HPP

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "../import/flat_file.hpp"
#include "../output_file.hpp"

namespace heed_compile {

using heed_import::tensor;

// What a receipt says, as the tensor golden.WHICH.
tensor golden_tensor(const std::string &which, const std::string &receipt);
extern const std::vector<std::string> golden_names;  // of programs with floats

// Has one tensor in memory at a time.
class weight_file {
 public:
  // names: of all weights, in their order.
  weight_file(files::output_file &out, std::vector<std::string> names, bool has_known_answers);
  weight_file(const weight_file &) = delete;

  void add(const tensor &t);
  // The tensors of the whole file without their numbers. `answers` takes the file as it is then, if it has known answers.
  using make_answers = std::function<std::vector<tensor>(heed_import::span file)>;
  std::vector<tensor> finish(const make_answers &answers);

 private:
  files::output_file &out_;
  bool has_known_answers_;
  size_t n_bytes_ = 0;
  heed_import::flat_file_writer writer_;
  std::vector<tensor> shells_;
};

// SHA-256 of all files, one behind the other.
std::array<uint8_t, 32> digest_of_files(const std::vector<std::string> &paths);

}  // namespace heed_compile

#endif
