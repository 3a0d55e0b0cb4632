// The list of kernels, how one is chosen, and the self-test. SPDX-License-Identifier: MIT
#include "support/kernels.hpp"

#include <cstdlib>
#include <set>
#include <thread>

#include "support/data.hpp"
#include "support/refusal.hpp"
#include "support/run.hpp"

namespace heed_test {
namespace {

TEST(kernel_list, names_and_arithmetics) {
  const int32_t n = heed_isa_count();
  ASSERT_GE(n, 1);
  std::set<std::string> names;
  for (int32_t i = 0; i < n; ++i) {
    ASSERT_NE(heed_isa_name(i), nullptr);
    EXPECT_TRUE(names.insert(heed_isa_name(i)).second) << heed_isa_name(i) << " is listed twice";
    const int32_t arithmetic = heed_isa_arithmetic(heed_isa_name(i));
    EXPECT_TRUE(arithmetic == HEED_ARITHMETIC_FMA || arithmetic == HEED_ARITHMETIC_NO_FMA);
  }
  for (const int32_t wrong : {-1, n, n + 1, INT32_MIN, INT32_MAX}) EXPECT_EQ(heed_isa_name(wrong), nullptr) << wrong;
  for (const char *wrong : {"", "avx", "avx5122", "scalar ", "SCALAR"}) EXPECT_EQ(heed_isa_arithmetic(wrong), -1);
  EXPECT_EQ(heed_isa_arithmetic(nullptr), -1);
  EXPECT_EQ(names.count(heed_isa_current()), 1u);
}

// What tests, benchmarks and the library take for the list of kernels is one list.
TEST(kernel_list, is_that_of_the_build) {
  const std::vector<std::string> &all = kernels_of_build();
  int32_t n = 0;
  for (const std::string &name : all) {
    EXPECT_GE(heed_isa_arithmetic(name.c_str()), 0) << name << " is not in the library";
    if (heed_isa_name(n) == name) n++;
  }
  EXPECT_EQ(n, heed_isa_count()) << "not in the build's list, or in another order: " << heed_isa_name(n);
}

class kernel_choice : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int32_t i = 0; i < heed_isa_count(); ++i)
      if (!is_usable(heed_isa_name(i))) GTEST_SKIP() << "this build is fixed to kernel " << heed_isa_current();
  }
};

TEST_F(kernel_choice, unknown_names_change_nothing) {
  for (int32_t i = 0; i < heed_isa_count(); ++i) {
    const std::string name = heed_isa_name(i);
    ASSERT_EQ(heed_isa_use(name.c_str()), HEED_OK);
    ASSERT_EQ(heed_isa_current(), name);
    for (const char *wrong : {"", "avx", "avx5122", "scalar ", "Scalar", "%s%s%s%n"}) {
      EXPECT_EQ(heed_isa_use(wrong), HEED_STATUS(HEED_UNKNOWN_ISA, HEED_ARG_ISA)) << wrong;
      EXPECT_EQ(heed_isa_current(), name);
    }
  }
  EXPECT_EQ(heed_isa_use(nullptr), HEED_OK);
}

TEST_F(kernel_choice, automatic_is_the_first) {
  ASSERT_EQ(std::getenv("HEED_ISA"), nullptr) << "unset it for this test";
  ASSERT_EQ(heed_isa_use(nullptr), HEED_OK);
  EXPECT_STREQ(heed_isa_current(), heed_isa_name(0));
}

// The library's first call reads the environment; null returns to what it says.
TEST_F(kernel_choice, environment) {
  const std::string first = heed_isa_name(0), last = heed_isa_name(heed_isa_count() - 1);
  for (const std::string &value : {last, std::string("nonsense"), std::string()}) {
    ASSERT_EQ(setenv("HEED_ISA", value.c_str(), 1), 0);
    ASSERT_EQ(heed_isa_use(nullptr), HEED_OK);
    EXPECT_EQ(heed_isa_current(), value == last ? last : first);
  }
  unsetenv("HEED_ISA");
  ASSERT_EQ(heed_isa_use(nullptr), HEED_OK);
  EXPECT_EQ(heed_isa_current(), first);
}

