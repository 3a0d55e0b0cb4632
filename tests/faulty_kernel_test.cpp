// A kernel that is wrong in one function, or that the processor lacks. The linker takes the two kernels below instead
// of the library's own of these names. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "../lib/kernel_contract/row_steps.hpp"
#include "../lib/kernel_contract/root.hpp"
#include "heed/heed.h"
#include "support/floats.hpp"

namespace heed {

HEED_DECLARE_KERNEL(kernel_lanes4_no_fma)
HEED_DECLARE_KERNEL(kernel_lane1_no_fma)
HEED_DECLARE_KERNEL(kernel_scalar_no_fma)

namespace {

enum class part { none, attend, merge, finish, keep, softmax, scaled_softmax, dot, linear, norm, gelu, rope, project };
part wrong = part::none;
bool is_there = true;

bool available() { return is_there; }
// The last bit of a number of the result.
void damage(part of, float &x) {
  if (wrong == of) x = heed_test::float_of(heed_test::bits_of(x) ^ 1);
}
void attend(const tile &t, int32_t key_begin) {
  kernel_scalar_no_fma.attend(t, key_begin);
  damage(part::attend, t.chunk.acc[0]);
}
void merge(const tile &t, bool first) {
  kernel_scalar_no_fma.merge(t, first);
  damage(part::merge, t.total.l[t.n_rows - 1]);
}
void finish(const tile &t, const partial &p) {
  kernel_scalar_no_fma.finish(t, p);
  damage(part::finish, row_cursor(*t.s, t.first_row).out()[t.s->v_dim - 1]);
}
void keep(const tile &t, const key_block &b, const kept_rows &to, float factor) {
  kernel_scalar_no_fma.keep(t, b, to, factor);
  if (wrong == part::keep) *to.data += 0.25f;  // a logit, whose last bit may be lost in its exponential
}
void softmax(const softmax_rows &b) {
  kernel_scalar_no_fma.softmax(b);
  float &last = b.y[(b.n_rows - 1) * b.y_stride + b.dim - 1];
  damage(part::softmax, last);
  if (b.c != 1.0f) damage(part::scaled_softmax, last);  // not that of attention, whose scores are scaled
}
float dot(const float *a, const float *b, int32_t n) {
  float result = kernel_scalar_no_fma_products.dot(a, b, n);
  damage(part::dot, result);
  return result;
}
void linear(const linear_block &b) {
  kernel_scalar_no_fma_products.linear(b);
  damage(part::linear, b.y[(b.n_rows - 1) * b.y_stride + b.n_cols - 1]);
}

void norm(const norm_rows &b) {
  kernel_scalar_no_fma_rows.rms_norm(b);
  damage(part::norm, b.y[b.dim - 1]);
}
void gelu(const element_rows &b) {
  kernel_scalar_no_fma_rows.gelu(b);
  damage(part::gelu, b.y[b.dim - 1]);
}
void rope(const rope_rows &b) {
  kernel_scalar_no_fma_rows.rope(b);
  damage(part::rope, b.y[0]);
}
void project(const linear_block &b, const stored_weights &w) {
  kernel_scalar_no_fma_project.project(b, w);
  damage(part::project, b.y[b.n_cols - 1]);
}
row_steps faulty_steps() {
  row_steps steps = kernel_scalar_no_fma_rows;
  steps.rms_norm = norm;
  steps.gelu = gelu;
  steps.rope = rope;
  return steps;
}

kernel faulty(const char *name) { return {name, false, available, 0, 8, attend, attend, merge, finish, keep, softmax}; }

}  // namespace

#define FAULTY_KERNEL(symbol, name)                                 \
  const kernel symbol = faulty(name);                               \
  const product_steps symbol##_products = {dot, linear};            \
  const project_steps symbol##_project = {project};                 \
  const packed_steps symbol##_packed = kernel_scalar_no_fma_packed; \
  const score_steps symbol##_scores = kernel_scalar_no_fma_scores;  \
  const row_steps symbol##_rows = faulty_steps();
FAULTY_KERNEL(kernel_lanes4_no_fma, "lanes4-no-fma")
FAULTY_KERNEL(kernel_lane1_no_fma, "lane1-no-fma")

}  // namespace heed

