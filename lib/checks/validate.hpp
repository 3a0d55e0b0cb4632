// The one boundary check. A checker collects what a call reads and writes and keeps the first fault; nothing may be
// written before it has said HEED_OK. Kernels assume.
#ifndef HEED_VALIDATE_HPP
#define HEED_VALIDATE_HPP

#include "../arithmetic.hpp"
#include "heed/heed.h"

namespace heed {

enum class access { read, write };

inline bool is_finite(float x) { return x - x == 0.0f; }
// By their bits: a unit that flushes subnormals compares one as 0.
inline uint32_t magnitude_bits(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits & 0x7fffffff;
}
inline bool is_subnormal(float x) { return magnitude_bits(x) - 1 < 0x007fffff; }
inline bool is_zero_or_subnormal(float x) { return magnitude_bits(x) < 0x00800000; }

class checker {
 public:
  struct range {
    uintptr_t begin, end;
    uint8_t written, argument;
  };
  explicit checker(range *ranges) : ranges(ranges), ranges_end(ranges) {}
  checker(const checker &) = delete;
  checker &operator=(const checker &) = delete;

  heed_status status = HEED_OK;

  void pointer(const void *data, size_t alignment, heed_argument argument);
  bool ok() const { return status == HEED_OK; }
  void require(bool condition, heed_fault fault, heed_argument argument) {
    if (status == HEED_OK && !condition) status = HEED_STATUS(fault, argument);
  }
  void count(int32_t n, int32_t most, heed_argument argument) {
    require(n >= 1 && n <= most, HEED_OUT_OF_RANGE, argument);
  }
  // A parameter that is used times log2(e). Were the product subnormal, units that flush subnormals would take it for 0.
  void logit(float x, heed_argument argument) {
    require(is_finite(x * log2e), HEED_NOT_FINITE, argument);
    require(!is_subnormal(x), HEED_OUT_OF_RANGE, argument);
  }
  // The same, and not 0.
  void scale(float x) {
    if (x == HEED_SCALE_DEFAULT) return;
    require(is_finite(x * log2e), HEED_NOT_FINITE, HEED_ARG_SCALE);
    require(!is_zero_or_subnormal(x), HEED_OUT_OF_RANGE, HEED_ARG_SCALE);
  }
  // A struct of the caller's, all of whose fields may be read when this is ok.
  template <class T>
  void object(const T *p, access how, heed_argument argument) {
    static_assert(offsetof(T, struct_size) == 0, "its first field");
    object(p, sizeof(T), alignof(T), how, argument);
  }
  // A struct that has grown since x.y.0: it may have its size of before, and none of the newer fields.
  template <class T>
  void grown_object(const T *p, size_t before, access how, heed_argument argument) {
    pointer(p, alignof(T), argument);
    if (!ok()) return;
    const size_t known = p->struct_size == before ? before : sizeof(T);
    object(p, known, alignof(T), how, argument);
  }
  // struct_size: 0 of what was never made.
  void size(uint32_t given, size_t known, heed_argument argument) {
    require(given != 0, HEED_NOT_INITIALIZED, argument);
    require(given == known, HEED_BAD_STRUCT_SIZE, argument);
  }
  void executor(const heed_executor *e);
  // A (counts[0], counts[1], counts[2], dim) tensor of floats or bytes; a stride counts only where there are two or
  // more.
  void tensor(const void *data, const int32_t (&counts)[3], const ptrdiff_t (&strides)[3], int32_t dim, access how,
              heed_argument argument, size_t element_bytes = sizeof(float));
  // n numbers, or structs of numbers, of 4 bytes each.
  template <class T>
  void array(const T *data, size_t n, access how, heed_argument argument) {
    static_assert(alignof(T) == 4, "bytes are checked by pointer() and memory()");
    words(data, n * (sizeof(T) / 4), how, argument);
  }
  void matrix(const void *data, int32_t n_rows, int32_t dim, ptrdiff_t stride, access how, heed_argument argument,
              size_t element_bytes = sizeof(float));
  void matrix(const heed_matrix &m, heed_argument argument);
  void matrix(const heed_matrix_out &m, heed_argument argument);
  void floats(const float *data, int32_t n, access how, heed_argument argument);
  void floats_or_null(const float *data, int32_t n, heed_argument argument) {
    if (data) floats(data, n, access::read, argument);
  }
  void memory(const void *data, size_t bytes, access how, heed_argument argument);
  // Written memory of `bytes` bytes, at least `minimum`, aligned.
  void buffer(const void *data, size_t bytes, size_t minimum, size_t alignment, heed_argument argument);
  void room(heed_memory m, size_t minimum, size_t alignment, heed_argument argument) {
    buffer(m.data, m.bytes, minimum, alignment, argument);
  }
  void workspace(heed_memory m, int32_t head_dim, int32_t v_dim) {
    room(m, HEED_WORKSPACE_MIN_BYTES(head_dim, v_dim), HEED_ALIGNMENT, HEED_ARG_WORKSPACE);
  }
  // No written range may touch another. The argument named is the written one.
  heed_status finish();

 private:
  void words(const void *data, size_t n, access how, heed_argument argument);
  void object(const void *p, size_t bytes, size_t alignment, access how, heed_argument argument);

  range *ranges, *ranges_end;  // of what the call reads and writes
};

// For a call with so many arguments in memory: ranges are most of the stack that a check takes.
template <int N_RANGES>
class checker_of : public checker {
 public:
  checker_of() : checker(storage) {}

 private:
  range storage[N_RANGES];
};

// Weights whose rows of x have n_in numbers: the numbers, scales and zero points, three ranges. (api/project.cpp)
void check_weights(checker &check, const heed_weights &w, int32_t n_in, heed_argument argument);

inline float natural_scale(float scale, int32_t head_dim) {
  return scale == HEED_SCALE_DEFAULT ? default_scale(head_dim) : scale;
}
inline float scale_of(const heed_attention &call) { return natural_scale(call.scale, call.head_dim); }

// Shared by attention and its layers.
void check_heads(checker &check, int32_t n_heads, int32_t n_kv_heads, int32_t head_dim, int32_t v_dim, float scale,
                 int32_t causal);

}  // namespace heed

#endif
