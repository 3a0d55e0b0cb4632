// Convolutions and pools, of one dimension or more. See operators.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "operators.hpp"
#include "windows.hpp"

namespace heed_compile {

// Lists of a node, one number for each dimension, or this for all.
static std::vector<int64_t> list_or(const call &c, const char *name, size_t n, int64_t otherwise) {
  std::vector<int64_t> list = c.list(name);
  if (list.empty()) list.assign(n, otherwise);
  if (list.size() != n) c.refuse(std::string("has more or fewer ") + name + " than dimensions");
  for (const int64_t number : list)
    if (number < 0 || number > INT32_MAX) c.refuse(std::string("has ") + name + " that are negative or too large");
  return list;
}

windows windows_of(const call &c, const shape &space, const shape &kernel) {
  const size_t n = space.size();
  windows w;
  w.space = space;
  w.kernel = kernel;
  w.strides = list_or(c, "strides", n, 1);
  w.dilations = list_or(c, "dilations", n, 1);
  const std::string auto_pad = c.text("auto_pad", "NOTSET");
  const bool rounds_up = c.integer("ceil_mode", 0) != 0;
  std::vector<int64_t> pads = list_or(c, "pads", 2 * n, 0);
  if (auto_pad != "NOTSET" && !auto_pad.empty()) pads.assign(2 * n, 0);
  for (size_t d = 0; d < n; ++d) {
    c.expect(w.strides[d] > 0 && w.dilations[d] > 0 && kernel[d] > 0, "has a stride, a dilation or a kernel of 0");
    c.expect(kernel[d] <= most_numbers / w.dilations[d], "has a kernel that is too large");
    const int64_t reach = (kernel[d] - 1) * w.dilations[d] + 1;
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      const int64_t wanted = (space[d] + w.strides[d] - 1) / w.strides[d];
      const int64_t total = std::max((wanted - 1) * w.strides[d] + reach - space[d], int64_t{0});
      pads[d] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      pads[d + n] = total - pads[d];
    } else {
      c.expect(auto_pad == "NOTSET" || auto_pad == "VALID" || auto_pad.empty(), "has an auto_pad that is not known");
    }
    const int64_t room = space[d] + pads[d] + pads[d + n] - reach;
    c.expect(room >= 0, "has a kernel that is larger than its input");
    int64_t steps = room / w.strides[d];
    const bool is_cut = rounds_up && room % w.strides[d] != 0;
    // A window that would begin behind the input is left out.
    if (is_cut && (steps + 1) * w.strides[d] < space[d] + pads[d]) ++steps;
    w.out.push_back(steps + 1);
  }
  w.before.assign(pads.begin(), pads.begin() + static_cast<int64_t>(n));
  w.behind.assign(pads.begin() + static_cast<int64_t>(n), pads.end());
  return w;
}

static int64_t product_of(const shape &dims) {
  int64_t n = 1;
  for (const int64_t dim : dims) n *= dim;
  return n;
}

array convolved(const call &c, const array &x, const array &w, const array *bias) {
  const size_t rank = x.dims.size();
  c.expect(rank >= 3 && w.dims.size() == rank, "has an input or a kernel without a dimension of space");
  const int64_t groups = c.integer("group", 1), n_out = w.dims[0];
  c.expect(groups > 0 && n_out % groups == 0 && x.dims[1] % groups == 0 && x.dims[1] / groups == w.dims[1],
           "has channels that its groups do not divide");
  const windows win = windows_of(c, shape(x.dims.begin() + 2, x.dims.end()), shape(w.dims.begin() + 2, w.dims.end()));
  shape dims = {x.dims[0], n_out};
  dims.insert(dims.end(), win.out.begin(), win.out.end());
  array made = zeros_like(x, dims);
  c.expect(bias == nullptr || count_of(bias->dims) == n_out, "has a bias that is not of its outputs");
  if (c.only_shapes) return made;
  const int64_t n_in = w.dims[1], per_group = n_out / groups, area = product_of(win.space);
  const int64_t taps = product_of(win.kernel), places = product_of(win.out);
  // For each tap the place in the input that each output reads; -1 in the padding.
  const std::vector<int64_t> reads = win.reads();
  for (int64_t batch = 0; batch < x.dims[0]; ++batch) {
    for (int64_t out = 0; out < n_out; ++out) {
      double *const to = made.numbers.data() + (batch * n_out + out) * places;
      if (bias != nullptr) std::fill_n(to, places, bias->numbers[static_cast<size_t>(out)]);
      for (int64_t in = 0; in < n_in; ++in) {
        const double *const from = x.numbers.data() + (batch * x.dims[1] + out / per_group * n_in + in) * area;
        const double *const kernel = w.numbers.data() + (out * n_in + in) * taps;
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t *const read = reads.data() + tap * places;
          const double factor = kernel[tap];
          for (int64_t p = 0; p < places; ++p)
            if (read[p] >= 0) to[p] += factor * from[read[p]];
        }
      }
    }
  }
  return made;
}

