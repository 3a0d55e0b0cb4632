// heed_bench: every shape on every kernel of this machine. Names: attention/P1/avx512/threads:1, softmax/98x98/avx2,
// feature/P4/window/avx2, rms_norm/768/avx512, ... Counters: GFLOPS, GBps; of_peak and of_bandwidth are fractions of
// the limits that were measured just before and after. SPDX-License-Identifier: MIT
#include <cstdio>
#include <iostream>

#include "../ports/terminal.h"
#include "measure.hpp"
#include "summary.hpp"

namespace heed_bench {

limits::limits(std::string kernel, const work &w)
    : kernel_(std::move(kernel)), resident_(w.resident), copies_(w.copies), data_(w.resident / 4) {}

void limits::sample() {
  constexpr int n_samples = 3;
  for (int i = 0; i < n_samples; ++i) flops_.push_back(heed_peak_flops(kernel_.c_str()));
  if (resident_ > 0)
    read_.push_back(copies_ ? heed_peak_copy(kernel_.c_str(), data_.get(), resident_)
                            : heed_peak_read(kernel_.c_str(), data_.get(), resident_));
}

int64_t batch_size(double seconds_per_call) {
  constexpr double batch_seconds = 20e-6;
  return seconds_per_call < batch_seconds ? static_cast<int64_t>(batch_seconds / seconds_per_call) + 1 : 1;
}

void report(benchmark::State &state, const work &w, std::vector<double> &seconds, limits &machine) {
  const double time = heed_median(seconds.data(), static_cast<int32_t>(seconds.size()));
  state.counters["us"] = 1e6 * time;
  if (w.flop > 0) {
    const double peak = machine.flops() * w.n_threads;
    state.counters["GFLOPS"] = 1e-9 * w.flop / time;
    state.counters["peak_GFLOPS"] = 1e-9 * peak;
    state.counters["of_peak"] = w.flop / time / peak;
  }
  state.counters["GBps"] = 1e-9 * w.bytes / time;
  if (w.resident > 0) {
    const double read = machine.read();
    state.counters[w.copies ? "copy_GBps" : "read_GBps"] = 1e-9 * read;
    state.counters["of_bandwidth"] = w.bytes / time / read;
  }
}

// Clocks rise and vector units wake within milliseconds to a second of work.
static void warm_up() {
  const double end = heed_seconds() + 0.5;
  while (heed_seconds() < end) benchmark::DoNotOptimize(heed_peak_flops(heed_isa_name(0)));
}

}  // namespace heed_bench

int main(int argc, char **argv) {
  // Defaults that the command line may override: later flags win.
  std::vector<std::string> arguments = {argv[0], "--benchmark_repetitions=5", "--benchmark_min_time=0.05",
                                        "--benchmark_report_aggregates_only=true"};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  std::vector<char *> pointers;
  for (std::string &argument : arguments) pointers.push_back(&argument[0]);
  int n = static_cast<int>(pointers.size());
  benchmark::Initialize(&n, pointers.data());
  if (benchmark::ReportUnrecognizedArguments(n, pointers.data())) return 1;
  benchmark::AddCustomContext("heed", heed_version());
  std::string kernels;
  for (int32_t i = 0; i < heed_isa_count(); ++i) kernels += std::string(i ? " " : "") + heed_isa_name(i);
  benchmark::AddCustomContext("kernels_best_first", kernels);
  heed_bench::register_attention();
  heed_bench::register_cache();
  heed_bench::register_features();
  heed_bench::register_integers();
  heed_bench::register_narrow();
  heed_bench::register_primitives();
  heed_bench::register_block();
  heed_bench::register_int_products();
  heed_bench::register_models();
  heed_bench::register_rows();
  heed_bench::warm_up();
  const std::unique_ptr<benchmark::BenchmarkReporter> of_command_line(benchmark::CreateDefaultDisplayReporter());
  heed_bench::summary summary(of_command_line.get());
  const char *const of_environment = std::getenv("BENCHMARK_FORMAT");
  std::string format = of_environment ? of_environment : "console";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i], option = "--benchmark_format=";
    if (argument.compare(0, option.size(), option) == 0) format = argument.substr(option.size());
  }
  // JSON and CSV are all that standard output then holds.
  benchmark::RunSpecifiedBenchmarks(format == "console" ? &summary : of_command_line.get());
  benchmark::Shutdown();
  if (std::cout.flush()) return finish_output("heed_bench", 0);
  std::fprintf(stderr, "heed_bench: standard output cannot be written: the disk is full, or nobody reads it\n");
  return 1;
}