// Threads that change the kernel while others compute: within one arithmetic the result cannot tell.
TEST_F(kernel_choice, may_change_while_calls_run) {
  random_source r(1);
  problem p;
  p.n_q = 30, p.n_kv = 70, p.head_dim = p.v_dim = 16;
  fill_typical(r, &p);
  const std::vector<float> expected = run(p).out;
  const int32_t arithmetic = heed_isa_arithmetic(heed_isa_current());
  std::thread changing([&] {
    for (int32_t i = 0; i < 3000; ++i) {
      const char *name = heed_isa_name(i % heed_isa_count());
      if (heed_isa_arithmetic(name) == arithmetic) heed_isa_use(name);
    }
  });
  for (int32_t i = 0; i < 300; ++i) EXPECT_TRUE(same_bits(expected, run(p).out));
  changing.join();
  heed_isa_use(nullptr);
}

// They change with the rules of lib/arithmetic.hpp alone: then every digest and every receipt does, too, and CHANGES says so.
TEST(contracts, are_those_of_0_3) {
  EXPECT_EQ(heed_isa_contract(HEED_ARITHMETIC_FMA), 0x51903703u);
  EXPECT_EQ(heed_isa_contract(HEED_ARITHMETIC_NO_FMA), 0xd433b9e8u);
  EXPECT_EQ(heed_isa_contract(HEED_ARITHMETIC_INTEGERS), 0x124b4519u);
  EXPECT_EQ(heed_isa_contract(77), 0u);
}

TEST_F(kernel_choice, by_arithmetic) {
  for (const auto &[name, arithmetic] : {std::pair("fma", HEED_ARITHMETIC_FMA), {"no-fma", HEED_ARITHMETIC_NO_FMA}}) {
    std::string best;
    for (int32_t i = 0; i < heed_isa_count() && best.empty(); ++i)
      if (heed_isa_arithmetic(heed_isa_name(i)) == arithmetic) best = heed_isa_name(i);
    const heed_status status = heed_isa_use(name);
    if (best.empty()) {
      EXPECT_NE(status, HEED_OK) << name;
    } else {
      EXPECT_EQ(status_name(status), "HEED_OK");
      EXPECT_EQ(heed_isa_current(), best);
      EXPECT_EQ(heed_isa_arithmetic(name), arithmetic);
    }
    ASSERT_EQ(setenv("HEED_ISA", name, 1), 0);
    ASSERT_EQ(heed_isa_use(nullptr), HEED_OK);
    EXPECT_EQ(heed_isa_current(), best.empty() ? std::string(heed_isa_name(0)) : best);
    unsetenv("HEED_ISA");
  }
  EXPECT_EQ(heed_isa_use("no-fma"), HEED_OK) << "every build for an operating system has that arithmetic";
  heed_isa_use(nullptr);
}

class selftest : public kernel_test {
 protected:
  using function = heed_status (*)(heed_memory, heed_selftest_report *);
  static constexpr uint32_t report_size = sizeof(heed_selftest_report);

