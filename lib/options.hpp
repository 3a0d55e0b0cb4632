// The seam between a call and its options: which code an option has, and how it becomes part of a score_rule.
#ifndef HEED_OPTIONS_HPP
#define HEED_OPTIONS_HPP

#include "heed/heed.h"
#include "score_rule.hpp"
#include "validate.hpp"

// Named by the feature's init function alone.
struct heed_code {
  uint32_t object_bytes;
  void (*check)(heed::checker &check, const heed_attention &call, const void *object);
  void (*bind)(heed::call_rule &rule, const heed_attention &call, const void *object);
};

namespace heed {

// What every object of options.h begins with.
struct option_head {
  uint32_t struct_size;
  const heed_code *code;
};

// Ranges that the options of a call may add to a checker: options, objects, four arrays of ranges, six of others.
constexpr int option_ranges = 1 + 10 + 10;

// Null where the call's struct has none.
inline const heed_options *options_of(const heed_attention &call) {
  return call.struct_size > offsetof(heed_attention, options) ? call.options : nullptr;
}
inline const heed_options *options_of(const heed_layer &layer) {
  return layer.struct_size > offsetof(heed_layer, options) ? layer.options : nullptr;
}

// First the objects: may they be read, and did an init function make them? Then, of a call whose shape is valid, what
// they ask for.
void check_option_objects(checker &check, const heed_options *options);
void check_options(checker &check, const heed_attention &call, const heed_options *options);
void check_object(checker &check, const void *object, heed_argument argument);  // one; null is fine
void bind_options(call_rule &rule, const heed_attention &call, const heed_options *options);
void finish_kept(const tile &t);                   // rows of scores and weights, where no key was seen
void after_rows(const tile &t, const partial &p);  // what weights, scores, column sums and top_k need when out is done
void close_rows(const tile &t, const partial &p);  // what sinks and lse need before
void bind_weights(call_rule &rule, const heed_tensor_out &weights);

inline const call_rule &rule_of(const tile &t) { return static_cast<const call_rule &>(*t.s->rule); }

#ifdef HEED_SINGLE
constexpr const score_steps *steps_of(const call_rule &) { return &fixed_steps; }
#else
inline const score_steps *steps_of(const call_rule &rule) { return rule.steps; }
#endif

}  // namespace heed

#endif
