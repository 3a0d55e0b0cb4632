// Bytes of a file of somebody else. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_CHECKED_READER_HPP
#define HEED_IMPORT_CHECKED_READER_HPP

#include "tensor.hpp"

namespace heed_import {

// Numbers, texts and parts of a file, one after another. Whatever the file says of their lengths, nothing beyond its end is
// read: throws refusal. A length, an offset or a count of a file is used through this class alone.
class checked_reader {
 public:
  explicit checked_reader(span file) : file_(file) {}

  size_t left() const { return file_.size - at_; }
  span take(uint64_t n_bytes) {
    if (n_bytes > left()) throw refusal("is truncated or damaged: what it says leads beyond its end");
    const span part = {file_.data + at_, static_cast<size_t>(n_bytes)};
    at_ += part.size;
    return part;
  }
  void skip(uint64_t n_bytes) { take(n_bytes); }
  uint64_t number(int n_bytes) { return number_at(take(static_cast<uint64_t>(n_bytes)).data, n_bytes); }
  std::string text(uint64_t n_bytes) {
    const span part = take(n_bytes);
    return std::string(part.data, part.data + part.size);
  }
  // How many things follow, each of so many bytes at least.
  size_t count(int n_bytes, size_t least_bytes) {
    const uint64_t n = number(n_bytes);
    if (n > left() / least_bytes)
      throw refusal("is truncated or damaged: it says that more follows than its bytes can hold");
    return static_cast<size_t>(n);
  }
  void align(uint64_t n_bytes) {
    if (at_ % n_bytes != 0) skip(n_bytes - at_ % n_bytes);
  }
  // A part of what is left, which stays where it is.
  span part(uint64_t offset, uint64_t n_bytes, const std::string &name) const {
    if (offset > left() || n_bytes > left() - offset)
      refuse(name, "lies beyond the end: the file is truncated or damaged");
    return {file_.data + at_ + offset, static_cast<size_t>(n_bytes)};
  }

 private:
  span file_;
  size_t at_ = 0;
};

}  // namespace heed_import

#endif
