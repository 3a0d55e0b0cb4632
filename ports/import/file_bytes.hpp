// SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_FILE_BYTES_HPP
#define HEED_IMPORT_FILE_BYTES_HPP

#include <filesystem>
#ifdef _WIN32
#include <fstream>
#include <memory>
#include <new>
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "tensor.hpp"

namespace heed_import {

#ifdef _WIN32
// A file in memory, aligned to 64 bytes.
class file_bytes {
 public:
  explicit file_bytes(const std::string &path) {
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    const std::streamoff n = in ? static_cast<std::streamoff>(in.tellg()) : -1;
    if (n < 0 || !std::filesystem::is_regular_file(path)) throw refusal("cannot be opened");
    size_ = static_cast<size_t>(n);
    data_.reset(static_cast<uint8_t *>(::operator new(size_ + 1, std::align_val_t(HEED_FILE_ALIGNMENT))));
    in.seekg(0);
    if (!in.read(reinterpret_cast<char *>(data_.get()), n)) throw refusal("cannot be read");
  }
  span all() const { return {data_.get(), size_}; }
  static void forget(span) {}

 private:
  struct free_aligned {
    void operator()(uint8_t *p) const { ::operator delete(p, std::align_val_t(HEED_FILE_ALIGNMENT)); }
  };
  std::unique_ptr<uint8_t, free_aligned> data_;
  size_t size_;
};
#else
// A file, mapped where it lies: what is not read takes no memory, and the system may take back what was.
class file_bytes {
 public:
  explicit file_bytes(const std::string &path) {
    std::error_code error;
    const bool is_file = std::filesystem::is_regular_file(path, error);  // opening a pipe would wait for its writer
    const int file = is_file ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC) : -1;
    const off_t n = file >= 0 ? ::lseek(file, 0, SEEK_END) : -1;
    if (n > 0) {
      void *const data = ::mmap(nullptr, static_cast<size_t>(n), PROT_READ, MAP_PRIVATE, file, 0);
      if (data != MAP_FAILED) data_ = static_cast<const uint8_t *>(data), size_ = static_cast<size_t>(n);
    }
    if (file >= 0) ::close(file);
    if (n < 0) throw refusal("cannot be opened");
    if (n > 0 && size_ == 0) throw refusal("cannot be read");
  }
  ~file_bytes() {
    if (size_ > 0) ::munmap(const_cast<uint8_t *>(data_), size_);
  }
  file_bytes(const file_bytes &) = delete;
  file_bytes &operator=(const file_bytes &) = delete;
  span all() const { return {size_ > 0 ? data_ : empty, size_}; }

  // A part of a file that will not be read again, or not soon: its whole pages leave memory, and come again from the file. What is no
  // part of a file would be lost (tensor::numbers_in_file).
  static void forget(span part) {
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE)), at = reinterpret_cast<uintptr_t>(part.data);
    const uintptr_t first = (at + page - 1) / page * page, end = (at + part.size) / page * page;
    if (end > first) ::madvise(reinterpret_cast<void *>(first), end - first, MADV_DONTNEED);
  }

 private:
  alignas(HEED_FILE_ALIGNMENT) static constexpr uint8_t empty[HEED_FILE_ALIGNMENT] = {};
  const uint8_t *data_ = nullptr;
  size_t size_ = 0;
};
#endif

}  // namespace heed_import

#endif