namespace heed_test {
namespace {

class faulty_kernel : public ::testing::Test {
 protected:
  void TearDown() override {
    heed::wrong = heed::part::none;
    heed::is_there = true;
    unsetenv("HEED_ISA");
    heed_isa_use(nullptr);
  }
  // All kernels, then at start-up the one in use.
  std::vector<heed_status> test_all_and_current() {
    for (heed_selftest_report &report : reports_) report = heed_selftest_report_default();
    return {heed_selftest(memory_, &reports_[0]), heed_selftest_boot(memory_, &reports_[1])};
  }
  static std::vector<std::string> available_kernels() {
    std::vector<std::string> names;
    for (int32_t i = 0; i < heed_isa_count(); ++i) names.push_back(heed_isa_name(i));
    return names;
  }

  HEED_ALIGNED unsigned char bytes_[HEED_SELFTEST_BYTES];
  const heed_memory memory_ = heed_memory_of(bytes_, sizeof bytes_);
  heed_selftest_report reports_[2];
  const std::vector<heed_status> ok_ = {HEED_OK, HEED_OK};
  const std::vector<heed_status> mismatch_ = std::vector<heed_status>(2, HEED_STATUS(HEED_MISMATCH, HEED_ARG_ISA));
};

// One wrong bit in any function, and the self-tests name kernel, function and float.
TEST_F(faulty_kernel, is_found_by_the_self_tests) {
  ASSERT_EQ(heed_isa_use("lanes4-no-fma"), HEED_OK);
  EXPECT_EQ(test_all_and_current(), ok_) << "without a fault it passes";
  using heed::part;
  const struct {
    part wrong;
    const char *function;
  } faults[] = {{part::attend, "attention"},      {part::merge, "attention"}, {part::finish, "attention"},
                {part::softmax, "softmax"},       {part::linear, "linear"},   {part::dot, "dot"},
                {part::scaled_softmax, "softmax"}};
  for (const auto &fault : faults) {
    heed::wrong = fault.wrong;
    EXPECT_EQ(test_all_and_current(), mismatch_) << fault.function;
    for (const heed_selftest_report &report : reports_) {
      ASSERT_NE(report.kernel, nullptr) << fault.function;
      // The full test takes the kernels in the order of the list, where either of the two may be first.
      EXPECT_TRUE(report.kernel == std::string("lanes4-no-fma") || report.kernel == std::string("lane1-no-fma"));
      EXPECT_STREQ(report.compared_with, "scalar-no-fma");
      EXPECT_STREQ(report.function, fault.function);
      EXPECT_GE(report.case_index, 0);
      EXPECT_GE(report.float_index, 0);
      EXPECT_NE(report.expected_bits, report.actual_bits);
    }
    EXPECT_EQ(reports_[1].n_kernels, 0);
    EXPECT_LT(reports_[0].n_kernels, heed_isa_count());
    EXPECT_STREQ(reports_[1].kernel, "lanes4-no-fma");
    EXPECT_EQ(heed_selftest(memory_, nullptr), mismatch_[0]) << "without a report";
  }
}

// The same beyond plain attention, by known answers. The short one does not look there.
TEST_F(faulty_kernel, is_found_by_the_self_tests_of_features) {
  ASSERT_EQ(heed_isa_use("lanes4-no-fma"), HEED_OK);
  using heed::part;
  const struct {
    part wrong;
    const char *function;
  } faults[] = {{part::norm, "rms_norm"},   {part::gelu, "gelu"},      {part::rope, "rope"},
                {part::project, "project"}, {part::attend, "options"}, {part::finish, "options"},
                {part::keep, "options"}};
  heed_selftest_report report = heed_selftest_report_default();
  EXPECT_EQ(heed_selftest_features(memory_, &report), HEED_OK);
  EXPECT_EQ(report.n_kernels, 1);
  for (const auto &fault : faults) {
    heed::wrong = fault.wrong;
    EXPECT_EQ(heed_selftest_features(memory_, &report), mismatch_[0]) << fault.function;
    EXPECT_EQ(heed_selftest(memory_, nullptr), mismatch_[0]) << fault.function;
    EXPECT_STREQ(report.kernel, "lanes4-no-fma");
    EXPECT_STREQ(report.compared_with, "known answers");
    EXPECT_STREQ(report.function, fault.function);
    EXPECT_EQ(report.float_index, -1);
    EXPECT_EQ(report.n_kernels, 0);
    EXPECT_NE(report.expected_bits, report.actual_bits);
  }
}

// A processor that rounds upward: kernel and reference still agree, but not with the known answers.
TEST_F(faulty_kernel, rounding_is_found_by_the_known_answers) {
  if (flushes_subnormals) GTEST_SKIP() << "the vector unit rounds to nearest whatever the processor is told";
  if (std::fesetround(FE_UPWARD) != 0) GTEST_SKIP() << "this processor rounds to nearest alone";
  const std::vector<heed_status> found = test_all_and_current();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(found, mismatch_);
  for (const heed_selftest_report &report : reports_) {
    EXPECT_STREQ(report.compared_with, "known answers");
    EXPECT_STREQ(report.function, "all");
    EXPECT_EQ(report.case_index, -1);
    EXPECT_EQ(report.float_index, -1);
    EXPECT_EQ(report.n_kernels, 0);
    EXPECT_NE(report.expected_bits, report.actual_bits);
  }
  EXPECT_EQ(test_all_and_current(), ok_);
}

// The square root of processors without the instruction: of each exponent some numbers and the two at its ends.
TEST(integer_root, is_correctly_rounded) {
  for (uint32_t exponent = 0; exponent < 255; ++exponent)
    for (uint32_t i = 0; i < 100; ++i) {
      const uint32_t fraction = i < 99 ? i * 0x2545f491u & 0x7fffff : 0x7fffff;
      const float x = heed_test::float_of(exponent << 23 | fraction);
      EXPECT_EQ(heed_test::bits_of(heed::integer_root(x)), heed_test::bits_of(std::sqrt(x))) << x;
    }
  for (const float x : {0.0f, -0.0f, heed_test::infinity})
    EXPECT_EQ(heed_test::bits_of(heed::integer_root(x)), heed_test::bits_of(x));
  for (const float x : {-1.0f, -heed_test::infinity, heed_test::not_a_number})
    EXPECT_TRUE(std::isnan(heed::integer_root(x)));
}

// What this processor lacks is known by name, listed nowhere, refused, and never chosen.
TEST_F(faulty_kernel, unavailable_kernels_are_refused) {
  const std::vector<std::string> all = available_kernels();
  heed::is_there = false;
  std::vector<std::string> fewer;
  for (const std::string &name : all)
    if (name != "lanes4-no-fma" && name != "lane1-no-fma") fewer.push_back(name);
  ASSERT_EQ(fewer.size() + 2, all.size());
  EXPECT_EQ(available_kernels(), fewer);
  ASSERT_EQ(heed_isa_use("scalar-no-fma"), HEED_OK);
  for (const char *name : {"lanes4-no-fma", "lane1-no-fma"}) {
    EXPECT_EQ(heed_isa_arithmetic(name), HEED_ARITHMETIC_NO_FMA) << name;
    EXPECT_EQ(heed_isa_use(name), HEED_STATUS(HEED_UNAVAILABLE_ISA, HEED_ARG_ISA)) << name;
    EXPECT_STREQ(heed_isa_current(), "scalar-no-fma");
  }
  ASSERT_EQ(setenv("HEED_ISA", "lane1-no-fma", 1), 0);
  ASSERT_EQ(heed_isa_use(nullptr), HEED_OK);
  EXPECT_EQ(heed_isa_current(), fewer[0]) << "the environment asks in vain";
  heed::is_there = true;
  ASSERT_EQ(heed_isa_use(nullptr), HEED_OK);
  EXPECT_STREQ(heed_isa_current(), "lane1-no-fma");
}

}  // namespace
}  // namespace heed_test
