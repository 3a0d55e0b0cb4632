// RISC-V vectors (RVV 1.0): 4 floats, 32 registers. The compiler's own vectors become instructions with a length of 4,
// which every processor with VLEN 128 or more runs with the same bits; a factor comes from a register of the FPU.
#define HEED_FMA 1
#include "../portable/lanes4_model.hpp"

#include "../portable/cpu.hpp"

namespace heed {
namespace {

struct rvv : lanes4 {
  static constexpr bool compact = false, copies_panels = true;
  static constexpr int score_keys = 8, score_vecs = 2;  // 16 dots + 2 queries
  static constexpr int sum_rows = 8, sum_vecs = 2;      // 16 sums + 2 columns
};

}  // namespace

HEED_DEFINE_KERNEL(kernel_rvv, rvv, "rvv", cpu_has_rvv)

}  // namespace heed
