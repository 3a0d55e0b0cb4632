// The seam between a call and its options. Which code an option has, only its init function says; heed_attention_run
// reaches all of it through the object.
#ifndef HEED_OPTIONS_HPP
#define HEED_OPTIONS_HPP

#include "heed/heed.h"
#include "../kernel_contract/kernel.hpp"
#include "../checks/validate.hpp"

namespace heed {

struct call_rule;

// What all options share (rule.cpp): the checks of a valid shape's options, and calls that have some.
struct option_engine {
  void (*check)(checker &check, const heed_attention &call);
  void (*run)(const kernel *k, const heed_attention &call);
};

}  // namespace heed

// Named by the feature's init function alone.
struct heed_code {
  uint32_t object_bytes;
  void (*check)(heed::checker &check, const heed_attention &call, const void *object);
  void (*bind)(heed::call_rule &rule, const heed_attention &call, const void *object);
  const heed::option_engine *engine;
};

namespace heed {

// For init functions: an object that is null or misaligned.
heed_status check_new(const void *object, size_t alignment, heed_argument argument);

// An init function: struct_size, code, then the fields in their order.
template <class T, class... Fields>
HEED_INLINE heed_status make(T *object, heed_argument argument, const heed_code &code, const Fields &...fields) {
  const heed_status status = check_new(object, alignof(T), argument);
  if (status == HEED_OK) *object = {static_cast<uint32_t>(sizeof *object), &code, fields...};
  return status;
}

template <class T>
inline const T &object_as(const void *object) {
  return *static_cast<const T *>(object);
}

// What every object of options.h begins with.
struct option_head {
  uint32_t struct_size;
  const heed_code *code;
};

// Ranges that the options of a call may add to a checker: themselves, objects, four arrays of ranges, nine of others,
// three of scales. A cache comes with its memory instead of k and v, a partial instead of four others, narrow tensors
// instead of the call's.
constexpr int option_ranges = 1 + 11 + 4 + 9 + 3;
constexpr int n_objects = 13;  // that a call may have: those of heed_options, and its cache

// The i-th object, or null.
const void *object_of(const heed_attention &call, int i);
inline const option_head *head_of(const void *object) { return static_cast<const option_head *>(object); }

// Null where there are none.
const option_engine *engine_of(const heed_attention &call);

// May the object be read, and did an init function make it? Null is fine.
void check_object(checker &check, const void *object, access how, heed_argument argument);
// That of all objects of a call, and of heed_options.
void check_objects(checker &check, const heed_attention &call);

}  // namespace heed

#endif
