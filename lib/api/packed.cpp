// Packed weights and weights in blocks of scales: opened, checked, multiplied by.
#include "packed.hpp"

#include "../kernel/dispatch.hpp"
#include "../plan/pieces.hpp"

namespace heed {
namespace {

// ------------------------------------------------------------------------------------------------------------ blocks

constexpr ptrdiff_t block_bytes(int32_t format) { return format == HEED_Q8_0 ? q8_0_bytes : q4_0_bytes; }

struct product_of_blocks {
  project_step step;
  stored_weights w;
  void operator()(const linear_block &b, int32_t first_column) const {
    stored_weights part = w;
    part.data =
        static_cast<const unsigned char *>(w.data) + first_column * (w.stride / block_inputs * block_bytes(w.format));
    step(b, part);
  }
};

linear_block whole_product(const heed_matrix &x, const heed_weights &w, const float *bias, const heed_matrix_out &y) {
  return {x.data, x.row_stride, nullptr, 0, bias, y.data, y.row_stride, x.n_rows, w.n_in, w.n_out};
}

void run_blocks(const kernel *k, const heed_matrix &x, const heed_weights &w, const float *bias,
                const heed_matrix_out &y, const heed_executor *executor) {
  const ptrdiff_t stride = w.n_out > 1 ? w.row_stride : w.n_in;  // a row alone may have any
  const product_of_blocks product = {packed_of(handle_of(k))->blocks, {w.data, nullptr, stride, w.format, true}};
  run_product(product, whole_product(x, w, bias, y), executor);
}

void check_blocks(checker &check, const heed_weights &w, heed_argument argument) {
  check.require(is_in_blocks(w.format), HEED_BAD_FORMAT, argument);
  check.require(w.layout == HEED_OUT_IN, HEED_BAD_LAYOUT, argument);
  check.count(w.n_out, HEED_MAX_COUNT, argument);
  check.count(w.n_in, HEED_MAX_COUNT, argument);
  check.require(w.n_in % block_inputs == 0, HEED_MISFIT, argument);
  check.pointer(w.data, 1, argument);
  ptrdiff_t extent = w.n_in / block_inputs, span = 0;
  bool overflow = false;
  if (w.n_out > 1) {
    check.require(w.row_stride >= 0 && w.row_stride % block_inputs == 0, HEED_BAD_STRIDE, argument);
    overflow = __builtin_mul_overflow(w.row_stride / block_inputs, static_cast<ptrdiff_t>(w.n_out - 1), &span) ||
               __builtin_add_overflow(extent, span, &extent);
  }
  overflow = overflow || __builtin_mul_overflow(extent, block_bytes(w.format), &extent);
  check.require(!overflow, HEED_OVERFLOW, argument);
  if (check.ok()) check.memory(w.data, static_cast<size_t>(extent), access::read, argument);
}

constexpr heed_weights_code blocks_code = {check_blocks, run_blocks};

// ------------------------------------------------------------------------------------------------------------ panels

// The numbers of a panel, on a processor whose byte order is theirs.
template <class K>
void multiply_by_panel(K k, linear_block b, const void *panel, int32_t format, int32_t width) {
  if (format == HEED_F32) {
    b.w = static_cast<const float *>(panel);
    b.w_stride = width;
    products_of(k)->linear(b);
  } else if (format == HEED_F16 || format == HEED_BF16) {
    project_of(k)->project(b, {panel, nullptr, width, format, false});
  } else {
    packed_of(k)->panel(b, {static_cast<const unsigned char *>(panel), format, width});
  }
}

// On one of the other: some inputs at a time, their numbers turned on the stack. What y has so far is what the next
// inputs are added to; kernels may read a bias after they have written y, so it is copied.
template <class K>
HEED_NOINLINE void multiply_turned_panel(K k, const linear_block &whole, const unsigned char *panel, int32_t format,
                                         int32_t width) {
  constexpr int32_t inputs = 8;
  alignas(float) unsigned char turned[inputs * panel_outputs * sizeof(float)];
  float start[panel_outputs];
  const int32_t bytes = HEED_FORMAT_BYTES(format);
  for (int32_t begin = 0; begin < whole.depth; begin += inputs) {
    const int32_t depth = whole.depth - begin < inputs ? whole.depth - begin : inputs, n = depth * width * bytes;
    for (int32_t i = 0; i < n; i++) turned[i] = panel[i ^ (bytes - 1)];
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
      multiply_by_panel(k, b, turned, format, width);
    }
  }
}

constexpr bool is_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

template <class K>
struct product_of_packed {
  K k;
  const unsigned char *panels;
  int32_t format, n_out;
  size_t output_bytes;
  void operator()(const linear_block &b, int32_t first_column) const {
    for (int32_t done = 0; done < b.n_cols; done += panel_outputs) {
      const int32_t first = first_column + done, width = panel_width(n_out, first);
      const unsigned char *const panel = panels + static_cast<size_t>(first) * output_bytes;
      linear_block part = b;
      part.y += done;
      if (part.bias) part.bias += done;
      part.n_cols = b.n_cols - done < panel_outputs ? b.n_cols - done : panel_outputs;
      if (is_big_endian && format <= HEED_BF16)
        multiply_turned_panel(k, part, panel, format, width);
      else
        multiply_by_panel(k, part, panel, format, width);
    }
  }
};

void run_packed(const kernel *k, const heed_matrix &x, const heed_weights &w, const float *bias,
                const heed_matrix_out &y, const heed_executor *executor) {
  const product_of_packed<kernel_handle> product = {
      handle_of(k), static_cast<const unsigned char *>(w.data), w.format, w.n_out,
      static_cast<size_t>(packed_output_bytes(w.format, static_cast<uint64_t>(w.n_in)))};
  run_product(product, whole_product(x, w, bias, y), executor);
}

void check_packed(checker &check, const heed_weights &w, heed_argument argument) {
  check_weights_format(check, w.format, argument);
  check.require(w.layout == HEED_PACKED, HEED_BAD_LAYOUT, argument);
  check.count(w.n_in, HEED_MAX_COUNT, argument);
  check.count(w.n_out, HEED_MAX_COUNT, argument);
  check.pointer(w.data, HEED_ALIGNMENT, argument);
  const size_t bytes = check.ok() ? heed_weights_packed_bytes(w.format, w.n_in, w.n_out) : 0;
  check.require(bytes != 0, HEED_OVERFLOW, argument);
  if (check.ok()) check.memory(w.data, bytes - packed_header_bytes, access::read, argument);
}

constexpr heed_weights_code packed_code = {check_packed, run_packed};

// ------------------------------------------------------------------------------------------------------------ header

constexpr bool packed_macro_is_function(int32_t format, int32_t n_in, int32_t n_out) {
  return HEED_WEIGHTS_PACKED_BYTES(format, n_in, n_out) == packed_header_bytes + panels_bytes(format, n_in, n_out);
}
constexpr bool packed_macro_is_function(int32_t n_in, int32_t n_out) {
  for (int32_t format = HEED_F32; format <= HEED_Q4_0; format++)
    if (!packed_macro_is_function(format, n_in, n_out)) return false;
  return packed_macro_is_function(HEED_UINT8, n_in, n_out);
}
static_assert(packed_macro_is_function(1, 1) && packed_macro_is_function(31, 16) && packed_macro_is_function(172, 65) &&
                  packed_macro_is_function(4096, 4097),
              "one formula");

// Numbers of the header behind the mark.
constexpr int32_t n_header_numbers = 4;

heed_status check_header(const unsigned char *header, size_t bytes, heed_weights &w) {
  const auto is = [](heed_fault fault) { return HEED_STATUS(fault, HEED_ARG_PACKED); };
  if (bytes < packed_header_bytes) return is(HEED_TOO_SMALL);
  for (int32_t i = 0; i < packed_mark_bytes; i++)
    if (header[i] != static_cast<unsigned char>(packed_mark[i])) return is(HEED_FOREIGN);
  int32_t numbers[n_header_numbers];
  for (int32_t i = 0; i < n_header_numbers; i++)
    numbers[i] = static_cast<int32_t>(word_at(header + packed_mark_bytes + 4 * i));
  if (numbers[0] != packed_version(numbers[1])) return is(HEED_UNKNOWN_VERSION);
  for (int32_t i = packed_mark_bytes + 4 * n_header_numbers; i < packed_header_bytes; i++)
    if (header[i] != 0) return is(HEED_DAMAGED);
  const size_t needed = heed_weights_packed_bytes(numbers[1], numbers[2], numbers[3]);
  if (needed == 0) return is(HEED_DAMAGED);
  if (bytes < needed) return is(HEED_TOO_SMALL);
  w = {header + packed_header_bytes, nullptr, numbers[1], HEED_PACKED, numbers[2], numbers[3], 0, &packed_code,
       nullptr, 0};
  return HEED_OK;
}

}  // namespace
}  // namespace heed

