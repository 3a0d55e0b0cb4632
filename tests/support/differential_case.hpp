// One case of the differential programs: a random call in hostile memory, on every kernel against the scalar reference
// of its arithmetic and that against an oracle in double; or one with flaws, which must be refused.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_DIFFERENTIAL_CASE_HPP
#define HEED_TESTS_SUPPORT_DIFFERENTIAL_CASE_HPP

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attention_trials.hpp"
#include "cache_trials.hpp"
#include "format_trials.hpp"
#include "int_layer_trial.hpp"
#include "layer_trials.hpp"
#include "part_trials.hpp"
#include "partial_trials.hpp"
#include "primitive_trials.hpp"
#include "row_trials.hpp"
#include "sequence_trials.hpp"

namespace heed_test {

// What is called: a crash prints it.
inline char call_text[600];
inline void note(const std::string &call) { std::snprintf(call_text, sizeof call_text, "%s", call.c_str()); }

struct totals {
  uint64_t calls = 0, refused = 0;
  double floats = 0, integers = 0;
};

class differential {
 public:
  // The kernel of this name; empty: all. one_at_a_time: a case takes one of them.
  explicit differential(const std::string &only = {}, bool one_at_a_time = false) : one_at_a_time_(one_at_a_time) {
    for (const std::string &name : kernels_of_build())
      if ((only.empty() || name == only) && is_usable(name)) all_.push_back(name);
  }
  size_t kernel_count() const { return all_.size(); }
  const totals &sums() const { return totals_; }

  // False: something is wrong, and has been printed.
  bool run(random_source &r) {
    const int before = complaints();
    kernels_ = one_at_a_time_ ? std::vector<std::string>{r.pick(all_)} : all_;
    use(reference_or_itself(kernels_[0]));  // a case is drawn on it
    const int32_t kind = r.between(0, 999);
    if (kind < 8)
      ask(r);
    else if (kind >= 880)
      attempt_integers(r, kind >= 980);
    else
      attempt(r, kind < 180 ? extent::regular : kind < 210 ? extent::large : extent::small);
    return complaints() == before;
  }

 private:
  static int complaints() { return ::testing::UnitTest::GetInstance()->ad_hoc_test_result().total_part_count(); }
  static void use(const std::string &kernel) { EXPECT_EQ(heed_isa_use(kernel.c_str()), HEED_OK) << kernel; }
  static const std::string &reference_or_itself(const std::string &kernel) {
    const std::string &found = reference_of(kernel);
    return found.empty() ? kernel : found;
  }

  template <typename T>
  static std::unique_ptr<trial> make(random_source &r, extent e) {
    return std::make_unique<T>(r, e);
  }
  static std::unique_ptr<trial> draw(random_source &r, extent e) {
    using maker = std::unique_ptr<trial> (*)(random_source &, extent);
    static const struct {
      int32_t percent;
      maker make;
    } kinds[] = {{17, make<attention_trial>}, {6, make<partial_trial>},  {6, make<softmax_trial>},
                 {17, make<product_trial>},   {4, make<dot_trial>},      {5, make<self_attention_trial>},
                 {9, make<layer_trial>},      {6, make<sequence_trial>}, {8, make_cache_trial},
                 {8, make<rows_trial>},       {4, make<rope_trial>},     {4, make<format_trial>},
                 {6, make_part_trial}};
    int32_t kind = r.between(0, 99);
    for (const auto &k : kinds)
      if ((kind -= k.percent) < 0) return k.make(r, e);
    std::abort();
  }

  void attempt(random_source &r, extent e) {
    const std::unique_ptr<trial> t = draw(r, e);
    t->memory.freeze();
    if (e == extent::regular) return spoil(r, t.get());
    if (r.chance(50)) t->draw_trap(r);
    compare(t.get(), e == extent::small);
  }

