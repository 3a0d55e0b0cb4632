// See weight_file.hpp. SPDX-License-Identifier: MIT
#include "weight_file.hpp"

#include <algorithm>

#include "../import/file_bytes.hpp"
#include "../receipt/receipt.h"

namespace heed_compile {
namespace {

using heed_import::file_bytes;

tensor shell_of(const tensor &t) {
  tensor shell;
  shell.name = t.name, shell.dtype = t.dtype, shell.layout = t.layout, shell.dims = t.dims;
  shell.is_metadata = t.is_metadata;
  return shell;
}

std::vector<std::string> with_known_answers(std::vector<std::string> names, bool has_known_answers) {
  if (has_known_answers) names.insert(names.end(), golden_names.begin(), golden_names.end());
  return names;
}

}  // namespace

const std::vector<std::string> golden_names = {"golden.fma", "golden.no-fma"};

tensor golden_tensor(const std::string &which, const std::string &receipt) {
  tensor t;
  t.name = "golden." + which, t.dtype = HEED_FILE_TEXT, t.dims = {static_cast<uint32_t>(receipt.size())};
  t.is_metadata = true;
  t.own(heed_import::bytes(receipt.begin(), receipt.end()));
  return t;
}

weight_file::weight_file(files::output_file &out, std::vector<std::string> names, bool has_known_answers)
    : out_(out),
      has_known_answers_(has_known_answers),
      writer_(
          [this](size_t at, const void *data, size_t n) {
            at < n_bytes_ ? out_.rewrite(at, data, n) : out_.write(data, n);
            n_bytes_ = std::max(n_bytes_, at + n);
          },
          with_known_answers(std::move(names), has_known_answers)) {}

void weight_file::add(const tensor &t) {
  writer_.add(t);
  shells_.push_back(shell_of(t));
}

std::vector<tensor> weight_file::finish(const make_answers &answers) {
  writer_.finish();
  if (!has_known_answers_) return std::move(shells_);
  const file_bytes so_far(out_.so_far());
  heed_import::bytes memory;
  for (const tensor &t : answers(heed_import::in_own_order(so_far.all(), memory))) add(t);
  writer_.finish();
  return std::move(shells_);
}

std::array<uint8_t, 32> digest_of_files(const std::vector<std::string> &paths) {
  heed_receipt_state state;
  std::array<uint8_t, 32> digest;
  heed_receipt_sha256.begin(&state);
  for (const std::string &path : paths) {
    const file_bytes file(path);
    constexpr size_t piece = size_t{1} << 24;
    for (size_t at = 0; at < file.all().size; at += piece) {
      const heed_import::span here = {file.all().data + at, std::min(piece, file.all().size - at)};
      heed_receipt_sha256.add(&state, here.data, here.size);
      file_bytes::forget(here);
    }
  }
  heed_receipt_sha256.end(&state, digest.data());
  return digest;
}

}  // namespace heed_compile
