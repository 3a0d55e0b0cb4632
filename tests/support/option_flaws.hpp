// Everything that can be wrong with one option of a call. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_OPTION_FLAWS_HPP
#define HEED_TESTS_SUPPORT_OPTION_FLAWS_HPP

#include <functional>
#include <string>
#include <vector>

#include "floats.hpp"
#include "refusal.hpp"

namespace heed_test {

// What the arrays of options are measured by.
struct option_shape {
  int32_t batch, n_heads, n_q, n_kv;
};

// The last floats of memory: an array of any length that starts there would wrap around.
template <typename T>
T *last_of_memory() {
  return reinterpret_cast<T *>(~uintptr_t{0} - sizeof(T) + 1);
}

struct option_flaw {
  std::string what;
  std::function<void(heed_options &)> apply;
  heed_fault fault;
  heed_argument argument;
};
using option_flaws = std::vector<option_flaw>;

// Collects flaws of the object that `pointer` names, which is at hand to be changed whatever the pointer says.
template <typename T, typename Pointer = const T *>
class flaws_of {
 public:
  flaws_of(std::string name, Pointer heed_options::*pointer, heed_argument argument, option_flaws *all)
      : name_(std::move(name)), pointer_(pointer), argument_(argument), all_(all) {}

  void add(const std::string &what, heed_fault fault, std::function<void(T &)> apply) const {
    add(what, fault, argument_, std::move(apply));
  }
  void add(const std::string &what, heed_fault fault, heed_argument argument, std::function<void(T &)> apply) const {
    all_->push_back({name_ + ": " + what,
                     [=, pointer = pointer_](heed_options &o) { apply(*const_cast<T *>(o.*pointer)); }, fault,
                     argument});
  }
  template <typename Field>
  void values(const std::string &what, Field T::*field, heed_fault fault, const std::vector<Field> &wrong) const {
    for (const Field &value : wrong)
      add(what + " " + std::to_string(value), fault, [=](T &object) { object.*field = value; });
  }
  // What every object has.
  void object() const {
    for (const uintptr_t by : {1, 2})
      all_->push_back({name_ + ": misaligned by " + std::to_string(by),
                       [=, pointer = pointer_](heed_options &o) { o.*pointer = misaligned(o.*pointer, by); },
                       HEED_MISALIGNED, argument_});
    const uint32_t size = sizeof(T);
    values<uint32_t>("size", &T::struct_size, HEED_BAD_STRUCT_SIZE, {1, size - 1, size + 1, 2 * size, UINT32_MAX});
    values<uint32_t>("size", &T::struct_size, HEED_NOT_INITIALIZED, {0});
    add("no code", HEED_NOT_INITIALIZED, [](T &object) { object.code = nullptr; });
    add("zeros", HEED_NOT_INITIALIZED, [](T &object) { object = {}; });
    add("zeros of its size", HEED_NOT_INITIALIZED, [](T &object) {
      object = {};
      object.struct_size = sizeof(T);
    });
  }

