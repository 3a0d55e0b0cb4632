// See convert.hpp. SPDX-License-Identifier: MIT
#include "convert.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>

#include "ggml_blocks.hpp"

namespace heed_import {
namespace {

void expect(const tensor &t, heed_status status) {
  if (status == HEED_OK) return;
  if (HEED_STATUS_FAULT(status) == HEED_NOT_FINITE)
    refuse(t.name, "holds a NaN, an infinity, or numbers beyond the format");
  refuse(t.name, "heed refuses it");
}

// Halves as heed narrows and widens them.
std::vector<uint16_t> narrowed(const tensor &t, const std::vector<float> &floats, int32_t dtype) {
  const int32_t n = static_cast<int32_t>(floats.size());
  std::vector<uint16_t> halves(floats.size());
  expect(t, heed_convert_from_f32(heed_matrix_of(floats.data(), 1, n),
                                  heed_typed_matrix_out_of(halves.data(), nullptr, dtype, 1, n)));
  return halves;
}

std::vector<float> widened(const tensor &t, const std::vector<uint16_t> &halves, int32_t dtype) {
  const int32_t n = static_cast<int32_t>(halves.size());
  std::vector<float> floats(halves.size());
  expect(t, heed_convert_to_f32(heed_typed_matrix_of(halves.data(), nullptr, dtype, 1, n),
                                heed_matrix_out_of(floats.data(), 1, n)));
  return floats;
}

std::vector<uint16_t> halves_at(const uint8_t *p, size_t n, size_t stride) {
  std::vector<uint16_t> halves;
  for (size_t i = 0; i < n; ++i) halves.push_back(static_cast<uint16_t>(number_at(p + i * stride, 2)));
  return halves;
}

std::vector<float> floats_of_blocks(const tensor &t) {
  const size_t n_blocks = static_cast<size_t>(t.count() / 32), size = t.dtype == HEED_Q8_0 ? 34 : 18;
  const uint8_t *block = t.numbers().data;
  const std::vector<float> scales = widened(t, halves_at(block, n_blocks, size), HEED_F16);
  std::vector<float> floats;
  for (size_t b = 0; b < n_blocks; ++b, block += size) {
    for (int k = 0; k < 32; ++k) {
      const uint8_t byte = block[2 + (t.dtype == HEED_Q8_0 ? k : k % 16)];
      const int q = t.dtype == HEED_Q8_0 ? static_cast<int8_t>(byte) : (k < 16 ? byte & 15 : byte >> 4) - 8;
      floats.push_back(static_cast<float>(q) * scales[b]);
    }
  }
  return floats;
}

std::vector<float> floats_of_ggml(const tensor &t, const ggml_block &b) {
  std::vector<float> floats(static_cast<size_t>(t.count()));
  const uint8_t *block = t.numbers().data;
  for (size_t i = 0; i < floats.size(); i += b.numbers, block += b.bytes) b.to_floats(block, &floats[i]);
  return floats;
}

// The number of the output of element i.
size_t output_of(const tensor &t, size_t i) {
  return static_cast<size_t>(t.layout == HEED_IN_OUT && t.dims.size() > 1 ? i % t.n_out() : i / t.n_in());
}

std::vector<float> floats_of_bytes(const tensor &t) {
  std::vector<float> floats;
  const span numbers = t.numbers();
  const bool is_unsigned = t.dtype == HEED_FILE_U8 || t.dtype == HEED_FILE_U8_PLUS;
  for (size_t i = 0; i < numbers.size; ++i) {
    const size_t s = t.scales.size() == 1 ? 0 : output_of(t, i);
    const int q = is_unsigned ? numbers.data[i] : static_cast<int8_t>(numbers.data[i]);
    const float scale = t.scales[s];
    if (!t.float_zeros.empty()) {
      floats.push_back(static_cast<float>(q) * scale + t.float_zeros[s]);
    } else {
      floats.push_back(static_cast<float>(t.zeros.empty() ? q : q - t.zeros[s]) * scale);
    }
  }
  return floats;
}

void forget_scales(tensor &t) { t.scales.clear(), t.zeros.clear(), t.float_zeros.clear(); }

void own_floats(tensor &t, const std::vector<float> &floats) {
  bytes numbers;
  for (const float f : floats) put(numbers, f);
  t.own(std::move(numbers));
  t.dtype = HEED_F32;
  forget_scales(t);
}

void own_halves(tensor &t, int32_t dtype) {
  const std::vector<float> floats = floats_of(t);
  const std::vector<uint16_t> halves = narrowed(t, floats, dtype);
  const std::vector<float> back = widened(t, halves, dtype);
  bytes numbers;
  for (size_t i = 0; i < halves.size(); ++i) {
    if (std::isinf(back[i]) && !std::isinf(floats[i])) {
      refuse(t.name,
             std::to_string(floats[i]) + " is beyond " + format_name(dtype) + (dtype == HEED_F16 ? ": try bf16" : ""));
    }
    put(numbers, halves[i], 2);
  }
  t.own(std::move(numbers));
  t.dtype = dtype;
  forget_scales(t);
}

// Bytes with a zero point of 0 are int8 as they are, unless -128 occurs.
bool is_symmetric(const tensor &t) {
  if (t.dtype != HEED_FILE_I8) return false;
  for (const int32_t zero : t.zeros) {
    if (zero != 0) return false;
  }
  for (size_t i = 0; i < t.numbers().size; ++i) {
    if (t.numbers().data[i] == 128) return false;
  }
  return true;
}

void own_int8(tensor &t) {
  const size_t n_out = static_cast<size_t>(t.n_out());
  if (is_symmetric(t)) {
    t.scales.resize(n_out, t.scales[0]);
    t.zeros.clear();
    t.dtype = HEED_INT8;
    return;
  }
  const int32_t n_in = static_cast<int32_t>(t.n_in()), out = static_cast<int32_t>(n_out);
  const std::vector<float> floats = floats_of(t);
  std::vector<int8_t> numbers(floats.size());
  std::vector<float> scales(n_out);
  const bool in_out = t.layout == HEED_IN_OUT && t.dims.size() > 1;
  const heed_matrix w = in_out ? heed_matrix_of(floats.data(), n_in, out) : heed_matrix_of(floats.data(), out, n_in);
  expect(t, heed_weights_quantize(w, in_out ? HEED_IN_OUT : HEED_OUT_IN, numbers.data(), scales.data()));
  t.own(bytes(numbers.begin(), numbers.end()));
  t.dtype = HEED_INT8;
  forget_scales(t);
  t.scales = std::move(scales);
}

// One block, by the rule of heed_weights_pack.
void put_block(bytes &to, const tensor &t, const float *x, int32_t dtype) {
  float greatest = 0;
  for (int k = 0; k < 32; ++k) {
    if (!std::isfinite(x[k])) refuse(t.name, "holds a NaN or an infinity");
    if (std::fabs(x[k]) > std::fabs(greatest)) greatest = x[k];
  }
  const float exact = dtype == HEED_Q8_0 ? std::fabs(greatest) / 127 : greatest / -8;
  const std::vector<uint16_t> half = narrowed(t, {exact}, HEED_F16);
  const float scale = widened(t, half, HEED_F16)[0];
  if (std::isinf(scale)) refuse(t.name, "the scale of a block is beyond f16");
  const int least = dtype == HEED_Q8_0 ? -127 : -8, most = dtype == HEED_Q8_0 ? 127 : 7;
  int q[32];
  for (int k = 0; k < 32; ++k) {
    const float number = scale == 0 ? 0 : std::nearbyint(x[k] / scale);
    q[k] = static_cast<int>(std::fmin(std::fmax(number, static_cast<float>(least)), static_cast<float>(most)));
  }
  put(to, half[0], 2);
  for (int k = 0; k < (dtype == HEED_Q8_0 ? 32 : 16); ++k) {
    to.push_back(static_cast<uint8_t>(dtype == HEED_Q8_0 ? q[k] : (q[k] + 8) | (q[k + 16] + 8) << 4));
  }
}

void own_blocks(tensor &t, int32_t dtype) {
  if (t.layout == HEED_IN_OUT && t.dims.size() > 1) {
    own_floats(t, floats_of(t));
    transpose(t);
  }
  t.layout = HEED_OUT_IN;
  if (t.n_in() % 32 != 0) {
    refuse(t.name, "has " + std::to_string(t.n_in()) + " inputs, no multiple of 32: " + format_name(dtype) +
                       " is possible only packed");
  }
  const std::vector<float> floats = floats_of(t);
  bytes numbers;
  for (size_t i = 0; i < floats.size(); i += 32) put_block(numbers, t, &floats[i], dtype);
  t.own(std::move(numbers));
  t.dtype = dtype;
  forget_scales(t);
}

struct free_aligned {
  void operator()(uint8_t *p) const { ::operator delete(p, std::align_val_t(HEED_ALIGNMENT)); }
};

std::shared_ptr<uint8_t> aligned_memory(size_t n_bytes) {
  return {static_cast<uint8_t *>(::operator new(n_bytes, std::align_val_t(HEED_ALIGNMENT))), free_aligned()};
}

// Rows first to first + n - 1 of a matrix (n_out, n_in) in memory, as heed takes them: in their own format if it is one of heed's.
class rows_of {
 public:
  rows_of(const tensor &t, int32_t first, int32_t n) {
    const auto n_in = static_cast<int32_t>(t.n_in());
    const size_t n_bytes = t.numbers().size / t.n_out() * static_cast<size_t>(n);
    tensor part;
    part.name = t.name, part.dtype = t.dtype;
    part.dims = {static_cast<uint32_t>(n), static_cast<uint32_t>(n_in)};
    part.refer({t.numbers().data + t.numbers().size / t.n_out() * static_cast<size_t>(first), n_bytes});
    const auto of_rows = [&](const auto &all, auto &to) {
      if (all.size() == t.n_out())
        to.assign(all.begin() + first, all.begin() + first + n);
      else
        to = all;
    };
    of_rows(t.scales, part.scales), of_rows(t.zeros, part.zeros), of_rows(t.float_zeros, part.float_zeros);
    const bool is_own = t.dtype >= HEED_F32 && t.dtype <= HEED_Q4_0;
    if (is_own)
      numbers_.assign(part.numbers().data, part.numbers().data + n_bytes);
    else
      floats_ = floats_of(part);
    scales_ = part.scales;
    if (!is_own)
      weights_ = heed_weights_of(floats_.data(), nullptr, HEED_F32, HEED_OUT_IN, n_in, n);
    else if (t.dtype == HEED_Q8_0 || t.dtype == HEED_Q4_0)
      weights_ = heed_weights_of_blocks(numbers_.data(), t.dtype, n_in, n);
    else
      weights_ = heed_weights_of(numbers_.data(), t.dtype == HEED_INT8 ? scales_.data() : nullptr, t.dtype, HEED_OUT_IN,
                                 n_in, n);
  }
  const heed_weights &weights() const { return weights_; }

