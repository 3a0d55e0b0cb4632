// One call of the differential program: arguments in hostile memory, the same numbers in the plainest setting, the
// oracle's opinion, and all that can be made wrong with the arguments. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_TRIAL_HPP
#define HEED_TESTS_SUPPORT_TRIAL_HPP

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data.hpp"
#include "executors.hpp"
#include "judge.hpp"
#include "kernels.hpp"
#include "narrow_tensors.hpp"
#include "oracle.hpp"
#include "refusal.hpp"
#include "settings.hpp"
#include "stage.hpp"

namespace heed_test {

// small: about a millisecond on all kernels. large: worth threads. regular: at least 2 of everything, rows of at least
// 9 floats and nothing overlapping, so that every flaw of refusal.hpp is one.
enum class extent { small, large, regular };

// One thing that can be made wrong; after it the call must be refused.
struct spoiling {
  std::string what;
  std::function<void()> apply;
};
using spoilings = std::vector<spoiling>;

template <typename T>
spoilings flaws_in(const std::string &name, T *target, const std::vector<flaw<T>> &flaws) {
  spoilings all;
  for (const flaw<T> &f : flaws) all.push_back({name + ": " + f.what, [=] { f.apply(*target); }});
  return all;
}
template <typename T>
spoilings wrong_values(const std::string &name, T *target, const std::vector<T> &values) {
  spoilings all;
  for (const T &value : values)
    all.push_back({name + ": value " + std::to_string(all.size()), [=] { *target = value; }});
  return all;
}
// Counts that two arguments share are wrong by other numbers in each: two flaws that agree make a right call, for which the memory is
// too small. So the depth of a matrix is off by 1, and weights are by 2. The rows of float results are off by 1, too: no flaw changes
// the rows of their matrix.
inline spoilings wrong_count(const std::string &name, int32_t *count, int32_t most) {
  return wrong_values<int32_t>(name, count, {0, -1, INT32_MIN, most + 1, INT32_MAX});
}
inline spoilings wrong_scale(float *scale) {
  return wrong_values<float>("scale", scale, {0.0f, -0.0f, not_a_number, infinity, -infinity});
}
inline spoilings wrong_floats(const std::string &name, const float **data) {
  return wrong_values<const float *>(name, data, {misaligned(*data), misaligned(*data, 2), top_of_memory()});
}
inline spoilings wrong_workspace(heed_memory *m, size_t least) {
  char *good = static_cast<char *>(m->data);
  spoilings all = wrong_values<void *>("memory", &m->data, {nullptr, good + 1, good + 4, good + 32});
  for (const spoiling &s : wrong_values<size_t>("bytes of memory", &m->bytes, {0, least - 1, SIZE_MAX}))
    all.push_back(s);
  return all;
}

// An address at which `own` floats share memory with the `n` at `other`.
template <typename T>
T *overlapping(random_source &r, size_t own, T *other, size_t n) {
  return other + r.between(1 - static_cast<int32_t>(own), static_cast<int32_t>(n) - 1);
}

// A heed call from inside a task. Whatever kernel runs it, an arithmetic has one result.
inline void call_from_inside() {
  static std::map<int32_t, std::vector<float>> results;
  static const float x[35] = {1, -2, 0.5f, 3, 0.25f, -1, 7};
  HEED_MEMORY(workspace, HEED_WORKSPACE_BYTES(7, 7));
  std::vector<float> y(35), rows(35);
  EXPECT_EQ(
      heed_self_attention(heed_matrix_of(x, 5, 7), HEED_SCALE_DEFAULT, heed_matrix_out_of(y.data(), 5, 7), workspace),
      HEED_OK);
  EXPECT_EQ(heed_softmax(heed_matrix_of(x, 5, 7), 1, heed_matrix_out_of(rows.data(), 5, 7), nullptr), HEED_OK);
  y.insert(y.end(), rows.begin(), rows.end());
  const auto known = results.emplace(heed_isa_arithmetic(heed_isa_current()), y).first;
  EXPECT_TRUE(same_bits(known->second, y)) << "a call from inside a task";
}

// Of either arithmetic.
inline const char *any_kernel(random_source &r) {
  static const std::vector<const char *> names = [] {  // asking the processor takes its time
    std::vector<const char *> all;
    for (int32_t i = 0; i < heed_isa_count(); ++i) all.push_back(heed_isa_name(i));
    return all;
  }();
  return r.pick(names);
}

inline std::unique_ptr<test_executor> hostile_executor(random_source &r) {
  const int32_t kind = r.between(0, 3), n_workers = r.between(2, 12);
  if (kind < 2) return random_executor(r);
  if (kind == 2) return std::make_unique<meddling_executor>(n_workers, call_from_inside);
  return std::make_unique<meddling_executor>(
      n_workers, [own = random_source(r.next())]() mutable { choose_in_a_call(any_kernel(own)); });
}

class trial {
 public:
  explicit trial(random_source *r, extent e) : memory(r) {
    if (e == extent::large || r->chance(30)) executor_ = hostile_executor(*r);
    if (executor_) damaged_executor_ = *executor_->get();
  }
  virtual ~trial() = default;
  virtual std::string text() const = 0;          // function and shape
  virtual std::vector<float> plain() const = 0;  // what the current kernel gives in the plainest setting
  virtual void judge(const std::vector<float> &, double /*chain*/) const {}
  virtual std::vector<spoilings> flaws(random_source &r) = 0;  // a list for every argument
  virtual std::vector<float> result() const { return memory.result(); }

