// The memory of one call, as hostile as it may be: arrays at any multiple of 4, many right behind an inaccessible page
// or right in front of one. It is put back before every run and compared afterwards, so that whatever a call may not
// write is known to be as it was. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_STAGE_HPP
#define HEED_TESTS_SUPPORT_STAGE_HPP

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fence.hpp"
#include "kernel_trap.hpp"
#include "problem.hpp"
#include "random.hpp"
#include "run.hpp"

namespace heed_test {

// Axes nested in any order, each with or without padding.
inline placement random_placement(random_source &r, int32_t n_batch, int32_t n_heads, int32_t n_rows, int32_t dim) {
  placement p = {n_batch, n_heads, n_rows, dim, 0, 0, 0};
  std::pair<int32_t, ptrdiff_t *> axes[] = {
      {n_rows, &p.row_stride}, {n_heads, &p.head_stride}, {n_batch, &p.batch_stride}};
  for (int32_t left = 3; left > 1; --left) std::swap(axes[left - 1], axes[r.between(0, left - 1)]);
  ptrdiff_t extent = dim;
  for (const auto &[count, stride] : axes) {
    *stride = extent + (r.chance(60) ? 0 : r.between(1, 17));
    extent += *stride * (count - 1);
    if (count == 1 && r.chance(30)) *stride = PTRDIFF_MAX - r.between(0, 9);  // of no account
  }
  return p;
}

// What only inputs may have: rows, heads or batch entries that repeat or overlap each other.
inline placement random_input_placement(random_source &r, int32_t n_batch, int32_t n_heads, int32_t n_rows,
                                        int32_t dim) {
  placement p = random_placement(r, n_batch, n_heads, n_rows, dim);
  for (ptrdiff_t *stride : {&p.batch_stride, &p.head_stride, &p.row_stride})
    if (r.chance(8)) *stride = r.chance(50) ? 0 : r.between(0, dim);
  return p;
}

// The same as a float; of int8 as it is, without its scale.
inline float number_at(int32_t dtype, const unsigned char *p) {
  uint16_t half;
  if (dtype == HEED_INT8) return static_cast<int8_t>(*p);
  if (dtype == HEED_F32)
    return float_of(uint32_t{p[0]} | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 | uint32_t{p[3]} << 24);
  std::memcpy(&half, p, sizeof half);
  if (dtype == HEED_BF16) return float_of(uint32_t{half} << 16);
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const float size = exponent == 31 ? (fraction ? not_a_number : infinity)
                                    : std::ldexp(static_cast<float>(exponent ? fraction | 1024 : fraction),
                                                 std::max(exponent, 1) - 25);
  return half >> 15 ? -size : size;
}
// What is no result of any format: a signalling NaN of f16 and of bf16, and -128.
inline uint32_t unwritten_bits_of(int32_t dtype) {
  constexpr uint32_t bits[] = {unwritten_bits, 0x7da57da5, 0x7fa57fa5, 0x80808080};
  return bits[dtype];
}

class stage {
 public:
  explicit stage(random_source *r) : r_(r) {}

  // Numbers to be read. NaN until the caller puts others there.
  float *input(size_t n_floats) { return static_cast<float *>(input(HEED_F32, n_floats)); }
  void *input(int32_t dtype, size_t n) { return input_bytes(n * HEED_DTYPE_BYTES(dtype), HEED_DTYPE_BYTES(dtype)); }
  void *input_bytes(size_t bytes, size_t alignment) {
    void *const data = add(bytes, alignment, unread_bits, {}, kind::read);
    arrays_.back().is_packed = alignment == HEED_ALIGNMENT;  // nothing else asks for so much
    return data;
  }
  // To be written: all rows, and nothing between them.
  float *output(const placement &rows) { return static_cast<float *>(output(HEED_F32, rows)); }
  void *output(int32_t dtype, const placement &rows) {
    const size_t bytes = HEED_DTYPE_BYTES(dtype);
    return add(rows.extent() * bytes, bytes, unwritten_bits_of(dtype), rows, kind::written, dtype);
  }
  // To be written anywhere, from any contents. Of `rows`, if any, the result is taken.
  heed_memory scratch(size_t bytes, size_t alignment = HEED_ALIGNMENT, const placement &rows = {}) {
    return heed_memory_of(add(bytes, alignment, r_->below(256) * 0x01010101u, rows, kind::scratch), bytes);
  }
  // The same for what a call looks at before it begins: caches, partial results, objects that it changes.
  template <typename T = void>
  T *state(size_t bytes, size_t alignment = 8, const placement &rows = {}) {
    return static_cast<T *>(add(bytes, alignment, r_->below(256) * 0x01010101u, rows, kind::state));
  }
  // And to be read: options and their numbers, scales.
  template <typename T>
  T *inputs(size_t count) {
    return static_cast<T *>(add(count * sizeof(T), alignof(T), unread_bits, {}, kind::object));
  }

  // What memory holds now is the state before a call.
  void freeze() {
    for (array &a : arrays_) a.image.assign(a.begin(), a.begin() + a.all_bytes());
  }
  void reset() const {
    for (const array &a : arrays_) std::memcpy(a.begin(), a.image.data(), a.image.size());
  }
  // Makes that state another.
  template <typename Change>
  void edit(Change change) {
    reset();
    change();
    freeze();
  }
  // A structure of the caller's in one of the arrays, at a multiple of 8. A second one would destroy the first, through
  // whose pointers the call reads: it lies in memory of its own, and the first is flaw enough.
  template <typename T>
  T *plant(void *array, const T &value) {
    T *there = reinterpret_cast<T *>((reinterpret_cast<uintptr_t>(array) + 7) / 8 * 8);
    const uintptr_t begin = reinterpret_cast<uintptr_t>(there), end = begin + sizeof value;
    for (const auto &other : planted_)
      if (begin < other.second && other.first < end) {
        apart_.emplace_back(new uint64_t[(sizeof value + 7) / 8]);
        std::memcpy(static_cast<void *>(apart_.back().get()), &value, sizeof value);
        return reinterpret_cast<T *>(apart_.back().get());
      }
    planted_.emplace_back(begin, end);
    edit([&] { std::memcpy(static_cast<void *>(there), &value, sizeof value); });
    return there;
  }

