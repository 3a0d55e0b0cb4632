// heed_weights_pack: from weights of any format and layout to packed ones; heed_gather_rows: from any to floats. Plain
// loops, the same on every kernel and in every byte order (rules 22 and 23; the scales of blocks: weights.h).
#include "packed_weights.hpp"
#include "zero_points.hpp"

namespace heed {
namespace {

// Inputs [begin, begin + n) of an output, at most a block of them: what is stored, and its scale's bits (of int8 a
// float's, of blocks those of an f16).
struct piece {
  int32_t n, zero;  // a zero point, as of int8
  uint32_t bits[block_inputs], scale;
};

// Weights with zero points are HEED_UINT8 here: as such they can be packed.
int32_t format_of(const heed_weights &w) { return w.code && w.dtype == HEED_INT8 ? int32_t{HEED_UINT8} : w.dtype; }

uint32_t stored_bits(float x) { return bits_of_float(x); }
uint32_t stored_bits(f16 x) { return x.bits; }
uint32_t stored_bits(bf16 x) { return x.bits; }
uint32_t stored_bits(int8_t x) { return static_cast<uint32_t>(x); }

template <class T>
void read_numbers(const heed_weights &w, int32_t begin, int32_t output, piece &to) {
  const auto *p = static_cast<const T *>(w.data) +
                  (w.layout == HEED_OUT_IN ? output * w.row_stride + begin : begin * w.row_stride + output);
  const ptrdiff_t step = w.layout == HEED_OUT_IN ? 1 : w.row_stride;
  for (int32_t k = 0; k < to.n; k++) to.bits[k] = stored_bits(p[k * step]);
}

void read_block(const heed_weights &w, int32_t begin, int32_t output, piece &to) {
  const ptrdiff_t stride = w.n_out > 1 ? w.row_stride : w.n_in;
  const stored_weights stored = {w.data, nullptr, stride, w.dtype, true};
  const auto *scale = static_cast<const unsigned char *>(w.data) +
                      (output * stored.stride + begin) / block_inputs * block_bytes_of(w.dtype);
  to.scale = scale[0] | static_cast<uint32_t>(scale[1]) << 8;
  for (int32_t k = 0; k < to.n; k++) to.bits[k] = static_cast<uint32_t>(block_number(stored, begin + k, output).number);
}

void read_piece(const heed_weights &w, int32_t begin, int32_t output, piece &to) {
  to.n = smaller_of(w.n_in - begin, block_inputs);
  to.scale = 0;
  to.zero = 0;
  if (is_in_blocks(w.dtype)) return read_block(w, begin, output, to);
  with_format(w.dtype, [&](auto number) { read_numbers<decltype(number)>(w, begin, output, to); });
  if (w.dtype == HEED_INT8 && !w.code) to.scale = bits_of_float(w.scales[output]);
  if (format_of(w) != HEED_UINT8) return;
  const stored_weights bytes = stored_bytes(w);
  to.scale = bits_of_float(scale_of(bytes, output));
  to.zero = zero_of(bytes, output) - 128;
  if (bytes.is_uint8)
    for (int32_t k = 0; k < to.n; k++) to.bits[k] ^= 0xffffff80;  // 128 less: the first bit is the sign of int8
}

void widen_piece(const piece &from, int32_t dtype, float *x) {
  if (dtype >= HEED_INT8) {
    const float scale =
        has_output_scales(dtype) ? float_of_bits(from.scale) : widen(f16{static_cast<uint16_t>(from.scale)});
    for (int32_t k = 0; k < from.n; k++)
      x[k] = static_cast<float>(static_cast<int32_t>(from.bits[k]) - from.zero) * scale;
  } else if (dtype == HEED_F16) {
    for (int32_t k = 0; k < from.n; k++) x[k] = widen(f16{static_cast<uint16_t>(from.bits[k])});
  } else {
    const int shift = dtype == HEED_F32 ? 0 : 16;
    for (int32_t k = 0; k < from.n; k++) x[k] = float_of_bits(from.bits[k] << shift);
  }
}

// The scale of a block, in f16; infinite where there is none. Of zeros of either sign it is that of +0.
f16 scale_of_block(const float *x, int32_t n, int32_t dtype) {
  float greatest = 0.0f;
  for (int32_t k = 0; k < n; k++)
    if (magnitude_bits(x[k]) > magnitude_bits(greatest)) greatest = x[k];
  f16 scale;
  if (dtype == HEED_Q8_0)
    narrow(float_of_bits(magnitude_bits(greatest)) / 127.0f, 0.0f, scale);
  else
    narrow(greatest / -8.0f, 0.0f, scale);
  return scale;
}

// x in the format, with the scale of its output if it is int8.
void narrow_piece(const float *x, int32_t dtype, float scale, piece &to) {
  if (dtype < HEED_INT8)
    return with_format(dtype, [&](auto number) {
      decltype(number) y[block_inputs];
      narrow_numbers(x, to.n, 0.0f, y);
      for (int32_t k = 0; k < to.n; k++) to.bits[k] = stored_bits(y[k]);
    });
  to.scale = bits_of_float(scale);
  if (dtype != HEED_INT8) {
    const f16 half = scale_of_block(x, to.n, dtype);
    to.scale = half.bits;
    scale = widen(half);
  }
  int8_t y[block_inputs];
  narrow_numbers(x, to.n, scale, y);
  const int32_t least = dtype == HEED_Q4_0 ? -8 : -128;
  const int32_t most = dtype == HEED_Q4_0 ? 7 : 127;
  for (int32_t k = 0; k < to.n; k++) to.bits[k] = static_cast<uint32_t>(clamp_to(y[k], least, most));
}

// Where the format puts inputs from `begin` on, and scales, of an output of a panel.
void write_piece(const piece &from, int32_t dtype, unsigned char *panel, int32_t width, int32_t begin, int32_t output) {
  const ptrdiff_t row = width;
  if (dtype == HEED_F32) {
    for (int32_t k = 0; k < from.n; k++) put_word(panel + ((begin + k) * row + output) * 4, from.bits[k]);
  } else if (dtype == HEED_F16 || dtype == HEED_BF16) {
    for (int32_t k = 0; k < from.n; k++) put_half(panel + ((begin + k) * row + output) * 2, from.bits[k]);
  } else if (dtype == HEED_Q4_0) {
    unsigned char *const block = panel + begin / block_inputs * row * q4_0_bytes;
    put_half(block + 2 * output, from.scale);
    for (int32_t k = 0; k < from.n; k++) {
      const int shift = k % 8 < 4 ? 0 : 4;  // of a byte's low half, or of its high half
      block[2 * row + (k / 8 * row + output) * 4 + k % 4] |= static_cast<unsigned char>((from.bits[k] + 8) << shift);
    }
  } else {
    unsigned char *words = panel + 4 * words_of_scales(dtype) * row + begin * row;
    if (dtype == HEED_UINT8)
      put_word(panel + 4 * (row + output), (static_cast<uint32_t>(from.zero) & 0xffff) * 0x10001);
    if (dtype == HEED_Q8_0) {
      words = panel + begin / block_inputs * row * q8_0_bytes;
      put_half(words + 2 * output, from.scale);
      words += 2 * row;
    } else {
      put_word(panel + 4 * output, from.scale);
    }
    for (int32_t k = 0; k < from.n; k++)
      words[(k / 4 * row + output) * 4 + k % 4] = static_cast<unsigned char>(from.bits[k]);
  }
}

// f(x, n, output - first) for all pieces of outputs [first, + n_outputs), widened.
template <class F>
void for_pieces(const heed_weights &w, int32_t first, int32_t n_outputs, F f) {
  float x[block_inputs];
  piece p;
  for (int32_t begin = 0; begin < w.n_in; begin += block_inputs)
    for (int32_t o = 0; o < n_outputs; o++) {
      read_piece(w, begin, first + o, p);
      widen_piece(p, format_of(w), x);
      f(x, p.n, o);
    }
}

int32_t outputs_of_panel(const heed_weights &w, int32_t first) { return smaller_of(w.n_out - first, panel_outputs); }

// Whether new scales can be made.
HEED_NOINLINE bool has_scales(const heed_weights &w, int32_t dtype) {
  constexpr uint32_t infinite = 0x7f800000, infinite_half = 0x7c00;
  bool all = true;
  for (int32_t first = 0; first < w.n_out; first += panel_outputs)
    for_pieces(w, first, outputs_of_panel(w, first), [&](const float *x, int32_t n, int32_t) {
      all = all && greatest_magnitude(x, n) < infinite &&
            (dtype == HEED_INT8 || (scale_of_block(x, n, dtype).bits & 0x7fff) < infinite_half);
    });
  return all;
}

// That of each output of a panel, as int8.
HEED_NOINLINE void scales_of_panel(const heed_weights &w, int32_t first, float *scales) {
  uint32_t greatest[panel_outputs] = {};
  for_pieces(w, first, outputs_of_panel(w, first), [&](const float *x, int32_t n, int32_t output) {
    greatest[output] = greatest_magnitude(x, n, greatest[output]);
  });
  for (int32_t o = 0; o < panel_outputs; o++) scales[o] = int8_scale(float_of_bits(greatest[o]));
}

HEED_NOINLINE void fill_panel(const heed_weights &w, int32_t dtype, int32_t first, const float *scales,
                              unsigned char *panel) {
  float x[block_inputs];
  piece p;
  for (int32_t begin = 0; begin < w.n_in; begin += block_inputs)
    for (int32_t o = 0; o < outputs_of_panel(w, first); o++) {
      read_piece(w, begin, first + o, p);
      if (dtype != format_of(w)) {
        widen_piece(p, format_of(w), x);
        narrow_piece(x, dtype, scales[o], p);
      }
      write_piece(p, dtype, panel, panel_width(w.n_out, first), begin, o);
    }
}

HEED_NOINLINE heed_status check_pack(const heed_weights &w, int32_t dtype, heed_memory memory) {
  checker_of<4> check;  // w, its scales and zero points, memory
  check_weights(check, w, w.n_in, HEED_ARG_W);
  check.require(w.layout != HEED_PACKED, HEED_BAD_LAYOUT, HEED_ARG_W);
  check_weights_format(check, dtype, HEED_ARG_DTYPE);
  check.require(dtype != HEED_UINT8 || format_of(w) == HEED_UINT8, HEED_BAD_DTYPE, HEED_ARG_DTYPE);
  if (check.ok()) {
    const size_t bytes = heed_weights_packed_bytes(dtype, w.n_in, w.n_out);
    check.require(bytes != 0, HEED_OVERFLOW, HEED_ARG_MEMORY);
    check.room(memory, bytes, HEED_ALIGNMENT, HEED_ARG_MEMORY);
  }
  return check.finish();
}

// All inputs of a packed output.
HEED_NOINLINE void widen_packed(const heed_weights &w, int32_t output, float *x) {
  const int32_t first = output / panel_outputs * panel_outputs, width = panel_width(w.n_out, first),
                at = output - first;
  const auto *const panel = static_cast<const unsigned char *>(w.data) +
                            static_cast<size_t>(first) * packed_output_bytes(w.dtype, static_cast<uint64_t>(w.n_in));
  for (int32_t i = 0; i < w.n_in; i++) {
    const ptrdiff_t number = static_cast<ptrdiff_t>(i) * width + at;
    if (w.dtype == HEED_F32) {
      x[i] = float_of_bits(word_at(panel + 4 * number));
    } else if (w.dtype == HEED_F16) {
      x[i] = half_at(panel + 2 * number);
    } else if (w.dtype == HEED_BF16) {
      x[i] = widen(bf16{static_cast<uint16_t>(panel[2 * number] | panel[2 * number + 1] << 8)});
    } else {
      const scaled_number found = packed_number({panel, w.dtype, width}, i, at);
      x[i] = static_cast<float>(found.number) * found.scale;
    }
  }
}

HEED_NOINLINE heed_status check_gather(const heed_weights &w, const int32_t *rows, const heed_matrix_out &y) {
  checker_of<5> check;  // w, its scales and zero points, rows, y
  check_weights(check, w, w.n_in, HEED_ARG_W);
  check.matrix(y, HEED_ARG_Y);
  check.require(y.dim == w.n_in, HEED_SHAPE_MISMATCH, HEED_ARG_Y);
  if (check.ok()) check.array(rows, static_cast<size_t>(y.n_rows), access::read, HEED_ARG_ROWS);
  if (check.finish() != HEED_OK) return check.status;
  for (int32_t r = 0; r < y.n_rows; r++)
    check.require(rows[r] >= 0 && rows[r] < w.n_out, HEED_OUT_OF_RANGE, HEED_ARG_ROWS);
  return check.status;
}

}  // namespace
}  // namespace heed

