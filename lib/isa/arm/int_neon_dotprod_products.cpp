// Products in integers with SDOT: four rows, 16 outputs of panels or four of rows. A zero point costs a sum of weights.
#include "int_neon_floats.hpp"

namespace heed {
namespace {

struct sdot_dots {
  static constexpr int32_t rows = 4, outputs = 16;

  static constexpr int8_t ones[4] = {1, 1, 1, 1};

  // n inputs, at most four, and zeros, in each lane.
  static HEED_INLINE int8x16_t word(const int8_t *p, int32_t n) {
    int32_t four = 0;
    if (n == 4)
      __builtin_memcpy(&four, p, 4);
    else
      __builtin_memcpy(&four, p, static_cast<size_t>(n));
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
  }

  // A word of each of 16 outputs is a lane; that of one is all lanes.
  template <int ROWS, int OUTPUTS>
  static HEED_NOINLINE void add_panel(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int_weights &w,
                                      int32_t depth, int32_t *sums) {
    constexpr int n_words = OUTPUTS == 16 ? 4 : 1;
    int32x4_t acc[ROWS][n_words], sum[n_words];
    HEED_UNROLL for (int c = 0; c < n_words; c++) sum[c] = vdupq_n_s32(0);
    HEED_UNROLL for (int r = 0; r < ROWS; r++) HEED_UNROLL for (int c = 0; c < n_words; c++) acc[r][c] = vdupq_n_s32(0);
    const int8_t *words = w.data;
    const auto add = [&](int32_t i, int32_t n) HEED_INLINED {
      int8x16_t y[n_words];
      HEED_UNROLL for (int c = 0; c < n_words; c++) y[c] = OUTPUTS == 16 ? vld1q_s8(words + 16 * c) : word(words, n);
      if (zero_point) {
        HEED_UNROLL for (int c = 0; c < n_words; c++) sum[c] = vdotq_s32(sum[c], y[c], word(ones, n));
      }
      HEED_UNROLL for (int r = 0; r < ROWS; r++) {
        const int8x16_t f = word(x + r * x_stride + i, n);
        HEED_UNROLL for (int c = 0; c < n_words; c++) acc[r][c] = vdotq_s32(acc[r][c], y[c], f);
      }
      words += w.step;
    };
    int32_t i = 0;
    for (; i + 4 <= depth; i += 4) add(i, 4);
    if (i < depth) add(i, depth - i);
    HEED_UNROLL for (int r = 0; r < ROWS; r++) {
      HEED_UNROLL for (int c = 0; c < n_words; c++) acc[r][c] = vmlsq_n_s32(acc[r][c], sum[c], zero_point);
      if constexpr (OUTPUTS == 16) {
        HEED_UNROLL for (int c = 0; c < n_words; c++) vst1q_s32(sums + 16 * r + 4 * c, acc[r][c]);
      } else {
        sums[r] = vgetq_lane_s32(acc[r][0], 0);
      }
    }
  }

  // Outputs lie along registers.
  template <int ROWS, int OUTPUTS>
  static HEED_NOINLINE void add_rows(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int8_t *w,
                                     ptrdiff_t output, int32_t depth, int32_t *sums, int32_t stride) {
    int32x4_t acc[ROWS][OUTPUTS], sum[OUTPUTS];
    HEED_UNROLL for (int n = 0; n < OUTPUTS; n++) sum[n] = vdupq_n_s32(0);
    HEED_UNROLL for (int r = 0; r < ROWS; r++) HEED_UNROLL for (int n = 0; n < OUTPUTS; n++) acc[r][n] = vdupq_n_s32(0);
    for (int32_t i = 0; i < depth; i += 16) {
      int8x16_t y[OUTPUTS];
      HEED_UNROLL for (int n = 0; n < OUTPUTS; n++) {
        y[n] = neon_common::load_bytes(w + n * output + i, depth - i);
        if (zero_point) sum[n] = vdotq_s32(sum[n], y[n], vdupq_n_s8(1));
      }
      HEED_UNROLL for (int r = 0; r < ROWS; r++) {
        const int8x16_t f = neon_common::load_bytes(x + r * x_stride + i, depth - i);
        HEED_UNROLL for (int n = 0; n < OUTPUTS; n++) acc[r][n] = vdotq_s32(acc[r][n], y[n], f);
      }
    }
    HEED_UNROLL for (int n = 0; n < OUTPUTS; n++) {
      const int32_t minus = zero_point * vaddvq_s32(sum[n]);
      HEED_UNROLL for (int r = 0; r < ROWS; r++) sums[r * stride + n] = vaddvq_s32(acc[r][n]) - minus;
    }
  }

  template <int ROWS, int OUTPUTS>
  static HEED_INLINE void dots(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int_weights &w,
                               int32_t depth, int32_t *sums) {
    if (w.layout == int_layout::out_in) {
      constexpr int n = OUTPUTS == 1 ? 1 : 4;
      for (int32_t o = 0; o < OUTPUTS; o += n)
        add_rows<ROWS, n>(x, x_stride, zero_point, w.of(o), w.output, depth, sums + o, OUTPUTS);
    } else if (w.layout == int_layout::panel) {
      add_panel<ROWS, OUTPUTS>(x, x_stride, zero_point, w, depth, sums);
    } else {
      plain_dots::dots<ROWS, OUTPUTS>(x, x_stride, zero_point, w, depth, sums);
    }
  }
};

}  // namespace

extern const int_product_steps int_neon_dotprod_products;
const int_product_steps int_neon_dotprod_products = {int_project<sdot_dots>,
                                                     int_project_floats<sdot_dots, neon_floats<sdot_dots>>};

}  // namespace heed
