// A call finishes on the kernel that it began with: whatever is chosen meanwhile, its results are those of one profile.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <thread>

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
  EXPECT_EQ(heed_kernel_use(kernel), HEED_OK);
  return run(call, nullptr);
}

class kernel_switch : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char *name : {"fused", "unfused", "scalar", "scalar-unfused"})
      if (!is_usable(name)) GTEST_SKIP() << "this build has no kernel " << name;
  }
  void TearDown() override { heed_kernel_use(nullptr); }
};

TEST_F(kernel_switch, by_the_executor_does_not_reach_the_call) {
  static const char *const profiles[] = {"unfused", "fused"};
  switched_calls all;
  add_products(&all), add_rows(&all), add_attention(&all), add_layers(&all), add_transformers(&all);
  for (const switched_call &call : all) {
    const std::vector<unsigned char> expected[] = {run_on(profiles[0], call), run_on(profiles[1], call)};
    EXPECT_EQ(expected[0] == expected[1], call.one_result) << call.name;
    for (const int begun : {0, 1}) {
      meddling_executor executor(2, [=] { heed_kernel_use(profiles[1 - begun]); });
      ASSERT_EQ(heed_kernel_use(profiles[begun]), HEED_OK);
      const std::vector<unsigned char> found = run(call, executor.get());
      EXPECT_GE(executor.runs(), 1) << call.name << " is too small for an executor";
      EXPECT_TRUE(found == expected[begun]) << call.name << ", begun on " << profiles[begun];
    }
  }
}

// The slowest kernels, so that many choices fall into one call.
constexpr const char *slow_profiles[] = {"scalar-unfused", "scalar"};

// Chooses one profile after the other until it is stopped.
class restless_thread {
 public:
  restless_thread() : thread_([this] { work(); }) {}
  ~restless_thread() {
    stop_ = true;
    thread_.join();
  }

 private:
  void work() const {
    for (int i = 0; !stop_; ++i) {
      heed_kernel_use(slow_profiles[i % 2]);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_F(kernel_switch, by_another_thread_does_not_reach_the_call) {
  switched_calls all;
  add_caches(&all), add_partials(&all), add_others(&all);
  std::vector<std::vector<unsigned char>> expected[2];
  for (const int p : {0, 1})
    for (const switched_call &call : all) expected[p].push_back(run_on(slow_profiles[p], call));
  std::vector<int> mixed(all.size());
  const auto start = std::chrono::steady_clock::now();
  {
    const restless_thread other;
    do {
      for (size_t i = 0; i < all.size(); ++i) {
        const std::vector<unsigned char> found = run(all[i], nullptr);
        mixed[i] += found != expected[0][i] && found != expected[1][i];
      }
    } while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(700));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(expected[0][i] == expected[1][i], all[i].one_result) << all[i].name;
    EXPECT_EQ(mixed[i], 0) << all[i].name << " has results of two profiles";
  }
}

}  // namespace
}  // namespace heed_test
