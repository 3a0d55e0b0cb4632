// Resize and Upsample: along each axis, numbers that are picked from their places, times their weights. See rewrite.hpp.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "rewrite.hpp"

namespace heed_compile {
namespace {

struct manner {
  std::string mode, coordinates, rounding;
  double cubic_a = -0.75, outside = 0;
  bool excludes_outside = false;
};

struct side {
  size_t axis = 0;
  double from = 0, to = 0, scale = 1, start = 0, end = 1;  // sizes; the region of tf_crop_and_resize
};

// Where number x of the result lies in what it is made of.
double place_of(const rewriter &r, const manner &how, const side &s, double x) {
  const std::string &mode = how.coordinates;
  if (mode == "asymmetric") return x / s.scale;
  if (mode == "half_pixel") return (x + 0.5) / s.scale - 0.5;
  if (mode == "pytorch_half_pixel") return s.to > 1 ? (x + 0.5) / s.scale - 0.5 : 0;
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5) / s.scale;
  if (mode == "align_corners") return s.to > 1 ? x * (s.from - 1) / (s.scale * s.from - 1) : 0;
  if (mode == "half_pixel_symmetric") return (x + 0.5) / s.scale - 0.5 + (1 - s.to / (s.scale * s.from)) * s.from / 2;
  r.expect(mode == "tf_crop_and_resize", "has a coordinate_transformation_mode that is not known");
  if (s.to > 1) return (s.start + x * (s.end - s.start) / (s.to - 1)) * (s.from - 1);
  return (s.start + s.end) / 2 * (s.from - 1);
}

double rounded(const rewriter &r, const std::string &how, double x) {
  if (how == "floor") return std::floor(x);
  if (how == "ceil") return std::ceil(x);
  if (how == "round_prefer_ceil") return std::floor(x + 0.5);
  r.expect(how == "round_prefer_floor", "has a nearest_mode that is not known");
  return std::ceil(x - 0.5);
}

// Weights of the numbers around a place that is `t` behind the one on its left.
std::vector<double> weights_at(const manner &how, double t) {
  if (how.mode == "linear") return {1 - t, t};
  const double a = how.cubic_a, u = 1 - t;
  const auto far = [a](double d) { return a * (((d - 5) * d + 8) * d - 4); };
  const auto near = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  return {far(1 + t), near(t), near(u), far(1 + u)};
}

// Of each tap the place and the weight for each number of the result.
struct taps {
  std::vector<std::vector<int64_t>> places;
  std::vector<std::vector<double>> weights;
  std::vector<double> added;  // what lies outside the picture
};

taps taps_of(const rewriter &r, const manner &how, const side &s) {
  taps all;
  const size_t n = how.mode == "nearest" ? 1 : how.mode == "linear" ? 2 : 4;
  all.places.resize(n), all.weights.resize(n);
  const double last = s.from - 1;
  for (double i = 0; i < s.to; ++i) {
    const double x = place_of(r, how, s, i);
    r.expect(std::fabs(x) < 1e9, "has a scale that is too large");
    const double first = n == 1 ? rounded(r, how.rounding, x) : std::floor(x) - (n == 4 ? 1 : 0);
    std::vector<double> weights = n == 1 ? std::vector<double>{1} : weights_at(how, x - std::floor(x));
    double sum = 0;
    for (size_t k = 0; k < n; ++k) {
      const double at = first + static_cast<double>(k);
      if (how.excludes_outside && n > 1 && (at < 0 || at > last)) weights[k] = 0;
      sum += weights[k];
      all.places[k].push_back(static_cast<int64_t>(std::min(std::max(at, 0.0), last)));
    }
    const bool is_outside = how.coordinates == "tf_crop_and_resize" && (x < 0 || x > last);
    const double factor = is_outside ? 0 : how.excludes_outside && n > 1 ? 1 / sum : 1;
    for (size_t k = 0; k < n; ++k) all.weights[k].push_back(weights[k] * factor);
    all.added.push_back(is_outside ? how.outside : 0);
  }
  return all;
}

bool are_all(const std::vector<double> &numbers, double x) {
  return std::all_of(numbers.begin(), numbers.end(), [x](double one) { return one == x; });
}

int resized(rewriter &r, int v, const manner &how, const side &s) {
  const taps all = taps_of(r, how, s);
  shape along(r.dims(v).size() - s.axis, 1);
  along[0] = static_cast<int64_t>(s.to);
  int sum = no_value;
  const auto add = [&](int one) { sum = sum == no_value ? one : r.both("Add", sum, one); };
  for (size_t k = 0; k < all.places.size(); ++k) {
    if (are_all(all.weights[k], 0)) continue;
    const int picked = r.picked(v, s.axis, all.places[k]);
    add(are_all(all.weights[k], 1) ? picked : r.both("Mul", picked, r.constant(all.weights[k], along)));
  }
  r.expect(sum != no_value, "has a region outside its picture");
  if (!are_all(all.added, 0)) add(r.constant(all.added, along));
  return sum;
}

bool has_numbers(const rewriter &r, size_t i) { return r.has(i) && !r.dims(r.in(i)).empty() && r.dims(r.in(i))[0] > 0; }

// The sides that change. Which input has the scales, and whether there are sizes, depends on the version.
std::vector<side> sides_of(const rewriter &r, const manner &how, size_t scales_input) {
  const shape from = r.dims(r.in(0)), to = r.out_dims();
  std::vector<size_t> axes;
  for (const int64_t one : r.list("axes")) axes.push_back(r.axis(one, from.size()));
  if (axes.empty())
    for (size_t d = 0; d < from.size(); ++d) axes.push_back(d);
  std::vector<double> scales, region;
  if (r.node().attributes.count("scales") > 0) {
    const std::vector<float> &given = r.node().attributes.at("scales").floats;
    scales.assign(given.begin(), given.end());
  } else if (has_numbers(r, 3)) {
    const std::string policy = r.text("keep_aspect_ratio_policy", "stretch");
    const std::vector<double> sizes = r.numbers(3);
    r.expect(sizes.size() == axes.size(), "has more or fewer sizes than dimensions");
    for (size_t i = 0; i < axes.size(); ++i) scales.push_back(sizes[i] / static_cast<double>(from[axes[i]]));
    const auto [least, most] = std::minmax_element(scales.begin(), scales.end());
    const double one = policy == "not_larger" ? *least : *most;
    if (policy != "stretch") scales.assign(axes.size(), one);
  } else {
    scales = r.numbers(scales_input);
  }
  if (how.coordinates == "tf_crop_and_resize") region = r.numbers(1);
  r.expect(scales.size() == axes.size() && (region.empty() || region.size() == 2 * axes.size()),
           "has more or fewer scales than dimensions");
  std::vector<side> sides;
  for (size_t i = 0; i < axes.size(); ++i) {
    side s = {axes[i], static_cast<double>(from[axes[i]]), static_cast<double>(to[axes[i]]), scales[i]};
    r.expect(std::isfinite(s.scale) && s.scale > 0, "has a scale that is not positive");
    if (!region.empty()) s.start = region[i], s.end = region[i + axes.size()];
    if (s.from != s.to || s.scale != 1 || !region.empty()) sides.push_back(s);
  }
  return sides;
}

void resize(rewriter &r) {
  const bool is_upsample = r.node().operation == "Upsample", is_old = is_upsample || r.opset() < 11;
  manner how;
  how.mode = r.text("mode", "nearest");
  how.coordinates = is_old ? "asymmetric" : r.text("coordinate_transformation_mode", "half_pixel");
  how.rounding = is_old ? "floor" : r.text("nearest_mode", "round_prefer_floor");
  how.cubic_a = r.real("cubic_coeff_a", -0.75);
  how.outside = r.real("extrapolation_value", 0);
  how.excludes_outside = r.integer("exclude_outside", 0) != 0;
  r.expect(how.mode == "nearest" || how.mode == "linear" || how.mode == "cubic", "has a mode that is not known");
  r.expect(r.integer("antialias", 0) == 0 || how.mode == "nearest", "smooths what it makes smaller (antialias)");
  r.expect(r.value(r.in(0)).kind == element::floats || how.mode == "nearest", "is known for floats alone");
  int v = r.in(0);
  for (const side &s : sides_of(r, how, is_old ? 1 : 2)) v = resized(r, v, how, s);
  r.finish(v);
}

}  // namespace

void add_resize(rewritings &all) { all["Resize"] = all["Upsample"] = resize; }

}  // namespace heed_compile
