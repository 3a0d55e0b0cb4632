// A long-running differential fuzzer of the whole API: random calls in hostile memory and with hostile executors, on
// every kernel against the scalar reference of its profile and that against an oracle in double; and calls with flaws,
// which must be refused. Case i of a seed depends on the two numbers alone.
//   heed_differential [--seed N] [--seconds S] [--case I] [--kernel NAME]
// SPDX-License-Identifier: MIT
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/attention_trials.hpp"
#include "support/layer_trials.hpp"
#include "support/partial_trials.hpp"
#include "support/primitive_trials.hpp"
#include "support/sequence_trials.hpp"

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

struct totals {
  uint64_t cases = 0, calls = 0, refused = 0;
  double floats = 0;
};

// What a crash prints: prepared before it may come.
char rerun_text[200], call_text[600];

void note(const std::string &call) { std::snprintf(call_text, sizeof call_text, "%s", call.c_str()); }

void print_crash(const char *why) {
  const char *const parts[] = {call_text, " on kernel ", heed_kernel_current(), why, rerun_text};
  for (const char *part : parts)
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
}
void on_crash(int signal) {
  print_crash(signal == SIGALRM ? ": hangs\n" : ": crashes\n");
  _exit(1);
}
void on_report() { print_crash(": reported above\n"); }

class differential {
 public:
  explicit differential(const options &o) : options_(o) {
    for (const std::string &name : kernels_of_build())
      if ((o.kernel.empty() || name == o.kernel) && is_usable(name)) kernels_.push_back(name);
  }
  size_t kernel_count() const { return kernels_.size(); }
  const totals &sums() const { return totals_; }
  int failures() const { return failures_; }

  void run_case(unsigned long long index) {
    const int before = complaints();
    std::snprintf(rerun_text, sizeof rerun_text, "rerun: heed_differential --seed %llu --case %llu\n", options_.seed,
                  index);
    alarm(120);
    random_source r(options_.seed * 0xd1342543de82ef95u + index);
    const int32_t kind = r.between(0, 999);
    if (index % 16 == 15)  // what came later: all other cases of a seed stay as they were
      attempt_later(r, kind < 100 ? extent::large : extent::small);
    else if (kind < 8)
      ask(r);
    else
      attempt(r, kind < 180 ? extent::regular : kind < 205 ? extent::large : extent::small);
    ++totals_.cases;
    if (complaints() == before) return;
    ++failures_;
    std::fputs(rerun_text, stderr);
  }

 private:
  static int complaints() { return ::testing::UnitTest::GetInstance()->ad_hoc_test_result().total_part_count(); }

  // Without a way back: a choice asks the processor, which is most of the time of a small call on a virtual machine.
  static void use(const std::string &kernel) { EXPECT_EQ(heed_kernel_use(kernel.c_str()), HEED_OK) << kernel; }

  static std::unique_ptr<trial> draw(random_source &r, extent e) {
    const int32_t kind = r.between(0, 99);
    if (kind < 34) return std::make_unique<attention_trial>(r, e);
    if (kind < 40) return std::make_unique<partial_trial>(r, e);
    if (kind < 54) return std::make_unique<softmax_trial>(r, e);
    if (kind < 76) return std::make_unique<product_trial>(r, e);
    if (kind < 82) return std::make_unique<dot_trial>(r, e);
    if (kind < 89) return std::make_unique<self_attention_trial>(r, e);
    if (kind < 94) return std::make_unique<layer_trial>(r, e);
    return std::make_unique<sequence_trial>(r, e);
  }

  void attempt(random_source &r, extent e) {
    const std::unique_ptr<trial> t = draw(r, e);
    t->memory.freeze();
    if (e == extent::regular)
      spoil(r, t.get());
    else
      compare(t.get(), e == extent::small);
  }

  void attempt_later(random_source &r, extent e) {
    std::unique_ptr<trial> t;
    if (r.chance(60))
      t = std::make_unique<layer_trial>(r, e);
    else
      t = std::make_unique<cache_trial>(r, e);
    t->memory.freeze();
    compare(t.get(), false);
  }

  // Every kernel against the reference in the plainest setting, and that against the oracle.
  void compare(trial *t, bool judged) {
    note(t->text());
    std::map<std::string, std::vector<float>> expected;
    for (const std::string &kernel : kernels_) {
      const std::string &found = reference_of(kernel), &reference = found.empty() ? kernel : found;
      if (expected.count(reference) == 0) {
        use(reference);
        ::testing::ScopedTrace trace(__FILE__, __LINE__, t->text() + " on kernel " + reference);
        expected[reference] = t->plain();
        if (judged) t->judge(expected[reference], chain_factor());
        ++totals_.calls;
      }
      compare_on(kernel, t, expected[reference]);
    }
  }

  void compare_on(const std::string &kernel, trial *t, const std::vector<float> &expected) {
    t->memory.reset();
    use(kernel);
    const heed_status status = t->call();
    ++totals_.calls;
    const std::string what = t->text() + " on kernel " + kernel + ": ";
    if (status != HEED_OK) ADD_FAILURE() << what << "refused, " << status_name(status);
    if (status != HEED_OK) return;
    const std::string harm = t->memory.harm(false);
    if (!harm.empty()) ADD_FAILURE() << what << harm;
    const std::vector<float> actual = t->memory.result();
    totals_.floats += static_cast<double>(actual.size());
    for (size_t i = 0; i < actual.size(); ++i)
      if (!same_float(expected[i], actual[i])) {
        ADD_FAILURE() << what << "float " << i << " of " << actual.size() << ": expected " << std::hex
                      << bits_of(expected[i]) << ", found " << bits_of(actual[i]);
        return;
      }
  }

