// Numbers of objects made wrong, one after another: every call that takes the object refuses it and changes nothing, or
// takes it and writes no more than it may. Under a sanitizer also: no check computes with what another has refused.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_DAMAGE_HPP
#define HEED_TESTS_SUPPORT_DAMAGE_HPP

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "heed/heed.h"

namespace heed_test {

struct number {
  std::string name;
  int32_t *place;
};
using numbers = std::vector<number>;

struct named_call {
  std::string name;
  std::function<heed_status()> run;
};

// All memory of a test's calls. What is read lies in front of what is written: an input that has become enormous then
// overlaps an output, and the call is refused before it reads.
class damage_test : public ::testing::Test {
 protected:
  damage_test() : memory_(bytes), may_change_(bytes) {
    base_ = (64 - reinterpret_cast<uintptr_t>(memory_.data()) % 64) % 64;
    used_ = base_;
  }
  const float *floats(size_t n) {
    float *const x = take<float>(n);
    for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % 13) * 0.25f - 1.5f;
    return x;
  }
  int32_t *integers(const std::vector<int32_t> &values) {
    int32_t *const x = take<int32_t>(values.size());
    std::copy(values.begin(), values.end(), x);
    return x;
  }
  template <typename T>
  T *object(const T &value = T()) {
    return new (take<char>(sizeof(T))) T(value);
  }
  // To be written by the call.
  template <typename T = float>
  T *output(size_t n) {
    T *const x = take<T>(n);
    std::fill_n(may_change_.begin() + (reinterpret_cast<unsigned char *>(x) - memory_.data()), n * sizeof(T), true);
    return x;
  }
  template <typename T>
  T *changing(const T &value = T()) {
    return new (output<char>(sizeof(T))) T(value);
  }

  void damage(const numbers &all, const std::vector<named_call> &calls) {
    const std::vector<unsigned char> good = memory_;
    for (const named_call &call : calls) {
      EXPECT_EQ(call.run(), HEED_OK) << call.name << " is wrong from the start";
      memory_ = good;
      for (const number &n : all)
        for (const int32_t value : {INT32_MIN, -1, 0, INT32_MAX, int32_t{HEED_MAX_COUNT}, HEED_MAX_COUNT + 1}) {
          *n.place = value;
          expect_harmless(call, n.name + " = " + std::to_string(value));
          std::copy(good.begin(), good.end(), memory_.begin());
        }
    }
  }

 private:
  template <typename T>
  T *take(size_t n) {
    unsigned char *const here = memory_.data() + used_;
    used_ += (n * sizeof(T) + 63) / 64 * 64;
    if (used_ > memory_.size()) std::abort();
    return reinterpret_cast<T *>(here);
  }
  void expect_harmless(const named_call &call, const std::string &what) {
    const std::vector<unsigned char> before = memory_;
    const heed_status status = call.run();
    EXPECT_LE(status, 0) << call.name << ", " << what;
    if (std::memcmp(before.data(), memory_.data(), memory_.size()) == 0) return;
    EXPECT_EQ(status, HEED_OK) << call.name << ", " << what << ": refused, but memory has changed";
    for (size_t i = 0; i < memory_.size(); ++i)
      if (memory_[i] != before[i] && !may_change_[i]) {
        ADD_FAILURE() << call.name << ", " << what << ": wrote where it may not";
        return;
      }
  }

  static constexpr size_t bytes = size_t{96} << 10;
  std::vector<unsigned char> memory_;
  std::vector<bool> may_change_;
  size_t base_, used_;
};

inline numbers numbers_of(const std::string &name, heed_matrix *m) {
  return {{name + ".n_rows", &m->n_rows}, {name + ".dim", &m->dim}};
}
inline numbers numbers_of(const std::string &name, heed_matrix_out *m) {
  return {{name + ".n_rows", &m->n_rows}, {name + ".dim", &m->dim}};
}
inline numbers numbers_of(const std::string &name, heed_weights *w) {
  return {{name + ".format", &w->dtype},
          {name + ".layout", &w->layout},
          {name + ".n_in", &w->n_in},
          {name + ".n_out", &w->n_out}};
}
inline numbers numbers_of(const std::string &name, heed_cache_shape *s) {
  return {{name + ".kind", &s->kind},
          {name + ".capacity", &s->capacity},
          {name + ".pinned", &s->pinned},
          {name + ".spare", &s->spare},
          {name + ".n_sequences", &s->n_sequences},
          {name + ".n_kv_heads", &s->n_kv_heads},
          {name + ".head_dim", &s->head_dim},
          {name + ".v_dim", &s->v_dim},
          {name + ".format", &s->dtype}};
}
inline numbers numbers_of(heed_partial *p) {
  return {{"batch", &p->batch_size}, {"n_heads", &p->n_heads},     {"n_q", &p->n_q},
          {"v_dim", &p->v_dim},      {"first_key", &p->first_key}, {"n_keys", &p->n_keys}};
}
inline numbers numbers_of(heed_attention *c) {
  return {{"batch", &c->batch_size}, {"n_heads", &c->n_heads}, {"n_kv_heads", &c->n_kv_heads},
          {"n_q", &c->n_q},          {"n_kv", &c->n_kv},       {"head_dim", &c->head_dim},
          {"v_dim", &c->v_dim},      {"causal", &c->causal},   {"position", &c->position}};
}
inline numbers numbers_of(heed_rope *r) { return {{"style", &r->style}, {"rotary_dim", &r->rotary_dim}}; }
inline numbers numbers_of(heed_sequence *s) {
  return {{"capacity", &s->capacity}, {"dim", &s->dim}, {"length", &s->length}};
}
// The numbers at so many places of an array, or of anything that consists of them.
inline numbers numbers_in(const std::string &name, void *array, size_t n) {
  numbers all;
  for (size_t i = 0; i < n; ++i)
    all.push_back({name + "[" + std::to_string(i) + "]", static_cast<int32_t *>(array) + i});
  return all;
}

inline void append(numbers *all, const numbers &more) { all->insert(all->end(), more.begin(), more.end()); }

}  // namespace heed_test

#endif