  // Also a refused call may write there.
  void release(const void *scratch) {
    for (array &a : arrays_) a.released |= a.data == scratch;
  }

  // Calls may leave outputs as they were.
  void allow_unwritten() { may_be_unwritten_ = true; }

  // Somewhere in numbers that a call reads or writes once it has begun; null: there are none. It compares the header of
  // packed weights before.
  const void *anywhere_in_numbers(random_source &r) const {
    std::vector<const array *> all;
    for (const array &a : arrays_)
      if (a.bytes > 0 && a.what != kind::state && a.what != kind::object && !a.is_packed) all.push_back(&a);
    if (all.empty()) return nullptr;
    const array &a = *r.pick(all);
    return a.data + r.below(static_cast<uint32_t>(a.bytes));
  }

  // What a call did wrong to memory; empty if nothing.
  std::string harm(bool refused) const {
    for (size_t i = 0; i < arrays_.size(); ++i) {
      const array &a = arrays_[i];
      std::vector<unsigned char> expected = a.image;
      bool all_written = true;
      if (!refused || a.released) all_written = take_result(a, expected.data() + a.front);
      if (std::memcmp(expected.data(), a.begin(), expected.size()) != 0) {
        const auto difference = std::mismatch(expected.begin(), expected.end(), a.begin());
        return "byte " + std::to_string(difference.second - a.data) + " of array " + std::to_string(i) + " (of " +
               std::to_string(a.bytes) + " bytes) was changed";
      }
      if (!all_written && !may_be_unwritten_) return "array " + std::to_string(i) + " was not written everywhere";
    }
    return {};
  }

  // The rows of all outputs, one array after another.
  std::vector<float> result() const {
    std::vector<float> all;
    for (const array &a : arrays_)
      each_row(a.rows, [&](size_t at, size_t) {
        const size_t bytes = HEED_DTYPE_BYTES(a.dtype);
        for (int32_t i = 0; i < a.rows.dim; ++i) all.push_back(number_at(a.dtype, a.data + (at + size_t(i)) * bytes));
      });
    return all;
  }

  // All bytes of the outputs, gaps among them.
  std::vector<unsigned char> outputs() const {
    std::vector<unsigned char> all;
    for (const array &a : arrays_)
      if (a.what == kind::written) all.insert(all.end(), a.data, a.data + a.bytes);
    return all;
  }

 private:
  enum class kind { read, written, scratch, state, object };
  struct array {
    unsigned char *data;
    size_t bytes, front, rear;  // guards on both sides, shorter next to a page without access
    placement rows;             // the result; none: dim 0
    kind what;
    int32_t dtype;  // of the result
    bool released, is_packed;
    std::vector<unsigned char> image;
    unsigned char *begin() const { return data - front; }
    size_t all_bytes() const { return front + bytes + rear; }
  };
  static constexpr size_t guard = 128;

  void *add(size_t bytes, size_t alignment, uint32_t fill, const placement &rows, kind what, int32_t dtype = HEED_F32) {
    const region &all = region_of(static_cast<slot>(arrays_.size()));
    const size_t room = static_cast<size_t>(all.end - all.begin) - bytes;
    const int32_t where = r_->between(0, 9);
    const size_t anywhere = 4 * static_cast<size_t>(r_->between(0, 8191));
    const size_t offset = (where < 4 ? room : where < 7 ? 0 : std::min(room, anywhere)) / alignment * alignment;
    if (arrays_.size() >= n_slots || bytes > size_t(all.end - all.begin)) std::abort();
    array a = {all.begin + offset,
               bytes,
               std::min(guard, offset),
               std::min(guard, room - offset),
               rows,
               what,
               dtype,
               false,
               false,
               {}};
    for (size_t i = 0; i < a.all_bytes(); ++i)
      a.begin()[i] = static_cast<unsigned char>(fill >> (reinterpret_cast<uintptr_t>(a.begin() + i) % 4 * 8));
    arrays_.push_back(a);
    return a.data;
  }

  // Copies what the call may have written to the expectation. False: a float of the result was not written.
  static bool take_result(const array &a, unsigned char *expected) {
    if (a.what == kind::scratch || a.what == kind::state) {
      std::memcpy(expected, a.data, a.bytes);
      return true;
    }
    bool all_written = true;
    const size_t bytes = HEED_DTYPE_BYTES(a.dtype);
    const uint32_t unwritten = unwritten_bits_of(a.dtype);
    each_row(a.rows, [&](size_t at, size_t) {
      const unsigned char *const row = a.data + at * bytes;
      for (int32_t i = 0; i < a.rows.dim; ++i)
        all_written &= std::memcmp(row + size_t(i) * bytes, &unwritten, bytes) != 0;
      std::memcpy(expected + at * bytes, row, size_t(a.rows.dim) * bytes);
    });
    return all_written;
  }

  random_source *r_;
  bool may_be_unwritten_ = false;
  std::vector<array> arrays_;
  std::vector<std::pair<uintptr_t, uintptr_t>> planted_;  // from, to
  std::vector<std::unique_ptr<uint64_t[]>> apart_;
};

}  // namespace heed_test

#endif
