// Products in integers on any AArch64: of eight bits to 16, which are added in pairs to 32, four inputs of a panel or 16 of rows
// at a time.
#include "int_neon_floats.hpp"

namespace heed {
namespace {

struct smlal_dots {
  static constexpr int32_t rows = 4, outputs = 8;

  static constexpr int8_t ones[4] = {1, 1, 1, 1};

  // n inputs, at most four, and zeros, twice.
  static HEED_INLINE int8x8_t word(const int8_t *p, int32_t n) {
    int32_t four = 0;
    if (n == 4)
      __builtin_memcpy(&four, p, 4);
    else
      __builtin_memcpy(&four, p, static_cast<size_t>(n));
    return vreinterpret_s8_s32(vdup_n_s32(four));
  }

  // Eight outputs, or one, which then lies in all lanes. Each has two lanes of acc. A zero point costs a sum of weights.
  template <int ROWS, int OUTPUTS>
  static HEED_NOINLINE void add_panel(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int_weights &w,
                                      int32_t depth, int32_t *sums) {
    constexpr int n_words = OUTPUTS == 8 ? 4 : 1;  // registers with the words of two outputs
    int32x4_t acc[ROWS][n_words], sum[n_words];
    HEED_UNROLL for (int n = 0; n < n_words; n++) sum[n] = vdupq_n_s32(0);
    HEED_UNROLL for (int r = 0; r < ROWS; r++) HEED_UNROLL for (int n = 0; n < n_words; n++) acc[r][n] = vdupq_n_s32(0);
    const int8_t *words = w.data;
    const auto add = [&](int32_t i, int32_t n_inputs) HEED_INLINED {
      int8x8_t y[n_words];
      HEED_UNROLL for (int n = 0; n < n_words; n++) y[n] =
          OUTPUTS == 8 ? vld1_s8(words + 8 * n) : word(words, n_inputs);
      if (zero_point) {
        HEED_UNROLL for (int n = 0; n < n_words; n++) sum[n] =
            vpadalq_s16(sum[n], vmull_s8(y[n], word(ones, n_inputs)));
      }
      HEED_UNROLL for (int r = 0; r < ROWS; r++) {
        const int8x8_t f = word(x + r * x_stride + i, n_inputs);
        HEED_UNROLL for (int n = 0; n < n_words; n++) acc[r][n] = vpadalq_s16(acc[r][n], vmull_s8(y[n], f));
      }
      words += w.step;
    };
    int32_t i = 0;
    for (; i + 4 <= depth; i += 4) add(i, 4);
    if (i < depth) add(i, depth - i);
    HEED_UNROLL for (int r = 0; r < ROWS; r++) {
      HEED_UNROLL for (int n = 0; n < n_words; n++) acc[r][n] = vmlsq_n_s32(acc[r][n], sum[n], zero_point);
      if constexpr (OUTPUTS == 8) {
        vst1q_s32(sums + 8 * r, vpaddq_s32(acc[r][0], acc[r][1]));
        vst1q_s32(sums + 8 * r + 4, vpaddq_s32(acc[r][2], acc[r][3]));
      } else {
        sums[r] = vaddv_s32(vget_low_s32(acc[r][0]));
      }
    }
  }
  template <int ROWS, int OUTPUTS>
  static HEED_NOINLINE void add_rows(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int8_t *w,
                                     ptrdiff_t output, int32_t depth, int32_t *sums, int32_t stride) {
    const int8x16_t zero = vdupq_n_s8(static_cast<int8_t>(zero_point));
    int32x4_t acc[ROWS][OUTPUTS];
    HEED_UNROLL for (int r = 0; r < ROWS; r++) HEED_UNROLL for (int n = 0; n < OUTPUTS; n++) acc[r][n] = vdupq_n_s32(0);
    for (int32_t i = 0; i < depth; i += 16) {
      int8x16_t y[OUTPUTS];
      HEED_UNROLL for (int n = 0; n < OUTPUTS; n++) y[n] = neon_common::load_bytes(w + n * output + i, depth - i);
      HEED_UNROLL for (int r = 0; r < ROWS; r++) {
        const int8x16_t f = neon_common::load_bytes(x + r * x_stride + i, depth - i);  // behind the last weights are 0
        const int16x8_t low = vsubl_s8(vget_low_s8(f), vget_low_s8(zero)), high = vsubl_high_s8(f, zero);
        HEED_UNROLL for (int n = 0; n < OUTPUTS; n++) {
          const int16x8_t a = vmovl_s8(vget_low_s8(y[n])), b = vmovl_high_s8(y[n]);
          acc[r][n] = vmlal_high_s16(vmlal_s16(acc[r][n], vget_low_s16(a), vget_low_s16(low)), a, low);
          acc[r][n] = vmlal_high_s16(vmlal_s16(acc[r][n], vget_low_s16(b), vget_low_s16(high)), b, high);
        }
      }
    }
    HEED_UNROLL for (int r = 0; r < ROWS; r++) HEED_UNROLL for (int n = 0; n < OUTPUTS; n++) sums[r * stride + n] =
        vaddvq_s32(acc[r][n]);
  }

  template <int OUTPUTS>
  static constexpr int of_rows = smaller_of(OUTPUTS, 4);

  template <int ROWS, int OUTPUTS>
  static HEED_INLINE void dots(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int_weights &w,
                               int32_t depth, int32_t *sums) {
    if (w.layout == int_layout::panel)
      add_panel<ROWS, OUTPUTS>(x, x_stride, zero_point, w, depth, sums);
    else if (w.layout == int_layout::out_in)
      for (int32_t o = 0; o < OUTPUTS; o += of_rows<OUTPUTS>)
        add_rows<ROWS, of_rows<OUTPUTS>>(x, x_stride, zero_point, w.of(o), w.output, depth, sums + o, OUTPUTS);
    else
      plain_dots::dots<ROWS, OUTPUTS>(x, x_stride, zero_point, w, depth, sums);
  }
};

}  // namespace

extern const int_product_steps int_neon_products;
const int_product_steps int_neon_products = {int_project<smlal_dots>,
                                             int_project_floats<smlal_dots, neon_floats<smlal_dots>>};

}  // namespace heed
