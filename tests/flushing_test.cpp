// Every function where subnormal numbers are flushed, against the same where they are not: no bit may differ for
// ordinary numbers, because no step of the rules makes a subnormal one of them. flushed.c does this for activations of
// all sizes. SPDX-License-Identifier: MIT
#include "support/flushing.hpp"
#include "support/kernels.hpp"
#include "support/switched_alone.hpp"
#include "support/switched_layers.hpp"

namespace heed_test {
namespace {

class flushed : public kernel_test {
 protected:
  void SetUp() override {
    if (!flushing_works()) GTEST_SKIP() << "this processor has no mode that flushes";
    kernel_test::SetUp();
  }
};

std::vector<unsigned char> run(const switched_call &call) {
  written results;
  call.run(nullptr, &results);
  return results.all();
}

TEST_P(flushed, every_function_has_the_same_bits) {
  switched_calls all;
  add_products(&all), add_products_with_zero_points(&all), add_packed_products(&all), add_rows(&all);
  add_attention(&all), add_layers(&all), add_caches(&all), add_partials(&all), add_others(&all);
  for (const switched_call &call : all) {
    const std::vector<unsigned char> expected = run(call);
    const flushing scope;
    EXPECT_TRUE(run(call) == expected) << call.name;
  }
}

HEED_TEST_EVERY_KERNEL(flushed);

}  // namespace
}  // namespace heed_test
