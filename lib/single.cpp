// The whole library as one translation unit with one kernel, for processors without a choice at run time: the compiler
// sees through the kernel's table, the linker (--gc-sections) drops what a program does not call, if functions and tables
// have sections of their own: -ffunction-sections -fdata-sections.
//
// The compiler's target chooses the kernel: four lanes where there are registers for them, else one; fma where there
// is an instruction for it. -DHEED_FIXED_ISA=NAME chooses another: mve, mve_no_fma, lane1, lane1_no_fma,
// lanes4, lanes4_no_fma, simd128.
#define HEED_SINGLE 1

// C++14 with GNU extensions will do: it has all that is used of C++17, as extensions that compilers warn of.
#if __cplusplus < 201703L && (defined(__clang__) || __GNUC__ >= 12)
#pragma GCC diagnostic ignored "-Wc++17-extensions"
#endif
#ifdef __clang__  // loops that it cannot unroll stay loops
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#include "isa/portable/target.hpp"

#define HEED_KERNEL_mve 1
#define HEED_KERNEL_lane1 2
#define HEED_KERNEL_lane1_no_fma 3
#define HEED_KERNEL_lanes4 4
#define HEED_KERNEL_lanes4_no_fma 5
#define HEED_KERNEL_simd128 6
#define HEED_KERNEL_mve_no_fma 7
#define HEED_JOIN_(a, b) a##b
#define HEED_JOIN(a, b) HEED_JOIN_(a, b)
#ifdef HEED_FIXED_KERNEL
#error "HEED_FIXED_KERNEL is HEED_FIXED_ISA since 0.3"
#endif
#ifdef HEED_FIXED_ISA
#define HEED_ISA HEED_JOIN(HEED_KERNEL_, HEED_FIXED_ISA)
#elif defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)
#define HEED_ISA HEED_KERNEL_mve
#elif defined(__wasm_simd128__)
#define HEED_ISA HEED_KERNEL_simd128
#elif defined(HEED_TARGET_VECTORS) && defined(HEED_TARGET_FMA)
#define HEED_ISA HEED_KERNEL_lanes4
#elif defined(HEED_TARGET_VECTORS)
#define HEED_ISA HEED_KERNEL_lanes4_no_fma
#elif defined(HEED_TARGET_FMA)
#define HEED_ISA HEED_KERNEL_lane1
#else
#define HEED_ISA HEED_KERNEL_lane1_no_fma
#endif

#if HEED_ISA == HEED_KERNEL_lane1_no_fma || HEED_ISA == HEED_KERNEL_lanes4_no_fma || \
    HEED_ISA == HEED_KERNEL_mve_no_fma || HEED_ISA == HEED_KERNEL_simd128
#define HEED_FMA 0
#define HEED_SUFFIX "-no-fma"
#else
#define HEED_FMA 1
#define HEED_SUFFIX ""
#endif

// What the flags of one compiler call may lack: no product and sum become one fma, no math function sets errno. The
// reference may not be vectorised where vectors flush subnormals. Who gives the flags says so by HEED_FLAGS_ARE_SET:
// the pragma costs 8 % with GCC 12.
#if defined(HEED_FLAGS_ARE_SET)
#elif defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__arm__)
#pragma GCC optimize("fp-contract=off", "no-math-errno", "no-tree-vectorize")
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off", "no-math-errno")
#endif

#include "isa/portable/cpu_other.cpp"
#include "reference/row_reference.hpp"

#include "vector/make_kernel.hpp"
#if HEED_ISA == HEED_KERNEL_mve || HEED_ISA == HEED_KERNEL_mve_no_fma
#include "isa/cortex_m/mve_model.hpp"
#elif HEED_ISA == HEED_KERNEL_lane1 || HEED_ISA == HEED_KERNEL_lane1_no_fma
#include "isa/portable/lane1_model.hpp"
#else
#include "isa/portable/lanes4_model.hpp"
#endif
#if HEED_ISA == HEED_KERNEL_simd128
#include "isa/wasm/simd128_model.hpp"
#endif

namespace heed {

#if HEED_ISA == HEED_KERNEL_mve || HEED_ISA == HEED_KERNEL_mve_no_fma
using fixed_model = mve;
#define HEED_FIXED_NAME "mve" HEED_SUFFIX
#elif HEED_ISA == HEED_KERNEL_lane1 || HEED_ISA == HEED_KERNEL_lane1_no_fma
using fixed_model = lane1;
#define HEED_FIXED_NAME "lane1" HEED_SUFFIX
#elif HEED_ISA == HEED_KERNEL_lanes4 || HEED_ISA == HEED_KERNEL_lanes4_no_fma
using fixed_model = lanes4;
#define HEED_FIXED_NAME "lanes4" HEED_SUFFIX
#elif HEED_ISA == HEED_KERNEL_simd128
using fixed_model = simd128;
#define HEED_FIXED_NAME "simd128"
#else
#error "HEED_FIXED_ISA is none of the kernels listed above"
#endif
static constexpr kernel kernel_fixed = make_kernel<fixed_model>(HEED_FIXED_NAME, cpu_has_baseline);
static constexpr product_steps fixed_products = make_products<fixed_model>();
static constexpr project_steps fixed_project = make_project<fixed_model>();
static constexpr packed_steps fixed_packed = make_packed<fixed_model>();
static constexpr score_steps fixed_scores = make_score_steps<fixed_model>();
static constexpr row_steps fixed_rows = make_row_steps<fixed_model>();
static constexpr kernel kernel_reference = scalar::make_kernel("scalar" HEED_SUFFIX, HEED_FMA, cpu_has_baseline);

}  // namespace heed

