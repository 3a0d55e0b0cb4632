// What the self-tests share: numbers to work on, memory for them in the caller's buffer, and the report.
#ifndef HEED_SELFTEST_HPP
#define HEED_SELFTEST_HPP

#include "../known_answers.hpp"
#include "../isa_choice/dispatch.hpp"
#include "../checks/validate.hpp"

namespace heed {

// What lies beyond plain attention, on a kernel (selftest_features.cpp), in HEED_SELFTEST_FEATURES_BYTES. False at the
// first difference, which is then in the report.
bool test_features(kernel_handle k, float *buffer, heed_selftest_report &report);
constexpr int32_t n_features = 15;

namespace {

struct arena {
  float *next;
  float *take(int64_t floats) {
    float *p = next;
    next += (floats + 15) / 16 * 16;
    return p;
  }
};

// Values in (-2, 2): a linear congruential generator's upper 24 bits.
[[maybe_unused]] void fill(float *p, int64_t n, uint32_t seed) {
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    p[i] = (static_cast<float>(seed >> 8) - 8388607.5f) * 0x1p-22f;
  }
}

constexpr uint32_t nan_bits = 0x7fc00000;

[[maybe_unused]] float float_of(uint32_t bits) {
  union {
    uint32_t bits;
    float number;
  } u = {bits};
  return u.number;
}

// All NaN count as one: payloads and signs are outside the contract. By the bits, since a compiler may have been told
// that there is no NaN.
uint32_t bits_of(float x) {
  union {
    float number;
    uint32_t bits;
  } u = {x};
  return (u.bits & 0x7fffffff) > 0x7f800000 ? nan_bits : u.bits;
}

// Numbers for which another last bit of any constant of arithmetic.hpp gives other bits: the exponential or a function of one
// number shows it, in one arithmetic at least, if any of a million numbers does. tests/faulty_constants.sh tries each.
constexpr float telling_numbers[] = {-0x1.31e74ap+1f, -0x1.cf9b08p-3f, -0x1.a4be62p+2f, -0x1.19af5ep-2f,
                                     -0x1.9f69fep+4f, -0x1.62e434p+5f, -0x1.400002p+6f, -0x1.3fae16p+3f,
                                     -0x1.5c0002p+6f, -0x1.9cccep+3f,  -0x1.3a5992p-2f, -0x1.52ef2cp-1f,
                                     -0x1.558bcp+3f,  -0x1.8d0fdp+3f};
constexpr int32_t n_telling = sizeof telling_numbers / sizeof *telling_numbers;

class comparison {
 public:
  explicit comparison(heed_selftest_report &to) : report(to) {}

  // False at the first difference, which is then in the report.
  bool equal(const kernel &k, const char *function, int32_t case_index, const float *expected, const float *actual,
             int64_t n) {
    for (int64_t i = 0; i < n; i++) {
      const uint32_t bits = bits_of(expected[i]);
      digest = (digest ^ bits) * 16777619u;  // FNV-1a, a float at a time
      if (bits != bits_of(actual[i]))
        return differs(k, reference_kernel(k.has_fma)->name, function, case_index, static_cast<int32_t>(i), bits,
                       bits_of(actual[i]));
    }
    report.n_floats += static_cast<uint32_t>(n);
    return true;
  }

  // After all cases of a kernel: was the reference that it equals right?
  bool conclude(const kernel &k, const known_answers &right) {
    const uint32_t expected = answer_of(right, k.has_fma), actual = digest;
    digest = first_digest;
    if (actual != expected)
      return differs(*reference_kernel(k.has_fma), "known answers", "all", -1, -1, expected, actual);
    report.n_kernels++;
    return true;
  }

  // Results that are compared with known answers alone.
  void add(const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) digest = (digest ^ bits_of(x[i])) * 16777619u;
    report.n_floats += static_cast<uint32_t>(n);
  }
  bool conclude_part(const kernel &k, const char *function, int32_t index, const known_answers &right) {
    const uint32_t expected = answer_of(right, k.has_fma), actual = digest;
    digest = first_digest;
    if (actual != expected) return differs(k, "known answers", function, index, -1, expected, actual);
    return true;
  }

 private:
  heed_selftest_report &report;
  static constexpr uint32_t first_digest = 2166136261u;
  uint32_t digest = first_digest;

  bool differs(const kernel &k, const char *from, const char *function, int32_t case_index, int32_t float_index,
               uint32_t expected, uint32_t actual) {
    report.kernel = k.name;
    report.function = function;
    report.case_index = case_index;
    report.float_index = float_index;
    report.expected_bits = expected;
    report.actual_bits = actual;
    report.compared_with = from;
    return false;
  }
};

[[maybe_unused]] HEED_NOINLINE heed_status check_memory(heed_memory memory, size_t minimum,
                                                        const heed_selftest_report *report) {
  checker_of<2> check;
  check.room(memory, minimum, HEED_ALIGNMENT, HEED_ARG_MEMORY);
  if (report) check.object(report, access::write, HEED_ARG_REPORT);
  return check.finish();
}

[[maybe_unused]] heed_status conclude(const heed_selftest_report &found, bool equal, int32_t n_cases,
                                      heed_selftest_report *report) {
  if (report) {
    *report = found;
    report->struct_size = sizeof *report;
    report->n_cases = n_cases;
  }
  return equal ? HEED_OK : HEED_STATUS(HEED_MISMATCH, HEED_ARG_ISA);
}

}  // namespace
}  // namespace heed

#endif
