// Partial results of attention in integers: clear, merge, finish.
#include "int_check.hpp"
#include "int_finish.hpp"
#include "../isa_choice/int_door.hpp"

namespace heed {
namespace {

constexpr int32_t finish_sums = 64;  // at a time, on the stack

int_state state_in(heed_memory partial, size_t index, int32_t v_dim) {
  return {static_cast<int64_t *>(partial.data) + index * int_state_words(v_dim), v_dim};
}

// from: data null for a call that has one partial.
HEED_NOINLINE heed_status check_partials(heed_memory into, const heed_memory *from, int32_t n_rows, int32_t v_dim) {
  checker_of<2> check;
  check.count(n_rows, HEED_MAX_COUNT, HEED_ARG_ROWS);
  check.count(v_dim, HEED_INT_MAX_DIM, HEED_ARG_V_DIM);
  if (!check.ok()) return check.status;
  const size_t bytes = int_partial_bytes(static_cast<size_t>(n_rows), v_dim);
  const heed_argument argument = from ? HEED_ARG_TOTAL : HEED_ARG_PARTIAL;
  check.room(into, bytes, sizeof(int64_t), argument);
  if (!from) return check.finish();
  check.pointer(from->data, sizeof(int64_t), HEED_ARG_PARTIAL);
  check.require(from->bytes >= bytes, HEED_TOO_SMALL, HEED_ARG_PARTIAL);
  check.memory(from->data, from->bytes, access::read, HEED_ARG_PARTIAL);
  return check.finish();
}

template <class K>
void finish_partial(K k, const heed_int_attention &call) {
  int32_t sums[finish_sums];
  int_stream s = {};
  s.call = &call;
  for (s.batch_entry = 0; s.batch_entry < call.batch_size; s.batch_entry++)
    for (int32_t h = 0; h < call.n_heads; h++)
      for (int32_t i = 0; i < call.n_q; i++) {
        const int_row row = {h, i, 0, 0};
        finish_state(k, s, row, state_in(call.partial, int_index_of(s, row), call.v_dim), sums, finish_sums);
      }
}

}  // namespace
}  // namespace heed

size_t heed_int_partial_row_bytes(int32_t v_dim) {
  return v_dim >= 1 && v_dim <= HEED_INT_MAX_DIM ? HEED_INT_PARTIAL_ROW_BYTES(v_dim) : 0;
}

heed_status heed_int_partial_clear(int32_t n_rows, int32_t v_dim, heed_memory partial) {
  const heed_status status = heed::check_partials(partial, nullptr, n_rows, v_dim);
  for (int32_t i = 0; status == HEED_OK && i < n_rows; i++)
    heed::state_in(partial, static_cast<size_t>(i), v_dim).clear();
  return status;
}

heed_status heed_int_partial_merge(int32_t n_rows, int32_t v_dim, heed_memory into, heed_memory from) {
  const heed_status status = heed::check_partials(into, &from, n_rows, v_dim);
  for (int32_t i = 0; status == HEED_OK && i < n_rows; i++)
    heed::merge_states(heed::state_in(into, static_cast<size_t>(i), v_dim),
                       heed::state_in(from, static_cast<size_t>(i), v_dim));
  return status;
}

heed_status heed_int_partial_finish(const heed_int_attention *call) {
  const heed_status status = heed::check_int_attention(call, true);
  if (status == HEED_OK) heed::finish_partial(heed::int_kernel_in_use(), *call);
  return status;
}