 private:
  std::string name_;
  Pointer heed_options::*pointer_;
  heed_argument argument_;
  option_flaws *all_;
};

// A number for each batch entry, in an array that replaces the number for all.
inline void add_range_array(const flaws_of<heed_ranges> &flaws, const std::string &name, heed_argument argument,
                            const int32_t *heed_ranges::*array, int32_t batch, const std::vector<int32_t> &wrong) {
  using R = heed_ranges;
  flaws.add(name + " misaligned by 1", HEED_MISALIGNED, argument, [=](R &r) { r.*array = misaligned(r.*array); });
  flaws.add(name + " misaligned by 2", HEED_MISALIGNED, argument, [=](R &r) { r.*array = misaligned(r.*array, 2); });
  flaws.add(name + " at the top of memory", HEED_OVERFLOW, argument,
            [=](R &r) { r.*array = last_of_memory<const int32_t>(); });
  for (const int32_t value : wrong)
    flaws.add(name + " " + std::to_string(value), HEED_OUT_OF_RANGE, argument,
              [=](R &r) { const_cast<int32_t *>(r.*array)[batch - 1] = value; });
}
inline void add_range_flaws(const option_shape &s, const heed_ranges &now, bool partial, option_flaws *all) {
  using R = heed_ranges;
  const flaws_of<R> flaws("ranges", &heed_options::ranges, HEED_ARG_RANGES, all);
  flaws.object();
  for (const int32_t wrong : {-2, -1000, INT32_MIN}) {
    flaws.add("left window " + std::to_string(wrong), HEED_OUT_OF_RANGE, HEED_ARG_LEFT_WINDOW,
              [=](R &r) { r.left_window = wrong, r.left_windows = nullptr; });
    flaws.add("right window " + std::to_string(wrong), HEED_OUT_OF_RANGE, HEED_ARG_RIGHT_WINDOW,
              [=](R &r) { r.right_window = wrong, r.right_windows = nullptr; });
  }
  for (const int32_t wrong : {-1, INT32_MIN, HEED_MAX_COUNT + 1, INT32_MAX})
    flaws.add("pinned " + std::to_string(wrong), HEED_OUT_OF_RANGE, HEED_ARG_PINNED, [=](R &r) { r.pinned = wrong; });
  const std::vector<int32_t> windows = {-2, INT32_MIN};
  std::vector<int32_t> lengths = {-1, INT32_MIN};
  if (!partial) lengths.insert(lengths.end(), {s.n_kv + 1, INT32_MAX});  // clipped with a partial
  if (now.left_windows)
    add_range_array(flaws, "left windows", HEED_ARG_LEFT_WINDOW, &R::left_windows, s.batch, windows);
  if (now.right_windows)
    add_range_array(flaws, "right windows", HEED_ARG_RIGHT_WINDOW, &R::right_windows, s.batch, windows);
  if (now.positions) add_range_array(flaws, "positions", HEED_ARG_POSITIONS, &R::positions, s.batch, {});
  if (now.kv_lengths) add_range_array(flaws, "lengths", HEED_ARG_KV_LENGTHS, &R::kv_lengths, s.batch, lengths);
}

// A stride that counts: bad when negative or, of an output, when `overlapping` is true and rows share floats.
template <typename T>
void add_stride_flaws(const flaws_of<T> &flaws, const std::string &what, std::function<ptrdiff_t &(T &)> stride,
                      int32_t count, bool overlapping) {
  if (count < 2) return;
  const auto set = [&](const std::string &value, heed_fault fault, ptrdiff_t to) {
    flaws.add(what + " stride " + value, fault, [=](T &object) { stride(object) = to; });
  };
  set("-1", HEED_BAD_STRIDE, -1);
  set("least", HEED_BAD_STRIDE, -huge_stride - 1);
  set("greatest", HEED_OVERFLOW, huge_stride);
  if (overlapping) set("0", HEED_BAD_STRIDE, 0);
}

inline void add_mask_flaws(const option_shape &s, bool additive, option_flaws *all) {
  using M = heed_mask;
  const flaws_of<M> flaws("mask", &heed_options::mask, HEED_ARG_MASK, all);
  flaws.object();
  flaws.values<int32_t>("columns", &M::n_keys, HEED_OUT_OF_RANGE, {0, -1, INT32_MIN, beyond_count, INT32_MAX});
  flaws.add("null", HEED_NULL_POINTER, [](M &m) { m.data = nullptr; });
  flaws.add("at the top of memory", HEED_OVERFLOW, [additive](M &m) {
    m.data = additive ? static_cast<void *>(last_of_memory<float>()) : last_of_memory<uint8_t>();
  });
  add_stride_flaws<M>(
      flaws, "batch", [](M &m) -> ptrdiff_t & { return m.batch_stride; }, s.batch, false);
  add_stride_flaws<M>(
      flaws, "head", [](M &m) -> ptrdiff_t & { return m.head_stride; }, s.n_heads, false);
  add_stride_flaws<M>(
      flaws, "query", [](M &m) -> ptrdiff_t & { return m.query_stride; }, s.n_q, false);
  if (!additive) return;
  for (const uintptr_t by : {1, 2, 3})
    flaws.add("data misaligned by " + std::to_string(by), HEED_MISALIGNED,
              [=](M &m) { m.data = static_cast<const char *>(m.data) + by; });
  if (s.batch > 1) flaws.add("a quarter", HEED_OVERFLOW, [](M &m) { m.batch_stride = huge_stride / 4; });
}

inline void add_softcap_flaws(option_flaws *all) {
  const flaws_of<heed_softcap> flaws("softcap", &heed_options::softcap, HEED_ARG_SOFTCAP, all);
  flaws.object();
  flaws.values<float>("cap", &heed_softcap::cap, HEED_NOT_FINITE, {NAN, -NAN, INFINITY, -INFINITY, 2.4e38f});
  flaws.values<float>("cap", &heed_softcap::cap, HEED_OUT_OF_RANGE,
                      {0.0f, -0.0f, -1.0f, -1e-30f, -2e38f, least_subnormal, greatest_subnormal});
}

// One number for each head.
template <typename T>
void add_head_floats(const flaws_of<T> &flaws, const float *T::*array, int32_t n_heads) {
  flaws.add("misaligned numbers", HEED_MISALIGNED, [=](T &object) { object.*array = misaligned(object.*array); });
  flaws.add("misaligned by 2", HEED_MISALIGNED, [=](T &object) { object.*array = misaligned(object.*array, 2); });
  flaws.add("at the top of memory", HEED_OVERFLOW, [=](T &object) { object.*array = last_of_memory<const float>(); });
  for (const float wrong : {NAN, -NAN, INFINITY, 2.4e38f, -2.4e38f})
    for (const int32_t head : {0, n_heads - 1})
      flaws.add("number " + std::to_string(wrong) + " of head " + std::to_string(head), HEED_NOT_FINITE,
                [=](T &object) { const_cast<float *>(object.*array)[head] = wrong; });
}
inline void add_alibi_flaws(const option_shape &s, option_flaws *all) {
  const flaws_of<heed_alibi> flaws("alibi", &heed_options::alibi, HEED_ARG_ALIBI, all);
  flaws.object();
  add_head_floats(flaws, &heed_alibi::slopes, s.n_heads);
  flaws.add("null", HEED_NULL_POINTER, [](heed_alibi &a) { a.slopes = nullptr; });
  flaws.add("symmetric 2", HEED_OUT_OF_RANGE, [](heed_alibi &a) { a.symmetric = 2; });
  flaws.add("symmetric -1", HEED_OUT_OF_RANGE, [](heed_alibi &a) { a.symmetric = -1; });
  flaws.add("-infinity", HEED_NOT_FINITE, [](heed_alibi &a) { const_cast<float *>(a.slopes)[0] = -INFINITY; });
  for (const float wrong : {least_subnormal, -greatest_subnormal})
    flaws.add("subnormal", HEED_OUT_OF_RANGE, [=](heed_alibi &a) { const_cast<float *>(a.slopes)[0] = wrong; });
}
inline void add_sinks_flaws(const option_shape &s, const heed_sinks &now, option_flaws *all) {
  const flaws_of<heed_sinks> flaws("sinks", &heed_options::sinks, HEED_ARG_SINKS, all);
  flaws.object();
  if (now.logits) add_head_floats(flaws, &heed_sinks::logits, s.n_heads);
}

// An output: (batch, n_heads, n_rows) rows of dim floats; n_rows 0: the row stride does not count.
template <typename T>
void add_output_flaws(const std::string &name, const T *heed_options::*pointer, heed_argument argument,
                      const option_shape &s, int32_t n_rows, option_flaws *all) {
  const flaws_of<T> flaws(name, pointer, argument, all);
  flaws.object();
  flaws.add("null", HEED_NULL_POINTER, [](T &o) { o.out.data = nullptr; });
  flaws.add("data misaligned by 1", HEED_MISALIGNED, [](T &o) { o.out.data = misaligned(o.out.data); });
  flaws.add("data misaligned by 2", HEED_MISALIGNED, [](T &o) { o.out.data = misaligned(o.out.data, 2); });
  flaws.add("at the top of memory", HEED_OVERFLOW, [](T &o) { o.out.data = last_of_memory<float>(); });
  add_stride_flaws<T>(
      flaws, "batch", [](T &o) -> ptrdiff_t & { return o.out.batch_stride; }, s.batch, true);
  add_stride_flaws<T>(
      flaws, "head", [](T &o) -> ptrdiff_t & { return o.out.head_stride; }, s.n_heads, true);
  add_stride_flaws<T>(
      flaws, "row", [](T &o) -> ptrdiff_t & { return o.out.row_stride; }, n_rows, true);
}
inline void add_scores_flaws(const option_shape &s, option_flaws *all) {
  add_output_flaws("scores", &heed_options::scores, HEED_ARG_SCORES, s, s.n_q, all);
  const flaws_of<heed_scores> flaws("scores", &heed_options::scores, HEED_ARG_SCORES, all);
  flaws.values<int32_t>("stage", &heed_scores::stage, HEED_OUT_OF_RANGE, {-1, 3, INT32_MIN, INT32_MAX});
}
inline void add_top_k_flaws(const option_shape &s, option_flaws *all) {
  using K = heed_topk_weights;
  const flaws_of<K> flaws("top k", &heed_options::topk_weights, HEED_ARG_TOPK_WEIGHTS, all);
  flaws.object();
  flaws.values<int32_t>("k", &K::k, HEED_OUT_OF_RANGE, {0, -1, INT32_MIN, s.n_kv + 1, INT32_MAX});
  flaws.add("no weights", HEED_NULL_POINTER, [](K &t) { t.weights = nullptr; });
  flaws.add("no keys", HEED_NULL_POINTER, [](K &t) { t.keys = nullptr; });
  flaws.add("weights misaligned", HEED_MISALIGNED, [](K &t) { t.weights = misaligned(t.weights); });
  flaws.add("keys misaligned", HEED_MISALIGNED, [](K &t) { t.keys = misaligned(t.keys, 2); });
  flaws.add("weights at the top of memory", HEED_OVERFLOW, [](K &t) { t.weights = last_of_memory<float>(); });
  flaws.add("keys at the top of memory", HEED_OVERFLOW, [](K &t) { t.keys = last_of_memory<int32_t>(); });
  flaws.add("keys on the weights", HEED_OVERLAP, [](K &t) { t.keys = reinterpret_cast<int32_t *>(t.weights); });
  flaws.add("keys on the last weight", HEED_OVERLAP, [n = ptrdiff_t{s.batch} * s.n_heads * s.n_q](K &t) {
    t.keys = reinterpret_cast<int32_t *>(t.weights) + n * t.k - 1;
  });
}

// Flaws of the options that `now` has. additive: of the mask, which cannot be seen.
inline option_flaws flaws_of_options(const option_shape &s, const heed_options &now, bool additive) {
  option_flaws all;
  const uint32_t size = sizeof(heed_options);
  for (const uint32_t wrong : {0u, 1u, size - 1, size + 1, 2 * size, UINT32_MAX})
    all.push_back({"options: size " + std::to_string(wrong), [=](heed_options &o) { o.struct_size = wrong; },
                   wrong == 0 ? HEED_NOT_INITIALIZED : HEED_BAD_STRUCT_SIZE, HEED_ARG_OPTIONS});
  if (now.ranges) add_range_flaws(s, *now.ranges, now.partial, &all);
  if (now.mask) add_mask_flaws(s, additive, &all);
  if (now.softcap) add_softcap_flaws(&all);
  if (now.alibi) add_alibi_flaws(s, &all);
  if (now.sinks) add_sinks_flaws(s, *now.sinks, &all);
  if (now.scores) add_scores_flaws(s, &all);
  if (now.weights) add_output_flaws("weights", &heed_options::weights, HEED_ARG_WEIGHTS, s, s.n_q, &all);
  if (now.lse) add_output_flaws("lse", &heed_options::lse, HEED_ARG_LSE, s, s.n_q, &all);
  if (now.column_sums) add_output_flaws("column sums", &heed_options::column_sums, HEED_ARG_COLUMN_SUMS, s, 0, &all);
  if (now.topk_weights) add_top_k_flaws(s, &all);
  return all;
}

}  // namespace heed_test

#endif
