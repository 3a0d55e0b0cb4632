// Compares what heed gives for a case with what the case expects. SPDX-License-Identifier: MIT
//
// A number passes that lies within 1e-5 of the largest magnitude of its tensor, or within the bound of its row. The
// tensor's numbers being f16, that is 2^-9: half an ulp, 2^-11 of a number, for each of scores, weights, sums and
// results, all of which the suite's reference rounds to f16. Scores are held against the largest visible score instead
// of the tensor's, which may be that of a mask or of padding; keys and values of the past and present are copies, and
// equal.
#ifndef HEED_TESTS_SUPPORT_VECTOR_JUDGE_HPP
#define HEED_TESTS_SUPPORT_VECTOR_JUDGE_HPP

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "vector_bounds.hpp"
#include "vector_run.hpp"

namespace heed_test {

inline double share_of_largest(const std::string &type) { return type == "f16" ? 0x1p-9 : 1e-5; }

inline double largest_magnitude(const std::vector<double> &numbers) {
  double largest = 0;
  for (const double x : numbers)
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  return largest;
}

enum class vector_output { result, copy, scores, weights };

// One output of one case.
struct vector_verdict {
  std::string output, type;
  vector_output kind = vector_output::result;
  double largest = 0;      // magnitude of what is expected
  double usual_error = 0;  // greatest of those that are as small as usual, relative to the largest magnitude
  double share = 0;        // greatest of the others, as a share of what is allowed
  double wrong_by = 0, allowed = 0, expected = 0, actual = 0;  // the greatest error of those that are wrong
  size_t n_wrong = 0, n = 0, index = 0;

  bool passed() const { return n_wrong == 0; }

  void see(size_t at, double wanted, double found, double bound) {
    ++n;
    if (agree(wanted, found)) return;
    const double e = std::isfinite(wanted) && std::isfinite(found) ? std::fabs(wanted - found) : HUGE_VAL;
    if (e <= share_of_largest(type) * largest)
      usual_error = std::max(usual_error, e / largest);
    else
      share = std::max(share, e / bound);
    if (e <= bound && std::isfinite(e)) return;
    if (n_wrong++ == 0 || e > wrong_by) wrong_by = e, allowed = bound, index = at, expected = wanted, actual = found;
  }

  std::string text() const {
    char line[300];
    std::snprintf(line, sizeof line,
                  "%s: greatest error %.3g at number %zu (expected %.9g, found %.9g, allowed %.3g, largest magnitude "
                  "%.3g); %zu of %zu numbers wrong",
                  output.c_str(), wrong_by, index, expected, actual, allowed, largest, n_wrong, n);
    return line;
  }

 private:
  // Equal, or both NaN, or more than the type of the tensor or a mask has room for.
  bool agree(double wanted, double found) const {
    if (wanted == found || (std::isnan(wanted) && std::isnan(found))) return true;
    const double room = type == "f16" ? 65504 : most_bias;
    return std::fabs(wanted) > room && std::fabs(found) >= room * (1 - share_of_largest(type)) &&
           std::signbit(wanted) == std::signbit(found);
  }
};

class vector_judge {
 public:
  explicit vector_judge(const vector_case &c) : case_(c), p_(problem_of(c)) {}

  std::vector<vector_verdict> run() {
    const bool flat = case_.input("Q")->dims.size() == 3;
    const vector_result found = vector_call(p_, flat, case_.outputs.count("qk_matmul_output") != 0).run();
    const bool weights = p_.mode == weights_mode;
    compare("Y", vector_output::result, flat, found.y);
    compare("present_key", vector_output::copy, false, p_.k);
    compare("present_value", vector_output::copy, false, p_.v);
    compare("qk_matmul_output", weights ? vector_output::weights : vector_output::scores, false, found.scores);
    return verdicts_;
  }

