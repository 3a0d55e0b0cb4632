#include "validate.hpp"

#include "../kernel_contract/counts.hpp"

namespace heed {

// Floats between two addresses.
constexpr size_t most_extent = PTRDIFF_MAX / sizeof(float);

void checker::memory(const void *data, size_t bytes, access how, heed_argument argument) {
  uintptr_t end;
  require(!__builtin_add_overflow(reinterpret_cast<uintptr_t>(data), bytes, &end), HEED_OVERFLOW, argument);
  if (ok())
    *ranges_end++ = {reinterpret_cast<uintptr_t>(data), end, how == access::write, static_cast<uint8_t>(argument)};
}

void checker::object(const void *p, size_t bytes, size_t alignment, access how, heed_argument argument) {
  pointer(p, alignment, argument);
  if (!ok()) return;
  size(*static_cast<const uint32_t *>(p), bytes, argument);
  memory(p, bytes, how, argument);
}

void checker::executor(const heed_executor *e) {
  if (!e) return;
  object(e, access::read, HEED_ARG_EXECUTOR);
  if (!ok()) return;
  require(e->run != nullptr, HEED_NULL_POINTER, HEED_ARG_EXECUTOR);
  count(e->n_workers, HEED_MAX_WORKERS, HEED_ARG_EXECUTOR);
}

// How far it is from the first to the last of n entries a stride apart, in elements; most_extent + 1 where it is more,
// so that three of them can be added.
static size_t strided_extent(int32_t n, ptrdiff_t stride) {
  if (n < 2) return 0;
  size_t span;
  const bool overflow = __builtin_mul_overflow(static_cast<size_t>(stride), static_cast<size_t>(n - 1), &span);
  return overflow || span > most_extent ? most_extent + 1 : span;
}

void checker::pointer(const void *data, size_t alignment, heed_argument argument) {
  require(data != nullptr, HEED_NULL_POINTER, argument);
  require((reinterpret_cast<uintptr_t>(data) & (alignment - 1)) == 0, HEED_MISALIGNED, argument);
}

void checker::tensor(const void *data, const int32_t (&counts)[3], const ptrdiff_t (&strides)[3], int32_t dim,
                     access how, heed_argument argument, size_t element_bytes) {
  pointer(data, smaller_of(element_bytes, 4), argument);  // a multiplier is two words
  size_t spans[3], extent = static_cast<size_t>(dim);
  bool bad = false;
  for (int i = 0; i < 3; i++) {
    extent += spans[i] = strided_extent(counts[i], strides[i]);
    bad |= counts[i] > 1 && strides[i] < 0;
  }
  // An output's rows, heads and batch entries must nest: a stride passes over all that lies at smaller ones. What is
  // beyond the address space already is no stride's fault.
  for (int i = 0; i < 3 && how == access::write; i++) {
    size_t within = static_cast<size_t>(dim);
    for (int j = 0; j < 3; j++)
      if (strides[j] < strides[i] || (strides[j] == strides[i] && j < i)) within += spans[j];
    bad |= counts[i] > 1 && static_cast<size_t>(strides[i]) < within && within <= most_extent;
  }
  require(!bad, HEED_BAD_STRIDE, argument);
  require(extent <= most_extent, HEED_OVERFLOW, argument);
  memory(data, extent * element_bytes, how, argument);
}

void checker::words(const void *data, size_t n, access how, heed_argument argument) {
  pointer(data, sizeof(float), argument);
  require(n <= PTRDIFF_MAX / sizeof(float), HEED_OVERFLOW, argument);
  memory(data, n * sizeof(float), how, argument);
}

void checker::matrix(const void *data, int32_t n_rows, int32_t dim, ptrdiff_t stride, access how,
                     heed_argument argument, size_t element_bytes) {
  count(n_rows, HEED_MAX_COUNT, argument);
  count(dim, HEED_MAX_COUNT, argument);
  pointer(data, element_bytes, argument);
  const bool several = n_rows > 1;
  const size_t extent = static_cast<size_t>(dim) + strided_extent(n_rows, stride);
  require(!several || (stride >= 0 && (how == access::read || stride >= dim)), HEED_BAD_STRIDE, argument);
  require(extent <= most_extent, HEED_OVERFLOW, argument);
  memory(data, extent * element_bytes, how, argument);
}

void checker::matrix(const heed_matrix &m, heed_argument argument) {
  matrix(m.data, m.n_rows, m.dim, m.row_stride, access::read, argument);
}
void checker::matrix(const heed_matrix_out &m, heed_argument argument) {
  matrix(m.data, m.n_rows, m.dim, m.row_stride, access::write, argument);
}

void checker::floats(const float *data, int32_t n, access how, heed_argument argument) {
  matrix(data, 1, n, n, how, argument);
}

void checker::buffer(const void *data, size_t bytes, size_t minimum, size_t alignment, heed_argument argument) {
  pointer(data, alignment, argument);
  require(bytes >= minimum, HEED_TOO_SMALL, argument);
  memory(data, bytes, access::write, argument);
}

heed_status checker::finish() {
  for (const range *a = ranges; a != ranges_end; a++) {
    if (!a->written) continue;
    bool apart = true;
    for (const range *b = ranges; b != ranges_end; b++) apart &= (a->end <= b->begin) | (b->end <= a->begin) | (a == b);
    require(apart, HEED_OVERLAP, static_cast<heed_argument>(a->argument));
  }
  return status;
}

void check_heads(checker &check, int32_t n_heads, int32_t n_kv_heads, int32_t head_dim, int32_t v_dim, float scale,
                 int32_t causal) {
  check.count(n_heads, HEED_MAX_DIM, HEED_ARG_N_HEADS);
  check.count(n_kv_heads, HEED_MAX_DIM, HEED_ARG_N_KV_HEADS);
  if (check.ok()) check.require(n_heads % n_kv_heads == 0, HEED_SHAPE_MISMATCH, HEED_ARG_N_KV_HEADS);
  check.count(head_dim, HEED_MAX_DIM, HEED_ARG_HEAD_DIM);
  check.count(v_dim, HEED_MAX_DIM, HEED_ARG_V_DIM);
  check.scale(scale);
  check.require(causal == 0 || causal == 1, HEED_OUT_OF_RANGE, HEED_ARG_CAUSAL);
}

}  // namespace heed