  // Every kernel against the reference in the plainest setting, and that against the oracle.
  void compare(trial *t, bool judged) {
    note(t->text());
    std::map<std::string, std::vector<float>> expected;
    for (const std::string &kernel : kernels_) {
      const std::string &reference = reference_or_itself(kernel);
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
    const heed_status status = t->run_on(kernel);
    ++totals_.calls;
    const std::string what = t->text() + " on kernel " + kernel + ": ";
    if (status != HEED_OK) ADD_FAILURE() << what << "refused, " << status_name(status);
    if (status != HEED_OK) return;
    const std::string harm = t->memory.harm(false);
    if (!harm.empty()) ADD_FAILURE() << what << harm;
    const std::vector<float> actual = t->result();
    totals_.floats += static_cast<double>(actual.size());
    if (actual.size() != expected.size())
      ADD_FAILURE() << what << actual.size() << " floats, expected " << expected.size();
    for (size_t i = 0; i < std::min(actual.size(), expected.size()); ++i)
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
    for (int32_t n = r.chance(70) ? 1 : 2; n > 0 && !all.empty(); --n) {
      const size_t argument = r.below(static_cast<uint32_t>(all.size()));
      const spoiling &s = r.pick(all[argument]);
      what += ", " + s.what;
      note(what);
      s.apply();
      all.erase(all.begin() + std::ptrdiff_t(argument));
    }
    std::map<heed_status, std::string> seen;
    for (const std::string &kernel : kernels_) {
      const heed_status status = t->run_on(kernel);
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

  // Every kernel of integers against plain loops; or a flaw, which must be refused.
  void attempt_integers(random_source &r, bool spoilt) {
    const int32_t kind = r.between(0, 99);
    std::unique_ptr<int_trial> t;
    if (kind < 55)
      t = std::make_unique<int_attention_trial>(r, !spoilt);
    else if (kind < 75)
      t = std::make_unique<int_project_trial>(r);
    else if (kind < 86)
      t = std::make_unique<int_rows_trial>(r);
    else if (kind < 90)
      t = std::make_unique<int_rope_trial>(r);
    else
      t = std::make_unique<int_layer_trial>(r);
    t->memory.freeze();
    const spoilings all = spoilt ? t->flaws() : spoilings();
    if (spoilt && all.empty()) return;
    const spoiling *flaw = spoilt ? &r.pick(all) : nullptr;
    const std::string what = t->text() + (flaw ? ", " + flaw->what : "");
    note(what);
    EXPECT_EQ(heed_int_isa_use("plain"), HEED_OK);
    const std::vector<unsigned char> expected = flaw ? t->memory.outputs() : t->expected();
    if (flaw) flaw->apply();
    for (const std::string &kernel : int_kernels()) {
      t->memory.reset();
      EXPECT_EQ(heed_int_isa_use(kernel.c_str()), HEED_OK);
      const std::string where = what + " on kernel " + kernel + ": ";
      if ((t->call() != HEED_OK) != spoilt) ADD_FAILURE() << where << (spoilt ? "accepted" : "refused");
      const std::string harm = t->memory.harm(spoilt), complaint = spoilt ? "" : t->complaint();
      if (!harm.empty() || !complaint.empty()) ADD_FAILURE() << where << harm << complaint;
      const std::vector<unsigned char> found = t->memory.outputs();
      const auto other = std::mismatch(expected.begin(), expected.end(), found.begin());
      if (other.first != expected.end())
        ADD_FAILURE() << where << "byte " << other.first - expected.begin() << " of " << expected.size();
      ++(spoilt ? totals_.refused : totals_.calls);
      if (!spoilt) totals_.integers += static_cast<double>(expected.size());
    }
    heed_int_isa_use(nullptr);
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
    const std::string before = heed_isa_current();
    EXPECT_EQ(heed_isa_use((before + "?").c_str()), HEED_STATUS(HEED_UNKNOWN_ISA, HEED_ARG_ISA));
    EXPECT_EQ(heed_isa_current(), before);
    for (const std::string &kernel : kernels_) test_itself(r, kernel);
  }

  void test_itself(random_source &r, const std::string &kernel) {
    use(kernel);
    const bool boot = r.chance(90);
    const size_t bytes = boot ? HEED_SELFTEST_BOOT_BYTES : HEED_SELFTEST_BYTES;
    stage memory(&r);
    const heed_memory all = memory.scratch(bytes);
    memory.freeze();
    heed_selftest_report report = heed_selftest_report_default();
    const heed_status status = boot ? heed_selftest_boot(all, &report) : heed_selftest(all, &report);
    EXPECT_EQ(status_name(status), "HEED_OK") << kernel;
    EXPECT_EQ(memory.harm(false), "") << "self-test on kernel " << kernel;
    EXPECT_EQ(report.kernel, nullptr);
    EXPECT_EQ(heed_isa_current(), kernel);
    ++totals_.calls;
  }

  const bool one_at_a_time_;
  std::vector<std::string> all_, kernels_;
  totals totals_;
};

}  // namespace heed_test

#endif