 private:
  void compare(const std::string &name, vector_output kind, bool flat, const vector_rows &found) {
    const auto output = case_.outputs.find(name);
    if (output == case_.outputs.end()) return;
    const vector_tensor &t = output->second;
    const std::vector<int32_t> dims = flat
                                          ? std::vector<int32_t>{found.n_batch, found.n_rows, found.n_heads * found.dim}
                                          : std::vector<int32_t>{found.n_batch, found.n_heads, found.n_rows, found.dim};
    require(t.is_floating() && t.dims == dims, name + " " + t.shape() + " has not the shape of the result");
    const std::vector<double> expected = t.numbers();
    vector_verdict v;
    v.output = name, v.type = t.type, v.kind = kind, v.largest = largest_magnitude(expected);
    const vector_rows place = rows_of(found.n_batch, found.n_heads, found.n_rows, found.dim, flat);
    for (int32_t b = 0; b < found.n_batch; ++b)
      for (int32_t h = 0; h < found.n_heads; ++h)
        for (int32_t i = 0; i < found.n_rows; ++i) {
          const size_t first = place.at(b, h, i);
          row(&v, first, expected.data() + first, found.row(b, h, i), found.dim, b, h, i);
        }
    verdicts_.push_back(v);
  }

  // One row of an output, numbers first ... first + n - 1 of it.
  void row(vector_verdict *v, size_t first, const double *expected, const float *found, int32_t n, int32_t b, int32_t h,
           int32_t i) {
    const bool bounded = v->kind != vector_output::copy && !is_near(*v, expected, found, n);
    const std::unique_ptr<row_bounds> bounds(bounded ? new row_bounds(p_, v->type, b, h, i) : nullptr);
    const bool has_nan = std::any_of(expected, expected + n, [](double x) { return std::isnan(x); });
    const bool may_hide = v->kind >= vector_output::scores && p_.mode >= HEED_SCORES_BIASED;
    for (int32_t j = 0; j < n; ++j) {
      const bool hidden = has_nan && may_hide && p_.bias(b, h, i, j) == -HUGE_VAL;
      v->see(first + size_t(j), hidden ? of_hidden_key(*v, expected[j], found[j]) : expected[j], found[j],
             bounds ? allowed(*v, *bounds, expected[j], j) : usual(*v));
    }
  }

  // What is expected of a hidden key in a row with NaN. To heed the key takes no part, so a NaN of its own does not
  // reach its score, though the operator adds the mask to it; its weight in a row that is NaN is 0 or NaN.
  static double of_hidden_key(const vector_verdict &v, double expected, float found) {
    const bool weights = v.kind == vector_output::weights;
    if (!std::isnan(expected) && !(weights && expected == 0)) return expected;
    return weights ? (std::isnan(found) ? double(found) : 0) : -HUGE_VAL;
  }

  static double usual(const vector_verdict &v) {
    const double copied = v.type == "f64" ? f32_rounding.relative : 0;
    return (v.kind == vector_output::copy ? copied : share_of_largest(v.type)) * v.largest;
  }
  // Most rows are near enough to need no bound of their own.
  static bool is_near(const vector_verdict &v, const double *expected, const float *found, int32_t n) {
    for (int32_t j = 0; j < n; ++j)
      if (!(std::fabs(expected[j] - found[j]) <= usual(v))) return false;
    return v.kind != vector_output::scores;
  }
  static double allowed(const vector_verdict &v, const row_bounds &bounds, double expected, int32_t j) {
    double bound = 0, least = usual(v);
    if (v.kind == vector_output::scores) {
      bound = bounds.score_error(j);
      least = share_of_largest(v.type) * std::max(bounds.largest_score(), std::fabs(expected));
    } else {
      bound = v.kind == vector_output::weights ? bounds.weight_error(j) : bounds.out_error(j);
    }
    return std::isfinite(bound) && bound > least ? bound : least;
  }

  const vector_case &case_;
  const vector_problem p_;
  std::vector<vector_verdict> verdicts_;
};

}  // namespace heed_test

#endif