std::vector<int64_t> windows::reads() const {
  const size_t n = space.size();
  const std::vector<int64_t> strides_in = strides_of(space);
  const int64_t taps = product_of(kernel), places = product_of(out);
  std::vector<int64_t> all(static_cast<size_t>(taps * places));
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t p = 0; p < places; ++p) {
      int64_t rest_tap = tap, rest_place = p, place = 0;
      for (size_t d = n; d > 0; --d) {
        const int64_t k = rest_tap % kernel[d - 1], o = rest_place % out[d - 1];
        rest_tap /= kernel[d - 1], rest_place /= out[d - 1];
        const int64_t at = o * strides[d - 1] + k * dilations[d - 1] - before[d - 1];
        if (at < 0 || at >= space[d - 1]) place = -1;
        if (place >= 0) place += at * strides_in[d - 1];
      }
      all[static_cast<size_t>(tap * places + p)] = place;
    }
  }
  return all;
}

namespace {

results conv(const call &c) { return one(convolved(c, c.in(0), c.in(1), c.maybe(2))); }

results conv_transpose(const call &c) {
  const array &x = c.in(0), &w = c.in(1);
  const size_t rank = x.dims.size(), n = rank - 2;
  c.expect(rank >= 3 && w.dims.size() == rank, "has an input or a kernel without a dimension of space");
  const int64_t groups = c.integer("group", 1);
  c.expect(groups > 0 && x.dims[1] % groups == 0 && w.dims[0] == x.dims[1],
           "has channels that its groups do not divide");
  const std::vector<int64_t> strides = list_or(c, "strides", n, 1), dilations = list_or(c, "dilations", n, 1);
  const std::vector<int64_t> more = list_or(c, "output_padding", n, 0), wanted = c.list("output_shape");
  std::vector<int64_t> pads = list_or(c, "pads", 2 * n, 0);
  const std::string auto_pad = c.text("auto_pad", "NOTSET");
  c.expect(wanted.empty() || wanted.size() >= n, "has an output_shape of too few dimensions");
  shape out, space(x.dims.begin() + 2, x.dims.end()), kernel(w.dims.begin() + 2, w.dims.end());
  for (size_t d = 0; d < n; ++d) {
    c.expect(strides[d] > 0 && dilations[d] > 0 && kernel[d] > 0 && space[d] > 0,
             "has a stride, a dilation or a kernel of 0");
    c.expect(kernel[d] <= most_numbers / dilations[d] && space[d] <= most_numbers / strides[d], "is too large");
    const int64_t whole = (space[d] - 1) * strides[d] + more[d] + (kernel[d] - 1) * dilations[d] + 1;
    const bool is_same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
    if (auto_pad == "VALID") pads[d] = pads[d + n] = 0;
    if (!wanted.empty() || is_same) {
      const int64_t length = wanted.empty() ? space[d] * strides[d] : wanted[wanted.size() - n + d];
      c.expect(length > 0 && length <= most_numbers, "has an output_shape that is too large or not positive");
      const int64_t total = std::max(whole - length, int64_t{0});
      pads[d] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      pads[d + n] = total - pads[d];
      out.push_back(length);
    } else {
      out.push_back(whole - pads[d] - pads[d + n]);
    }
    c.expect(out[d] > 0, "has pads that leave nothing");
  }
  const int64_t per_group = w.dims[1], n_out = per_group * groups, in_group = x.dims[1] / groups;
  shape dims = {x.dims[0], n_out};
  dims.insert(dims.end(), out.begin(), out.end());
  array made = zeros_like(x, dims);
  c.expect(!c.has(2) || count_of(c.in(2).dims) == n_out, "has a bias that is not of its outputs");
  if (c.only_shapes) return one(std::move(made));
  // The same windows as of the convolution that goes back.
  windows win;
  win.space = out, win.kernel = kernel, win.strides = strides, win.dilations = dilations, win.out = space;
  win.before.assign(pads.begin(), pads.begin() + static_cast<int64_t>(n));
  const std::vector<int64_t> reads = win.reads();
  const int64_t taps = product_of(kernel), places = product_of(space), area = product_of(out);
  for (int64_t batch = 0; batch < x.dims[0]; ++batch) {
    for (int64_t in = 0; in < x.dims[1]; ++in) {
      const double *const from = x.numbers.data() + (batch * x.dims[1] + in) * places;
      for (int64_t k = 0; k < per_group; ++k) {
        double *const to = made.numbers.data() + (batch * n_out + in / in_group * per_group + k) * area;
        for (int64_t tap = 0; tap < taps; ++tap) {
          const double factor = w.numbers[static_cast<size_t>((in * per_group + k) * taps + tap)];
          for (int64_t p = 0; p < places; ++p) {
            const int64_t read = reads[static_cast<size_t>(tap * places + p)];
            if (read >= 0) to[read] += factor * from[p];
          }
        }
      }
    }
    for (int64_t k = 0; c.has(2) && k < n_out; ++k)
      for (int64_t p = 0; p < area; ++p)
        made.numbers[static_cast<size_t>((batch * n_out + k) * area + p)] += c.in(2).numbers[static_cast<size_t>(k)];
  }
  return one(std::move(made));
}

windows pool_windows(const call &c) {
  const array &x = c.in(0);
  const shape kernel = c.list("kernel_shape");
  c.expect(x.dims.size() >= 3 && kernel.size() == x.dims.size() - 2,
           "has a kernel of more or fewer dimensions than its input");
  for (const int64_t k : kernel) c.expect(k > 0 && k < INT32_MAX, "has a kernel that is not positive, or too large");
  return windows_of(c, shape(x.dims.begin() + 2, x.dims.end()), kernel);
}

// f gets, for each output, the numbers of its window that lie in the input, and where they lie.
template <typename Function>
results pool(const call &c, const windows &win, Function f) {
  const array &x = c.in(0);
  shape dims = {x.dims[0], x.dims[1]};
  dims.insert(dims.end(), win.out.begin(), win.out.end());
  array made = zeros_like(x, dims);
  if (c.only_shapes) return one(std::move(made));
  const std::vector<int64_t> reads = win.reads();
  const int64_t taps = product_of(win.kernel), places = product_of(win.out), area = product_of(win.space);
  std::vector<int64_t> seen;
  for (int64_t plane = 0; plane < x.dims[0] * x.dims[1]; ++plane) {
    for (int64_t p = 0; p < places; ++p) {
      seen.clear();
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t read = reads[static_cast<size_t>(tap * places + p)];
        if (read >= 0) seen.push_back(plane * area + read);
      }
      made.numbers[static_cast<size_t>(plane * places + p)] = f(p, seen);
    }
  }
  return one(std::move(made));
}

