// Random numbers that are the same on every platform, so a failing seed can be rerun anywhere.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_RANDOM_HPP
#define HEED_TESTS_SUPPORT_RANDOM_HPP

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace heed_test {

// A 64-bit linear congruential generator with a mixed output. The distributions of <random> differ between libraries.
class random_source {
 public:
  explicit random_source(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  // A fuzzer's bytes make the choices as long as there are any, as few for each as it needs; the generator, seeded by
  // them, makes the later ones, and the numbers to calculate with, of which there are many more than bytes.
  random_source(const uint8_t *bytes, size_t n) : state_(1), bytes_(bytes), n_left_(n) {
    for (size_t i = 0; i < n; ++i) state_ = (state_ ^ bytes[i]) * 0x100000001b3u;
  }

  uint32_t next() { return n_left_ > 0 ? take(4) : generate(); }
  uint32_t below(uint32_t n) { return (n_left_ > 0 ? take(n <= 256 ? 1 : n <= 65536 ? 2 : 4) : generate()) % n; }
  // Both ends included.
  int32_t between(int32_t low, int32_t high) {
    return low + static_cast<int32_t>(below(static_cast<uint32_t>(high - low) + 1u));
  }
  bool chance(int32_t percent) { return between(0, 99) < percent; }

  // Multiples of 2^-23 in [-1, 1).
  float uniform() { return static_cast<float>(static_cast<int32_t>(generate() >> 8) - 0x800000) * 0x1p-23f; }

  // Sum of four uniform numbers: roughly normal, standard deviation 1.15, exact in f32 (multiples of 2^-21).
  float bell() {
    int32_t sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<int32_t>(generate() >> 10) - 0x200000;
    return static_cast<float>(sum) * 0x1p-21f;
  }
  // The same, but never 0, which is no scale.
  float scale() {
    const float x = bell();
    return x != 0 ? x : 1;
  }

  template <typename T>
  const T &pick(const std::vector<T> &choices) {
    return choices[below(static_cast<uint32_t>(choices.size()))];
  }

  // Half of the answers lie next to the tile and vector sizes, where tails go wrong.
  int32_t size(int32_t low, int32_t high) {
    static const int32_t centres[] = {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2048};
    if (chance(50)) return between(low, high);
    const int32_t near = centres[below(sizeof centres / sizeof *centres)] + between(-1, 1);
    return near >= low && near <= high ? near : between(low, high);
  }

 private:
  uint32_t generate() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(((state_ ^ (state_ >> 33)) * 0xff51afd7ed558ccdu) >> 32);
  }
  uint32_t take(int n) {
    uint32_t all = 0;
    for (; n > 0 && n_left_ > 0; --n, --n_left_) all = all << 8 | *bytes_++;
    return all;
  }
  uint64_t state_;
  const uint8_t *bytes_ = nullptr;
  size_t n_left_ = 0;
};

// Number of repetitions, scaled by the environment variable HEED_TEST_PERCENT (sanitizers and emulators are slow).
inline int32_t repetitions(int32_t count) {
  static const char *const text = std::getenv("HEED_TEST_PERCENT");
  const long percent = text ? std::strtol(text, nullptr, 10) : 100;
  const long scaled = count * percent / 100;
  return scaled < 1 ? 1 : static_cast<int32_t>(scaled);
}

}  // namespace heed_test

#endif