  // Another kernel will be chosen in the middle of one of the calls: it must finish on the one it began with.
  void draw_trap(random_source &r) {
    disturbed_ = r.between(0, most_calls_ - 1);
    trap_ = memory.anywhere_in_numbers(r);
    trap_kernel_ = any_kernel(r);
  }
  heed_status run_on(const std::string &kernel) {
    memory.reset();
    kernel_ = kernel, n_calls_ = 0;
    begin_call(0);
    const heed_status status = call();
    kernel_trap::clear();
    kernel_.clear();
    return status;
  }

  stage memory;

 protected:
  virtual heed_status call() = 0;
  // One call of several, which all begin on the same kernel.
  template <typename Call>
  heed_status one(Call call) {
    if (!kernel_.empty()) begin_call(n_calls_++);
    return call();
  }
  int32_t most_calls_ = 1;

  const heed_executor *executor() const { return executor_ ? executor_->get() : nullptr; }
  size_t workspace_bytes(random_source &r, int32_t head_dim, int32_t v_dim) const {
    problem p;
    p.head_dim = head_dim, p.v_dim = v_dim;
    const size_t bytes = random_workspace_bytes(r, p, executor_ ? executor_->get()->n_workers : 1);
    return std::min(bytes, std::max(heed_workspace_min_bytes(head_dim, v_dim), size_t{1} << 21));
  }
  heed_memory place_workspace(random_source &r, int32_t head_dim, int32_t v_dim) {
    const size_t bytes = workspace_bytes(r, head_dim, v_dim);
    return memory.scratch(bytes);
  }
  spoilings executor_flaws_in(const heed_executor **argument) {
    spoilings all;
    if (!executor_) return all;
    for (const flaw<heed_executor> &f : executor_flaws())
      all.push_back({"executor: " + f.what, [=] {
                       f.apply(damaged_executor_);
                       *argument = &damaged_executor_;
                     }});
    return all;
  }
  static spoilings output_flaws_in(const std::string &name, heed_tensor_out *t, int32_t dim) {
    spoilings all = flaws_in(name, t, tensor_flaws<heed_tensor_out>());
    for (ptrdiff_t *stride : {&t->batch_stride, &t->head_stride, &t->row_stride})
      for (const spoiling &s : wrong_values<ptrdiff_t>(name + " stride", stride, {0, dim - 1})) all.push_back(s);
    return all;
  }
  static spoilings weights_flaws(const std::string &name, heed_weights *w, const float **bias, bool required) {
    if (!w->data) return {};
    const auto *data = static_cast<const char *>(w->data);
    spoilings all;
    const auto add = [&](const spoilings &more) { all.insert(all.end(), more.begin(), more.end()); };
    if (required) add(wrong_values<const void *>(name, &w->data, {nullptr}));
    const bool packed = w->layout == HEED_PACKED, blocks = w->code && !packed;
    if (packed || (w->dtype != HEED_INT8 && !blocks))
      add(wrong_values<const void *>(name + " misaligned", &w->data, {data + 1}));
    add(wrong_values<int32_t>(name + ".n_in", &w->n_in, {0, -1, w->n_in + 2, HEED_MAX_COUNT + 1}));
    add(wrong_values<int32_t>(name + ".n_out", &w->n_out, {0, -1, w->n_out + 2, HEED_MAX_COUNT + 1}));
    if (!packed && (w->layout == HEED_OUT_IN ? w->n_out : w->n_in) > 1)  // of one row nobody looks at it
      add(wrong_values<ptrdiff_t>(name + ".row_stride", &w->row_stride, {-1, PTRDIFF_MIN}));
    add(wrong_values<int32_t>(name + ".format", &w->dtype, {-1, 6}));
    add(wrong_values<int32_t>(name + ".layout", &w->layout, {-1, 3, packed ? HEED_OUT_IN : HEED_PACKED}));
    if (w->code && (packed || w->dtype != HEED_INT8))
      add(wrong_values<const heed_weights_code *>(name + ".code", &w->code, {nullptr}));
    if (w->n_scales != 0) add(wrong_values<int32_t>(name + ".n_scales", &w->n_scales, {0, -1, w->n_out + 1}));
    if ((w->dtype == HEED_INT8 || w->dtype == HEED_UINT8) && !packed)
      add(wrong_values<const float *>(name + ".scales", &w->scales, {nullptr, misaligned(w->scales)}));
    if (*bias) add(wrong_values<const float *>("bias of " + name, bias, {misaligned(*bias)}));
    return all;
  }
  // Of a tensor that has no batch: the flaws of its stride do not count.
  static spoilings without_batch(spoilings of_tensor) {
    of_tensor.erase(of_tensor.begin() + 3, of_tensor.begin() + 7);
    return of_tensor;
  }
  spoilings wrong_struct_size(uint32_t *size) const {
    return wrong_values<uint32_t>("struct_size", size, {0, *size - 1, *size + 1, UINT32_MAX});
  }
  // Contiguous rows of any format, to where a view says.
  void *put(const placement &view, const narrow_numbers &from) {
    const size_t bytes = HEED_DTYPE_BYTES(from.dtype);
    auto *const data = static_cast<unsigned char *>(memory.input(from.dtype, view.extent()));
    each_row(view, [&](size_t at, size_t index) {
      std::memcpy(data + at * bytes, &from.bytes[index * bytes], size_t(view.dim) * bytes);
    });
    return data;
  }
  // Numbers that a call looks at before it begins.
  template <typename T>
  const T *put_few(const std::vector<T> &numbers) {
    T *const data = memory.inputs<T>(numbers.size());
    std::copy(numbers.begin(), numbers.end(), data);
    return data;
  }
  // Puts numbers where a view says, and takes them back: rows may share memory.
  float *put(const placement &view, std::vector<float> *numbers) {
    float *data = memory.input(view.extent());
    scatter(view, *numbers, data);
    *numbers = gather(view, data);
    return data;
  }

 private:
  // Without a way back: a choice asks the processor, which is most of the time of a small call on a virtual machine.
  void begin_call(int32_t index) {
    kernel_trap::clear();
    EXPECT_EQ(heed_isa_use(kernel_.c_str()), HEED_OK) << kernel_;
    if (trap_ && index == disturbed_) kernel_trap::set(trap_, trap_kernel_);
  }

  std::unique_ptr<test_executor> executor_;
  heed_executor damaged_executor_ = {};
  std::string kernel_;  // empty: not in run_on()
  int32_t n_calls_, disturbed_ = 0;
  const void *trap_ = nullptr;
  const char *trap_kernel_ = nullptr;
};

}  // namespace heed_test

#endif
