// The arrays that a kernel's steps work on, made by hand, so that each step can be compared with the scalar's alone.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_STEPS_HPP
#define HEED_TESTS_SUPPORT_STEPS_HPP

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "../../lib/isa_choice/dispatch.hpp"
#include "../../lib/kernel_contract/stored_elements.hpp"
#include "../../lib/tasks/tiles.hpp"
#include "floats.hpp"

namespace heed_test {

using namespace heed;  // the library's own parts

// n elements at a place that is no multiple of a register, with guards before and behind.
template <class T>
class guarded {
 public:
  explicit guarded(size_t n, size_t shift = 0) : n_(n), shift_(guard + shift), all_(n + 2 * guard + shift) {
    std::memset(all_.data(), pattern, all_.size() * sizeof(T));
  }
  T *data() { return all_.data() + shift_; }
  size_t size() const { return n_; }
  bool intact() const {
    const auto *bytes = reinterpret_cast<const unsigned char *>(all_.data());
    for (size_t i = 0; i < all_.size() * sizeof(T); i++)
      if ((i < shift_ * sizeof(T) || i >= (shift_ + n_) * sizeof(T)) && bytes[i] != pattern) return false;
    return true;
  }

 private:
  static constexpr size_t guard = 64;
  static constexpr unsigned char pattern = 0xa5;
  size_t n_, shift_;
  std::vector<T> all_;
};

// Any number as a function of where it stands: in [-4, 4), some of them special if wanted.
inline float number_at(uint32_t seed, uint32_t i, uint32_t j = 0) {
  uint32_t x = seed * 0x9e3779b9u + i * 0x85ebca6bu + j * 0xc2b2ae35u + 1;
  x ^= x >> 15, x *= 0x2c1b3c6du, x ^= x >> 12, x *= 0x297a2d39u, x ^= x >> 15;
  return static_cast<float>(static_cast<int32_t>(x >> 8) - 0x800000) * 0x1p-21f;
}
inline void fill(float *x, size_t n, uint32_t seed) {
  for (size_t i = 0; i < n; i++) x[i] = number_at(seed, static_cast<uint32_t>(i));
}

// A block of keys and the rows that meet it.
struct block_shape {
  int32_t n_q, group, head_dim, v_dim, from, n;
  std::string text() const {
    return "n_q " + std::to_string(n_q) + ", group " + std::to_string(group) + ", head_dim " +
           std::to_string(head_dim) + ", v_dim " + std::to_string(v_dim) + ", keys " + std::to_string(from) + " to " +
           std::to_string(n);
  }
};

// A stream over that block: queries, keys and values as floats, or, with `stored`, in a storage of some format.
class block_bench {
 public:
  static constexpr int32_t begin = 64;  // keys before the block

  block_bench(const block_shape &shape, int32_t dtype, bool keys_are_rows, size_t shift)
      : c(shape),
        rows_(static_cast<size_t>(shape.n_q) * static_cast<size_t>(shape.group)),
        q_(rows_ * static_cast<size_t>(c.head_dim), shift),
        k_(2 * 64 * static_cast<size_t>(c.head_dim), shift),
        v_(2 * 64 * static_cast<size_t>(c.v_dim), shift),
        out_(rows_ * static_cast<size_t>(c.v_dim), shift),
        scales_(2 * 64) {
    fill(q_.data(), q_.size(), 1);
    fill_stored(k_, dtype, 2);
    fill_stored(v_, dtype, 3);
    for (size_t i = 0; i < scales_.size(); i++) scales_[i] = 0.01f + 0.001f * static_cast<float>(i);
    s.q = q_.data();
    s.q_query_stride = c.group * c.head_dim;
    s.q_head_stride = c.head_dim;
    s.k = {k_.data(), c.head_dim};
    s.v = {v_.data(), c.v_dim};
    s.out = out_.data();
    s.out_query_stride = c.group * c.v_dim;
    s.out_head_stride = c.v_dim;
    s.group = c.group;
    s.n_kv = begin + c.n;
    s.head_dim = c.head_dim;
    s.v_dim = c.v_dim;
    s.n_rows = static_cast<ptrdiff_t>(rows_);
    s.c = 0.3f;
    at.key_format = at.value_format = dtype;
    at.keys_are_rows = keys_are_rows;
    at.ring_slots = INT32_MAX;
    at.key_scales = at.value_scales = {scales_.data(), 0, 0, 1};
    rule.stored = &at;
  }
  block_bench(const block_bench &) = delete;
  block_bench &operator=(const block_bench &) = delete;

  key_block block() const { return {begin, c.from, c.n, false}; }
  size_t rows() const { return rows_; }
  bool intact() const { return q_.intact() && k_.intact() && v_.intact() && out_.intact(); }

  const block_shape c;
  stream s = {};
  score_rule rule = {};
  storage at = {};

 private:
  static void fill_stored(guarded<float> &to, int32_t dtype, uint32_t seed) {
    if (dtype == stored_f32) return fill(to.data(), to.size(), seed);
    auto *bytes = reinterpret_cast<unsigned char *>(to.data());
    const size_t n = to.size() * sizeof(float);
    for (size_t i = 0; i < n; i++) {
      const auto any = static_cast<unsigned char>(static_cast<int32_t>(number_at(seed, uint32_t(i)) * 64.0f));
      // The upper byte of 16 bits: no NaN, no infinity, no great exponents.
      bytes[i] = dtype != stored_int8 && i % 2 == (is_little_endian() ? 1 : 0)
                     ? static_cast<unsigned char>((any & 0x83) | 0x38)
                     : any;
    }
  }
  static bool is_little_endian() {
    const uint16_t one = 1;
    unsigned char first;
    std::memcpy(&first, &one, 1);
    return first == 1;
  }

