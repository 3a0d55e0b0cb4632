// Trials of caches: what they have in common. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_CACHE_STEPS_HPP
#define HEED_TESTS_SUPPORT_CACHE_STEPS_HPP

#include <cmath>
#include <string>
#include <vector>

#include "aged.hpp"
#include "cached_runs.hpp"
#include "layer_parts.hpp"
#include "row_trials.hpp"
#include "staged_options.hpp"

namespace heed_test {

// A cache in a trial's memory that holds some tokens, and a copy of its memory. Made before any other array
// of the trial, whose memory tokens pass through.
class staged_cache {
 public:
  staged_cache(random_source &r, const heed_cache_shape &shape, int32_t n_before, stage *memory)
      : bytes_(heed_cache_bytes(&shape)) {
    const placement all = {1, 1, 1, static_cast<int32_t>(bytes_ / sizeof(float)), 0, 0, 0};
    EXPECT_EQ(status_name(
                  heed_cache_init(&cache, &shape, heed_memory_of(memory->state(bytes_, HEED_ALIGNMENT, all), bytes_))),
              "HEED_OK");
    for (int32_t left = n_before, n; left > 0; left -= n) {
      n = std::min(left, shape.capacity + shape.spare);
      for (int32_t sequence = 0; sequence < shape.n_sequences; ++sequence) {
        const tokens t = {n, bell_floats(r, size_t(n) * shape.n_kv_heads * shape.head_dim),
                          bell_floats(r, size_t(n) * shape.n_kv_heads * shape.v_dim)};
        EXPECT_EQ(status_name(append(&cache, sequence, t)), "HEED_OK");
      }
    }
    image_ = contents(cache);
  }
  // The cache as it was at first, in memory of the caller's.
  heed_cache copy(std::vector<float> *to) const {
    to->resize(image_.size() + 16);
    const uintptr_t address = reinterpret_cast<uintptr_t>(to->data());
    heed_cache other = cache;
    other.buffer = reinterpret_cast<void *>((address + 63) / 64 * 64);
    std::memcpy(other.buffer, image_.data(), bytes_);
    return other;
  }
  std::vector<float> contents(const heed_cache &of) const {
    const auto *from = static_cast<const float *>(of.buffer);
    return {from, from + bytes_ / sizeof(float)};
  }
  heed_cache cache = {};

 private:
  size_t bytes_;
  std::vector<float> image_;
};

// Rows whose causal attention is worth threads.
inline int32_t rows_worth_threads(int32_t n_heads, int32_t dims) {
  return static_cast<int32_t>(std::sqrt(2.0 * 2100000 / (double(n_heads) * dims))) + 2;
}

// Tokens, a call of attention, and steps of a cache's life with them.
class cache_steps : public trial {
 public:
  cache_steps(random_source &r, extent e) : trial(&r, e), cache_(r, draw_shape(r, e, &n_tokens_), 0, &memory) {
    const heed_cache_shape &s = cache_.cache.shape;
    numbers_ = random_tokens(r, s, n_tokens_);
    const auto view = e == extent::regular ? random_placement : random_input_placement;
    const placement k = view(r, 1, s.n_kv_heads, n_tokens_, s.head_dim),
                    v = view(r, 1, s.n_kv_heads, n_tokens_, s.v_dim);
    k_ = input_view(k, put(k, &numbers_.k)), v_ = input_view(v, put(v, &numbers_.v));
    rope_ = memory.inputs<heed_rope>(1);
    turn_ = random_rope(r, s.head_dim);
    *rope_ = place_rope(turn_, &memory);
  }
  std::string text() const override {
    static const char *const names[] = {"append", "attend", "truncate", "reset",  "length",  "longest",
                                        "save",   "load",   "begin",    "damage", "grow old"};
    std::string all = "cache " + text_of(cache_.cache.shape) + ", " + turn_.text() + ", queries " + p_.text() + ":";
    for (const step &s : steps_)
      all += std::string(" ") + names[s.what] + " " + std::to_string(s.sequence) + " " + std::to_string(s.n);
    return all;
  }

 protected:
  enum action { append_rows, attend, truncate, reset, length, longest_of_all, save, load, begin, damage, grow_old };
  struct step {
    action what;
    int32_t sequence, n;
    int32_t first;  // of the tokens; of damage the byte
    bool turned;
  };

