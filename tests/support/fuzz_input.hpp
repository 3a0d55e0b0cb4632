// Turns a fuzzer's bytes into arguments: mostly plausible ones, now and then absurd ones, each in an allocation of
// exactly its size, so that the address sanitizer sees the first byte too far. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_FUZZ_INPUT_HPP
#define HEED_TESTS_SUPPORT_FUZZ_INPUT_HPP

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "heed/heed.h"

namespace heed_test {

class fuzz_bytes {
 public:
  fuzz_bytes(const uint8_t *data, size_t size) : data_(data), size_(size) {}
  uint8_t byte() { return at_ < size_ ? data_[at_++] : uint8_t(at_++ * 29); }
  int32_t word() {
    const uint32_t a = byte(), b = byte(), c = byte(), d = byte();
    return int32_t(a | b << 8 | c << 16 | d << 24);
  }
  bool rarely() { return byte() >= 250; }

  // A size: mostly small, sometimes beyond a block or a chunk of keys, rarely absurd.
  int32_t size() {
    const uint8_t b = byte();
    if (b < 180) return 1 + b % 20;
    if (b < 235) return 1 + b;
    if (b < 244) return 1000 + byte();
    static const int32_t absurd[] = {0, -1, INT32_MIN, INT32_MAX, HEED_MAX_DIM, HEED_MAX_DIM + 1, HEED_MAX_COUNT};
    return b < 252 ? absurd[b % 7] : word();
  }
  int32_t flag() { return rarely() ? word() : byte() % 2; }
  // Any bits: NaN, infinities, subnormals.
  float number() {
    if (byte() < 240) return static_cast<float>(static_cast<int8_t>(byte())) * 0.03125f;
    const int32_t bits = word();
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }
  float scale(float usual = HEED_SCALE_DEFAULT) { return byte() < 128 ? usual : number(); }
  ptrdiff_t stride(ptrdiff_t usual) {
    const uint8_t b = byte();
    if (b < 200) return usual;
    if (b < 225) return usual + b % 5;
    if (b < 240) return b % 9;
    return b < 248 ? word() : std::numeric_limits<ptrdiff_t>::max() >> (b % 8 * 4);
  }

 private:
  const uint8_t *data_;
  size_t size_, at_ = 0;
};

// What one call may touch. A tensor too large to allocate here but not for the library makes the whole call unusable.
class fuzz_memory {
 public:
  explicit fuzz_memory(fuzz_bytes *in) : in_(in) {}
  bool usable() const { return usable_; }
  void give_up() { usable_ = false; }

  // A (counts, dim) tensor of floats; null or misaligned now and then.
  float *tensor(const std::vector<int32_t> &counts, const std::vector<ptrdiff_t> &strides, int32_t dim, bool written) {
    return static_cast<float *>(array(counts, strides, dim, sizeof(float), written));
  }
  void *array(const std::vector<int32_t> &counts, const std::vector<ptrdiff_t> &strides, int32_t dim, size_t bytes,
              bool written) {
    double extent = dim;
    bool refused = dim < 1;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] < 1 || (counts[i] > 1 && strides[i] < 0)) refused = true;
      if (counts[i] > 1) extent += (counts[i] - 1.0) * static_cast<double>(strides[i]);
    }
    if (in_->rarely()) return in_->byte() % 2 || bytes == 1 ? nullptr : misaligned(memory(16, written));
    // What must be refused gets memory that is too short, so that accepting it shows.
    if (refused || extent > 0x1p63 / static_cast<double>(bytes)) return memory(16, written);
    if (extent > most_floats) usable_ = false;
    return memory(usable_ ? static_cast<size_t>(extent) * bytes : 4, written);
  }
  // A structure of the caller's, all zeros.
  template <typename T>
  T *object() {
    return new (memory(sizeof(T), false)) T();
  }
  heed_matrix matrix(int32_t n_rows, int32_t dim) {
    const ptrdiff_t stride = in_->stride(dim);
    return {tensor({n_rows}, {stride}, dim, false), n_rows, dim, stride};
  }
  heed_matrix_out matrix_out(int32_t n_rows, int32_t dim) {
    const ptrdiff_t stride = in_->stride(dim);
    return {tensor({n_rows}, {stride}, dim, true), n_rows, dim, stride};
  }
  // Aligned to 64 bytes.
  void *buffer(size_t bytes, bool written) {
    if (bytes > most_floats * 4) usable_ = false;
    return memory(usable_ ? bytes : 4, written);
  }
  // Everything written starts as this pattern, so that a refused call can be seen to have changed nothing.
  bool untouched() const {
    for (const piece &p : pieces_)
      for (size_t i = 0; p.written && i < p.bytes; ++i)
        if (p.data.get()[i] != pattern) return false;
    return true;
  }
  // All bytes of what is written.
  std::vector<uint8_t> contents() const {
    std::vector<uint8_t> all;
    for (const piece &p : pieces_)
      if (p.written) all.insert(all.end(), p.data.get(), p.data.get() + p.bytes);
    return all;
  }
  // The same, and then the pattern again.
  std::vector<uint8_t> take() {
    const std::vector<uint8_t> all = contents();
    for (piece &p : pieces_)
      if (p.written) std::memset(p.data.get(), pattern, p.bytes);
    return all;
  }

 private:
  static constexpr size_t most_floats = 1 << 17;
  static constexpr uint8_t pattern = 0x5a;
  struct piece {
    std::unique_ptr<uint8_t, void (*)(void *)> data;
    size_t bytes;
    bool written;
  };
  static float *misaligned(void *p) { return reinterpret_cast<float *>(static_cast<uint8_t *>(p) + 1); }

  void *memory(size_t bytes, bool written) {
    void *data = nullptr;
    if (posix_memalign(&data, 64, bytes) != 0) std::abort();
    std::memset(data, pattern, bytes);
    float *floats = static_cast<float *>(data);
    for (size_t i = 0; !written && i < bytes / 4; ++i)
      floats[i] = i < 16 ? in_->number() : floats[i - 1 - i % 13] * -0.75f;
    pieces_.push_back({{static_cast<uint8_t *>(data), std::free}, bytes, written});
    return data;
  }

  fuzz_bytes *in_;
  bool usable_ = true;
  std::vector<piece> pieces_;
};

}  // namespace heed_test

#endif
