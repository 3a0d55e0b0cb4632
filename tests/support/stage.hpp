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

class stage {
 public:
  explicit stage(random_source *r) : r_(r) {}

  // To be read. NaN until the caller puts numbers there.
  float *input(size_t n_floats) { return add(n_floats * sizeof(float), 4, unread_bits, {}, false); }
  // To be written: all rows, and nothing between them.
  float *output(const placement &rows) { return add(rows.extent() * sizeof(float), 4, unwritten_bits, rows, false); }
  // To be written anywhere, from any contents. Of `rows`, if any, the result is taken.
  template <typename T>
  T *scratch(size_t bytes, size_t alignment, const placement &rows = {}) {
    return reinterpret_cast<T *>(add(bytes, alignment, r_->next() % 256 * 0x01010101u, rows, true));
  }

  // The same of anything else.
  template <typename T>
  T *inputs(size_t count) {
    return reinterpret_cast<T *>(add(count * sizeof(T), alignof(T), unread_bits, {}, false));
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

  // What a call did wrong to memory; empty if nothing.
  std::string harm(bool refused) const {
    for (size_t i = 0; i < arrays_.size(); ++i) {
      const array &a = arrays_[i];
      std::vector<unsigned char> expected = a.image;
      bool all_written = true;
      if (!refused) all_written = take_result(a, expected.data() + a.front);
      if (std::memcmp(expected.data(), a.begin(), expected.size()) != 0) {
        const auto difference = std::mismatch(expected.begin(), expected.end(), a.begin());
        return "byte " + std::to_string(difference.second - a.data) + " of array " + std::to_string(i) + " (of " +
               std::to_string(a.bytes) + " bytes) was changed";
      }
      if (!all_written) return "array " + std::to_string(i) + " was not written everywhere";
    }
    return {};
  }

  // The rows of all outputs, one array after another.
  std::vector<float> result() const {
    std::vector<float> all;
    for (const array &a : arrays_) {
      const std::vector<float> rows = gather(a.rows, reinterpret_cast<const float *>(a.data));
      all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
  }

 private:
  struct array {
    unsigned char *data;
    size_t bytes, front, rear;  // guards on both sides, shorter next to a page without access
    placement rows;             // the result; none: dim 0
    bool scratch;
    std::vector<unsigned char> image;
    unsigned char *begin() const { return data - front; }
    size_t all_bytes() const { return front + bytes + rear; }
  };
  static constexpr size_t guard = 128;

  float *add(size_t bytes, size_t alignment, uint32_t fill, const placement &rows, bool scratch) {
    const region &all = region_of(static_cast<slot>(arrays_.size()));
    const size_t room = static_cast<size_t>(all.end - all.begin) - bytes;
    const int32_t where = r_->between(0, 9);
    const size_t anywhere = 4 * static_cast<size_t>(r_->between(0, 8191));
    const size_t offset = (where < 4 ? room : where < 7 ? 0 : std::min(room, anywhere)) / alignment * alignment;
    array a = {all.begin + offset, bytes, std::min(guard, offset), std::min(guard, room - offset), rows, scratch, {}};
    for (size_t i = 0; i < a.all_bytes(); ++i)
      a.begin()[i] = static_cast<unsigned char>(fill >> (reinterpret_cast<uintptr_t>(a.begin() + i) % 4 * 8));
    arrays_.push_back(a);
    return reinterpret_cast<float *>(a.data);
  }

  // Copies what the call may have written to the expectation. False: a float of the result was not written.
  static bool take_result(const array &a, unsigned char *expected) {
    if (a.scratch) std::memcpy(expected, a.data, a.bytes);
    bool all_written = true;
    each_row(a.rows, [&](size_t at, size_t) {
      const float *row = reinterpret_cast<const float *>(a.data) + at;
      all_written &= std::none_of(row, row + a.rows.dim, [](float x) { return bits_of(x) == unwritten_bits; });
      std::memcpy(expected + at * sizeof(float), row, size_t(a.rows.dim) * sizeof(float));
    });
    return all_written;
  }

  random_source *r_;
  std::vector<array> arrays_;
  std::vector<std::pair<uintptr_t, uintptr_t>> planted_;  // from, to
  std::vector<std::unique_ptr<uint64_t[]>> apart_;
};

}  // namespace heed_test

#endif