  step one_step(random_source &r) const {
    const int32_t n = cache_.cache.shape.n_sequences, kind = r.between(0, 99);
    const action what = kind < 40   ? append_rows
                        : kind < 75 ? attend
                        : kind < 84 ? truncate
                        : kind < 92 ? save
                                    : static_cast<action>(r.between(reset, begin));
    return {what,
            r.chance(95)   ? r.between(0, n - 1)
            : r.chance(50) ? -1
                           : n,
            1, 0, r.chance(50) && cache_.cache.shape.head_dim > 1};
  }
  void draw_call(random_source &r, extent e) {
    const heed_cache_shape &s = cache_.cache.shape;
    const bool regular = e == extent::regular;
    int32_t n_kv = 1;
    for (const step &now : steps_) n_kv += now.what == append_rows ? std::max(now.n, 0) : 0;
    if (r.chance(5) && !regular) n_kv = r.between(1, n_kv);
    const bool ages = !steps_.empty() && steps_.back().what == attend && grows_old();
    if (ages) n_kv += int32_t(HEED_CACHE_SLOTS(s.pinned)) + ring_slots_of(s) + 2 * period_of(ring_slots_of(s), 1024);
    const int32_t n_q = e == extent::large ? n_tokens_ : regular ? 3 : r.chance(50) ? 1 : r.between(1, 12);
    p_ = problem_over(s, cache_model(size_t(s.n_sequences), sequence_model(s)), regular ? 2 : r.between(1, 3), n_q,
                      n_kv);
    if (r.chance(60)) draw_features(r, &p_);
    p_.options.partial = false;                           // cache_machine_test.cpp
    if (ages && s.pinned > 0) p_.options.slopes.clear();  // aged_test.cpp
    if (r.chance(50) || regular) p_.causal = 1;
    if (r.chance(70) || regular) p_.causal_offset = 0, p_.options.offsets.clear();
    const auto moderate = [](int32_t *x) { *x = std::max(-(1 << 29), std::min(1 << 29, *x)); };  // a length is added
    moderate(&p_.causal_offset);
    for (int32_t &x : p_.options.offsets) moderate(&x);
    if (regular) p_.options.pinned = std::min(p_.options.pinned, s.pinned);
    p_.q = bell_floats(r, p_.q_floats());
    const placement q = random_placement(r, p_.batch, p_.n_heads, n_q, s.head_dim),
                    out = random_placement(r, p_.batch, p_.n_heads, n_q, s.v_dim);
    call_ = call_of(p_);
    call_.k = call_.v = {};
    call_.q = input_view(q, put(q, &p_.q));
    call_.out = output_view(out, memory.output(out));
    call_.workspace = place_workspace(r, s.head_dim, s.v_dim);
    call_.executor = executor();
    options_ = staged_options(p_, r, &memory);
    call_.options = options_.get();
  }
  heed_status take(const step &s, heed_cache *cache, const heed_cache_shape *shape, heed_memory room) const {
    heed_attention call = call_;
    call.cache = cache;
    switch (s.what) {
      case append_rows:
        return heed_cache_append(cache, s.sequence, rows_from(k_, s.first), rows_from(v_, s.first), s.n,
                                 s.turned ? rope_ : nullptr);
      case attend:
        return heed_attention_run(&call);
      case truncate:
        return heed_cache_truncate(cache, s.sequence, s.n);
      case reset:
        return heed_cache_reset(cache);
      case length:
        return heed_cache_length(cache, s.sequence);
      case longest_of_all:
        return heed_cache_longest(cache);
      case save:
        return heed_cache_save(cache);
      case load:
        return heed_cache_load(cache, shape, room);
      case begin:
        return heed_cache_init(cache, shape, room);
      case grow_old:  // returns by how many tokens
        if (numbers_in(cache->buffer, behind_header, s.sequence).oldest <=
            int32_t(HEED_CACHE_SLOTS(cache->shape.pinned)))
          return 0;
        return age(cache->buffer, behind_header, s.sequence, period_of(ring_slots_of(cache->shape), 1024), s.n);
      default: {  // most often a byte of what says what the cache holds
        const size_t among = s.turned && !flushes_subnormals ? heed_cache_bytes(shape) : 192;
        static_cast<unsigned char *>(cache->buffer)[size_t(s.first) % among] ^= static_cast<unsigned char>(s.n);
        return HEED_OK;
      }
    }
  }
  bool grows_old() const {
    return std::any_of(steps_.begin(), steps_.end(), [](const step &s) { return s.what == grow_old; });
  }
  static heed_tensor rows_from(heed_tensor t, int32_t first) {
    t.data += first * t.row_stride;
    return t;
  }

  int32_t n_tokens_;
  staged_cache cache_;
  tokens numbers_;
  heed_tensor k_, v_;
  rope_problem turn_;
  heed_rope *rope_;
  std::vector<step> steps_;
  problem p_;
  heed_attention call_;
  staged_options options_;

 private:
  static heed_cache_shape draw_shape(random_source &r, extent e, int32_t *n_tokens) {
    const bool ring = r.chance(50), regular = e == extent::regular, large = e == extent::large;
    const int32_t least = regular || large ? 10 : 1, kv_heads = regular || large ? 2 : r.between(1, 2);
    const int32_t head_dim = r.size(least, 40), v_dim = r.size(least, 40);
    *n_tokens = large ? rows_worth_threads(2 * kv_heads, head_dim + v_dim) : regular ? 9 : r.size(1, 70);
    const int32_t capacity = regular ? 20 : large ? *n_tokens + r.between(0, 9) : r.size(1, 150);
    return cache_shape(ring ? HEED_CACHE_RING : HEED_CACHE_LINEAR, capacity, kv_heads, head_dim, v_dim,
                       r.between(HEED_F32, HEED_INT8), ring && r.chance(50) ? r.between(1, 70) : 0,
                       ring ? r.size(0, 40) : 0,
                       regular        ? 2
                       : r.chance(70) ? 1
                                      : 2);
  }
};

}  // namespace heed_test

#endif
