// Normalisations. See operators.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "operators.hpp"

namespace heed_compile {
namespace {

// (x - mean) / sqrt(variance + eps) of each row, or x / sqrt(mean of squares + eps). Gives the mean and 1 / the deviation.
struct statistics {
  array mean, inverse;
};

statistics normalize_rows(array &rows, double eps, bool subtracts_mean) {
  const size_t length = static_cast<size_t>(rows.dims.back());
  const int64_t n_rows = length == 0 ? 0 : static_cast<int64_t>(rows.numbers.size() / length);
  statistics s = {zeros_of(element::floats, {n_rows}), zeros_of(element::floats, {n_rows})};
  for (size_t r = 0; r < s.mean.numbers.size(); ++r) {
    double *const row = rows.numbers.data() + r * length;
    double sum = 0, squares = 0;
    for (size_t k = 0; k < length; ++k) sum += row[k];
    const double mean = subtracts_mean ? sum / static_cast<double>(length) : 0;
    for (size_t k = 0; k < length; ++k) squares += (row[k] - mean) * (row[k] - mean);
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(length) + eps);
    for (size_t k = 0; k < length; ++k) row[k] = (row[k] - mean) * inverse;
    s.mean.numbers[r] = mean;
    s.inverse.numbers[r] = inverse;
  }
  return s;
}

// x * scale + bias, which repeat along the leading dimensions.
array scaled(const call &c, const array &x, const array *scale, const array *bias) {
  array made = x;
  for (const array *const part : {scale, bias}) {
    if (part == nullptr) continue;
    if (broadcast_shape(c, x.dims, part->dims) != x.dims) c.refuse("has a scale or a bias that does not fit its input");
    const array whole = broadcast_to(c, *part, x.dims);
    for (size_t i = 0; i < made.numbers.size(); ++i) {
      if (part == scale)
        made.numbers[i] *= whole.numbers[i];
      else
        made.numbers[i] += whole.numbers[i];
    }
  }
  return made;
}

// Over all dimensions from the axis on.
results over_last(const call &c, const array &x, int64_t given, const array *scale, const array *bias, double eps,
                  bool subtracts_mean) {
  const size_t axis = c.axis(given, x.dims.size());
  int64_t length = 1;
  for (size_t d = axis; d < x.dims.size(); ++d) length *= x.dims[d];
  c.expect(length > 0, "has an input without numbers");
  array rows = reshaped(x, {static_cast<int64_t>(x.numbers.size()) / length, length});
  statistics s = normalize_rows(rows, eps, subtracts_mean);
  shape dims = x.dims;
  for (size_t d = axis; d < dims.size(); ++d) dims[d] = 1;
  results all = one(scaled(c, reshaped(rows, x.dims), scale, bias));
  all.push_back(reshaped(s.mean, dims));
  all.push_back(reshaped(s.inverse, dims));
  return all;
}

results layer_norm(const call &c) {
  return over_last(c, c.in(0), c.integer("axis", -1), &c.in(1), c.maybe(2), c.number("epsilon", 1e-5), true);
}

results rms_norm(const call &c) {
  results all = over_last(c, c.in(0), c.integer("axis", -1), &c.in(1), nullptr, c.number("epsilon", 1e-5), false);
  all.resize(1);
  return all;
}

results simplified_layer_norm(const call &c) {
  results all = over_last(c, c.in(0), c.integer("axis", -1), &c.in(1), nullptr, c.number("epsilon", 1e-5), false);
  all.erase(all.begin() + 1);
  return all;
}

// Outputs: the normalised sum, its mean, 1 / its deviation, the sum.
results skip_norm(const call &c, const array *scale, const array *shift, const array *bias, bool subtracts_mean) {
  const array &x = c.in(0);
  array sum = broadcast_to(c, c.in(1), x.dims);
  for (size_t i = 0; i < sum.numbers.size(); ++i) sum.numbers[i] += x.numbers[i];
  if (bias != nullptr) sum = scaled(c, sum, nullptr, bias);
  results all = over_last(c, sum, -1, scale, shift, c.number("epsilon", 1e-12), subtracts_mean);
  all.push_back(std::move(sum));
  return all;
}

results skip_layer_norm(const call &c) { return skip_norm(c, &c.in(2), c.maybe(3), c.maybe(4), true); }
results skip_rms_norm(const call &c) { return skip_norm(c, &c.in(2), nullptr, c.maybe(3), false); }

// A vector with one number for each channel, beside x (batch, channels, ...).
array for_channels(const call &c, const array &vector, const array &x) {
  c.expect(x.dims.size() >= 2 && static_cast<int64_t>(vector.numbers.size()) == x.dims[1],
           "has a scale, a bias, a mean or a variance that is not of its channels");
  shape dims(x.dims.size(), 1);
  dims[1] = x.dims[1];
  return reshaped(vector, dims);
}

results batch_norm(const call &c) {
  c.expect(c.integer("training_mode", 0) == 0, "is in training mode");
  c.expect(c.opset >= 7 || c.integer("is_test", 0) != 0, "is in training mode");
  c.expect(c.opset >= 9 || c.integer("spatial", 1) == 1, "has spatial=0, which is not known");
  const array &x = c.in(0);
  const array scale = for_channels(c, c.in(1), x), bias = for_channels(c, c.in(2), x);
  const array mean = for_channels(c, c.in(3), x), variance = for_channels(c, c.in(4), x);
  const double eps = c.number("epsilon", 1e-5);
  array made = x;
  const lines l(x.dims, 1);
  for (int64_t o = 0; o < l.outer; ++o) {
    for (int64_t k = 0; k < l.length; ++k) {
      const size_t channel = static_cast<size_t>(k);
      const double factor = scale.numbers[channel] / std::sqrt(variance.numbers[channel] + eps);
      for (int64_t inner = 0; inner < l.stride; ++inner) {
        double &number = made.numbers[static_cast<size_t>(l.at(o, k, inner))];
        number = (number - mean.numbers[channel]) * factor + bias.numbers[channel];
      }
    }
  }
  return one(std::move(made));
}

// Groups of channels; scale and bias have one number for each channel, or for each group (before version 21).
results by_groups(const call &c, int64_t n_groups) {
  const array &x = c.in(0);
  c.expect(x.dims.size() >= 2 && n_groups > 0 && x.dims[1] % n_groups == 0 && !x.numbers.empty(),
           "has channels that its groups do not divide");
  array rows = reshaped(x, {x.dims[0] * n_groups, static_cast<int64_t>(x.numbers.size()) / (x.dims[0] * n_groups)});
  normalize_rows(rows, c.number("epsilon", 1e-5), true);
  array made = reshaped(rows, x.dims);
  std::vector<array> vectors;
  for (const size_t i : {size_t{1}, size_t{2}}) {
    array vector = c.in(i);
    if (static_cast<int64_t>(vector.numbers.size()) == n_groups && n_groups != x.dims[1]) {
      array each = zeros_like(vector, {x.dims[1]});
      for (size_t k = 0; k < each.numbers.size(); ++k)
        each.numbers[k] = vector.numbers[k / (each.numbers.size() / vector.numbers.size())];
      vector = each;
    }
    vectors.push_back(for_channels(c, vector, x));
  }
  return one(scaled(c, made, &vectors[0], &vectors[1]));
}

results group_norm(const call &c) { return by_groups(c, c.integer("num_groups", 0)); }
results instance_norm(const call &c) {
  c.expect(c.in(0).dims.size() >= 2, "has an input without channels");
  return by_groups(c, c.in(0).dims[1]);
}

results lp_norm(const call &c) {
  array made = c.in(0);
  const int64_t p = c.integer("p", 2);
  c.expect(p == 1 || p == 2, "has a p that is neither 1 nor 2");
  const lines l(made.dims, c.axis(c.integer("axis", -1), made.dims.size()));
  for (int64_t o = 0; o < l.outer; ++o) {
    for (int64_t inner = 0; inner < l.stride; ++inner) {
      double sum = 0;
      const auto number = [&](int64_t k) -> double & { return made.numbers[static_cast<size_t>(l.at(o, k, inner))]; };
      for (int64_t k = 0; k < l.length; ++k) sum += p == 1 ? std::fabs(number(k)) : number(k) * number(k);
      const double norm = p == 1 ? sum : std::sqrt(sum);
      for (int64_t k = 0; k < l.length; ++k) number(k) = norm == 0 ? 0 : number(k) / norm;
    }
  }
  return one(std::move(made));
}

results mean_variance_norm(const call &c) {
  const array &x = c.in(0);
  const size_t rank = x.dims.size();
  std::vector<int64_t> given = c.list("axes");
  if (given.empty()) given = {0, 2, 3};
  std::vector<bool> is_reduced(rank, false);
  for (const size_t d : c.axes(given, rank)) is_reduced[d] = true;
  std::vector<size_t> order, back(rank);
  for (size_t d = 0; d < rank; ++d)
    if (!is_reduced[d]) order.push_back(d);
  int64_t length = 1;
  for (size_t d = 0; d < rank; ++d)
    if (is_reduced[d]) order.push_back(d), length *= x.dims[d];
  c.expect(length > 0, "has an input without numbers");
  for (size_t d = 0; d < rank; ++d) back[order[d]] = d;
  const array moved = transposed(x, order);
  array rows = reshaped(moved, {static_cast<int64_t>(x.numbers.size()) / length, length});
  normalize_rows(rows, 1e-9, true);
  return one(transposed(reshaped(rows, moved.dims), back));
}

results local_response_norm(const call &c) {
  const array &x = c.in(0);
  c.expect(x.dims.size() >= 2, "has an input without channels");
  const int64_t size = c.integer("size", 1);
  c.expect(size >= 1 && size <= most_numbers, "has a size that is not positive");
  const double alpha = c.number("alpha", 1e-4), beta = c.number("beta", 0.75), bias = c.number("bias", 1);
  array made = zeros_like(x, x.dims);
  const lines l(x.dims, 1);
  for (int64_t o = 0; o < l.outer; ++o) {
    for (int64_t k = 0; k < l.length; ++k) {
      const int64_t first = std::max(k - (size - 1) / 2, int64_t{0}), last = std::min(k + size / 2, l.length - 1);
      for (int64_t inner = 0; inner < l.stride; ++inner) {
        double sum = 0;
        for (int64_t other = first; other <= last; ++other) {
          const double number = x.numbers[static_cast<size_t>(l.at(o, other, inner))];
          sum += number * number;
        }
        const size_t place = static_cast<size_t>(l.at(o, k, inner));
        made.numbers[place] = x.numbers[place] / std::pow(bias + alpha / static_cast<double>(size) * sum, beta);
      }
    }
  }
  return one(std::move(made));
}

}  // namespace

void add_norms(operations &all) {
  all["LayerNormalization"] = layer_norm;
  all["RMSNormalization"] = rms_norm;
  // ONNX Runtime writes them without a domain.
  all["SimplifiedLayerNormalization"] = simplified_layer_norm;
  all["com.microsoft.SimplifiedLayerNormalization"] = simplified_layer_norm;
  all["com.microsoft.SkipLayerNormalization"] = skip_layer_norm;
  all["com.microsoft.SkipSimplifiedLayerNormalization"] = skip_rms_norm;
  all["BatchNormalization"] = batch_norm;
  all["GroupNormalization"] = group_norm;
  all["InstanceNormalization"] = instance_norm;
  all["LpNormalization"] = lp_norm;
  all["MeanVarianceNormalization"] = mean_variance_norm;
  all["LRN"] = local_response_norm;
}

}  // namespace heed_compile
