// A call finishes on the kernel that it began with: whatever is chosen meanwhile, its results are those of one arithmetic.
// Here one call of every public function; heed_differential draws all others.
// SPDX-License-Identifier: MIT
#include "support/executors.hpp"
#include "support/kernels.hpp"
#include "support/switched_alone.hpp"
#include "support/switched_layers.hpp"

namespace heed_test {
namespace {

std::vector<unsigned char> run(const switched_call &call, const heed_executor *executor) {
  written results;
  call.run(executor, &results);
  return results.all();
}
std::vector<unsigned char> run_on(const char *kernel, const switched_call &call) {
  EXPECT_EQ(heed_isa_use(kernel), HEED_OK);
  return run(call, nullptr);
}

class kernel_switch : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char *name : {"fma", "no-fma", "scalar", "scalar-no-fma"})
      if (!is_usable(name)) GTEST_SKIP() << "this build has no kernel " << name;
  }
  void TearDown() override { heed_isa_use(nullptr); }
};

constexpr const char *arithmetics[] = {"no-fma", "fma"};

TEST_F(kernel_switch, by_the_executor_does_not_reach_the_call) {
  switched_calls all;
  add_products(&all), add_products_with_zero_points(&all), add_packed_products(&all), add_rows(&all);
  add_attention(&all), add_layers(&all);
  for (const switched_call &call : all) {
    const std::vector<unsigned char> expected[] = {run_on(arithmetics[0], call), run_on(arithmetics[1], call)};
    EXPECT_EQ(expected[0] == expected[1], call.one_result) << call.name;
    for (const int begun : {0, 1}) {
      meddling_executor executor(2, [=] { heed_isa_use(arithmetics[1 - begun]); });
      ASSERT_EQ(heed_isa_use(arithmetics[begun]), HEED_OK);
      const std::vector<unsigned char> found = run(call, executor.get());
      EXPECT_GE(executor.runs(), 1) << call.name << " is too small for an executor";
      EXPECT_TRUE(found == expected[begun]) << call.name << ", begun on " << arithmetics[begun];
    }
  }
}

TEST_F(kernel_switch, by_memory_that_is_touched_does_not_reach_the_call) {
  switched_calls all;
  add_caches(&all), add_partials(&all), add_others(&all);
  for (const switched_call &call : all) {
    const std::vector<unsigned char> expected[] = {run_on(arithmetics[0], call), run_on(arithmetics[1], call)};
    EXPECT_EQ(expected[0] == expected[1], call.one_result) << call.name;
    for (const int begun : {0, 1}) {
      ASSERT_EQ(heed_isa_use(arithmetics[begun]), HEED_OK);
      const uint64_t before = choices_in_calls();
      written results;
      results.meanwhile = arithmetics[1 - begun];
      call.run(nullptr, &results);
      kernel_trap::clear();
      EXPECT_EQ(choices_in_calls(), before + 1) << call.name << " went by the memory that chooses a kernel";
      EXPECT_TRUE(results.all() == expected[begun]) << call.name << ", begun on " << arithmetics[begun];
    }
  }
}

}  // namespace
}  // namespace heed_test
