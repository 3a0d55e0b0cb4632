// Rows of floats to narrow numbers (rule 23): of out, and of what a cache is to keep.
#ifndef HEED_GENERIC_NARROW_STEPS_HPP
#define HEED_GENERIC_NARROW_STEPS_HPP

#include "../../kernel_contract/numbers.hpp"
#include "../vector.hpp"

namespace heed {

// Words and floats of a register as the compiler's own vectors, in which numbers.hpp can be said for all lanes.
template <class V>
struct words_of {
  typedef int32_t words __attribute__((vector_size(4 * V::lanes)));
  typedef float floats __attribute__((vector_size(4 * V::lanes)));
  static HEED_INLINE words load(const float *x) {
    words bits;
    __builtin_memcpy(&bits, x, sizeof bits);
    return bits;
  }
};

template <class W, class F>
HEED_INLINE W narrow_words(f16, W bits, float) {
  const W size = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
  const W normal = (size - (112 << 23) + 0xfff + (size >> 13 & 1)) >> 13;
  const W small = reinterpret_cast<W>(reinterpret_cast<F>(size) + 0.5f) - 0x3f000000;  // a multiple of 2^-24
  const W is_small = (size < 0x38800000), is_large = (size >= 0x47800000), is_nan = (size > 0x7f800000);
  return sign | (is_small & small) | (~(is_small | is_large) & normal) | (is_large & 0x7c00) | (is_nan & 0x200);
}
template <class W, class F>
HEED_INLINE W narrow_words(bf16, W bits, float) {
  const W is_nan = (bits & 0x7fffffff) > 0x7f800000, upper = bits >> 16;
  return (is_nan & (upper | 0x40)) | (~is_nan & (upper + (((bits & 0xffff) + 0x7fff + (upper & 1)) >> 16)));
}
template <class W, class F>
HEED_INLINE W narrow_words(int8_t, W bits, float scale) {
  const W n = reinterpret_cast<W>(reinterpret_cast<F>(bits) / scale + 12582912.0f) - 0x4b400000;
  const W above = (n > 127), below = (n < -127);
  return (above & 127) | (below & -127) | (~(above | below) & n);
}

template <class V, class T>
static void narrow_row_to(const float *x, int32_t n, float scale, T *y) {
  int32_t i = 0;
  if constexpr (!V::compact) {
    using words = typename words_of<V>::words;
    typedef uint16_t halves __attribute__((vector_size(2 * V::lanes)));
    typedef int8_t bytes __attribute__((vector_size(V::lanes)));
    const bool whole = sizeof(T) > 1 || scale != 0.0f;  // 0 / 0 is not 0
    for (; whole && i + V::lanes <= n; i += V::lanes) {
      const words all = narrow_words<words, typename words_of<V>::floats>(T(), words_of<V>::load(x + i), scale);
      if constexpr (sizeof(T) == 1) {
        const bytes narrowed = __builtin_convertvector(all, bytes);
        __builtin_memcpy(y + i, &narrowed, sizeof narrowed);
      } else {
        const halves narrowed = __builtin_convertvector(all, halves);
        __builtin_memcpy(y + i, &narrowed, sizeof narrowed);
      }
    }
  }
  narrow_numbers(x + i, n - i, scale, y + i);
}

// scale: of int8 alone.
template <class V>
static void narrow_row(const float *x, int32_t n, int32_t dtype, float scale, void *y) {
  with_narrow_format(dtype, [&](auto number) { narrow_row_to<V>(x, n, scale, static_cast<decltype(number) *>(y)); });
}

template <class V>
static float magnitude_of_row(const float *x, int32_t n) {
  int32_t i = 0;
  uint32_t greatest = 0;
  if constexpr (!V::compact) {
    using words = typename words_of<V>::words;
    words most = {};
    for (; i + V::lanes <= n; i += V::lanes) {
      const words size = words_of<V>::load(x + i) & 0x7fffffff, more = (size > most);
      most = (more & size) | (~more & most);
    }
    for (int32_t l = 0; l < V::lanes; l++)
      if (static_cast<uint32_t>(most[l]) > greatest) greatest = static_cast<uint32_t>(most[l]);
  }
  return float_of_bits(greatest_magnitude(x + i, n - i, greatest));
}

}  // namespace heed

#endif
