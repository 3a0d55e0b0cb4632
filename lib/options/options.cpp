// The objects that a call may have besides its tensors.
#include "options.hpp"

namespace heed {

namespace {

struct option_place {
  uint8_t offset, argument;
};
// In the order of heed_options, which is that of the checks. The cache stands in the call.
constexpr option_place places[] = {{offsetof(heed_options, ranges), HEED_ARG_RANGES},
                                   {offsetof(heed_options, mask), HEED_ARG_MASK},
                                   {offsetof(heed_options, softcap), HEED_ARG_SOFTCAP},
                                   {offsetof(heed_options, alibi), HEED_ARG_ALIBI},
                                   {offsetof(heed_options, sinks), HEED_ARG_SINKS},
                                   {offsetof(heed_options, scores), HEED_ARG_SCORES},
                                   {offsetof(heed_options, weights), HEED_ARG_WEIGHTS},
                                   {offsetof(heed_options, lse), HEED_ARG_LSE},
                                   {offsetof(heed_options, column_sums), HEED_ARG_COLUMN_SUMS},
                                   {offsetof(heed_options, topk_weights), HEED_ARG_TOPK_WEIGHTS},
                                   {offsetof(heed_options, partial), HEED_ARG_PARTIAL},
                                   {0, HEED_ARG_CACHE},
                                   {offsetof(heed_options, typed), HEED_ARG_TYPED}};
static_assert(sizeof places / sizeof *places == n_objects, "one place for each object");
static_assert(sizeof(heed_options) == n_objects * sizeof(void *), "struct_size, and one place for each pointer");

}  // namespace

const void *object_of(const heed_attention &call, int i) {
  if (places[i].argument == HEED_ARG_CACHE) return call.cache;
  if (!call.options) return nullptr;
  const void *object;
  __builtin_memcpy(&object, reinterpret_cast<const unsigned char *>(call.options) + places[i].offset, sizeof object);
  return object;
}

HEED_NOINLINE const option_engine *engine_of(const heed_attention &call) {
  if (!call.options && !call.cache) return nullptr;
  for (int i = 0; i < n_objects; i++)
    if (const void *object = object_of(call, i)) return head_of(object)->code->engine;
  return nullptr;
}

heed_status check_new(const void *object, size_t alignment, heed_argument argument) {
  checker_of<1> check;
  check.pointer(object, alignment, argument);
  return check.status;
}

void check_object(checker &check, const void *object, access how, heed_argument argument) {
  if (!object || !check.ok()) return;
  check.pointer(object, alignof(option_head), argument);
  if (!check.ok()) return;
  const option_head *head = head_of(object);
  check.require(head->struct_size != 0, HEED_NOT_INITIALIZED, argument);
  // An object that was never written: most of its accidental sizes are caught here, before its code is looked at.
  check.require(head->struct_size >= sizeof *head && head->struct_size <= 320, HEED_BAD_STRUCT_SIZE, argument);
  if (check.ok()) check.require(head->code != nullptr, HEED_NOT_INITIALIZED, argument);
  if (check.ok()) check.require(head->struct_size == head->code->object_bytes, HEED_BAD_STRUCT_SIZE, argument);
  check.memory(object, head->struct_size, how, argument);
}

void check_objects(checker &check, const heed_attention &call) {
  if (call.options) check.object(call.options, access::read, HEED_ARG_OPTIONS);
  for (int i = 0; i < n_objects && check.ok(); i++) {
    const auto argument = static_cast<heed_argument>(places[i].argument);
    const access how = argument == HEED_ARG_PARTIAL ? access::write : access::read;
    check_object(check, object_of(call, i), how, argument);
  }
}

}  // namespace heed
