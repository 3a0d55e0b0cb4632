// The tensors of a program: in its names, cut out of matrices that lie side by side, in its formats. See network.hpp.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <set>

#include "../import/convert.hpp"
#include "network.hpp"

namespace heed_compile {
namespace {

using heed_import::bytes;
using heed_import::span;

// "layers.{}.wq" of layer 3 is "layers.3.wq".
std::string of_layer(std::string name, int32_t layer) {
  const size_t at = name.find("{}");
  return at == std::string::npos ? name : name.replace(at, 2, std::to_string(layer));
}

// Names that older files have: gamma and beta of a norm in those of 2018 and 2019, which BERT's own still are, and Moonshine's before
// it came to transformers, which its exports to ONNX keep.
std::string old_name(const std::string &name) {
  static const std::pair<const char *, const char *> endings[] = {
      {"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"},
      {".o_proj.weight", ".dense.weight"},     {".mlp.fc1.weight", ".mlp.up_proj.weight"},
      {".mlp.fc1.bias", ".mlp.up_proj.bias"},  {".mlp.fc2.weight", ".mlp.down_proj.weight"},
      {".mlp.fc2.bias", ".mlp.down_proj.bias"}};
  for (const auto &[now, then] : endings) {
    const std::string end = now;
    if (name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0)
      return name.substr(0, name.size() - end.size()) + then;
  }
  return name;
}

// Rows of a matrix (n_out, n_in), in any format whose rows are whole numbers of bytes.
tensor rows_of(const tensor &t, const std::vector<uint32_t> &rows) {
  const uint64_t row_bytes = heed_import::bytes_of(t) / t.dims[0];
  const span all = t.numbers();
  tensor part;
  part.name = t.name, part.dtype = t.dtype, part.layout = t.layout, part.dims = t.dims;
  part.dims[0] = static_cast<uint32_t>(rows.size());
  bytes numbers;
  for (const uint32_t row : rows)
    numbers.insert(numbers.end(), all.data + row * row_bytes, all.data + (row + 1) * row_bytes);
  part.own(std::move(numbers));
  if (t.scales.size() == t.dims[0])
    for (const uint32_t row : rows) part.scales.push_back(t.scales[row]);
  else
    part.scales = t.scales;
  return part;
}

// Which rows of the source a weight has.
std::vector<uint32_t> rows_wanted(const network &net, const weight &w) {
  std::vector<uint32_t> rows;
  if (w.by_heads) {
    for (int32_t head = 0; head < net.n_heads; ++head)
      for (int32_t i = 0; i < net.head_dim; ++i)
        rows.push_back(static_cast<uint32_t>((head * w.parts + w.part) * net.head_dim + i));
    return rows;
  }
  const int32_t n = w.n_rows > 0 ? w.n_rows : w.n_out, first = w.n_rows > 0 ? w.first : w.part * w.n_out;
  for (int32_t i = 0; i < n; ++i) rows.push_back(static_cast<uint32_t>(first + i));
  return rows;
}

tensor copy_of(const tensor &t) {
  tensor copy;
  copy.name = t.name, copy.dtype = t.dtype, copy.layout = t.layout, copy.dims = t.dims;
  copy.scales = t.scales, copy.zeros = t.zeros, copy.float_zeros = t.float_zeros;
  copy.refer(t.numbers());
  return copy;
}

void expect_shape(const tensor &t, const weight &w, uint64_t n_rows) {
  const uint64_t wanted = static_cast<uint64_t>(w.n_in > 0 ? w.n_in : 1) * n_rows;
  if (t.count() != wanted)
    heed_import::refuse(t.name, "has the shape " + heed_import::shape_text(t) + ", and not " + std::to_string(n_rows) +
                                    (w.n_in > 0 ? " x " + std::to_string(w.n_in) : ""));
}

// A weight of one layer, or of none.
tensor cut(const network &net, const weight &w, const tensor &source) {
  if (!source.refused.empty()) heed_import::refuse(source.name, source.refused);
  tensor t = copy_of(source);
  const bool is_matrix = w.n_in > 0;
  // Conv1D of GPT-2 has (in, out). It is the one matrix in the other order, and is known by its shape or by its family.
  const bool is_turned =
      is_matrix && net.family == "gpt2" && net.source == "safetensors" && w.source.find("h.{}") != std::string::npos;
  if (is_turned) t.layout = HEED_IN_OUT, heed_import::transpose(t);
  const bool is_part = w.parts > 1 || w.n_rows > 0;
  if (is_part) {
    const std::vector<uint32_t> rows = rows_wanted(net, w);
    if (t.dims.size() != (is_matrix ? 2u : 1u)) heed_import::refuse(source.name, "has another number of dimensions");
    if (rows.empty() || rows.back() >= t.dims[0])
      heed_import::refuse(source.name, "has fewer rows than its parts need");
    t = rows_of(t, rows);
  }
  expect_shape(t, w, static_cast<uint64_t>(w.n_out));
  if (is_matrix) t.dims = {static_cast<uint32_t>(w.n_out), static_cast<uint32_t>(w.n_in)};
  return t;
}

// A convolution over patches of an image, (dim, channels, height, width), as rows of pixels with their channels side by side:
// (dim, height, width, channels), which is the order in which a picture lies in memory.
void reorder_patches(const network &net, tensor &t) {
  const std::vector<float> from = heed_import::floats_of(t);
  const auto size = static_cast<size_t>(net.patch_size), channels = static_cast<size_t>(net.n_channels);
  bytes to;
  for (size_t o = 0; o < static_cast<size_t>(net.dim); ++o)
    for (size_t y = 0; y < size; ++y)
      for (size_t x = 0; x < size; ++x)
        for (size_t c = 0; c < channels; ++c) heed_import::put(to, from[((o * channels + c) * size + y) * size + x]);
  t.dtype = HEED_F32;
  t.scales.clear(), t.zeros.clear(), t.float_zeros.clear();
  t.own(std::move(to));
}

// A convolution over time, (n_out, channels, kernel), as rows of time steps with their channels side by side: (n_out, kernel, channels).
void reorder_steps(const weight &w, tensor &t) {
  const std::vector<float> from = heed_import::floats_of(t);
  const auto n_in = static_cast<size_t>(w.n_in), kernel = static_cast<size_t>(w.kernel), channels = n_in / kernel;
  bytes to;
  for (size_t row = 0; row < from.size(); row += n_in)
    for (size_t step = 0; step < kernel; ++step)
      for (size_t c = 0; c < channels; ++c) heed_import::put(to, from[row + c * kernel + step]);
  t.dtype = HEED_F32;
  t.scales.clear(), t.zeros.clear(), t.float_zeros.clear();
  t.own(std::move(to));
}

// The mean of two products is one product with both rows and half of each matrix.
tensor halves_of(const tensor &a, const tensor &b) {
  const std::vector<float> first = heed_import::floats_of(a), second = heed_import::floats_of(b);
  const bool is_matrix = a.dims.size() == 2;
  const size_t n_rows = is_matrix ? a.dims[0] : 1, n_in = first.size() / n_rows;
  bytes to;
  for (size_t row = 0; row < n_rows; ++row) {
    for (size_t i = row * n_in; i < (row + 1) * n_in; ++i)
      heed_import::put(to, is_matrix ? first[i] / 2 : (first[i] + second[i]) / 2);
    for (size_t i = row * n_in; is_matrix && i < (row + 1) * n_in; ++i) heed_import::put(to, second[i] / 2);
  }
  tensor t;
  t.dims = a.dims;
  if (is_matrix) t.dims[1] *= 2;
  t.own(std::move(to));
  return t;
}

// In the source's format and the program's order.
tensor whole(const network &net, const plan &p) {
  tensor t = cut(net, *p.what, *p.source);
  if (p.beside != nullptr) return halves_of(t, cut(net, *p.what, *p.beside));
  if (p.name == "patches") reorder_patches(net, t);
  if (p.what->kernel > 0) reorder_steps(*p.what, t);
  return t;
}

heed_import::wish wish_for(const plan &p, const std::vector<heed_import::format_rule> &formats) {
  heed_import::wish w;
  w.dtype = kept_format(*p.source);
  for (const heed_import::format_rule &rule : formats)
    if (rule.pattern.empty() || heed_import::matches(rule.pattern, p.name) ||
        heed_import::matches(rule.pattern, p.source->name))
      w = rule.what;
  w.packed = true;
  // Blocks need whole ones along the inputs.
  if ((w.dtype == HEED_Q8_0 || w.dtype == HEED_Q4_0) && p.what->n_in % 32 != 0) w.dtype = HEED_F16;
  return w;
}

}  // namespace

int32_t kept_format(const tensor &t) {
  if (t.dtype >= HEED_F32 && t.dtype <= HEED_Q4_0) return t.dtype;
  if (heed_import::in_blocks(t.dtype)) return HEED_Q8_0;
  const bool is_of_bytes = t.dtype == HEED_FILE_U8 || t.dtype == HEED_FILE_I8;
  return is_of_bytes && t.float_zeros.empty() ? HEED_UINT8 : HEED_F32;
}

std::vector<plan> plans_of(const network &net, const std::vector<tensor> &all) {
  std::map<std::string, const tensor *> sources;
  for (const tensor &t : all)
    if (!t.name.empty()) sources.emplace(t.name, &t);
  std::vector<plan> plans;
  for (const weight &w : net.weights) {
    const bool is_in_layers = w.name.find("{}") != std::string::npos;
    const int32_t n_layers = w.n_layers > 0 ? w.n_layers : net.n_layers, end = w.first_layer + n_layers;
    for (int32_t layer = w.first_layer; layer < (is_in_layers ? end : 1); ++layer) {
      const std::string name = of_layer(w.source, layer - w.first_layer);
      auto found = sources.find(name);
      if (found == sources.end()) found = sources.find(old_name(name));
      if (found == sources.end()) {
        if (w.is_optional) continue;
        throw refusal("there is no tensor " + names::for_terminal(name));
      }
      const auto beside = w.beside.empty() ? sources.end() : sources.find(w.beside);
      plans.push_back({of_layer(w.name, layer), &w, found->second, beside == sources.end() ? nullptr : beside->second});
    }
  }
  return plans;
}

void expect_all_used(const network &net, const std::vector<plan> &plans, const std::vector<tensor> &all) {
  std::set<std::string> layers, used;  // what names of layers begin with; the names that are taken
  for (const weight &w : net.weights) {
    const size_t at = w.source.find("{}");
    if (at != std::string::npos) layers.insert(w.source.substr(0, at));
  }
  for (const plan &p : plans) used.insert(p.source->name);
  const auto is_table = [](const std::string &name) {  // of masks and angles, which some files have
    for (const std::string end : {"inv_freq", ".masked_bias", ".attn.bias", ".attention.bias"})
      if (name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0) return true;
    return false;
  };
  for (const tensor &t : all) {
    const bool is_layer = std::any_of(layers.begin(), layers.end(), [&](const std::string &begin) {
      return t.name.compare(0, begin.size(), begin) == 0;
    });
    if (is_layer && used.count(t.name) == 0 && !is_table(t.name))
      heed_import::refuse(t.name,
                          "is no weight of a layer in the family " + net.family + ", as far as heed_compile knows it");
  }
}

tensor made(const network &net, const plan &p, const std::vector<heed_import::format_rule> &formats) {
  tensor t = whole(net, p);
  heed_import::wish floats;
  floats.dtype = HEED_F32;
  heed_import::convert(t, p.what->n_in > 0 ? wish_for(p, formats) : floats);
  t.name = p.name;
  return t;
}

std::vector<double> numbers_of(const network &net, const plan &p) {
  const std::vector<float> numbers = heed_import::floats_of(whole(net, p));
  return {numbers.begin(), numbers.end()};
}

std::vector<tensor> more_tensors(const network &net, std::vector<tensor> &all) {
  std::vector<tensor> more;
  for (const auto &[name, rope] :
       {std::pair<std::string, const rope_settings *>{"rope", &net.rope}, {"local_rope", &net.local_rope}}) {
    if (rope->frequencies.empty()) continue;
    tensor t;
    bytes numbers;
    for (const float f : rope->frequencies) heed_import::put(numbers, f);
    t.name = name + "_frequencies", t.dims = {static_cast<uint32_t>(rope->frequencies.size())};
    t.own(std::move(numbers));
    more.push_back(std::move(t));
  }
  if (net.what == task::speech && !net.speech.takes_samples) more = spectrogram_tensors(net);
  for (tensor &t : all)
    if (t.name.compare(0, 9, "tokenizer") == 0 && t.is_metadata && t.left_out.empty()) more.push_back(std::move(t));
  return more;
}

}  // namespace heed_compile