// Integers: one kernel, too, which the compiler's target chooses. -DHEED_INT_PLAIN chooses the one without vectors.
#include "integer_steps/plain.hpp"
#include "integer_steps/product_floats.hpp"
#include "integer_steps/plain_rows.hpp"
#ifdef HEED_INT_PLAIN
#elif defined(__ARM_FEATURE_MVE)
#include "isa/cortex_m/int_mve_products.hpp"
#include "isa/cortex_m/int_mve_rows.hpp"
#elif defined(__ARM_FEATURE_DSP) && defined(__thumb__)
#include "isa/cortex_m/int_dsp_products.hpp"
#else
#include "isa/cortex_m/int_cortex_m0_tile.hpp"
#include "isa/cortex_m/int_cortex_m0_products.hpp"
#include "isa/cortex_m/int_cortex_m3_tile.hpp"
#include "isa/cortex_m/int_cortex_m3_products.hpp"
#include "isa/riscv/int_riscv.hpp"
#endif

namespace heed {

#if defined(HEED_INT_PLAIN)
static constexpr int_steps int_fixed = plain_integers::make("plain");
static constexpr int_product_steps fixed_int_products = {int_project<plain_dots>, int_project_floats<plain_dots>};
#elif defined(__ARM_FEATURE_MVE)
static constexpr int_steps int_fixed = helium::make("mve");
static constexpr int_product_steps fixed_int_products = {mve_dots::project, int_project_floats<mve_dots, mve_floats>};
#elif defined(__ARM_FEATURE_DSP) && defined(__thumb__)
static constexpr int_steps int_fixed = dsp::make("dsp");
static constexpr int_product_steps fixed_int_products = {dsp_dots::project, int_project_floats<dsp_dots>};
#else
#ifdef HEED_CORTEX_M0_TILE
static constexpr int_steps int_fixed = plain_integers::make<cortex_m0_tile>("plain");
#elif defined(HEED_CORTEX_M3_TILE)
static constexpr int_steps int_fixed = plain_integers::make<cortex_m3_tile>("plain");
#elif defined(HEED_RISCV_INTEGERS)
static constexpr int_steps int_fixed = riscv_integers::make("plain");
#else
static constexpr int_steps int_fixed = plain_integers::make("plain");
#endif
#if defined(HEED_CORTEX_M0_TILE)
static constexpr int_product_steps fixed_int_products = {int_project<cortex_m0_dots>,
                                                         int_project_floats<cortex_m0_dots>};
#elif defined(HEED_CORTEX_M3_TILE)
static constexpr int_product_steps fixed_int_products = {int_project<cortex_m3_dots>,
                                                         int_project_floats<cortex_m3_dots>};
#else
static constexpr int_product_steps fixed_int_products = {int_project<plain_dots>, int_project_floats<plain_dots>};
#endif
#endif
#if defined(__ARM_FEATURE_MVE) && !defined(HEED_INT_PLAIN)
static constexpr int_row_steps fixed_int_rows = mve_rows::make();
#else
static constexpr int_row_steps fixed_int_rows = plain_rows::make();
#endif

}  // namespace heed

// Both headers now, as in heed.h of the two files: compilers put functions in the order of their declarations.
#include "heed/heed.h"
#include "heed/integers.h"

#include "isa_choice/dispatch.cpp"
#include "isa_choice/int_dispatch.cpp"
#include "isa_choice/int_product_dispatch.cpp"
#include "kernel_contract/root.cpp"
#include "isa_choice/front_door.cpp"
#include "api/status.cpp"
#include "checks/validate.cpp"
#include "api/workspace.cpp"
#include "integers/int_attention.cpp"
#include "cache/int_cache.cpp"
#include "cache/int_cache_append.cpp"
#include "cache/int_cache_floats.cpp"
#include "cache/int_cache_snapshots.cpp"
#include "integers/int_check.cpp"
#include "isa_choice/int_kernels.cpp"
#include "layers/int_layer.cpp"
#include "layers/int_layer_check.cpp"
#include "integers/int_partial.cpp"
#include "integers/int_linear.cpp"
#include "integers/int_rope.cpp"
#include "integers/int_rows.cpp"
#include "integers/int_table.cpp"
#include "cache/cache.cpp"
#include "cache/cache_snapshots.cpp"
#include "options/inspect.cpp"
#include "options/masks.cpp"
#include "options/typed_tensors.cpp"
#include "options/options.cpp"
#include "options/partial.cpp"
#include "options/ranges.cpp"
#include "options/rule.cpp"
#include "options/run_attention.cpp"
#include "options/scores.cpp"
#include "cache/append.cpp"
#include "api/attention.cpp"
#include "layers/attention_layer.cpp"
#include "layers/attention_steps.cpp"
#include "layers/batch.cpp"
#include "layers/cross_attention.cpp"
#include "weights/convert.cpp"
#include "weights/int_weights.cpp"
#include "api/isa.cpp"
#include "layers/layer_pieces.cpp"
#include "weights/pack_weights.cpp"
#include "weights/packed_weights.cpp"
#include "tasks/run.cpp"
#include "api/primitives.cpp"
#include "weights/linear.cpp"
#include "api/rope.cpp"
#include "api/rows.cpp"
#include "api/over_rows.cpp"
#include "api/choose.cpp"
#include "api/sequence.cpp"
#include "layers/transformer_layer.cpp"
#include "layers/transformer_steps.cpp"
#include "weights/zero_points.cpp"
#include "selftest/selftest.cpp"
#include "selftest/selftest_features.cpp"
#include "selftest/int_selftest.cpp"
