// A kernel of integers that is wrong in one step: its self-test says so. The linker takes the kernel below instead of the
// library's own of this name. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <string>

#include "../lib/integer_steps/plain.hpp"
#include "../lib/integer_steps/product_floats.hpp"
#include "heed/integers.h"

namespace heed {

extern const int_steps int_plain;
extern const int_product_steps int_plain_products;

namespace {

enum class step { none, open_query, scores, greatest, probabilities, sums, add_to_bin, join_bins, finish, project };
step wrong = step::none;
int n_packed;

const int_steps right = plain_integers::make("plain");

int32_t by(step s) { return wrong == s ? 1 : 0; }  // what is added somewhere

int32_t open_query(const int8_t *q, int32_t dim, int32_t zero_point, void *to) {
  return right.open_query(q, dim, zero_point, to) + by(step::open_query);
}
void pack(const int_rows &, void *) { n_packed++; }
void scores(const void *queries, ptrdiff_t query_bytes, int32_t n_rows, int32_t zero_point, const int_rows &k,
            int32_t *s) {
  right.scores(queries, query_bytes, n_rows, zero_point, k, s);
  s[k.n - 1] += 64 * by(step::scores);
}
int32_t greatest(const int32_t *s, int32_t n) { return right.greatest(s, n) + 64 * by(step::greatest); }
int32_t probabilities(int32_t *s, int32_t n, int32_t padded, const distance_rule &rule, int32_t max, uint32_t offset) {
  return right.probabilities(s, n, padded, rule, max, offset) + 8 * by(step::probabilities);
}
void sums(int32_t *p, int32_t n_rows, const int_rows &v, int32_t *acc, ptrdiff_t acc_stride) {
  right.sums(p, n_rows, v, acc, acc_stride);
  acc[(n_rows - 1) * acc_stride + v.dim - 1] += by(step::sums) << 15;
}
void add_to_bin(int64_t *bin, const int32_t *a, int32_t n, int32_t shift) {
  right.add_to_bin(bin, a, n, shift);
  bin[n - 1] += int64_t{by(step::add_to_bin)} << (16 + shift);
}
void join_bins(const int64_t *top, const int64_t *low, int32_t n, int32_t down, int32_t *a) {
  right.join_bins(top, low, n, down, a);
  a[n - 1] += by(step::join_bins) << 18;
}
void finish(const int32_t *a, int32_t n, const int_finish &f, int32_t zero_point, bool wide, void *out) {
  right.finish(a, n, f, zero_point, wide, out);
  int8_t &last = static_cast<int8_t *>(out)[(n - 1) * (wide ? 2 : 1)];
  last = static_cast<int8_t>(last ^ by(step::finish));
}
void project(const int_product &b) {
  int_project<plain_dots>(b);
  int8_t &last = static_cast<int8_t *>(b.y)[(b.n_cols - 1) * (b.wide ? 2 : 1)];
  last = static_cast<int8_t>(last ^ by(step::project));
}

}  // namespace

const int_steps int_plain = {"plain",  right.available, 2,    4,          open_query, pack,  pack, scores,
                             greatest, probabilities,   sums, add_to_bin, join_bins,  finish};
const int_product_steps int_plain_products = {project, int_project_floats<plain_dots>};

}  // namespace heed

namespace heed_test {
namespace {

class faulty_int_kernel : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(heed_int_isa_use("plain"), HEED_OK); }
  void TearDown() override {
    heed::wrong = heed::step::none;
    heed_int_isa_use(nullptr);
  }
  HEED_ALIGNED unsigned char bytes_[HEED_INT_SELFTEST_BYTES + 131072];
  const heed_memory least_ = heed_memory_of(bytes_, HEED_INT_SELFTEST_BYTES),
                    ample_ = heed_memory_of(bytes_, sizeof bytes_);
};

TEST_F(faulty_int_kernel, is_found_by_the_self_test) {
  using heed::step;
  heed_selftest_report report = heed_selftest_report_default();
  for (const heed_memory &memory : {least_, ample_}) {
    heed::n_packed = 0;
    EXPECT_EQ(heed_int_selftest(memory, &report), HEED_OK) << "without a fault it passes";
    EXPECT_EQ(heed::n_packed > 0, memory.bytes == ample_.bytes);
    EXPECT_EQ(report.n_kernels, 1);
    EXPECT_EQ(report.kernel, nullptr);
    EXPECT_GT(report.n_floats, 4000u);
  }
  const struct {
    step wrong;
    const char *function;
  } faults[] = {{step::open_query, "attention"},    {step::scores, "attention"}, {step::greatest, "attention"},
                {step::probabilities, "attention"}, {step::sums, "attention"},   {step::add_to_bin, "attention"},
                {step::join_bins, "attention"},     {step::finish, "attention"}, {step::project, "project"}};
  for (const auto &fault : faults) {
    heed::wrong = fault.wrong;
    EXPECT_EQ(heed_int_selftest(least_, &report), HEED_STATUS(HEED_MISMATCH, HEED_ARG_ISA)) << fault.function;
    EXPECT_EQ(heed_int_selftest(least_, nullptr), HEED_STATUS(HEED_MISMATCH, HEED_ARG_ISA)) << "without a report";
    ASSERT_NE(report.kernel, nullptr) << static_cast<int>(fault.wrong);
    EXPECT_STREQ(report.kernel, "plain");
    EXPECT_STREQ(report.function, fault.function);
    EXPECT_STREQ(report.compared_with, "plain loops");
    EXPECT_EQ(report.n_kernels, 0);
    EXPECT_NE(report.expected_bits, report.actual_bits);
  }
}

TEST_F(faulty_int_kernel, memory_of_the_self_test_is_checked) {
  heed_selftest_report report = heed_selftest_report_default();
  const auto refused = [&](heed_memory memory, heed_fault fault) {
    EXPECT_EQ(heed_int_selftest(memory, &report), HEED_STATUS(fault, HEED_ARG_MEMORY));
  };
  refused(heed_memory_of(nullptr, sizeof bytes_), HEED_NULL_POINTER);
  refused(heed_memory_of(bytes_ + 32, HEED_INT_SELFTEST_BYTES), HEED_MISALIGNED);
  refused(heed_memory_of(bytes_, HEED_INT_SELFTEST_BYTES - 1), HEED_TOO_SMALL);
  report.struct_size = 0;
  EXPECT_EQ(heed_int_selftest(least_, &report), HEED_STATUS(HEED_NOT_INITIALIZED, HEED_ARG_REPORT));
}

}  // namespace
}  // namespace heed_test
