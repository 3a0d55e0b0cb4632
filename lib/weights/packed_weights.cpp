// Packed weights and weights in blocks of scales: opened, checked, multiplied by.
#include "packed_weights.hpp"

#include "../isa_choice/dispatch.hpp"
#include "../tasks/pieces.hpp"

namespace heed {
namespace {

// ------------------------------------------------------------------------------------------------------------ blocks

struct product_of_blocks {
  project_step step;
  stored_weights w;
  void operator()(const linear_block &b, int32_t first_column) const {
    stored_weights part = w;
    part.data =
        static_cast<const unsigned char *>(w.data) + first_column * (w.stride / block_inputs * block_bytes_of(w.dtype));
    step(b, part);
  }
};

linear_block whole_product(const heed_matrix &x, const heed_weights &w, const float *bias, const heed_matrix_out &y) {
  return {x.data, x.row_stride, nullptr, 0, bias, y.data, y.row_stride, x.n_rows, w.n_in, w.n_out};
}

void run_blocks(const kernel *k, const heed_matrix &x, const heed_weights &w, const float *bias,
                const heed_matrix_out &y, const heed_executor *executor) {
  const ptrdiff_t stride = w.n_out > 1 ? w.row_stride : w.n_in;  // a row alone may have any
  const product_of_blocks product = {packed_of(handle_of(k))->blocks, {w.data, nullptr, stride, w.dtype, true}};
  run_product(product, whole_product(x, w, bias, y), executor);
}

// Rows of blocks: whole blocks of 32 inputs, strides that are whole blocks, and an extent that memory can have.
void check_blocks(checker &check, const heed_weights &w, heed_argument argument) {
  check.require(is_in_blocks(w.dtype) && w.dtype == w.code->dtype, HEED_BAD_DTYPE, argument);
  check.require(w.layout == HEED_OUT_IN, HEED_BAD_LAYOUT, argument);
  check.count(w.n_out, HEED_MAX_COUNT, argument);
  check.count(w.n_in, HEED_MAX_COUNT, argument);
  check.require(w.n_in % block_inputs == 0, HEED_SHAPE_MISMATCH, argument);
  check.pointer(w.data, 1, argument);
  ptrdiff_t extent = w.n_in / block_inputs, span = 0;
  bool overflow = false;
  if (w.n_out > 1) {
    check.require(w.row_stride >= 0 && w.row_stride % block_inputs == 0, HEED_BAD_STRIDE, argument);
    overflow = __builtin_mul_overflow(w.row_stride / block_inputs, static_cast<ptrdiff_t>(w.n_out - 1), &span) ||
               __builtin_add_overflow(extent, span, &extent);
  }
  overflow = overflow || __builtin_mul_overflow(extent, block_bytes_of(w.dtype), &extent);
  check.require(!overflow, HEED_OVERFLOW, argument);
  if (check.ok()) check.memory(w.data, static_cast<size_t>(extent), access::read, argument);
}

constexpr heed_weights_code code_of_q8_0 = {check_blocks, run_blocks, HEED_Q8_0},
                            code_of_q4_0 = {check_blocks, run_blocks, HEED_Q4_0};

// ------------------------------------------------------------------------------------------------------------ panels

// The numbers of a panel, on a processor whose byte order is theirs.
template <class K>
void multiply_by_panel(K k, linear_block b, const void *panel, int32_t dtype, int32_t width) {
  if (dtype == HEED_F32) {
    b.w = static_cast<const float *>(panel);
    b.w_stride = width;
    products_of(k)->linear(b);
  } else if (dtype == HEED_F16 || dtype == HEED_BF16) {
    project_of(k)->project(b, {panel, nullptr, width, dtype, false});
  } else {
    packed_of(k)->panel(b, {static_cast<const unsigned char *>(panel), dtype, width});
  }
}

// On a processor of the other byte order: some inputs at a time, their numbers byte-swapped on the stack. The next inputs
// are added to what y has so far; kernels may read a bias after they have written y, so it is copied.
template <class K>
HEED_NOINLINE void multiply_swapped_panel(K k, const linear_block &whole, const unsigned char *panel, int32_t dtype,
                                          int32_t width) {
  constexpr int32_t inputs = 8;
  alignas(float) unsigned char swapped[inputs * panel_outputs * sizeof(float)];
  float start[panel_outputs];
  const int32_t bytes = HEED_DTYPE_BYTES(dtype);
  for (int32_t begin = 0; begin < whole.depth; begin += inputs) {
    const int32_t depth = smaller_of(whole.depth - begin, inputs), n = depth * width * bytes;
    for (int32_t i = 0; i < n; i++) swapped[i] = panel[i ^ (bytes - 1)];
    panel += n;
    for (int32_t r = 0; r < whole.n_rows; r++) {
      linear_block b = whole;
      b.x += r * b.x_stride + begin;
      b.y += r * b.y_stride;
      b.n_rows = 1;
      b.depth = depth;
      if (begin > 0) {
        __builtin_memcpy(start, b.y, static_cast<size_t>(b.n_cols) * sizeof *start);
        b.bias = start;
      }
      multiply_by_panel(k, b, swapped, dtype, width);
    }
  }
}

constexpr bool is_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

template <class K>
struct product_of_packed {
  K k;
  const unsigned char *panels;
  int32_t dtype, n_out;
  size_t output_bytes;
  void operator()(const linear_block &b, int32_t first_column) const {
    for (int32_t done = 0; done < b.n_cols; done += panel_outputs) {
      const int32_t first = first_column + done, width = panel_width(n_out, first);
      const unsigned char *const panel = panels + static_cast<size_t>(first) * output_bytes;
      linear_block part = b;
      part.y += done;
      if (part.bias) part.bias += done;
      part.n_cols = smaller_of(b.n_cols - done, panel_outputs);
      if constexpr (is_big_endian) {
        if (dtype <= HEED_BF16) {
          multiply_swapped_panel(k, part, panel, dtype, width);
          continue;
        }
      }
      multiply_by_panel(k, part, panel, dtype, width);
    }
  }
};

void run_packed(const kernel *k, const heed_matrix &x, const heed_weights &w, const float *bias,
                const heed_matrix_out &y, const heed_executor *executor) {
  const product_of_packed<kernel_handle> product = {
      handle_of(k), static_cast<const unsigned char *>(w.data), w.dtype, w.n_out,
      static_cast<size_t>(packed_output_bytes(w.dtype, static_cast<uint64_t>(w.n_in)))};
  run_product(product, whole_product(x, w, bias, y), executor);
}

void check_packed(checker &check, const heed_weights &w, heed_argument argument) {
  check_weights_format(check, w.dtype, argument);
  check_packed_bytes(check, w, argument);
}

constexpr heed_weights_code packed_code = {check_packed, run_packed, 0};

// ------------------------------------------------------------------------------------------------------------ header

constexpr bool packed_macro_is_function(int32_t dtype, int32_t n_in, int32_t n_out) {
  return HEED_WEIGHTS_PACKED_BYTES(dtype, n_in, n_out) == packed_header_bytes + panels_bytes(dtype, n_in, n_out);
}
constexpr bool packed_macro_is_function(int32_t n_in, int32_t n_out) {
  for (int32_t dtype = HEED_F32; dtype <= HEED_Q4_0; dtype++)
    if (!packed_macro_is_function(dtype, n_in, n_out)) return false;
  return packed_macro_is_function(HEED_UINT8, n_in, n_out);
}
static_assert(packed_macro_is_function(1, 1) && packed_macro_is_function(31, 16) && packed_macro_is_function(172, 65) &&
                  packed_macro_is_function(4096, 4097),
              "one formula");

// FNV-1a over words of 32 bits: format, n_in and n_out, then the panels. One wrong word always changes it.
uint32_t packed_checksum_of(const unsigned char *header, const heed_weights &w) {
  uint32_t sum = 2166136261u;
  const auto add = [&](const unsigned char *word) { sum = (sum ^ word_at(word)) * 16777619u; };
  for (int32_t i = packed_word_format; i <= packed_word_n_out; i++) add(header + packed_mark_bytes + 4 * i);
  const auto panels = static_cast<size_t>(panels_bytes(w.dtype, w.n_in, w.n_out));
  for (size_t i = 0; i < panels; i += 4) add(header + packed_header_bytes + i);
  return sum;
}

bool has_mark(const unsigned char *header) {
  return word_at(header) == packed_mark[0] && word_at(header + 4) == packed_mark[1];
}

heed_status check_header(const unsigned char *header, size_t bytes, heed_argument argument, heed_weights &w) {
  const auto is = [=](heed_fault fault) { return HEED_STATUS(fault, argument); };
  if (bytes < packed_header_bytes) return is(HEED_TOO_SMALL);
  if (!has_mark(header)) return is(HEED_BAD_MAGIC);
  const auto number = [=](packed_word which) { return static_cast<int32_t>(packed_word_at(header, which)); };
  const int32_t version = number(packed_word_version), dtype = number(packed_word_format),
                n_in = number(packed_word_n_in), n_out = number(packed_word_n_out);
  if (version != packed_version(dtype) && version != checksum_version) return is(HEED_UNKNOWN_VERSION);
  const int32_t words = version == checksum_version ? n_packed_words : packed_word_sum;
  for (int32_t i = packed_mark_bytes + 4 * words; i < packed_header_bytes; i++)
    if (header[i] != 0) return is(HEED_CORRUPT);
  const size_t needed = heed_weights_packed_bytes(dtype, n_in, n_out);
  if (needed == 0) return is(HEED_CORRUPT);
  if (bytes < needed) return is(HEED_TOO_SMALL);
  w = {header + packed_header_bytes, nullptr, dtype, HEED_PACKED, n_in, n_out, 0, &packed_code, nullptr, 0};
  return HEED_OK;
}

}  // namespace

void check_packed_bytes(checker &check, const heed_weights &w, heed_argument argument) {
  check.require(w.layout == HEED_PACKED, HEED_BAD_LAYOUT, argument);
  check.count(w.n_in, HEED_MAX_COUNT, argument);
  check.count(w.n_out, HEED_MAX_COUNT, argument);
  check.pointer(w.data, HEED_ALIGNMENT, argument);
  if (!check.ok()) return;
  const uint64_t bytes = packed_header_bytes + panels_bytes(w.dtype, w.n_in, w.n_out);
  check.require(bytes <= PTRDIFF_MAX, HEED_OVERFLOW, argument);
  const auto *const header = static_cast<const unsigned char *>(w.data) - packed_header_bytes;
  if (check.ok()) check.memory(header, static_cast<size_t>(bytes), access::read, argument);
  if (!check.ok()) return;
  const auto is = [=](packed_word which, int32_t field) {
    return packed_word_at(header, which) == static_cast<uint32_t>(field);
  };
  check.require(has_mark(header) && is(packed_word_format, w.dtype) && is(packed_word_n_in, w.n_in) &&
                    is(packed_word_n_out, w.n_out),
                HEED_CORRUPT, argument);
}

}  // namespace heed

