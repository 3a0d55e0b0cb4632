// Caches in fenced memory, and what a cache must hold: a plain list of all tokens, widened by an arithmetic of its own.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_CACHES_HPP
#define HEED_TESTS_SUPPORT_CACHES_HPP

#include <cmath>
#include <string>
#include <vector>

#include "layout.hpp"
#include "random.hpp"
#include "refusal.hpp"

namespace heed_test {

// The nearest number with so many bits of fraction, ties to even; infinity beyond 2^(greatest exponent + 1).
inline float nearest_of(float x, int fraction_bits, int least_exponent, int greatest_exponent) {
  if (!std::isfinite(x) || x == 0) return x;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(x), least_exponent) - fraction_bits);
  const double y = std::nearbyint(x / unit) * unit;
  return std::fabs(y) < std::ldexp(1.0, greatest_exponent + 1) ? static_cast<float>(y) : std::copysign(infinity, x);
}

// A row narrowed and widened again.
inline void round_row(int32_t dtype, float *x, int32_t n) {
  float scale = 0;
  for (int32_t i = 0; i < n; ++i) scale = std::max(scale, std::fabs(x[i]));
  scale /= 127;
  for (int32_t i = 0; i < n; ++i) {
    if (dtype == HEED_F16) x[i] = nearest_of(x[i], 10, -14, 15);
    if (dtype == HEED_BF16) x[i] = nearest_of(x[i], 7, -126, 127);
    if (dtype != HEED_INT8) continue;
    const float q = scale == 0 ? 0 : std::nearbyint(std::max(-127.0f, std::min(127.0f, x[i] / scale)));
    x[i] = static_cast<float>(static_cast<int32_t>(q)) * scale;
  }
}

inline std::string text_of(const heed_cache_shape &s) {
  const char *const formats[] = {"f32", "f16", "bf16", "int8"};
  return std::string(s.kind == HEED_CACHE_RING ? "ring" : "linear") + " of " + std::to_string(s.capacity) + " pinned " +
         std::to_string(s.pinned) + " spare " + std::to_string(s.spare) + " sequences " +
         std::to_string(s.n_sequences) + " kv heads " + std::to_string(s.n_kv_heads) + " dims " +
         std::to_string(s.head_dim) + " " + std::to_string(s.v_dim) + " " + formats[s.dtype];
}

inline heed_cache_shape cache_shape(int32_t kind, int32_t capacity, int32_t n_kv_heads, int32_t head_dim, int32_t v_dim,
                                    int32_t dtype, int32_t pinned = 0, int32_t spare = 0, int32_t n_sequences = 1) {
  heed_cache_shape s = heed_cache_shape_default(capacity, n_kv_heads, head_dim);
  s.kind = kind, s.pinned = pinned, s.spare = spare, s.n_sequences = n_sequences, s.v_dim = v_dim, s.dtype = dtype;
  return s;
}

// Memory full of NaN bits, right behind an inaccessible page or right in front of one.
class cache_memory {
 public:
  cache_memory(slot which, const heed_cache_shape &shape, bool at_the_front) : bytes_(heed_cache_bytes(&shape)) {
    const region &room = region_of(which);
    EXPECT_LE(bytes_ + guard, size_t(room.end - room.begin));
    data_ = at_the_front ? room.begin : room.end - bytes_;
    guard_ = at_the_front ? data_ + bytes_ : data_ - guard;
    std::memset(at_the_front ? data_ : guard_, 0xff, bytes_ + guard);
  }
  unsigned char *data() const { return data_; }
  size_t count() const { return bytes_; }
  heed_memory all() const { return heed_memory_of(data_, bytes_); }
  bool guard_intact() const {
    return std::all_of(guard_, guard_ + guard, [](unsigned char c) { return c == 0xff; });
  }
  std::vector<unsigned char> copy() const { return {data_, data_ + bytes_}; }
  void write(const std::vector<unsigned char> &bytes) const { std::memcpy(data_, bytes.data(), bytes_); }
  bool holds(const std::vector<unsigned char> &bytes) const { return std::memcmp(data_, bytes.data(), bytes_) == 0; }

 private:
  static constexpr size_t guard = 256;
  size_t bytes_;
  unsigned char *data_, *guard_;
};

// New tokens of one sequence: k (n_kv_heads, n, head_dim), v (n_kv_heads, n, v_dim).
struct tokens {
  int32_t n;
  std::vector<float> k, v;
};

inline tokens random_tokens(random_source &r, const heed_cache_shape &s, int32_t n) {
  tokens t = {n, {}, {}};
  const int32_t exponent = r.chance(90) ? 0 : r.between(-30, 20);
  for (size_t i = size_t(s.n_kv_heads) * n * s.head_dim; i > 0; --i) t.k.push_back(std::ldexp(r.bell(), exponent));
  for (size_t i = size_t(s.n_kv_heads) * n * s.v_dim; i > 0; --i) t.v.push_back(std::ldexp(r.bell(), exponent));
  if (r.chance(95)) return t;
  static const std::vector<float> finite = {0.0f, -0.0f, 65504.0f, -65520.0f, 0x1p-149f, 0x1p-24f, -0x1p-126f, 3e38f};
  static const std::vector<float> special = {infinity, -infinity, not_a_number};
  const std::vector<float> &odd = s.dtype == HEED_INT8 || r.chance(70) ? finite : special;
  t.k[r.next() % t.k.size()] = r.pick(odd), t.v[r.next() % t.v.size()] = r.pick(odd);
  return t;
}

