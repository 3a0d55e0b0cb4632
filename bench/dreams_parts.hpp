// Where a language model's time goes: the same network as dreams.c, its layers made of heed's primitives one by one,
// with a clock between them. SPDX-License-Identifier: MIT
#ifndef HEED_BENCH_DREAMS_PARTS_HPP
#define HEED_BENCH_DREAMS_PARTS_HPP

#include <array>
#include <chrono>
#include <vector>

#include "dreams.h"

enum class dreams_part { embedding, norms, projections, rotary, append, attention, activation, sums, classifier, n };
constexpr size_t n_dreams_parts = static_cast<size_t>(dreams_part::n);
constexpr std::array<const char *, n_dreams_parts> dreams_part_names = {
    "embedding", "norms",      "projections", "rotary embedding", "append to cache",
    "attention", "activation", "sums",        "classifier"};

class dreams_parts {
 public:
  // net: opened, and not read from meanwhile; its caches and memory are used.
  explicit dreams_parts(dreams &net);
  // The logits of one token.
  void read(int32_t token, float *logits);
  void restart() { sums_.fill(0.0), laps_.fill(0.0); }
  // Nanoseconds since the last restart, without the clock's own.
  double nanoseconds(dreams_part part) const;

 private:
  using clock = std::chrono::steady_clock;
  void layer(int32_t l);
  void keep(heed_status status) const;
  void lap(dreams_part part);
  void project(const float *x, const heed_weights &w, float *y);
  void norm(const float *weight);
  void add();

  dreams &net_;
  std::vector<float> x_, h_, q_, k_, v_, context_, up_, gate_;
  clock::time_point last_;
  double clock_nanoseconds_ = 0.0;
  std::array<double, n_dreams_parts> sums_ = {};
  std::array<double, n_dreams_parts> laps_ = {};
};

#endif
