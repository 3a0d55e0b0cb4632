// Products with weights of few bits: the weights become constants, in a format that holds them where there is one. See rewrite.hpp.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "../../import/convert.hpp"
#include "rewrite.hpp"

namespace heed_compile {
namespace {

using heed_import::bytes;

// Weights (outputs, blocks, bytes) of MatMulNBits.
struct narrow_weights {
  int64_t n_in = 0, n_out = 0, block = 0, n_blocks = 0, bits = 0;
  bytes fields;
  std::vector<double> scales, zeros;  // of each block

  int field(const bytes &of, int64_t first_byte, int64_t i) const {
    const int64_t in_byte = 8 / bits;
    return of[static_cast<size_t>(first_byte + i / in_byte)] >> (i % in_byte * bits) & ((1 << bits) - 1);
  }
  int number(int64_t out, int64_t in) const {
    const int64_t place = out * n_blocks + in / block;
    return field(fields, place * (block * bits / 8), in % block);
  }
};

bytes bytes_of(const rewriter &r, size_t input) {
  const graph_value &v = r.value(r.in(input));
  if (v.weight != nullptr && v.weight->dtype == HEED_FILE_U8)
    return {v.weight->numbers().data, v.weight->numbers().data + v.weight->numbers().size};
  bytes all;
  for (const double number : r.numbers(input)) {
    r.expect(number >= 0 && number <= 255, "has packed weights that are no bytes");
    all.push_back(static_cast<uint8_t>(number));
  }
  return all;
}

narrow_weights weights_of(const rewriter &r) {
  narrow_weights w;
  w.n_in = r.integer("K", 0), w.n_out = r.integer("N", 0), w.block = r.integer("block_size", 0);
  w.bits = r.integer("bits", 4);
  constexpr int64_t most = 1 << 24;
  r.expect(w.n_in > 0 && w.n_out > 0 && w.block >= 16 && w.n_in <= most && w.n_out <= most && w.block <= most &&
               (w.bits == 2 || w.bits == 4 || w.bits == 8) && w.block * w.bits % 8 == 0,
           "has a K, an N, a block_size or a number of bits that is not known");
  r.expect(!r.has(4), "has an order of groups (g_idx), which is not known");
  r.expect(r.is_constant(r.in(1)) && r.is_constant(r.in(2)), "is known with constant weights alone");
  w.n_blocks = (w.n_in + w.block - 1) / w.block;
  const int64_t n = w.n_out * w.n_blocks, zero_bytes = (w.n_blocks * w.bits + 7) / 8;
  w.fields = bytes_of(r, 1), w.scales = r.numbers(2);
  r.expect(
      static_cast<int64_t>(w.fields.size()) == n * (w.block * w.bits / 8) && static_cast<int64_t>(w.scales.size()) == n,
      "has more or fewer weights or scales than K and N say");
  for (const double scale : w.scales) r.expect(std::isfinite(scale), "has a scale that is not finite");
  w.zeros.assign(static_cast<size_t>(n), static_cast<double>(1 << (w.bits - 1)));
  if (!r.has(3)) return w;
  r.expect(r.is_constant(r.in(3)), "has zero points that are no constant");
  if (r.value(r.in(3)).kind == element::floats) {
    w.zeros = r.numbers(3);
    r.expect(static_cast<int64_t>(w.zeros.size()) == n, "has more or fewer zero points than blocks");
    return w;
  }
  const bytes packed = bytes_of(r, 3);
  r.expect(static_cast<int64_t>(packed.size()) == w.n_out * zero_bytes, "has more or fewer zero points than blocks");
  for (int64_t i = 0; i < n; ++i)
    w.zeros[static_cast<size_t>(i)] = w.field(packed, i / w.n_blocks * zero_bytes, i % w.n_blocks);
  return w;
}

// The scales as f16; empty, if one of them is no number of f16.
bytes halves_of(const std::vector<double> &scales) {
  tensor t;
  bytes all;
  for (const double scale : scales) {
    if (std::fabs(scale) > 65504) return {};
    heed_import::put(all, static_cast<float>(scale));
  }
  t.dims = {static_cast<uint32_t>(scales.size())};
  t.own(std::move(all));
  heed_import::wish w;
  w.dtype = HEED_F16;
  heed_import::convert(t, w);
  const std::vector<float> halves = heed_import::floats_of(t);
  for (size_t i = 0; i < scales.size(); ++i)
    if (static_cast<double>(halves[i]) != scales[i]) return {};
  return {t.numbers().data, t.numbers().data + t.numbers().size};
}

// Q4_0 has blocks of 32, scales in f16 and the zero point 8.
bool set_blocks(tensor &t, const narrow_weights &w) {
  const auto is_8 = [](double zero) { return zero == 8; };
  if (w.bits != 4 || w.block % 32 != 0 || w.n_in % 32 != 0 || !std::all_of(w.zeros.begin(), w.zeros.end(), is_8))
    return false;
  const bytes halves = halves_of(w.scales);
  if (halves.empty()) return false;
  bytes all;
  for (int64_t out = 0; out < w.n_out; ++out) {
    for (int64_t in = 0; in < w.n_in; in += 32) {
      const auto at = static_cast<size_t>(2 * (out * w.n_blocks + in / w.block));
      all.push_back(halves[at]), all.push_back(halves[at + 1]);
      for (int64_t k = in; k < in + 16; ++k)
        all.push_back(static_cast<uint8_t>(w.number(out, k) | w.number(out, k + 16) << 4));
    }
  }
  t.dtype = HEED_Q4_0;
  t.own(std::move(all));
  return true;
}

void matmul_nbits(rewriter &r) {
  const narrow_weights w = weights_of(r);
  tensor t;
  t.name = r.value(r.in(1)).name;
  t.dims = {static_cast<uint32_t>(w.n_out), static_cast<uint32_t>(w.n_in)};
  if (!set_blocks(t, w)) {
    bytes floats;
    for (int64_t out = 0; out < w.n_out; ++out)
      for (int64_t in = 0; in < w.n_in; ++in) {
        const auto place = static_cast<size_t>(out * w.n_blocks + in / w.block);
        heed_import::put(floats, static_cast<float>((w.number(out, in) - w.zeros[place]) * w.scales[place]));
      }
    t.own(std::move(floats));
  }
  const shape dims = r.dims(r.in(0));
  r.expect(!dims.empty() && dims.back() == w.n_in, "has an input whose rows have not K numbers");
  const int64_t n_rows = product_of(dims, 0, dims.size() - 1);
  std::vector<int> inputs = {r.reshaped(r.in(0), {n_rows, w.n_in}), r.weight(std::move(t), {w.n_out, w.n_in})};
  if (r.has(5)) inputs.push_back(r.in(5));
  const int y = r.made("Gemm", inputs, {n_rows, w.n_out}, {{"transB", rewriter::of(int64_t{1})}});
  r.finish(r.reshaped(y, r.out_dims()));
}

// (x, weights, scales, zero points, bias): the rows that heed quantises on their way are quantised here, too.
void dynamic_quantize_matmul(rewriter &r) {
  const shape dims = r.dims(r.in(1));
  r.expect(r.is_constant(r.in(1)) && dims.size() == 2, "is known with a constant matrix alone");
  std::vector<int> quantised = {r.in(1), r.in(2)};
  if (r.has(3)) quantised.push_back(r.in(3));
  const int w = r.made("DequantizeLinear", quantised, dims, {{"axis", rewriter::of(int64_t{1})}});
  const int y = r.product(r.in(0), w);
  r.finish(r.has(4) ? r.both("Add", y, r.in(4)) : y);
}

}  // namespace

void add_narrow_products(rewritings &all) {
  all["com.microsoft.MatMulNBits"] = matmul_nbits;
  all["com.microsoft.DynamicQuantizeMatMul"] = dynamic_quantize_matmul;
}

}  // namespace heed_compile
