// Times a call of heed and sets it against what the machine can do at best, measured around it.
// SPDX-License-Identifier: MIT
#ifndef HEED_BENCH_MEASURE_HPP
#define HEED_BENCH_MEASURE_HPP

#include <benchmark/benchmark.h>
#include <heed/heed.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "peak.h"
#include "shapes.h"

namespace heed_bench {

// What one call does, and what limits it.
struct work {
  double flop = 0;        // for GFLOPS and of_peak
  double bytes = 0;       // for GBps and of_bandwidth
  size_t resident = 0;    // bytes of the buffer whose read bandwidth is the limit; 0: of_bandwidth is not reported
  bool copies = false;    // the limit is what copying within such a buffer reads and writes
  int32_t n_threads = 1;  // of_peak is against so many cores
};

// Floats aligned to 64 bytes, filled with numbers in [-1, 1).
class buffer {
 public:
  explicit buffer(size_t n)
      : n_(n), data_(static_cast<float *>(std::aligned_alloc(64, (n * 4 + 63) / 64 * 64)), &std::free) {
    heed_shape_fill(data_.get(), n, static_cast<uint32_t>(n));
  }
  float *get() const { return data_.get(); }
  size_t size() const { return n_; }
  heed_memory memory() const { return heed_memory_of(data_.get(), n_ * sizeof(float)); }

 private:
  size_t n_;
  std::unique_ptr<float, void (*)(void *)> data_;
};

// Samples of the machine's limits, taken before and after a measurement: clock and neighbours change from second to
// second.
class limits {
 public:
  limits(std::string kernel, const work &w);
  void sample();
  double flops() { return heed_median(flops_.data(), static_cast<int32_t>(flops_.size())); }
  double read() { return heed_median(read_.data(), static_cast<int32_t>(read_.size())); }

 private:
  std::string kernel_;
  size_t resident_;
  bool copies_;
  buffer data_;  // of resident_ bytes
  std::vector<double> flops_, read_;
};

// Median seconds of one call, over batches of about 20 us: that hides the clock's 25 ns and shows interruptions for
// what they are.
void report(benchmark::State &state, const work &w, std::vector<double> &seconds, limits &machine);
int64_t batch_size(double seconds_per_call);

// A benchmark of `call` on one kernel. call() returns a heed_status.
template <class Call>
void run(benchmark::State &state, const char *kernel, const work &w, Call call) {
  if (heed_isa_use(kernel) != HEED_OK || call() != HEED_OK) {
    state.SkipWithError("the call failed");
    return;
  }
  limits machine(kernel, w);
  double start = heed_seconds();
  call();
  const int64_t batch = batch_size(heed_seconds() - start);
  std::vector<double> seconds;
  seconds.reserve(static_cast<size_t>(state.max_iterations / batch + 1));
  machine.sample();
  start = heed_seconds();
  int64_t n_calls = 0;
  for (auto _ : state) {
    call();
    if (++n_calls < batch) continue;
    const double end = heed_seconds();
    seconds.push_back((end - start) / static_cast<double>(n_calls));
    start = end;
    n_calls = 0;
  }
  if (seconds.empty()) seconds.push_back((heed_seconds() - start) / static_cast<double>(n_calls));
  machine.sample();
  report(state, w, seconds, machine);
  heed_isa_use(nullptr);
}

void register_attention();
void register_cache();
void register_features();
void register_integers();
void register_narrow();
void register_primitives();
void register_block();
void register_int_products();
void register_models();
void register_rows();

}  // namespace heed_bench

#endif
