// Which keys a row sees: windows, lengths and positions, for all or for each batch entry.
#include "ranges.hpp"

#include "call_rule.hpp"

namespace heed {

static int32_t of_entry(const int32_t *each, int32_t all, int32_t b) { return each ? each[b] : all; }

// The position of the first query of a batch entry, counted from the first key of the call.
int64_t offset_of_entry(const call_rule &rule, const stream &s) {
  const int32_t *each = rule.ranges ? rule.ranges->positions : nullptr;
  const int64_t newest = rule.states ? static_cast<int64_t>(rule.states[s.batch_entry].length) - s.n_rows / s.group : 0;
  return newest + of_entry(each, rule.call->position, s.batch_entry) - rule.first_key;
}

// The smaller of two windows, of which -1 is open.
int32_t least_window(int32_t a, int32_t b) { return a < 0 || (b >= 0 && b < a) ? b : a; }

static void end_of_range(stream &s, int32_t n_keys) {
  if (n_keys < s.n_kv) s.n_kv = larger_of(n_keys, 0);
}

// Positions and lengths count from key 0 of the context, the call's keys from first_key on.
void range_of_entry(const score_rule &score_rule, stream &s) {
  const auto &rule = static_cast<const call_rule &>(score_rule);
  const heed_ranges *ranges = rule.ranges;
  const int64_t offset = offset_of_entry(rule, s);
  int32_t left = -1, right = -1;
  if (ranges) {
    left = of_entry(ranges->left_windows, ranges->left_window, s.batch_entry);
    right = of_entry(ranges->right_windows, ranges->right_window, s.batch_entry);
    if (ranges->kv_lengths) end_of_range(s, ranges->kv_lengths[s.batch_entry] - rule.first_key);
  }
  if (rule.mask) end_of_range(s, rule.mask_keys);
  if (rule.states) end_of_range(s, rule.states[s.batch_entry].length - rule.first_key);
  if (rule.has_window) left = least_window(left, rule.window);
  if (rule.call->causal) right = 0;
  s.first_shift = left < 0 ? -open_shift : clamp_shift(offset - left);
  s.last_shift = right < 0 ? open_shift : clamp_shift(offset + right + 1);
}

namespace {

// An array with a number for each batch entry, if there is one.
void check_range_numbers(checker &check, const int32_t *each, int32_t batch, int32_t least, int32_t most,
                         heed_argument argument) {
  if (!each) return;
  check.array(each, static_cast<size_t>(batch), access::read, argument);
  for (int32_t b = 0; b < batch && check.ok(); b++)
    check.require(each[b] >= least && each[b] <= most, HEED_OUT_OF_RANGE, argument);
}

void check_ranges(checker &check, const heed_attention &call, const void *object) {
  const auto &o = *static_cast<const heed_ranges *>(object);
  check.require(o.left_windows || o.left_window >= -1, HEED_OUT_OF_RANGE, HEED_ARG_LEFT_WINDOW);
  check.require(o.right_windows || o.right_window >= -1, HEED_OUT_OF_RANGE, HEED_ARG_RIGHT_WINDOW);
  check_range_numbers(check, o.left_windows, call.batch_size, -1, INT32_MAX, HEED_ARG_LEFT_WINDOW);
  check_range_numbers(check, o.right_windows, call.batch_size, -1, INT32_MAX, HEED_ARG_RIGHT_WINDOW);
  check_range_numbers(check, o.positions, call.batch_size, INT32_MIN, INT32_MAX, HEED_ARG_POSITIONS);
  check.require(o.pinned >= 0 && o.pinned <= HEED_MAX_COUNT, HEED_OUT_OF_RANGE, HEED_ARG_PINNED);
  const bool of_part = call.options->partial != nullptr;  // then lengths are those of the whole context
  const int32_t longest = of_part ? INT32_MAX : call.n_kv;
  check_range_numbers(check, o.kv_lengths, call.batch_size, 0, longest, HEED_ARG_KV_LENGTHS);
}

void bind_ranges(call_rule &rule, const heed_attention &, const void *object) {
  rule.ranges = static_cast<const heed_ranges *>(object);
  rule.range = range_of_entry;
}
constexpr heed_code ranges_code = {sizeof(heed_ranges), check_ranges, bind_ranges, &call_engine};

}  // namespace
}  // namespace heed

heed_status heed_ranges_init(heed_ranges *ranges) {
  const heed_status status = heed::check_new(ranges, alignof(heed_ranges), HEED_ARG_RANGES);
  if (status != HEED_OK) return status;
  *ranges = {};  // field by field: a copy of a constant with an address in it would be a variable of the library
  ranges->struct_size = sizeof *ranges;
  ranges->code = &heed::ranges_code;
  ranges->left_window = ranges->right_window = -1;
  return HEED_OK;
}