  const size_t rows_;
  guarded<float> q_, k_, v_, out_;
  std::vector<float> scales_;
};

inline float &score_of(const tile &t, int32_t r, int32_t j) {
  return t.scores[t.lanes_are_queries ? j * t.row_capacity + r : r * block_keys + j];
}

// Everything that a step may read of a tile, by row and key alone, so that any tile over these rows has the same.
inline void fill_tile(const tile &t) {
  for (int32_t r = 0; r < t.row_capacity; r++) {
    const ptrdiff_t last = t.s->n_rows - 1, row = t.first_row + r < last ? t.first_row + r : last;
    const auto i = static_cast<uint32_t>(row);
    for (int32_t j = 0; j < block_keys; j++) score_of(t, r, j) = number_at(11, i, uint32_t(j));
    for (int32_t n = 0; n < n_sums; n++) t.sums[r * n_sums + n] = number_at(12, i, uint32_t(n));
    for (int32_t n = 0; n < t.acc_stride; n++) t.chunk.acc[r * t.acc_stride + n] = number_at(13, i, uint32_t(n));
    t.chunk.m[r] = number_at(14, i), t.chunk.l[r] = 4.5f + number_at(15, i);
    t.total.m[r] = number_at(16, i), t.total.l[r] = 4.5f + number_at(17, i);
    t.alpha[r] = 0.5f + number_at(18, i) * 0.1f, t.shift[r] = 5.0f + number_at(19, i);
    t.first[r] = 0;
    t.last[r] = t.s->n_kv;
    const row_cursor cursor(*t.s, row);
    for (int32_t d = 0; t.lanes_are_queries && d < t.s->head_dim; d++) t.qt[d * t.row_capacity + r] = cursor.q()[d];
    float *out = cursor.out();
    for (int32_t n = 0; n < t.s->v_dim; n++) out[n] = number_at(20, i, uint32_t(n));
  }
}

// One row as the scalar reference takes it.
struct reference_row {
  reference_row(const stream &s, ptrdiff_t row) : acc(static_cast<size_t>(s.v_dim) + 16) {
    t.s = &s;
    t.first_row = row;
    t.n_rows = t.row_capacity = 1;
    t.acc_stride = (s.v_dim + 15) / 16 * 16;
    t.scores = scores, t.sums = sums, t.alpha = singles, t.shift = singles + 1;
    t.chunk = {singles + 2, singles + 3, acc.data()};
    t.total = {singles + 4, singles + 5, nullptr};
    t.first = ends, t.last = ends + 1;
    fill_tile(t);
  }
  reference_row(const reference_row &) = delete;
  reference_row &operator=(const reference_row &) = delete;

  tile t = {};
  float scores[block_keys], sums[n_sums], singles[6];
  int32_t ends[2];
  std::vector<float> acc;
};

// Compares floats by their bits; says which step, on what shape and where, once.
class step_check {
 public:
  explicit step_check(const std::string &step) : step_(step) {}
  void equal(const std::string &where, float expected, float actual) {
    if (failed_ || same_float(expected, actual)) return;
    failed_ = true;
    ADD_FAILURE() << step_ << ": " << where << ": the scalar has " << expected << " (" << std::hex << bits_of(expected)
                  << "), the kernel " << actual << " (" << bits_of(actual) << ")";
  }
  void that(bool condition, const std::string &what) {
    if (!condition && !failed_) ADD_FAILURE() << step_ << ": " << what;
    failed_ = failed_ || !condition;
  }
  bool failed() const { return failed_; }

 private:
  const std::string step_;
  bool failed_ = false;
};

// Runs `step` on every tile of a bench as the kernel cuts them, `reference` on each row by itself, then `compare` on the two.
template <class Step, class Reference, class Compare>
void on_every_tile(const kernel *k, block_bench &b, step_check &check, Step step, Reference reference,
                   Compare compare) {
  const size_t bytes = HEED_WORKSPACE_BYTES(b.c.head_dim, b.c.v_dim);
  const row_tiles tiles = cut_rows(k, b.s.n_rows, b.c.head_dim, b.c.v_dim, bytes);
  for (ptrdiff_t i = 0; i < tiles.n_tiles && !check.failed(); i++) {
    guarded<float> workspace(bytes / sizeof(float));
    const tile t = make_tile(k, tiles, i, b.s, workspace.data());
    fill_tile(t);
    step(t);
    check.that(workspace.intact() && b.intact(), "wrote outside its memory, " + b.c.text());
    std::vector<float> out(b.s.out + t.first_row * b.c.v_dim, b.s.out + (t.first_row + t.n_rows) * b.c.v_dim);
    for (int32_t r = 0; r < t.n_rows && !check.failed(); r++) {
      reference_row row(b.s, t.first_row + r);
      reference(row.t);
      compare(t, r, row.t, out.data() + r * b.c.v_dim);
    }
  }
}

}  // namespace heed_test

#endif
