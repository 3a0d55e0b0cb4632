// Operators that change the size of pictures. See operators.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "operators.hpp"

namespace heed_compile {
namespace {

// How a place of the output becomes a place of the input.
struct resizing {
  int64_t from, to;  // sizes
  double scale, roi_start, roi_end;
};

double source_of(const call &c, const std::string &how, const resizing &r, int64_t at) {
  const double x = static_cast<double>(at), from = static_cast<double>(r.from), to = static_cast<double>(r.to);
  if (how == "half_pixel") return (x + 0.5) / r.scale - 0.5;
  if (how == "asymmetric") return x / r.scale;
  // By scales the length of the output is no integer.
  if (how == "align_corners") return r.to == 1 ? 0 : x * (from - 1) / (r.scale * from - 1);
  if (how == "pytorch_half_pixel") return r.to == 1 ? 0 : (x + 0.5) / r.scale - 0.5;
  if (how == "tf_half_pixel_for_nn") return (x + 0.5) / r.scale;
  if (how == "half_pixel_symmetric") {
    const double adjusted = to / (r.scale * from), center = from / 2;
    return center * (1 - adjusted) + (x + 0.5) / r.scale - 0.5;
  }
  if (how == "tf_crop_and_resize") {
    if (r.to == 1) return 0.5 * (r.roi_start + r.roi_end) * (from - 1);
    return r.roi_start * (from - 1) + x * (r.roi_end - r.roi_start) * (from - 1) / (to - 1);
  }
  c.refuse("has the coordinate_transformation_mode " + how + ", which is not known");
}

double nearest(const call &c, const std::string &how, double x) {
  if (how == "round_prefer_floor") return std::ceil(x - 0.5);
  if (how == "round_prefer_ceil") return std::floor(x + 0.5);
  if (how == "floor") return std::floor(x);
  if (how == "ceil") return std::ceil(x);
  c.refuse("has the nearest_mode " + how + ", which is not known");
}

// What places of the input weigh in one of the output.
struct tap {
  int64_t at;
  double weight;
};

double cubic(double x, double a) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

struct resize_settings {
  std::string mode, coordinates, nearest_mode;
  double cubic_a, extrapolation;
  bool excludes_outside, antialias;
};

// Weights of a filter around x; those outside count for the edge, or not at all.
std::vector<tap> filter_at(double x, const resizing &r, const resize_settings &s) {
  const bool is_cubic = s.mode == "cubic";
  const double stretch = s.antialias ? std::max(1 / r.scale, 1.0) : 1;
  const double reach = (is_cubic ? 2 : 1) * stretch;
  std::vector<tap> taps;
  double sum = 0;
  // Reaches are below 2^31, as sizes are.
  for (int64_t k = static_cast<int64_t>(std::floor(x - reach)); k <= static_cast<int64_t>(std::ceil(x + reach)); ++k) {
    const double distance = (static_cast<double>(k) - x) / stretch;
    double weight = is_cubic ? cubic(distance, s.cubic_a) : std::max(1 - std::fabs(distance), 0.0);
    const bool is_outside = k < 0 || k >= r.from;
    if (is_outside && s.excludes_outside) weight = 0;
    if (weight == 0) continue;
    taps.push_back({std::min(std::max(k, int64_t{0}), r.from - 1), weight});
    sum += weight;
  }
  if (s.excludes_outside || s.antialias)
    for (tap &t : taps) t.weight /= sum;
  return taps;
}

std::vector<tap> taps_at(const call &c, double x, const resizing &r, const resize_settings &s) {
  if (s.mode != "nearest") return filter_at(x, r, s);
  const double at = nearest(c, s.nearest_mode, x);
  return {{static_cast<int64_t>(std::min(std::max(at, 0.0), static_cast<double>(r.from - 1))), 1}};
}

array resized_along(const call &c, const array &x, size_t axis, const resizing &r, const resize_settings &s) {
  shape dims = x.dims;
  dims[axis] = r.to;
  array made = zeros_like(x, dims);
  if (c.only_shapes) return made;
  const lines from(x.dims, axis), to(dims, axis);
  for (int64_t k = 0; k < r.to; ++k) {
    const double place = source_of(c, s.coordinates, r, k);
    const bool is_outside =
        s.coordinates == "tf_crop_and_resize" && (place < 0 || place > static_cast<double>(r.from - 1));
    const std::vector<tap> taps = is_outside ? std::vector<tap>() : taps_at(c, place, r, s);
    for (int64_t o = 0; o < from.outer; ++o) {
      for (int64_t inner = 0; inner < from.stride; ++inner) {
        double sum = is_outside ? s.extrapolation : 0;
        for (const tap &t : taps) sum += t.weight * x.numbers[static_cast<size_t>(from.at(o, t.at, inner))];
        made.numbers[static_cast<size_t>(to.at(o, k, inner))] = sum;
      }
    }
  }
  return made;
}

void expect_scale(const call &c, double scale) {
  c.expect(std::isfinite(scale) && scale > 0 && scale < 1e6, "has a scale that is not positive, or too large");
}

results resize(const call &c) {
  const array &x = c.in(0);
  const size_t rank = x.dims.size();
  resize_settings s;
  s.mode = c.text("mode", "nearest");
  c.expect(s.mode == "nearest" || s.mode == "linear" || s.mode == "cubic", "has a mode that is not known");
  s.coordinates = c.text("coordinate_transformation_mode", c.opset < 11 ? "asymmetric" : "half_pixel");
  s.nearest_mode = c.text("nearest_mode", c.opset < 11 ? "floor" : "round_prefer_floor");
  s.cubic_a = c.number("cubic_coeff_a", -0.75);
  s.extrapolation = c.number("extrapolation_value", 0);
  s.excludes_outside = c.integer("exclude_outside", 0) != 0;
  s.antialias = c.integer("antialias", 0) != 0 && s.mode != "nearest";
  const size_t scales_input = c.opset < 11 ? 1 : 2;
  std::vector<size_t> axes;
  if (c.has_attribute("axes")) {
    axes = c.axes(c.list("axes"), rank);
  } else {
    for (size_t d = 0; d < rank; ++d) axes.push_back(d);
  }
  const bool by_sizes = c.has(3) && !c.in(3).numbers.empty();
  const std::vector<int64_t> sizes = by_sizes ? c.integers_in(3) : std::vector<int64_t>();
  const std::vector<double> scales = by_sizes ? std::vector<double>() : c.in(scales_input).numbers;
  c.expect(std::max(sizes.size(), scales.size()) == axes.size(), "has more or fewer sizes or scales than dimensions");
  const std::vector<double> roi = c.has(1) && c.opset >= 11 ? c.in(1).numbers : std::vector<double>();
  c.expect(s.coordinates != "tf_crop_and_resize" || roi.size() == 2 * axes.size(), "has no region of interest");
  const std::string policy = c.text("keep_aspect_ratio_policy", "stretch");
  double one_scale = 0;
  for (size_t i = 0; by_sizes && i < axes.size(); ++i) {
    const double scale = static_cast<double>(sizes[i]) / static_cast<double>(x.dims[axes[i]]);
    if (i == 0) one_scale = scale;
    one_scale = policy == "not_larger" ? std::min(one_scale, scale) : std::max(one_scale, scale);
  }
  array made = x;
  for (size_t i = 0; i < axes.size(); ++i) {
    resizing r = {x.dims[axes[i]], 0, 0, 0, 0};
    c.expect(r.from > 0, "has an input without numbers");
    if (by_sizes) {
      r.scale = policy == "stretch" ? static_cast<double>(sizes[i]) / static_cast<double>(r.from) : one_scale;
      expect_scale(c, r.scale);
      r.to = policy == "stretch" ? sizes[i]
                                 : static_cast<int64_t>(std::floor(r.scale * static_cast<double>(r.from) + 0.5));
    } else {
      r.scale = scales[i];
      expect_scale(c, r.scale);
      double length = static_cast<double>(r.from);
      if (s.coordinates == "tf_crop_and_resize") length *= roi[i + axes.size()] - roi[i];
      length = std::floor(length * r.scale);
      c.expect(std::isfinite(length) && length >= 0 && length <= static_cast<double>(most_numbers),
               "has too many numbers");
      r.to = static_cast<int64_t>(length);
    }
    c.expect(r.to > 0, "makes an output without numbers");
    if (!roi.empty() && s.coordinates == "tf_crop_and_resize") r.roi_start = roi[i], r.roi_end = roi[i + axes.size()];
    if (r.to == r.from && r.scale == 1 && s.coordinates != "tf_crop_and_resize") continue;
    made = resized_along(c, made, axes[i], r, s);
  }
  return one(std::move(made));
}

results upsample(const call &c) {
  const array &x = c.in(0);
  std::vector<double> scales;
  if (c.has(1)) {
    scales = c.in(1).numbers;
  } else {
    const auto found = c.node.attributes.find("scales");
    c.expect(found != c.node.attributes.end(), "has no scales");
    scales.assign(found->second.floats.begin(), found->second.floats.end());
  }
  c.expect(scales.size() == x.dims.size(), "has more or fewer scales than dimensions");
  const resize_settings s = {c.text("mode", "nearest"), "asymmetric", "floor", -0.75, 0, false, false};
  c.expect(s.mode == "nearest" || s.mode == "linear", "has a mode that is not known");
  array made = x;
  for (size_t d = 0; d < scales.size(); ++d) {
    expect_scale(c, scales[d]);
    const double length = std::floor(static_cast<double>(x.dims[d]) * scales[d]);
    c.expect(length >= 1 && length <= static_cast<double>(most_numbers),
             "makes an output without numbers, or with too many");
    if (scales[d] != 1) made = resized_along(c, made, d, {x.dims[d], static_cast<int64_t>(length), scales[d], 0, 0}, s);
  }
  return one(std::move(made));
}

}  // namespace

void add_images(operations &all) {
  all["Resize"] = resize;
  all["Upsample"] = upsample;
}

}  // namespace heed_compile
