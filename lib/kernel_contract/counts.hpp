// Small steps of arithmetic with counts and optional arrays, which have names so that conditions are read as words.
#ifndef HEED_COUNTS_HPP
#define HEED_COUNTS_HPP

#include <stddef.h>
#include <stdint.h>

#define HEED_INLINE inline __attribute__((always_inline))

namespace heed {

// The smaller and the larger of two counts or sizes, of the type of the first. Floats have rules of their own for NaN and
// zeros: these are not for them.
template <class T>
struct same_type {
  using type = T;
};
template <class T>
constexpr HEED_INLINE T smaller_of(T a, typename same_type<T>::type b) {
  return a < b ? a : b;
}
template <class T>
constexpr HEED_INLINE T larger_of(T a, typename same_type<T>::type b) {
  return a < b ? b : a;
}
// Where a block of at most `size` that starts at `begin` ends, of n in all. begin + size may overflow where n does not.
template <class T>
constexpr HEED_INLINE T end_of_block(T begin, typename same_type<T>::type size, typename same_type<T>::type n) {
  return n - begin < size ? n : begin + size;
}
HEED_INLINE int32_t clamp_64(int64_t x, int32_t low, int32_t high) {
  if (x < low) return low;
  if (x > high) return high;
  return static_cast<int32_t>(x);
}

// A size in bytes, or 0 if no memory is so large.
constexpr HEED_INLINE size_t size_or_zero(uint64_t bytes) {
  return bytes <= PTRDIFF_MAX ? static_cast<size_t>(bytes) : 0;
}
// Element i of an optional array, or 0 if there is none.
template <class T>
constexpr HEED_INLINE T at_or_zero(const T *p, ptrdiff_t i) {
  return p ? p[i] : T();
}
// p + n, or null if p is null.
template <class T>
constexpr HEED_INLINE T *offset_or_null(T *p, ptrdiff_t n) {
  return p ? p + n : nullptr;
}

// The one clamp: x, or the nearer end of [low, high].
HEED_INLINE int32_t clamp_to(int32_t x, int32_t low, int32_t high) {
  if (x < low) return low;
  return x < high ? x : high;
}

}  // namespace heed

#endif
