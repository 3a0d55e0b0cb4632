#include "options.hpp"

namespace heed {

const void *option_of(const heed_options &options, int i) {
  static const uint8_t offsets[n_options] = {
      offsetof(heed_options, ranges),  offsetof(heed_options, mask),        offsetof(heed_options, softcap),
      offsetof(heed_options, alibi),   offsetof(heed_options, sinks),       offsetof(heed_options, scores),
      offsetof(heed_options, lse),     offsetof(heed_options, column_sums), offsetof(heed_options, top_k),
      offsetof(heed_options, partial), offsetof(heed_options, cache),       offsetof(heed_options, narrow)};
  const void *object;
  __builtin_memcpy(&object, reinterpret_cast<const unsigned char *>(&options) + offsets[i], sizeof object);
  return object;
}

HEED_NOINLINE const option_engine *engine_of(const heed_options *options) {
  for (int i = 0; options && i < n_options; i++)
    if (const void *object = option_of(*options, i)) return head_of(object)->code->engine;
  return nullptr;
}

void check_object(checker &check, const void *object, access how, heed_argument argument) {
  if (!object || !check.ok()) return;
  check.pointer(object, alignof(option_head), argument);
  if (!check.ok()) return;
  const option_head *head = head_of(object);
  // An object that was never written: most of its accidental sizes are caught here, before its code is looked at.
  check.require(head->struct_size >= sizeof *head && head->struct_size <= 320, HEED_UNKNOWN_STRUCT, argument);
  if (check.ok()) check.require(head->code != nullptr, HEED_NOT_INITIALIZED, argument);
  if (check.ok()) check.require(head->struct_size == head->code->object_bytes, HEED_UNKNOWN_STRUCT, argument);
  check.memory(object, head->struct_size, how, argument);
}

void check_objects(checker &check, const heed_options *options) {
  if (!options) return;
  check.object(options, access::read, HEED_ARG_OPTIONS);
  for (int i = 0; i < n_options && check.ok(); i++) {
    const auto argument = i == n_options - 1   ? HEED_ARG_NARROW
                          : i == n_options - 2 ? HEED_ARG_CACHE
                                               : static_cast<heed_argument>(HEED_ARG_RANGES + i);
    check_object(check, option_of(*options, i), argument == HEED_ARG_PARTIAL ? access::write : access::read, argument);
  }
}

}  // namespace heed
