// A table of all results behind Google Benchmark's own report. SPDX-License-Identifier: MIT
#ifndef HEED_BENCH_SUMMARY_HPP
#define HEED_BENCH_SUMMARY_HPP

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

namespace heed_bench {

// Passes everything on to the reporter that the command line asks for; then prints a line for each benchmark.
class summary : public benchmark::BenchmarkReporter {
 public:
  explicit summary(benchmark::BenchmarkReporter *of_command_line) : next_(of_command_line) {}
  bool ReportContext(const Context &context) override { return next_->ReportContext(context); }
  void ReportRuns(const std::vector<Run> &runs) override;
  void Finalize() override;

 private:
  struct line {
    std::string group, shape, kernel, jumps;  // jumps: of rows/ alone, else "-"
    double us, of_peak, of_bandwidth;         // negative: not told
  };
  benchmark::BenchmarkReporter *next_;
  std::vector<line> lines_;
};

}  // namespace heed_bench

#endif
