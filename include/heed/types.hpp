// heed for C++17: status, memory, and types of numbers. Include heed.hpp. SPDX-License-Identifier: MIT
#ifndef HEED_HEED_TYPES_HPP
#define HEED_HEED_TYPES_HPP

#include "heed.h"
#include "integers.h"

namespace heed {

// What a call returned. It converts to true if the call succeeded.
class [[nodiscard]] status {
 public:
  // A status of heed.h converts implicitly.
  constexpr status(heed_status code) noexcept : code_(code) {}
  // Did the call succeed?
  constexpr explicit operator bool() const noexcept { return code_ == HEED_OK; }
  // The status of heed.h, what is wrong, and which argument is wrong.
  constexpr heed_status code() const noexcept { return code_; }
  constexpr heed_fault fault() const noexcept { return static_cast<heed_fault>(HEED_STATUS_FAULT(code_)); }
  constexpr heed_argument argument() const noexcept { return static_cast<heed_argument>(HEED_STATUS_ARGUMENT(code_)); }
  // The same in words: heed_status_text and heed_status_argument.
  const char *text() const noexcept { return heed_status_text(code_); }
  const char *argument_text() const noexcept { return heed_status_argument(code_); }

 private:
  heed_status code_;
};

// Memory of a constant size, aligned, for every function of C that takes heed_memory: memory<HEED_CACHE_BYTES(...)>.
template <size_t Bytes>
struct memory {
  static constexpr size_t n_bytes = Bytes;                                  // its size
  operator heed_memory() noexcept { return heed_memory_of(bytes, Bytes); }  // for the functions of C
  alignas(HEED_ALIGNMENT) unsigned char bytes[Bytes];                       // the memory
};

// The workspace of attention for rows of HeadDim floats and values of VDim floats, with a piece for each worker of an
// executor.
template <int HeadDim, int VDim = HeadDim, int Workers = 1>
struct workspace : memory<Workers * HEED_WORKSPACE_BYTES(HeadDim, VDim)> {
  static_assert(HeadDim >= 1 && HeadDim <= HEED_MAX_DIM && VDim >= 1 && VDim <= HEED_MAX_DIM, "dimension out of range");
  static_assert(Workers >= 1 && Workers <= HEED_MAX_WORKERS, "number of workers out of range");
};

// A number in HEED_F16, as heed_convert_from_f32 writes it.
enum class half : uint16_t {};
// A number in HEED_BF16, as heed_convert_from_f32 writes it.
enum class bfloat16 : uint16_t {};

// The heed_dtype of a number type.
template <class T>
struct dtype_of;
template <class T>
struct dtype_of<const T> : dtype_of<T> {};
template <heed_dtype Dtype>
struct dtype_is {
  static constexpr heed_dtype value = Dtype;  // the heed_dtype
};
template <>
struct dtype_of<float> : dtype_is<HEED_F32> {};
template <>
struct dtype_of<half> : dtype_is<HEED_F16> {};
template <>
struct dtype_of<bfloat16> : dtype_is<HEED_BF16> {};
template <>
struct dtype_of<int8_t> : dtype_is<HEED_INT8> {};
template <>
struct dtype_of<int16_t> : dtype_is<HEED_INT16> {};

}  // namespace heed

#endif
