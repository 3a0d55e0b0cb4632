// Suites that run for every kernel of the build. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_KERNELS_HPP
#define HEED_TESTS_SUPPORT_KERNELS_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "heed/heed.h"

namespace heed_test {

// Every kernel that this build holds, in the order of choice. The build's own list also names those that cannot run
// here, so that a kernel this processor lacks shows as skipped instead of being absent.
inline std::vector<std::string> find_kernels() {
  std::vector<std::string> names;
#ifdef HEED_TEST_KERNELS
  std::istringstream list(HEED_TEST_KERNELS);
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
#else  // a library of one kernel
  for (int32_t i = 0; i < heed_isa_count(); ++i) names.push_back(heed_isa_name(i));
#endif
  return names;
}
// Found once: asking the processor costs 50 us on a virtual machine, and every suite asks for every kernel.
inline const std::vector<std::string> &kernels_of_build() {
  static const std::vector<std::string> names = find_kernels();
  return names;
}

// A build with HEED_FIXED_ISA lists what it holds, but only that kernel can be used.
inline bool is_usable(const std::string &kernel) {
  const std::string before = heed_isa_current();
  const bool usable = heed_isa_use(kernel.c_str()) == HEED_OK;
  heed_isa_use(before.c_str());
  return usable;
}

// The scalar reference of the kernel's arithmetic; empty in a build with one fixed kernel that is not the reference.
inline std::string find_reference(const std::string &kernel) {
  for (const char *name : {"scalar", "scalar-no-fma"})
    if (heed_isa_arithmetic(name) == heed_isa_arithmetic(kernel.c_str()) && is_usable(name)) return name;
  return {};
}
inline const std::string &reference_of(const std::string &kernel) {
  static std::map<std::string, std::string> references;
  const auto found = references.find(kernel);
  return found != references.end() ? found->second : references[kernel] = find_reference(kernel);
}

// Factor of the header's error bounds for chains: a product that rounds by itself adds half.
inline double chain_factor() { return heed_isa_arithmetic(heed_isa_current()) == HEED_ARITHMETIC_FMA ? 1.0 : 1.5; }

// The chosen kernel for the length of a scope.
class kernel_scope {
 public:
  explicit kernel_scope(const std::string &name) : before_(heed_isa_current()) {
    EXPECT_EQ(heed_isa_use(name.c_str()), HEED_OK) << name;
  }
  ~kernel_scope() { heed_isa_use(before_.c_str()); }
  kernel_scope(const kernel_scope &) = delete;
  kernel_scope &operator=(const kernel_scope &) = delete;

 private:
  std::string before_;
};

// A test that runs on the kernel GetParam().
class kernel_test : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const heed_status status = heed_isa_use(GetParam().c_str());
    if (status == HEED_STATUS(HEED_UNAVAILABLE_ISA, HEED_ARG_ISA))
      GTEST_SKIP() << "this processor lacks the instructions of kernel " << GetParam();
    if (status == HEED_STATUS(HEED_UNKNOWN_ISA, HEED_ARG_ISA) && !is_usable("scalar"))
      GTEST_SKIP() << "this build is fixed to kernel " << heed_isa_current();
    ASSERT_EQ(status, HEED_OK) << GetParam();
    ASSERT_EQ(heed_isa_current(), GetParam());
  }
  void TearDown() override { heed_isa_use(nullptr); }
};

// The same, with the scalar reference of the kernel's arithmetic to compare with.
class reference_test : public kernel_test {
 protected:
  void SetUp() override {
    kernel_test::SetUp();
    if (IsSkipped()) return;
    reference_ = reference_of(GetParam());
    if (reference_.empty()) do_without();
  }
  virtual void do_without() { GTEST_SKIP() << "a build with one fixed kernel has no scalar reference"; }

  std::string reference_;
};
// Or, where there is none, with another way that the kernel itself has.
class reference_or_self_test : public reference_test {
  void do_without() override { reference_ = GetParam(); }
};

inline std::string kernel_label(const ::testing::TestParamInfo<std::string> &info) {
  std::string label = info.param;
  std::replace(label.begin(), label.end(), '-', '_');
  return label;
}

#define HEED_TEST_EVERY_KERNEL(suite) \
  INSTANTIATE_TEST_SUITE_P(kernel, suite, ::testing::ValuesIn(heed_test::kernels_of_build()), heed_test::kernel_label)

}  // namespace heed_test

#endif
