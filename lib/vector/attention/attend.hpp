// Attention of one tile over one chunk of keys: the one loop over blocks (rules 3 to 5). Steps say what is done to a
// block: with queries as lanes, keys as lanes, or no lanes at all.
//
//   Steps::held         what the loop works on: a tile, or a copy whose fields no store can change
//   begin(t)            maximum, sums and accumulator of nothing
//   score(t, b)         x = q k^T * c for the keys of the block; scores of keys that a row does not see may be anything
//   softmax(t, b)       new maximum, exponentials of what each row sees (+0 for the rest), sums
//   add(t, b)           acc = acc * alpha + p v
//   end(t, empty)       sums to l; empty: no block was done
#ifndef HEED_GENERIC_ATTEND_HPP
#define HEED_GENERIC_ATTEND_HPP

#include "../vector.hpp"

namespace heed {

// Plain: every row sees the keys [0, last), and no rule asks for more; firmware that calls nothing else links nothing
// else.
template <class Steps, bool PLAIN>
static HEED_NOINLINE void attend(const tile &shared_tile, int32_t key_begin) {
  const typename Steps::held t = shared_tile;
  const score_rule *const rule = PLAIN ? nullptr : t.s->rule;
  const int32_t first = !PLAIN && t.first[0] > key_begin ? t.first[0] : key_begin, seen = t.last[t.n_rows - 1];
  const int32_t end = seen - key_begin < chunk_keys ? seen : key_begin + chunk_keys;
  Steps::begin(t);
  bool empty = true;
  for (int32_t begin = first - first % block_keys; begin < end; begin += block_keys) {
    const int32_t left = end - begin;
    const key_block b = {begin, larger_of(first - begin, 0), smaller_of(left, block_keys), empty};
    if (rule && rule->sees && !rule->sees(t, b)) continue;
    if (rule && rule->score)
      rule->score(t, b);
    else
      Steps::score(t, b);
    const after_rule next = rule && rule->apply ? rule->apply(t, b) : after_rule::add;
    if (next == after_rule::skip) continue;
    Steps::softmax(t, b);
    if (next == after_rule::add_visible)
      rule->add_visible(t, b);
    else if (rule && rule->add)
      rule->add(t, b);
    else
      Steps::add(t, b);
    empty = false;
  }
  Steps::end(t, empty);
}

}  // namespace heed

#endif
