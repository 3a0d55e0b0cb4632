// Every float through every activation, and every angle of an eighth of a turn either way through rotary embedding,
// against double precision: the bounds that rows.h and rope.h state, checked and not sampled. Then the same where
// subnormal numbers are flushed, which may not change a bit. Prints the greatest error of each and where it is.
//
//   heed_activation_sweep [STEP [THREADS [KERNEL]]]    every STEP-th float (1: all, some ten minutes) and special ones
//
// KERNEL is a name, or `every`: the kernels of the library, one after another.
// The square root in integers is compared with the processor's, too. Exit status: 0 if all are within the bounds. SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

#include "../lib/kernel_contract/root.hpp"
#include "../ports/terminal.h"
#include "support/flushing.hpp"
#include "support/kernels.hpp"
#include "support/rows_oracle.hpp"

namespace heed_test {
namespace {

constexpr uint32_t block = 1 << 12;
constexpr uint64_t n_all = uint64_t{1} << 32;

struct finding {
  double units = 0;  // of 2^-24 of the result
  double share = 0;  // of the bound
  uint32_t at = 0;
  uint64_t n_bad = 0, n_flushed = 0;  // beyond the bound; other bits where subnormal numbers are flushed
  void join(const finding &other) {
    n_bad += other.n_bad, n_flushed += other.n_flushed;
    if (other.share > share) share = other.share;
    if (other.units > units) units = other.units, at = other.at;
  }
};

void judge(heed_activation *f, double chain, uint32_t bits, float y, finding *worst) {
  const float x = float_of(bits);
  if (flushes_subnormals && std::fabs(x) < 0x1p-125f) return;
  if (!std::isfinite(x)) {
    worst->n_bad += !same_float(y, std::isnan(x) ? x : limit_of(f, x > 0));
    return;
  }
  const bounded exact = exact_activation(f, x, chain);
  const double error = std::fabs(y - exact.value);
  const bool sign_kept = x != 0 || f == heed_sigmoid || bits_of(y) == bits,
             plus_zero = exact.value != 0 || x == 0 || bits_of(y) == 0;
  if (!(error <= exact.bound) || !sign_kept || !plus_zero) worst->n_bad += 1;
  if (error == 0) return;
  if (error / exact.bound > worst->share) worst->share = error / exact.bound;
  const double units = error / (half_ulp * std::fabs(exact.value) + 0x1p-149);
  if (units > worst->units) worst->units = units, worst->at = bits;
}

void call(heed_activation *f, const float *x, float *y, uint32_t n) {
  const int32_t dim = static_cast<int32_t>(n);
  if (f(heed_matrix_of(x, 1, dim), heed_no_matrix(), heed_matrix_out_of(y, 1, dim), nullptr) != HEED_OK) std::abort();
}

// Floats first, first + step, ..., a block of them.
void sweep_block(heed_activation *f, double chain, uint64_t first, uint32_t step, finding *worst) {
  static thread_local float x[block], y[block], flushed[block];
  uint32_t n = 0;
  for (uint64_t bits = first; n < block && bits < n_all; bits += step) x[n++] = float_of(static_cast<uint32_t>(bits));
  call(f, x, y, n);
  {
    const flushing scope;
    call(f, x, flushed, n);
  }
  for (uint32_t i = 0; i < n; ++i) {
    judge(f, chain, bits_of(x[i]), y[i], worst);
    const bool subnormal = x[i] != 0 && std::fabs(x[i]) < 0x1p-125f;  // or its half is
    worst->n_flushed += !subnormal && !same_float(y[i], flushed[i]);
  }
}

// Around every power of two, all thresholds and zero: what a step passes over.
void sweep_special(heed_activation *f, double chain, finding *worst) {
  for (uint64_t exponent = 0; exponent < n_all; exponent += uint64_t{1} << 23)
    sweep_block(f, chain, exponent < 128 ? 0 : exponent - 128, 1, worst);
  for (const float x : {-87.0f, -80.0f, -12.9f, -9.99f}) sweep_block(f, chain, bits_of(x) - 2000, 1, worst);
}

// The pair (1, 0) at positions first, first + step, ... (of int32, by their bits), turned by 2^-34 of a turn for each:
// the cosine and the sine of all that a reduced angle may be, |position| * 2^-34 <= 1/8.
void sweep_positions(uint64_t first, uint32_t step, finding *worst) {
  static thread_local int32_t positions[block];
  static thread_local float y[block][2], flushed[block][2];
  constexpr float frequency = 0x1.921fb6p-32f, pair[2] = {1, 0};  // 2 pi * 2^-34
  constexpr double bound = 1.41 * half_ulp + 0x1p-29;
  int32_t n = 0;
  for (uint64_t bits = first; n < int32_t(block) && bits < n_all; bits += step)
    positions[n++] = static_cast<int32_t>(static_cast<uint32_t>(bits));
  heed_rope rope;
  heed_rope_init(&rope, HEED_ROPE_INTERLEAVED);
  rope.inverse_frequencies = &frequency;
  const auto turn = [&](float *to) {
    if (heed_rope_apply(&rope, {pair, 0, 0, 0}, n, 1, 2, 0, positions, {to, 0, 0, 2}, nullptr) != HEED_OK) std::abort();
  };
  turn(y[0]);
  {
    const flushing scope;
    turn(flushed[0]);
  }
  for (int32_t i = 0; i < n; ++i) {
    worst->n_flushed += !same_float(y[i][0], flushed[i][0]) || !same_float(y[i][1], flushed[i][1]);
    const double angle = double{frequency} * positions[i];
    const double error = std::max(std::fabs(y[i][0] - std::cos(angle)), std::fabs(y[i][1] - std::sin(angle)));
    worst->n_bad += !(error <= bound);
    if (error / half_ulp > worst->units) {
      worst->units = error / half_ulp, worst->share = error / bound;
      worst->at = static_cast<uint32_t>(positions[i]);
    }
  }
}

// exp2 of rule 9, from softmax over 0 and x: the quotient of both weights has two roundings more. The scale is such that
// x is its own logit.
void sweep_powers(double chain, uint64_t first, uint32_t step, finding *worst) {
  static thread_local float x[block][2], y[block][2], flushed[block][2];
  constexpr float scale = 0x1.62e43p-1f;
  const double bound = 2 + 2 * (chain == 1 ? 0.81 : 1.09);
  int32_t n = 0;
  const uint64_t end = std::min(first + uint64_t{step} * block, n_all);
  for (uint64_t bits = first; bits < end; bits += step) {
    const float negative = float_of(static_cast<uint32_t>(bits));
    if (negative <= 0) x[n][0] = 0, x[n++][1] = negative;
  }
  if (n == 0) return;
  const auto weigh = [&](float *to) {
    if (heed_softmax({x[0], n, 2, 2}, scale, {to, n, 2, 2}, nullptr) != HEED_OK) std::abort();
  };
  weigh(y[0]);
  {
    const flushing scope;
    weigh(flushed[0]);
  }
  for (int32_t i = 0; i < n; ++i) {
    worst->n_flushed += !same_float(y[i][0], flushed[i][0]) || !same_float(y[i][1], flushed[i][1]);
    const double exact = x[i][1] < -64 ? 0 : std::exp2(double{x[i][1]}), found = double{y[i][1]} / y[i][0];
    const double units = exact == 0 ? found : std::fabs(found - exact) / (half_ulp * exact);
    worst->n_bad += !(units <= (exact == 0 ? 0 : bound));
    if (units > worst->units) worst->units = units, worst->share = units / bound, worst->at = bits_of(x[i][1]);
  }
}

// The square root of processors without the instruction, against this one's.
void sweep_roots(uint64_t first, uint32_t step, finding *worst) {
  const uint64_t end = std::min(first + uint64_t{step} * block, n_all);
  for (uint64_t bits = first; bits < end; bits += step) {
    const float x = float_of(static_cast<uint32_t>(bits));
    worst->n_bad += !same_float(heed::integer_root(x), std::sqrt(x));
  }
}

using sweep_of = std::function<void(uint64_t first, uint32_t step, finding *worst)>;
finding sweep(const sweep_of &of_block, uint32_t step, unsigned n_threads) {
  finding all;
  std::mutex of_all;
  std::atomic<uint64_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < n_threads; ++i) {
    threads.emplace_back([&, of_first_thread = i == 0] {
      finding own;
      for (uint64_t first; (first = next.fetch_add(uint64_t{step} * block)) < n_all;) {
        if (of_first_thread) show_progress("million floats", first >> 20, n_all >> 20);
        of_block(first, step, &own);
      }
      const std::lock_guard<std::mutex> lock(of_all);
      all.join(own);
    });
  }
  for (std::thread &t : threads) t.join();
  show_progress("", 1, 1);
  return all;
}

// Every function on the kernel in use: how many results are wrong.
uint64_t sweep_kernel(uint32_t step, unsigned n_threads) {
  uint64_t n_wrong = 0;
  const auto report = [&](const char *name, const finding &worst, const std::string &at) {
    std::printf("%-10s %s: greatest error %.3f * 2^-24 at %s, %.2f of its bound at most, %llu beyond it, ", name,
                heed_isa_current(), worst.units, at.c_str(), worst.share, static_cast<unsigned long long>(worst.n_bad));
    if (flushing_works())
      std::printf("%llu other bits where subnormals are flushed\n", static_cast<unsigned long long>(worst.n_flushed));
    else
      std::printf("no mode that flushes subnormals\n");
    std::fflush(stdout);
    n_wrong += worst.n_bad + worst.n_flushed;
  };
  const auto number = [](const finding &worst) {
    std::ostringstream text;
    text << std::hexfloat << float_of(worst.at);
    return text.str();
  };
  const double chain = chain_factor();
  for (const named_activation &f : activations) {
    finding worst = sweep([&](uint64_t first, uint32_t by, finding *to) { sweep_block(f.call, chain, first, by, to); },
                          step, n_threads);
    if (step > 1) sweep_special(f.call, chain, &worst);
    report(f.name, worst, number(worst));
  }
  const finding powers =
      sweep([&](uint64_t first, uint32_t by, finding *to) { sweep_powers(chain, first, by, to); }, step, n_threads);
  report("exp2", powers, number(powers));
  const finding turns = sweep(sweep_positions, step, n_threads);
  report("rope", turns, "position " + std::to_string(static_cast<int32_t>(turns.at)));
  return n_wrong;
}

uint64_t sweep_integer_root(uint32_t step, unsigned n_threads) {
  const finding roots = sweep(sweep_roots, step, n_threads);
  std::printf("%-10s in integers: %llu not correctly rounded\n", "root", static_cast<unsigned long long>(roots.n_bad));
  return roots.n_bad;
}

}  // namespace
}  // namespace heed_test

int main(int argc, char **argv) {
  using namespace heed_test;
  const uint32_t step = argc > 1 ? static_cast<uint32_t>(std::strtoul(argv[1], nullptr, 10)) : 1;
  const unsigned n_threads = argc > 2 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)) : 2;
  const std::string kernel = argc > 3 ? argv[3] : heed_isa_current();
  std::vector<std::string> kernels = {kernel};
  if (kernel == "every") kernels = find_kernels();
  if (step == 0 || n_threads == 0 || (kernel != "every" && heed_isa_use(kernel.c_str()) != HEED_OK)) {
    std::fprintf(stderr, "usage: heed_activation_sweep [STEP [THREADS [KERNEL]]]\n");
    return 2;
  }
  uint64_t n_wrong = sweep_integer_root(step, n_threads);
  for (const std::string &name : kernels)
    if (heed_isa_use(name.c_str()) == HEED_OK) n_wrong += sweep_kernel(step, n_threads);
  return n_wrong != 0;
}