results max_pool(const call &c) {
  const array &x = c.in(0);
  const windows win = pool_windows(c);
  std::vector<double> found;
  results all = pool(c, win, [&](int64_t, const std::vector<int64_t> &seen) {
    int64_t best = -1;
    for (const int64_t place : seen)
      if (best < 0 || x.numbers[static_cast<size_t>(place)] > x.numbers[static_cast<size_t>(best)]) best = place;
    found.push_back(static_cast<double>(best));
    return best < 0 ? -INFINITY : x.numbers[static_cast<size_t>(best)];
  });
  if (!c.needs_output(1)) return all;
  c.expect(c.integer("storage_order", 0) == 0 || win.space.size() == 2,
           "has storage_order=1 of more than two dimensions");
  array places = zeros_of(element::integers, all[0].dims, type_int64);
  if (!c.only_shapes) places.numbers = found;
  if (c.integer("storage_order", 0) != 0) {
    const int64_t rows = win.space[0], columns = win.space[1], area = rows * columns;
    for (double &number : places.numbers) {
      const int64_t place = static_cast<int64_t>(number), inner = place % area;
      number = static_cast<double>(place - inner + inner % columns * rows + inner / columns);
    }
  }
  all.push_back(std::move(places));
  return all;
}

// How many places of a window lie in the input and its padding: what AveragePool divides by with count_include_pad.
double places_with_padding(const windows &win, int64_t p) {
  double n = 1;
  for (size_t d = win.out.size(); d > 0; --d) {
    const int64_t o = p % win.out[d - 1];
    p /= win.out[d - 1];
    const int64_t end = win.space[d - 1] + win.behind[d - 1];
    int64_t here = 0;
    for (int64_t k = 0; k < win.kernel[d - 1]; ++k) {
      const int64_t at = o * win.strides[d - 1] + k * win.dilations[d - 1] - win.before[d - 1];
      here += at < end;
    }
    n *= static_cast<double>(here);
  }
  return n;
}

