// The seam between layers and batches, rows of several sequences side by side: a program links what is for batches alone
// only if it makes one.
#ifndef HEED_BATCH_HPP
#define HEED_BATCH_HPP

#include "../checks/validate.hpp"
#include "../isa_choice/dispatch.hpp"
#include "../options/options.hpp"
#include "heed/heed.h"

namespace heed {

struct attention_pass;

// Rows [first, first + n) of a call: of one sequence, or, with a batch, of several. The queries are n_q of them, from the
// span's row `skip` on.
struct row_span {
  const heed_ragged_batch *batch;
  int32_t first, n, skip, n_q;
};

// What heed_ragged_batch_init names. All work on its sequences goes through here.
struct batch_functions {
  heed_code code;
  void (*check_lengths)(checker &check, const heed_ragged_batch &batch, int32_t n);  // adds one range
  // For each sequence that has rows in the span.
  void (*check_each)(checker &check, const heed_attention_layer &layer, const row_span &span, bool appends);
  void (*rotate_each)(const kernel *k, const attention_pass &c);
  heed_status (*append_each)(const kernel *k, const heed_attention_layer &layer, const row_span &span,
                             const float *keys, const float *values);
  void (*attend_each)(const kernel *k, const heed_attention &call, const row_span &span);
  // Counts of a call of attention; of keys those that a cache, if there is one, has once the span's rows are there.
  void (*shape)(const row_span &span, const heed_cache *cache, bool appended, heed_attention &call);
  int32_t (*longest)(const row_span &span);
  int32_t (*cut_batch)(const row_span &span, int32_t at_once);
};
inline const batch_functions &functions_of(const heed_ragged_batch &batch) {
  return *reinterpret_cast<const batch_functions *>(batch.code);
}

inline int32_t n_sequences_of(const row_span &span) { return span.batch ? span.batch->n_sequences : 1; }
// The most rows that a sequence has in the span.
inline int32_t longest_of(const row_span &span) {
  return span.batch ? functions_of(*span.batch).longest(span) : span.n;
}

// The first so many of the rows that are left from span.first on: as many as there can be if no sequence has more than
// at_once among them.
inline int32_t next_piece(const row_span &span, int32_t left, int32_t at_once) {
  if (left <= at_once) return left;
  return span.batch ? functions_of(*span.batch).cut_batch(span, at_once) : at_once;
}

}  // namespace heed

#endif