// Appends tokens that lie in fenced memory in any layout.
inline heed_status append(heed_cache *cache, int32_t sequence, const tokens &t, layout how, int32_t padding,
                          const heed_rope *rope) {
  const heed_cache_shape &s = cache->shape;
  const placement k = place(how, padding, 1, s.n_kv_heads, t.n, s.head_dim);
  const placement v = place(how, padding, 1, s.n_kv_heads, t.n, s.v_dim);
  const fenced_floats k_memory(slot_k, k.extent(), unread_bits), v_memory(slot_v, v.extent(), unread_bits);
  scatter(k, t.k, k_memory.data()), scatter(v, t.v, v_memory.data());
  return heed_cache_append(cache, sequence, input_view(k, k_memory.data()), input_view(v, v_memory.data()), t.n, rope);
}
inline heed_status append(heed_cache *cache, int32_t sequence, const tokens &t, const heed_rope *rope = nullptr) {
  return append(cache, sequence, t, layout::head_major, 0, rope);
}

// What the header promises of one sequence.
class sequence_model {
 public:
  explicit sequence_model(const heed_cache_shape &s) : s_(s) {}
  int32_t length() const { return length_; }
  // A position is a number of a key and this, if the ring has numbered its keys anew; but for pinned keys.
  int64_t position_of(int32_t number) const { return number <= pinned_slots() ? number : number + taken_back_; }
  int64_t position() const { return taken_back_ + length_; }
  bool is_renumbered() const { return taken_back_ != 0; }
  // Does the ring hold none but pinned tokens and such as have been appended behind them?
  bool has_wrapped() const {
    return s_.kind == HEED_CACHE_RING && length_ - (s_.capacity + s_.spare + 63) / 64 * 64 > pinned_slots();
  }
  // As if so many tokens had been appended besides.
  void grow_old(int32_t more) { taken_back_ += more; }
  // Another number for each key but pinned ones: tokens that are gone stand for the difference.
  void renumber(int32_t length) {
    const int32_t by = length - length_, row = s_.n_kv_heads;
    taken_back_ -= by;
    shift(by, row * s_.head_dim, &k_), shift(by, row * s_.v_dim, &v_);
    length_ += by, gone_ += by;
  }

  bool has_room(int32_t n) const {
    return s_.kind == HEED_CACHE_RING ? n <= s_.capacity + s_.spare : n <= s_.capacity - length_;
  }
  void append(tokens t, const heed_rope *rope) {
    if (rope) {
      EXPECT_EQ(heed_rope_apply(rope, heed_head_major(t.k.data(), t.n, s_.n_kv_heads, s_.head_dim), t.n, s_.n_kv_heads,
                                s_.head_dim, position(), nullptr,
                                heed_head_major_out(t.k.data(), t.n, s_.n_kv_heads, s_.head_dim), nullptr),
                HEED_OK);
    }
    keep(t.n, t.k, s_.head_dim, &k_), keep(t.n, t.v, s_.v_dim, &v_);
    length_ += t.n;
    if (s_.kind == HEED_CACHE_RING) gone_ = std::max(gone_, length_ - s_.capacity - s_.spare);
  }
  void truncate(int32_t length) {
    if (length <= pinned_slots()) taken_back_ = 0;
    length_ = length, gone_ = std::min(gone_, length);
    k_.resize(size_t(length) * s_.n_kv_heads * s_.head_dim), v_.resize(size_t(length) * s_.n_kv_heads * s_.v_dim);
  }
  // Whether all keys from `first` on are certain to be there; those of a ring may be.
  bool holds(int64_t first) const {
    const int64_t not_pinned = std::max<int64_t>(first, s_.pinned);
    return not_pinned >= gone_;
  }
  bool holds_all() const { return gone_ <= 0; }

  // Widened rows of a head, (length, dim).
  void copy_rows(int32_t head, float *k, float *v) const {
    for (int32_t t = 0; t < length_; ++t) {
      const size_t row = size_t(t) * s_.n_kv_heads + head;
      std::copy_n(&k_[row * s_.head_dim], s_.head_dim, k + ptrdiff_t(t) * s_.head_dim);
      std::copy_n(&v_[row * s_.v_dim], s_.v_dim, v + ptrdiff_t(t) * s_.v_dim);
    }
  }

 private:
  void keep(int32_t n, const std::vector<float> &from, int32_t dim, std::vector<float> *all) const {
    for (int32_t t = 0; t < n; ++t)
      for (int32_t h = 0; h < s_.n_kv_heads; ++h) {
        const auto row = from.begin() + (ptrdiff_t(h) * n + t) * dim;
        all->insert(all->end(), row, row + dim);
        round_row(s_.dtype, &*(all->end() - dim), dim);
      }
  }
  int32_t pinned_slots() const { return (s_.pinned + 63) / 64 * 64; }
  void shift(int32_t by, int32_t row, std::vector<float> *all) const {
    const auto at = all->begin() + ptrdiff_t(pinned_slots()) * row;
    if (by > 0) all->insert(at, size_t(by) * size_t(row), 0.0f);
    if (by < 0) all->erase(at, at + ptrdiff_t(-by) * row);
  }
  heed_cache_shape s_;
  int32_t length_ = 0, gone_ = 0;  // all before `gone` but the pinned ones
  int64_t taken_back_ = 0;
  std::vector<float> k_, v_;  // (length, n_kv_heads, dim)
};

}  // namespace heed_test

#endif
