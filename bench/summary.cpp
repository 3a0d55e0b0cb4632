#include "summary.hpp"

#include <algorithm>
#include <cstdio>

namespace heed_bench {
namespace {

double counter(const benchmark::BenchmarkReporter::Run &run, const char *name) {
  const auto found = run.counters.find(name);
  return found == run.counters.end() ? -1.0 : static_cast<double>(found->second);
}

// "cache/D1/f16/avx2" is group cache, shape D1/f16, kernel avx2; what follows a kernel ("threads:2/heed") is the
// shape's.
void split(const std::string &name, std::string *group, std::string *shape, std::string *kernel) {
  const size_t first = name.find('/'), last = name.find("/threads:");
  const std::string behind = last == std::string::npos ? "" : name.substr(last), head = name.substr(0, last);
  const size_t before_kernel = head.rfind('/');
  *group = name.substr(0, first);
  *shape = before_kernel > first ? head.substr(first + 1, before_kernel - first - 1) + behind : behind;
  *kernel = head.substr(before_kernel + 1);
}

void print_share(double share) {
  if (share < 0)
    std::printf(" %9s", "-");
  else
    std::printf(" %7.0f %%", 100 * share);
}

}  // namespace

void summary::ReportRuns(const std::vector<Run> &runs) {
  next_->ReportRuns(runs);
  for (const Run &run : runs) {
    const bool alone = run.run_type == Run::RT_Iteration && run.repetitions <= 1;
    if (run.error_occurred || (run.aggregate_name != "median" && !alone)) continue;
    line l;
    split(run.run_name.function_name, &l.group, &l.shape, &l.kernel);
    l.us = counter(run, "us");
    l.of_peak = counter(run, "of_peak");
    l.of_bandwidth = counter(run, "of_bandwidth");
    l.jumps = run.counters.count("falls") ? run.report_label : "-";
    lines_.push_back(l);
  }
}

void summary::Finalize() {
  next_->Finalize();
  if (lines_.empty()) return;
  size_t widest = 5;
  for (const line &l : lines_) widest = std::max(widest, l.shape.size());
  const int width = static_cast<int>(widest);
  std::string group;
  for (const line &l : lines_) {
    if (l.group != group)
      std::printf("\n%s\n  %-*s  %-16s %12s %9s %9s\n", l.group.c_str(), width, "shape", "kernel", "us", "of peak",
                  "of bandw.");
    group = l.group;
    std::printf("  %-*s  %-16s %12.4g", width, l.shape.c_str(), l.kernel.c_str(), l.us);
    print_share(l.of_peak);
    print_share(l.of_bandwidth);
    if (l.jumps != "-") std::printf("   %s", l.jumps.empty() ? "no jumps" : l.jumps.c_str());
    std::printf("\n");
  }
  std::printf(
      "\nMedians. Of peak: of the FMA peak, of bandwidth: of reading (or copying) as many bytes, both on the same "
      "kernel just "
      "before and after.\n");
}

}  // namespace heed_bench
