// ConvTranspose: a convolution that makes all numbers of a stride at once, as channels. See rewrite.hpp. SPDX-License-Identifier: MIT
#include <algorithm>

#include "rewrite.hpp"

namespace heed_compile {
namespace {

// One side of a picture. The kernel, with its gaps, is `taps` pieces of `stride` numbers; number q * stride + phase of the result, before
// `before` of them are cut, is the sum over taps of x[q - tap] times number tap * stride + phase of the kernel.
struct side {
  int64_t size, out, kernel, stride, dilation, before, taps, places;  // places: of q
};

std::vector<int64_t> list_or(const rewriter &r, const char *name, size_t n, int64_t otherwise) {
  std::vector<int64_t> all = r.list(name);
  if (all.empty()) all.assign(n, otherwise);
  r.expect(all.size() == n, "has lists of another length than its dimensions");
  return all;
}

std::vector<side> sides_of(const rewriter &r, const shape &x, const shape &w, const shape &y) {
  const size_t n = x.size() - 2;
  const std::vector<int64_t> strides = list_or(r, "strides", n, 1), dilations = list_or(r, "dilations", n, 1),
                             more = list_or(r, "output_padding", n, 0), pads = list_or(r, "pads", 2 * n, 0);
  const std::string automatic = r.text("auto_pad", "NOTSET");
  const bool is_same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  std::vector<side> sides;
  for (size_t d = 0; d < n; ++d) {
    side s = {x[d + 2], y[d + 2], w[d + 2], strides[d], dilations[d], automatic == "VALID" ? 0 : pads[d], 0, 0};
    r.expect(s.size > 0 && s.out > 0 && s.kernel > 0 && s.stride > 0 && s.dilation > 0 && s.before >= 0,
             "has a size, a stride or a dilation that is not positive, or a negative padding");
    if (s.size == 1) s.stride = 1;  // there is no second number that it could lead to
    const int64_t covered = (s.kernel - 1) * s.dilation + 1, whole = (s.size - 1) * s.stride + more[d] + covered;
    if (is_same || !r.list("output_shape").empty()) {
      const int64_t cut = std::max<int64_t>(whole - s.out, 0);
      s.before = automatic == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
    }
    s.taps = (covered + s.stride - 1) / s.stride;
    s.places = std::max(s.size + s.taps - 1, (s.before + s.out + s.stride - 1) / s.stride);
    r.expect(s.places < (int64_t{1} << 31) / s.stride, "is too large");
    sides.push_back(s);
  }
  return sides;
}

// The numbers (channels, outputs of a group, kernel) as those of the convolution: (outputs, phases, channels of a group, taps), taps from
// the end, zeros in the gaps.
std::vector<double> turned(const array &w, const std::vector<side> &sides, int64_t n_groups) {
  const int64_t n_in = w.dims[0] / n_groups, n_out = w.dims[1];
  const size_t n = sides.size();
  int64_t n_phases = 1, n_taps = 1;
  for (const side &s : sides) n_phases *= s.stride, n_taps *= s.taps;
  std::vector<double> all(static_cast<size_t>(n_groups * n_out * n_phases * n_in * n_taps), 0);
  size_t next = 0;
  const int64_t kernel = product_of(w.dims, 2, w.dims.size());
  for (int64_t out = 0; out < n_groups * n_out; ++out)
    for (int64_t phase = 0; phase < n_phases; ++phase)
      for (int64_t in = 0; in < n_in; ++in)
        for (int64_t tap = 0; tap < n_taps; ++tap, ++next) {
          int64_t rest_phase = phase, rest_tap = tap, at = 0, step = 1;
          bool is_gap = false;
          for (size_t d = n; d-- > 0;) {
            const side &s = sides[d];
            const int64_t place = (s.taps - 1 - rest_tap % s.taps) * s.stride + rest_phase % s.stride;
            rest_tap /= s.taps, rest_phase /= s.stride;
            is_gap = is_gap || place % s.dilation != 0 || place / s.dilation >= s.kernel;
            at += place / s.dilation * step, step *= s.kernel;
          }
          const int64_t channel = out / n_out * n_in + in;
          if (!is_gap) all[next] = w.numbers[static_cast<size_t>((channel * n_out + out % n_out) * kernel + at)];
        }
  return all;
}

void conv_transpose(rewriter &r) {
  const int x = r.in(0), w = r.in(1);
  const shape dims = r.dims(x), of_w = r.dims(w), to = r.out_dims();
  const size_t n = dims.size() - 2;
  const int64_t n_groups = r.integer("group", 1);
  r.expect(r.is_constant(w), "is known with constant weights alone");
  r.expect(of_w.size() == dims.size() && n_groups >= 1 && dims[1] % n_groups == 0 && of_w[0] == dims[1],
           "has groups that do not fit its channels");
  const std::vector<side> sides = sides_of(r, dims, of_w, to);
  const int64_t n_out = n_groups * of_w[1];
  shape kernel = {n_out, dims[1] / n_groups}, wide = {dims[0], n_out}, parts = wide, whole = wide;
  std::vector<int64_t> pads;
  std::vector<size_t> perm = {0, 1};
  for (const side &s : sides) {
    r.expect(product_of(kernel, 0, kernel.size()) <= (int64_t{1} << 28) / s.stride / s.taps, "has too large a kernel");
    kernel[0] *= s.stride, kernel.push_back(s.taps), pads.push_back(s.taps - 1);
  }
  for (const side &s : sides) pads.push_back(s.places - s.size), parts.push_back(s.stride);
  wide[1] = kernel[0];
  for (const side &s : sides) wide.push_back(s.places), parts.push_back(s.places), whole.push_back(s.places * s.stride);
  for (size_t d = 0; d < n; ++d) perm.push_back(2 + n + d), perm.push_back(2 + d);
  std::vector<int> inputs = {x, r.constant(turned(*numbers_of(r.value(w)), sides, n_groups), kernel)};
  if (r.has(2)) {
    r.expect(r.dims(r.in(2)) == shape{n_out}, "has a bias that is not of its outputs");
    const int64_t n_phases = kernel[0] / n_out;
    const int each = r.expanded(r.reshaped(r.in(2), {n_out, 1}), {n_out, n_phases});
    inputs.push_back(r.reshaped(each, {kernel[0]}));
  }
  int v = r.made("Conv", inputs, wide, {{"group", rewriter::of(n_groups)}, {"pads", rewriter::of(pads)}});
  v = r.reshaped(r.transposed(r.reshaped(v, parts), perm), whole);
  for (size_t d = 0; d < n; ++d) v = r.part(v, d + 2, sides[d].before, to[d + 2]);
  r.finish(v);
}

}  // namespace

void add_transposed_convolution(rewritings &all) { all["ConvTranspose"] = conv_transpose; }

}  // namespace heed_compile
