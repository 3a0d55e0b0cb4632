// Packed weights: their header and their bytes.
#ifndef HEED_API_PACKED_HPP
#define HEED_API_PACKED_HPP

#include "../checks/weights_code.hpp"
#include "../kernel_contract/packed_layout.hpp"
#include "heed/heed.h"

namespace heed {

static_assert(stored_f32 == HEED_F32 && stored_f16 == HEED_F16 && stored_bf16 == HEED_BF16 &&
                  stored_int8 == HEED_INT8 && stored_q8_0 == HEED_Q8_0 && stored_q4_0 == HEED_Q4_0 &&
                  stored_uint8 == HEED_UINT8,
              "kernels know the formats by these numbers");

inline bool is_in_blocks(int32_t dtype) { return dtype == HEED_Q8_0 || dtype == HEED_Q4_0; }
inline void check_weights_format(checker &check, int32_t dtype, heed_argument argument) {
  check.require((dtype >= HEED_F32 && dtype <= HEED_Q4_0) || dtype == HEED_UINT8, HEED_BAD_DTYPE, argument);
}

// Before the panels: the mark, then words of four bytes, little-endian, then zeros.
constexpr uint32_t packed_mark[] = {0x64656568, 0x6b636170};  // "heed", "pack"
constexpr int32_t packed_mark_bytes = 8, packed_header_bytes = 64;
enum packed_word {
  packed_word_version,
  packed_word_format,
  packed_word_n_in,
  packed_word_n_out,
  packed_word_sum,
  n_packed_words
};
// Zero points came with version 2, and a checksum with version 3. What has neither is still written as
// version 1, which older versions read.
constexpr int32_t packed_version(int32_t dtype) { return dtype == HEED_UINT8 ? 2 : 1; }
constexpr int32_t checksum_version = 3;

// In 64 bits, which hold those of any weights.
constexpr uint64_t panels_bytes(int32_t dtype, int32_t n_in, int32_t n_out) {
  return (static_cast<uint64_t>(rounded_up(n_out, panel_step)) *
              packed_output_bytes(dtype, static_cast<uint64_t>(n_in)) +
          63) /
         64 * 64;
}

// To and from the bytes of packed weights, the same on a processor of either byte order.
inline void put_half(unsigned char *to, uint32_t bits) {
  to[0] = static_cast<unsigned char>(bits);
  to[1] = static_cast<unsigned char>(bits >> 8);
}
inline void put_word(unsigned char *to, uint32_t bits) {
  put_half(to, bits);
  put_half(to + 2, bits >> 16);
}
inline uint32_t word_at(const unsigned char *p) {
  return p[0] | static_cast<uint32_t>(p[1]) << 8 | static_cast<uint32_t>(p[2]) << 16 |
         static_cast<uint32_t>(p[3]) << 24;
}
inline uint32_t packed_word_at(const unsigned char *header, packed_word which) {
  return word_at(header + packed_mark_bytes + 4 * which);
}

inline void put_packed_word(unsigned char *header, packed_word which, uint32_t bits) {
  put_word(header + packed_mark_bytes + 4 * which, bits);
}

// That the fields of opened weights are those of the header before their data, and that all of it lies in memory: one range.
void check_packed_bytes(checker &check, const heed_weights &w, heed_argument argument);

}  // namespace heed

#endif