using namespace heed;

size_t heed_weights_packed_bytes(int32_t format, int32_t n_in, int32_t n_out) {
  checker_of<1> check;
  check_weights_format(check, format, HEED_ARG_FORMAT);
  check.count(n_in, HEED_MAX_COUNT, HEED_ARG_W);
  check.count(n_out, HEED_MAX_COUNT, HEED_ARG_W);
  if (!check.ok()) return 0;
  const uint64_t bytes = packed_header_bytes + panels_bytes(format, n_in, n_out);
  return bytes <= PTRDIFF_MAX ? static_cast<size_t>(bytes) : 0;
}

heed_status heed_weights_open(heed_weights *w, const void *packed, size_t bytes) {
  checker_of<2> check;
  check.pointer(w, alignof(heed_weights), HEED_ARG_W);
  if (check.ok()) check.memory(w, sizeof *w, access::write, HEED_ARG_W);
  check.pointer(packed, HEED_ALIGNMENT, HEED_ARG_PACKED);
  if (check.ok()) check.memory(packed, bytes, access::read, HEED_ARG_PACKED);
  const heed_status status = check.ok() ? check.finish() : check.status;
  return status == HEED_OK ? check_header(static_cast<const unsigned char *>(packed), bytes, *w) : status;
}

heed_weights heed_weights_of_blocks(const void *data, int32_t format, int32_t n_in, int32_t n_out) {
  return {data, nullptr, format, HEED_OUT_IN, n_in, n_out, n_in, &blocks_code, nullptr, 0};
}