  // One or two flaws: the call is refused, alike on every kernel, and changes nothing.
  void spoil(random_source &r, trial *t) {
    std::vector<spoilings> all = t->flaws(r);
    all.erase(std::remove_if(all.begin(), all.end(), [](const spoilings &s) { return s.empty(); }), all.end());
    std::string what = t->text();
    for (int32_t n = r.chance(70) ? 1 : 2; n > 0; --n) {
      const size_t argument = r.next() % all.size();
      const spoiling &s = r.pick(all[argument]);
      what += ", " + s.what;
      note(what);
      s.apply();
      all.erase(all.begin() + std::ptrdiff_t(argument));
    }
    std::map<heed_status, std::string> seen;
    for (const std::string &kernel : kernels_) {
      t->memory.reset();
      use(kernel);
      const heed_status status = t->call();
      ++totals_.refused;
      seen.emplace(status, kernel);
      const std::string harm = t->memory.harm(true);
      if (status == HEED_OK) ADD_FAILURE() << what << " on kernel " << kernel << ": accepted";
      if (!harm.empty()) ADD_FAILURE() << what << " on kernel " << kernel << ": " << harm;
      if (!heed_status_text(status)[0] || !heed_status_argument(status)[0])
        ADD_FAILURE() << what << ": status " << status << " has no text";
      if (status == HEED_OK || !harm.empty()) return;
    }
    if (seen.size() > 1)
      ADD_FAILURE() << what << ": " << status_name(seen.begin()->first) << " on kernel " << seen.begin()->second
                    << " but " << status_name(seen.rbegin()->first) << " on kernel " << seen.rbegin()->second;
  }

  // What computes nothing, and the self-tests.
  void ask(random_source &r) {
    note("a question or self-test");
    const auto any = static_cast<int32_t>(r.next());
    EXPECT_TRUE(heed_status_text(any)[0] && heed_status_argument(any)[0]) << "status " << any;
    const int32_t head_dim = r.chance(50) ? r.between(-2, HEED_MAX_DIM + 2) : any, v_dim = r.size(1, HEED_MAX_DIM);
    const bool valid = head_dim >= 1 && head_dim <= HEED_MAX_DIM;
    EXPECT_EQ(heed_workspace_bytes(head_dim, v_dim), valid ? HEED_WORKSPACE_BYTES(head_dim, v_dim) : 0) << head_dim;
    EXPECT_EQ(heed_workspace_min_bytes(v_dim, head_dim), valid ? HEED_WORKSPACE_MIN_BYTES(v_dim, head_dim) : 0);
    const std::string before = heed_kernel_current();
    EXPECT_EQ(heed_kernel_use((before + "?").c_str()), HEED_STATUS(HEED_UNKNOWN_KERNEL, HEED_ARG_KERNEL));
    EXPECT_EQ(heed_kernel_current(), before);
    for (const std::string &kernel : kernels_) test_itself(r, kernel);
  }

  void test_itself(random_source &r, const std::string &kernel) {
    use(kernel);
    const bool boot = r.chance(90);
    const size_t bytes = boot ? HEED_SELFTEST_BOOT_BYTES : HEED_SELFTEST_BYTES;
    stage memory(&r);
    const heed_memory all = heed_memory_of(memory.scratch<void>(bytes, HEED_ALIGNMENT), bytes);
    memory.freeze();
    heed_selftest_report report = heed_selftest_report_default();
    const heed_status status = boot ? heed_selftest_boot(all, &report) : heed_selftest(all, &report);
    EXPECT_EQ(status_name(status), "HEED_OK") << kernel;
    EXPECT_EQ(memory.harm(false), "") << "self-test on kernel " << kernel;
    EXPECT_EQ(report.kernel, nullptr);
    EXPECT_EQ(heed_kernel_current(), kernel);
    ++totals_.calls;
  }

  const options options_;
  std::vector<std::string> kernels_;
  totals totals_;
  int failures_ = 0;
};

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

int fuzz(const options &o) {
  differential d(o);
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
  if (o.one_case) d.run_case(o.only_case);
  for (unsigned long long i = 0; !o.one_case && d.failures() < 10 && in_time(); ++i) d.run_case(i);
  const totals &t = d.sums();
  std::printf(
      "seed %llu: %llu cases, %llu calls on %zu kernels, %.2g floats equal, %llu calls refused as they should "
      "be, %d failures\n",
      o.seed, static_cast<unsigned long long>(t.cases), static_cast<unsigned long long>(t.calls), d.kernel_count(),
      t.floats, static_cast<unsigned long long>(t.refused), d.failures());
  return d.failures() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace heed_test

int main(int argc, char **argv) {
  heed_test::options o;
  if (heed_test::parse(argc, argv, &o)) return heed_test::fuzz(o);
  std::fprintf(stderr, "usage: %s [--seed N] [--seconds S] [--case I] [--kernel NAME]\n", argv[0]);
  return 2;
}