results average_pool(const call &c) {
  const array &x = c.in(0);
  const windows win = pool_windows(c);
  const bool counts_padding = c.integer("count_include_pad", 0) != 0;
  return pool(c, win, [&](int64_t p, const std::vector<int64_t> &seen) {
    double sum = 0;
    for (const int64_t place : seen) sum += x.numbers[static_cast<size_t>(place)];
    return sum / (counts_padding ? places_with_padding(win, p) : static_cast<double>(seen.size()));
  });
}

results lp_pool(const call &c) {
  const array &x = c.in(0);
  const double p = static_cast<double>(c.integer("p", 2));
  return pool(c, pool_windows(c), [&](int64_t, const std::vector<int64_t> &seen) {
    double sum = 0;
    for (const int64_t place : seen) sum += std::pow(std::fabs(x.numbers[static_cast<size_t>(place)]), p);
    return std::pow(sum, 1 / p);
  });
}

template <typename Function>
results global_pool(const call &c, Function f) {
  const array &x = c.in(0);
  c.expect(x.dims.size() >= 3, "has an input without a dimension of space");
  shape dims(x.dims.size(), 1);
  dims[0] = x.dims[0], dims[1] = x.dims[1];
  array made = zeros_like(x, dims);
  c.expect(!x.numbers.empty(), "has an input without numbers");
  const size_t area = x.numbers.size() / made.numbers.size();
  for (size_t i = 0; i < made.numbers.size(); ++i) made.numbers[i] = f(x.numbers.data() + i * area, area);
  return one(std::move(made));
}

double mean_of(const double *numbers, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += numbers[i];
  return sum / static_cast<double>(n);
}

}  // namespace

void add_convolutions(operations &all) {
  all["Conv"] = conv;
  all["ConvTranspose"] = conv_transpose;
  all["MaxPool"] = max_pool;
  all["AveragePool"] = average_pool;
  all["LpPool"] = lp_pool;
  all["GlobalAveragePool"] = [](const call &c) { return global_pool(c, mean_of); };
  all["GlobalMaxPool"] = [](const call &c) {
    return global_pool(c, [](const double *numbers, size_t n) { return *std::max_element(numbers, numbers + n); });
  };
  all["GlobalLpPool"] = [](const call &c) {
    const double p = static_cast<double>(c.integer("p", 2));
    return global_pool(c, [p](const double *numbers, size_t n) {
      double sum = 0;
      for (size_t i = 0; i < n; ++i) sum += std::pow(std::fabs(numbers[i]), p);
      return std::pow(sum, 1 / p);
    });
  };
}

}  // namespace heed_compile