using namespace heed;

size_t heed_weights_packed_bytes(int32_t dtype, int32_t n_in, int32_t n_out) {
  checker_of<1> check;
  check_weights_format(check, dtype, HEED_ARG_DTYPE);
  check.count(n_in, HEED_MAX_COUNT, HEED_ARG_W);
  check.count(n_out, HEED_MAX_COUNT, HEED_ARG_W);
  if (!check.ok()) return 0;
  const uint64_t bytes = packed_header_bytes + panels_bytes(dtype, n_in, n_out);
  return size_or_zero(bytes);
}

heed_status heed_weights_open(heed_weights *w, const void *packed, size_t bytes) {
  checker_of<2> check;
  check.pointer(w, alignof(heed_weights), HEED_ARG_W);
  if (check.ok()) check.memory(w, sizeof *w, access::write, HEED_ARG_W);
  check.pointer(packed, HEED_ALIGNMENT, HEED_ARG_PACKED);
  if (check.ok()) check.memory(packed, bytes, access::read, HEED_ARG_PACKED);
  const heed_status status = check.ok() ? check.finish() : check.status;
  if (status != HEED_OK) return status;
  return check_header(static_cast<const unsigned char *>(packed), bytes, HEED_ARG_PACKED, *w);
}

heed_status heed_weights_add_checksum(heed_memory memory) {
  checker_of<1> check;
  check.room(memory, 0, HEED_ALIGNMENT, HEED_ARG_MEMORY);
  if (!check.ok()) return check.status;
  auto *const header = static_cast<unsigned char *>(memory.data);
  heed_weights w;
  const heed_status status = check_header(header, memory.bytes, HEED_ARG_MEMORY, w);
  if (status != HEED_OK) return status;
  put_packed_word(header, packed_word_version, checksum_version);
  put_packed_word(header, packed_word_sum, packed_checksum_of(header, w));
  return HEED_OK;
}

heed_status heed_weights_check(heed_weights w) {
  checker_of<1> check;
  check.require(w.layout == HEED_PACKED && w.code, HEED_NOT_INITIALIZED, HEED_ARG_W);
  if (check.ok()) w.code->check(check, w, HEED_ARG_W);
  if (!check.ok()) return check.status;
  const auto *const header = static_cast<const unsigned char *>(w.data) - packed_header_bytes;
  check.require(packed_word_at(header, packed_word_version) == checksum_version, HEED_UNKNOWN_VERSION, HEED_ARG_W);
  if (check.ok())
    check.require(packed_word_at(header, packed_word_sum) == packed_checksum_of(header, w), HEED_CORRUPT, HEED_ARG_W);
  return check.status;
}

heed_weights heed_weights_of_blocks(const void *data, int32_t dtype, int32_t n_in, int32_t n_out) {
  const heed_weights_code *const code = dtype == HEED_Q8_0 ? &code_of_q8_0 : &code_of_q4_0;
  return {data, nullptr, dtype, HEED_OUT_IN, n_in, n_out, n_in, code, nullptr, 0};
}