using namespace heed;

heed_status heed_weights_pack(heed_weights w, int32_t dtype, heed_memory memory) {
  const heed_status status = check_pack(w, dtype, memory);
  if (status != HEED_OK) return status;
  const bool scaled = dtype >= HEED_INT8 && dtype != format_of(w);
  if (scaled && !has_scales(w, dtype)) return HEED_STATUS(HEED_NOT_FINITE, HEED_ARG_W);
  auto *const header = static_cast<unsigned char *>(memory.data);
  __builtin_memset(header, 0, heed_weights_packed_bytes(dtype, w.n_in, w.n_out));
  put_word(header, packed_mark[0]);
  put_word(header + 4, packed_mark[1]);
  const int32_t numbers[] = {packed_version(dtype), dtype, w.n_in, w.n_out};
  for (int32_t i = 0; i < packed_word_sum; i++)
    put_word(header + packed_mark_bytes + 4 * i, static_cast<uint32_t>(numbers[i]));
  float scales[panel_outputs] = {};
  for (int32_t first = 0; first < w.n_out; first += panel_outputs) {
    if (scaled && dtype == HEED_INT8) scales_of_panel(w, first, scales);
    fill_panel(w, dtype, first, scales,
               header + packed_header_bytes +
                   static_cast<size_t>(first) *
                       static_cast<size_t>(packed_output_bytes(dtype, static_cast<uint64_t>(w.n_in))));
  }
  return HEED_OK;
}

heed_status heed_gather_rows(heed_weights w, const int32_t *rows, heed_matrix_out y) {
  const heed_status status = check_gather(w, rows, y);
  if (status != HEED_OK) return status;
  for (int32_t r = 0; r < y.n_rows; r++) {
    float *to = y.data + r * y.row_stride;
    if (w.layout == HEED_PACKED) {
      widen_packed(w, rows[r], to);
      continue;
    }
    for_pieces(w, rows[r], 1, [&](const float *x, int32_t n, int32_t) {
      __builtin_memcpy(to, x, static_cast<size_t>(n) * sizeof *x);
      to += n;
    });
  }
  return HEED_OK;
}
