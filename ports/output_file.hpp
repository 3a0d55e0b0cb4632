// Files that programs for hosts write: whole, or not at all. Failures throw std::runtime_error, which names the file.
// SPDX-License-Identifier: MIT
#ifndef HEED_PORTS_OUTPUT_FILE_HPP
#define HEED_PORTS_OUTPUT_FILE_HPP

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>
#ifndef _WIN32
#include <unistd.h>
#endif

namespace files {

// Names of files that are not whole yet: an interrupt removes them.
inline std::array<std::atomic<const char *>, 12> unfinished_files{};

extern "C" inline void remove_unfinished_files(int signal) {
  for (const auto &name : unfinished_files) {
    if (const char *const path = name.load()) {
#ifdef _WIN32
      std::remove(path);
#else
      unlink(path);
#endif
    }
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// A file under another name in the same folder, which takes the place of `path` in finish(): a full disk, a refusal or an
// interrupt leaves what was there before. Devices and pipes are written as they are.
//
//   files::output_file out(path, {input});     // refuses a path that is one of the inputs
//   out.write(bytes.data(), bytes.size());
//   out.finish();
class output_file {
 public:
  explicit output_file(const std::string &path, const std::vector<std::string> &inputs = {}) : shown_(path) {
    std::error_code error;
    for (const std::string &input : inputs) {
      if (std::filesystem::equivalent(path, input, error))
        throw std::runtime_error(path + ": is an input, too: name another file");
    }
    const std::filesystem::file_status status = std::filesystem::status(path, error);
    to_ = path;
    if (!std::filesystem::exists(status)) {
      take_temporary_name();
    } else if (std::filesystem::is_regular_file(status)) {
      if (std::FILE *const writable = std::fopen(path.c_str(), "r+b"))
        std::fclose(writable);
      else
        fail();
      to_ = std::filesystem::canonical(path);  // a link stays a link
      take_temporary_name();
    }
    stream_ = std::fopen(temporary_.empty() ? path.c_str() : temporary_.c_str(), "wb");
    if (stream_ == nullptr) fail();
    if (!temporary_.empty() && std::filesystem::exists(status))
      std::filesystem::permissions(temporary_, status.permissions(), error);
  }
  ~output_file() { discard(); }
  output_file(const output_file &) = delete;
  output_file &operator=(const output_file &) = delete;

  void write(const void *data, size_t n_bytes) {
    if (n_bytes != 0 && std::fwrite(data, 1, n_bytes, stream_) != n_bytes) fail();
    sum_ = sum_of(sum_, static_cast<const unsigned char *>(data), n_bytes);
  }
  void write(const std::string &text) { write(text.data(), text.size()); }
  // At a place that was written before; what follows goes on at the end. finish() needs a check then.
  void rewrite(size_t at, const void *data, size_t n_bytes) {
    is_summed_ = false;
    if (std::fseek(stream_, static_cast<long>(at), SEEK_SET) != 0) fail();
    write(data, n_bytes);
    if (std::fseek(stream_, 0, SEEK_END) != 0) fail();
  }
  // The name under which what was written so far can be read.
  const std::string &so_far() {
    if (std::fflush(stream_) != 0) fail();
    return temporary_.empty() ? shown_ : temporary_;
  }
  // For a library that writes to a stream: what it writes is not read back.
  std::FILE *stream() {
    is_summed_ = false;
    return stream_;
  }

  // Reads the whole file again, and compares it with what was written.
  void finish() {
    finish([this](const std::string &path) {
      if (is_summed_ && sum_of_file(path) != sum_)
        throw std::runtime_error(shown_ + ": cannot be read back as it was written");
    });
  }
  // `check` is given the name under which the whole file lies, reads it again, and throws if it is not what was written. What
  // is no file cannot be read again.
  template <typename Check>
  void finish(Check check) {
    std::FILE *const stream = stream_;
    stream_ = nullptr;
    if (std::fclose(stream) != 0) fail();
    if (temporary_.empty()) return;
    check(temporary_);
    std::error_code error;
    std::filesystem::rename(temporary_, to_, error);
    if (error) fail();
    forget_temporary_name();
  }

 private:
  // FNV-1a over the bytes.
  static uint64_t sum_of(uint64_t sum, const unsigned char *data, size_t n) {
    for (size_t i = 0; i < n; ++i) sum = (sum ^ data[i]) * 1099511628211u;
    return sum;
  }
  static uint64_t sum_of_file(const std::string &path) {
    uint64_t sum = empty_sum;
    std::FILE *const file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) return sum + 1;
    std::vector<unsigned char> piece(1 << 16);
    for (size_t n; (n = std::fread(piece.data(), 1, piece.size(), file)) > 0;) sum = sum_of(sum, piece.data(), n);
    std::fclose(file);
    return sum;
  }
  void take_temporary_name() {
    static constexpr char digits[] = "0123456789abcdef";
    std::random_device random;
    std::string name = "heed-";
    for (int i = 0; i < 12; ++i) name += digits[random() % 16];
    temporary_ = (to_.parent_path() / (name + ".part")).string();
    static const bool watches = [] {
#ifdef _WIN32
      const auto signals = {SIGINT, SIGTERM};
#else
      const auto signals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
      std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit of its size: the write fails, and the program says so
#endif
      for (const int signal : signals) {
        if (std::signal(signal, remove_unfinished_files) == SIG_IGN) std::signal(signal, SIG_IGN);
      }
      return true;
    }();
    static_cast<void>(watches);
    for (auto &place : unfinished_files) {
      const char *nothing = nullptr;
      if (place.compare_exchange_strong(nothing, temporary_.c_str())) return;
    }
  }
  void forget_temporary_name() {
    for (auto &place : unfinished_files) {
      const char *name = temporary_.c_str();
      place.compare_exchange_strong(name, nullptr);
    }
    temporary_.clear();
  }
  void discard() {
    if (stream_ != nullptr) std::fclose(stream_);
    stream_ = nullptr;
    if (temporary_.empty()) return;
    std::remove(temporary_.c_str());
    forget_temporary_name();
  }
  [[noreturn]] void fail() {
    discard();
    throw std::runtime_error(shown_ + ": cannot be written");
  }

  std::string shown_, temporary_;
  std::filesystem::path to_;
  std::FILE *stream_ = nullptr;
  static constexpr uint64_t empty_sum = 14695981039346656037u;
  uint64_t sum_ = empty_sum;
  bool is_summed_ = true;
};

// A whole file in one call.
inline void write_whole(const std::string &path, const void *data, size_t n_bytes,
                        const std::vector<std::string> &inputs = {}) {
  output_file out(path, inputs);
  out.write(data, n_bytes);
  out.finish();
}

// For the end of a program: throws if a part of what was printed is lost.
inline void finish_standard_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw std::runtime_error("standard output cannot be written: the disk is full, or nobody reads it");
}

}  // namespace files

#endif
