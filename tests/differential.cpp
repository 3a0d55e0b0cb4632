// A long-running differential fuzzer of the whole API: random calls in hostile memory and with hostile executors, on
// every kernel against the scalar reference of its arithmetic and that against an oracle in double; and calls with flaws,
// which must be refused. Case i of a seed depends on the two numbers alone.
//   heed_differential [--seed N] [--seconds S] [--case I] [--kernel NAME]
// SPDX-License-Identifier: MIT
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "support/differential_case.hpp"

// Of a sanitizer's run-time library, if there is one: its reports end the program without a signal.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace heed_test {
namespace {

struct options {
  unsigned long long seed = 1, only_case = 0;
  double seconds = 10;
  bool one_case = false;
  std::string kernel;  // empty: all
};

// What a crash prints: prepared before it may come.
char rerun_text[200];

void print_crash(const char *why) {
  const char *const parts[] = {call_text, " on kernel ", heed_isa_current(), why, rerun_text};
  for (const char *part : parts)
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
}
void on_crash(int signal) {
  print_crash(signal == SIGALRM ? ": hangs\n" : ": crashes\n");
  _exit(1);
}
void on_report() { print_crash(": reported above\n"); }

bool read_number(const char *text, unsigned long long *number) {
  char *end;
  *number = std::strtoull(text, &end, 10);
  return *text >= '0' && *text <= '9' && !*end;
}

bool parse(int argc, char **argv, options *o) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    unsigned long long number;
    if (name == "--kernel") {
      o->kernel = argv[i + 1];
    } else if (!read_number(argv[i + 1], &number)) {
      return false;
    } else if (name == "--seed") {
      o->seed = number;
    } else if (name == "--seconds") {
      o->seconds = static_cast<double>(number);
    } else if (name == "--case") {
      o->only_case = number;
      o->one_case = true;
    } else {
      return false;
    }
  }
  return argc % 2 == 1;
}

bool run_case(differential *d, unsigned long long seed, unsigned long long index) {
  std::snprintf(rerun_text, sizeof rerun_text, "rerun: heed_differential --seed %llu --case %llu\n", seed, index);
  alarm(120);
  random_source r(seed * 0xd1342543de82ef95u + index);
  const bool good = d->run(r);
  if (!good) std::fputs(rerun_text, stderr);
  return good;
}

int run_cases(const options &o) {
  differential d(o.kernel);
  if (d.kernel_count() == 0) {
    std::fprintf(stderr, "heed_differential: kernel %s cannot be used here\n", o.kernel.c_str());
    return 2;
  }
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM}) ::signal(signal, on_crash);
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(on_report);
  const auto start = std::chrono::steady_clock::now();
  const auto in_time = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < o.seconds;
  };
  int failures = o.one_case && !run_case(&d, o.seed, o.only_case);
  unsigned long long n = o.one_case;
  for (; !o.one_case && failures < 10 && in_time(); ++n) failures += !run_case(&d, o.seed, n);
  const totals &t = d.sums();
  std::printf(
      "seed %llu: %llu cases, %llu calls on %zu kernels, %.2g floats and %.2g bytes of integers equal, %llu calls "
      "refused as they should be, "
      "%llu other kernels chosen within calls, %d failures\n",
      o.seed, n, static_cast<unsigned long long>(t.calls), d.kernel_count(), t.floats, t.integers,
      static_cast<unsigned long long>(t.refused), static_cast<unsigned long long>(choices_in_calls()), failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace heed_test

int main(int argc, char **argv) {
  heed_test::options o;
  if (heed_test::parse(argc, argv, &o)) return heed_test::run_cases(o);
  std::fprintf(stderr, "usage: %s [--seed N] [--seconds S] [--case I] [--kernel NAME]\n", argv[0]);
  return 2;
}