  heed_memory room(size_t bytes) { return heed_memory_of(start_, bytes); }
  // With a report and without, and writes nothing but its memory.
  heed_selftest_report passes(function run, size_t bytes) {
    heed_selftest_report report = heed_selftest_report_default();
    EXPECT_EQ(status_name(run(room(bytes), &report)), "HEED_OK")
        << report.function << std::hex << ": " << report.actual_bits;
    EXPECT_EQ(report.kernel, nullptr);
    EXPECT_EQ(run(room(bytes), nullptr), HEED_OK);
    for (const unsigned char *c = memory_.data(); c < memory_.data() + memory_.size(); ++c)
      if ((c < start_ || c >= start_ + bytes) && *c != 0x5a) ADD_FAILURE() << "written at " << c - start_;
    EXPECT_EQ(heed_isa_current(), GetParam()) << "the self-test leaves the choice as it was";
    return report;
  }
  void refuses_bad_arguments(function run, size_t bytes) {
    heed_selftest_report report;
    std::memset(&report, 0x5a, sizeof report);
    report.struct_size = report_size;
    const auto refused = [&](heed_memory memory, heed_fault fault, heed_argument argument) {
      const heed_selftest_report before = report;
      EXPECT_EQ(status_name(run(memory, &report)), status_name(HEED_STATUS(fault, argument)));
      EXPECT_EQ(std::memcmp(&before, &report, sizeof report), 0);
      EXPECT_EQ(std::count(memory_.begin(), memory_.end(), 0x5a), std::ptrdiff_t(memory_.size()));
    };
    refused(heed_memory_of(nullptr, bytes), HEED_NULL_POINTER, HEED_ARG_MEMORY);
    refused(heed_memory_of(start_ + 4, bytes), HEED_MISALIGNED, HEED_ARG_MEMORY);
    refused(heed_memory_of(start_ + 32, bytes), HEED_MISALIGNED, HEED_ARG_MEMORY);
    refused(room(bytes - 1), HEED_TOO_SMALL, HEED_ARG_MEMORY);
    refused(room(0), HEED_TOO_SMALL, HEED_ARG_MEMORY);
    refused(room(SIZE_MAX), HEED_OVERFLOW, HEED_ARG_MEMORY);
    EXPECT_EQ(run(room(bytes), misaligned(&report, 2)), HEED_STATUS(HEED_MISALIGNED, HEED_ARG_REPORT));
    for (const uint32_t size : {0u, 4u, report_size - 1, report_size + 1, UINT32_MAX}) {
      report.struct_size = size;
      refused(room(bytes), size == 0 ? HEED_NOT_INITIALIZED : HEED_BAD_STRUCT_SIZE, HEED_ARG_REPORT);
    }
  }

 private:
  std::vector<unsigned char> memory_ = std::vector<unsigned char>(HEED_SELFTEST_BYTES + 256, 0x5a);
  unsigned char *start_ = memory_.data() + 128 - reinterpret_cast<uintptr_t>(memory_.data()) % 64;
};

TEST_P(selftest, of_all_kernels) {
  const heed_selftest_report report = passes(heed_selftest, HEED_SELFTEST_BYTES);
  EXPECT_EQ(report.n_kernels, heed_isa_count());
  EXPECT_GT(report.n_cases, 10);
  EXPECT_GT(report.n_floats, 10000u);
}

TEST_P(selftest, at_start_up_takes_the_kernel_in_use) {
  const heed_selftest_report report = passes(heed_selftest_boot, HEED_SELFTEST_BOOT_BYTES);
  EXPECT_EQ(report.n_kernels, 1);
  EXPECT_EQ(report.n_cases, 11);
  EXPECT_GT(report.n_floats, 400u);
}

TEST_P(selftest, of_features_takes_the_kernel_in_use) {
  const heed_selftest_report report = passes(heed_selftest_features, HEED_SELFTEST_FEATURES_BYTES);
  EXPECT_EQ(report.n_kernels, 1);
  EXPECT_EQ(report.n_cases, 15);
  EXPECT_GT(report.n_floats, 5000u);
}

TEST_P(selftest, refuses_bad_arguments) {
  refuses_bad_arguments(heed_selftest, HEED_SELFTEST_BYTES);
  refuses_bad_arguments(heed_selftest_boot, HEED_SELFTEST_BOOT_BYTES);
  refuses_bad_arguments(heed_selftest_features, HEED_SELFTEST_FEATURES_BYTES);
}

HEED_TEST_EVERY_KERNEL(selftest);

}  // namespace
}  // namespace heed_test
