// Finds fault with a result that is not within the stated bounds of the oracle, and says how close it came.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_JUDGE_HPP
#define HEED_TESTS_SUPPORT_JUDGE_HPP

#include <algorithm>
#include <cmath>
#include <string>

#include "compare.hpp"

namespace heed_test {

// Fails unless the error is within the bound. Results out of range, where the header states none, are passed over.
inline void judge_error(double actual, double exact, double bound, const char *what = "result") {
  if (!std::isfinite(exact) || !std::isfinite(bound)) return;
  if (!(std::fabs(actual - exact) <= bound))
    ADD_FAILURE() << what << ": error " << std::fabs(actual - exact) << " exceeds the bound " << bound << " at "
                  << exact << ": found " << actual;
}
// Where the header's bounds hold: nothing overflows on the way, and what underflows is not flushed.
inline bool in_range(double size) { return size < 0x1p100 && (size > 0x1p-60 || !flushes_subnormals); }

// Greatest error seen, absolute in units of the caller's choice and as a share of the bound.
struct worst {
  double error = 0, share = 0;
  void see(double actual, double exact, double bound, double unit) {
    const double e = std::fabs(actual - exact);
    if (!(e <= bound)) ADD_FAILURE() << "error " << e << " exceeds the bound " << bound << " at " << exact;
    error = std::max(error, e / unit);
    share = std::max(share, e == 0 ? 0 : e / bound);
  }
  void record(const std::string &name) const {
    ::testing::Test::RecordProperty(name + "_largest_error", std::to_string(error * 1e7) + "e-7");
    ::testing::Test::RecordProperty(name + "_share_of_bound", std::to_string(share));
  }
};

inline void judge_attention(const problem &p, const attention_result &found, double chain) {
  compare_with_oracle(p, found, chain, [](part which, double actual, double exact, double bound, double unit) {
    if (which != part::out || in_range(unit)) judge_error(actual, exact, bound, name_of(which));
  });
}

}  // namespace heed_test

#endif
