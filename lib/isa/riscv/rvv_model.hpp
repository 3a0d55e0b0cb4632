// RISC-V vectors (RVV 1.0): 4 floats, 32 registers, in both arithmetics. The compiler's own vectors become instructions with a
// length of 4, which every processor with VLEN 128 or more runs with the same bits; a factor comes from a register of the FPU.
#ifndef HEED_ISA_RVV_MODEL_HPP
#define HEED_ISA_RVV_MODEL_HPP

#include "../portable/lanes4_model.hpp"

namespace heed {
namespace {

struct rvv : lanes4 {
  static constexpr bool compact = false, copies_panels = true;
  static constexpr int score_keys = 8, score_vecs = 2;  // 16 dots + 2 queries
  static constexpr int sum_rows = 8, sum_vecs = 2;      // 16 sums + 2 columns
};

}  // namespace
}  // namespace heed

#endif
