// Everything that can be wrong with one partial result. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_PARTIAL_FLAWS_HPP
#define HEED_TESTS_SUPPORT_PARTIAL_FLAWS_HPP

#include <string>
#include <vector>

#include "refusal.hpp"

namespace heed_test {

// What is wrong with the object alone, wherever it is an argument.
inline std::vector<flaw<heed_partial>> partial_flaws() {
  using P = heed_partial;
  const uint32_t size = sizeof(P);
  std::vector<flaw<P>> all = {
      {"null data", [](P &p) { p.data = nullptr; }, HEED_NULL_POINTER},
      {"data misaligned", [](P &p) { p.data = misaligned(p.data, 2); }, HEED_MISALIGNED},
      {"at the top of memory", [](P &p) { p.data = top_of_memory(); }, HEED_OVERFLOW},
      {"no code", [](P &p) { p.code = nullptr; }, HEED_NOT_INITIALIZED},
      {"size 0", [](P &p) { p.struct_size = 0; }, HEED_NOT_INITIALIZED},
      {"zeros", [](P &p) { p = {}; }, HEED_NOT_INITIALIZED},
      {"zeros of its size", [](P &p) { p = {}, p.struct_size = sizeof(P); }, HEED_NOT_INITIALIZED},
      {"first key -1024", [](P &p) { p.first_key = -1024; }, HEED_OUT_OF_RANGE},
      {"keys behind the last one there may be", [](P &p) { p.first_key = HEED_MAX_COUNT, p.n_keys = 1; },
       HEED_OUT_OF_RANGE},
      {"-1 keys", [](P &p) { p.n_keys = -1; }, HEED_OUT_OF_RANGE},
      {"least keys", [](P &p) { p.n_keys = INT32_MIN; }, HEED_OUT_OF_RANGE}};
  for (const uint32_t wrong : {1u, size - 1, size + 1, UINT32_MAX})
    all.push_back({"size", [=](P &p) { p.struct_size = wrong; }, HEED_BAD_STRUCT_SIZE});
  return all;
}
// Counts that no call may have.
inline std::vector<flaw<heed_partial>> partial_count_flaws() {
  using P = heed_partial;
  std::vector<flaw<P>> all;
  for (int32_t P::*count : {&P::batch_size, &P::n_heads, &P::n_q, &P::v_dim})
    for (const int32_t wrong : {0, -1, INT32_MIN, INT32_MAX})
      all.push_back({"count " + std::to_string(wrong), [=](P &p) { p.*count = wrong; }, HEED_OUT_OF_RANGE});
  return all;
}

}  // namespace heed_test

#endif