 private:
  bytes numbers_;
  std::vector<float> floats_, scales_;
  heed_weights weights_;
};

// Packed weights are a header and then the outputs in their order, in panels that n_slice is a multiple of. So a few rows at a time are
// packed, and no other copy of the matrix is needed. A matrix of zeros gives the header.
void pack_in_slices(const tensor &t, int32_t dtype, const heed_memory &to) {
  constexpr int32_t n_slice = 1024;
  const auto n_in = static_cast<int32_t>(t.n_in()), n_out = static_cast<int32_t>(t.n_out());
  const std::vector<float> zeros(static_cast<size_t>(n_in));
  heed_weights empty = heed_weights_of(zeros.data(), nullptr, HEED_F32, HEED_OUT_IN, n_in, n_out);
  if (n_out <= n_slice) return expect(t, heed_weights_pack(rows_of(t, 0, n_out).weights(), dtype, to));
  empty.row_stride = 0;
  expect(t, heed_weights_pack(empty, dtype, to));
  const size_t of_slice = heed_weights_packed_bytes(dtype, n_in, n_slice);
  const size_t header = 2 * of_slice - heed_weights_packed_bytes(dtype, n_in, 2 * n_slice);
  const std::shared_ptr<uint8_t> slice = aligned_memory(of_slice);
  uint8_t *at = static_cast<uint8_t *>(to.data) + header;
  for (int32_t first = 0; first < n_out; first += n_slice) {
    const int32_t n = std::min(n_slice, n_out - first);
    const size_t n_bytes = heed_weights_packed_bytes(dtype, n_in, n);
    expect(t, heed_weights_pack(rows_of(t, first, n).weights(), dtype, heed_memory_of(slice.get(), n_bytes)));
    std::memcpy(at, slice.get() + header, n_bytes - header);
    at += n_bytes - header;
  }
}

// Packs from the numbers themselves where heed takes them, else from floats.
void pack(tensor &t, int32_t dtype) {
  const int32_t n_in = static_cast<int32_t>(t.n_in()), n_out = static_cast<int32_t>(t.n_out());
  const int32_t layout = t.dims.size() > 1 ? t.layout : HEED_OUT_IN;
  const size_t n_bytes = heed_weights_packed_bytes(dtype, n_in, n_out);
  if (n_bytes == 0) refuse(t.name, "packed weights of this shape are not possible");
  const std::shared_ptr<uint8_t> to = aligned_memory(n_bytes);
  const heed_memory memory = {to.get(), n_bytes};
  if (dtype == HEED_UINT8) {
    if (t.dtype != HEED_FILE_U8 && t.dtype != HEED_FILE_I8)
      refuse(t.name, "has no zero points, which packed-u8 is for");
    const bytes numbers(t.numbers().data, t.numbers().data + t.numbers().size), zeros(t.zeros.begin(), t.zeros.end());
    const int32_t from = t.dtype == HEED_FILE_U8 ? HEED_UINT8 : HEED_INT8;
    const heed_weights plain = heed_weights_of(numbers.data(), t.scales.data(), from, layout, n_in, n_out);
    expect(t, heed_weights_pack(heed_weights_with_zero_points(plain, zeros.data(), static_cast<int32_t>(zeros.size())),
                                dtype, memory));
  } else if (layout == HEED_OUT_IN) {
    pack_in_slices(t, dtype, memory);
  } else if (t.dtype == HEED_INT8) {
    const bytes numbers(t.numbers().data, t.numbers().data + t.numbers().size);
    expect(t, heed_weights_pack(heed_weights_of(numbers.data(), t.scales.data(), HEED_INT8, layout, n_in, n_out), dtype,
                                memory));
  } else {
    const std::vector<float> floats = floats_of(t);
    expect(t, heed_weights_pack(heed_weights_of(floats.data(), nullptr, HEED_F32, layout, n_in, n_out), dtype, memory));
  }
  t.keep(to, n_bytes);
  t.dims = {static_cast<uint32_t>(n_out), static_cast<uint32_t>(n_in)};
  t.dtype = dtype;
  t.layout = HEED_PACKED;
  forget_scales(t);
}

}  // namespace

wish wish_of(const std::string &text) {
  wish w;
  std::string name = text;
  if (name.compare(0, 7, "packed-") == 0) w.packed = true, name.erase(0, 7);
  if (name == "int4") name = "q4_0";
  if (name == "keep" && !w.packed) return w;
  if (name == "u8" && w.packed) return w.dtype = HEED_UINT8, w;
  for (w.dtype = HEED_F32; w.dtype <= HEED_Q4_0; ++w.dtype) {
    if (name == format_name(w.dtype)) return w;
  }
  throw refusal(
      text + ": no format; keep, f32, f16, bf16, int8, q8_0 and q4_0 are, and packed-f32, packed-f16, ..., packed-u8");
}

std::vector<float> floats_of(const tensor &t) {
  const span numbers = t.numbers();
  std::vector<float> floats;
  if (const ggml_block *const b = ggml_block_of(t.dtype)) return floats_of_ggml(t, *b);
  switch (t.dtype) {
    case HEED_F32:
      for (size_t i = 0; i < numbers.size; i += 4) floats.push_back(f32_at(numbers.data + i));
      return floats;
    case format_f64:
      for (size_t i = 0; i < numbers.size; i += 8) {
        const uint64_t word = number_at(numbers.data + i, 8);
        double number;
        std::memcpy(&number, &word, 8);
        floats.push_back(static_cast<float>(number));
      }
      return floats;
    case HEED_F16:
    case HEED_BF16:
      return widened(t, halves_at(numbers.data, numbers.size / 2, 2), t.dtype);
    case HEED_Q8_0:
    case HEED_Q4_0:
      return floats_of_blocks(t);
    case HEED_FILE_TEXT:
    case HEED_FILE_LIST:
      return std::vector<float>(numbers.data, numbers.data + numbers.size);
    case HEED_FILE_I32:
      for (size_t i = 0; i < numbers.size; i += 4)
        floats.push_back(static_cast<float>(static_cast<int32_t>(number_at(numbers.data + i, 4))));
      return floats;
    case HEED_FILE_I16:
      for (size_t i = 0; i < numbers.size; i += 2)
        floats.push_back(static_cast<float>(static_cast<int16_t>(number_at(numbers.data + i, 2))));
      return floats;
    default:
      return floats_of_bytes(t);
  }
}

void transpose(tensor &t) {
  expect_consistent(t);
  if (t.layout == HEED_PACKED) refuse(t.name, "is packed, which cannot be transposed");
  if (in_blocks(t.dtype)) refuse(t.name, "is in blocks, which cannot be transposed");
  if (t.dims.size() < 2) return;
  const size_t n_out = static_cast<size_t>(t.n_out()), n_in = static_cast<size_t>(t.n_in());
  const bool out_in = t.layout == HEED_OUT_IN;
  const size_t rows = out_in ? n_out : n_in, columns = out_in ? n_in : n_out;
  const size_t size = static_cast<size_t>(number_bytes(t.dtype));
  bytes transposed(rows * columns * size);
  const uint8_t *const from = t.numbers().data;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c)
      std::memcpy(&transposed[(c * rows + r) * size], from + (r * columns + c) * size, size);
  }
  t.own(std::move(transposed));
  t.dims = {static_cast<uint32_t>(columns), static_cast<uint32_t>(rows)};
  t.layout = out_in ? HEED_IN_OUT : HEED_OUT_IN;
}

void convert(tensor &t, wish w) {
  expect_consistent(t);
  if (t.layout == HEED_PACKED) {
    if (w.dtype == keep_format || (w.packed && w.dtype == t.dtype)) return;
    refuse(t.name, "is packed: give the file that it was made of to have another format");
  }
  if (w.packed) return pack(t, w.dtype);
  const bool is_of_source = t.dtype == format_f64 || ggml_block_of(t.dtype) != nullptr;
  if (is_of_source) own_floats(t, floats_of(t));
  if (w.dtype == keep_format || w.dtype == t.dtype) return;
  switch (w.dtype) {
    case HEED_F32:
      return own_floats(t, floats_of(t));
    case HEED_F16:
    case HEED_BF16:
      return own_halves(t, w.dtype);
    case HEED_INT8:
      return own_int8(t);
    default:
      return own_blocks(t, w.dtype);
  }
}

}  // namespace heed_import
