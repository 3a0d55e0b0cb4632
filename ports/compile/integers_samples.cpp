// The samples of heed_compile --integers. See integers.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "../import/convert.hpp"
#include "../import/file_bytes.hpp"
#include "../import/readers.hpp"
#include "integers.hpp"

namespace heed_compile {
namespace {

std::string shape_text(const std::vector<uint64_t> &dims) {
  std::string text = "(";
  for (size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  return text + ")";
}

std::string place(uint64_t row, uint64_t number) {
  return "sample " + std::to_string(row) + ", number " + std::to_string(number) + " (both counted from 0): ";
}

std::vector<sample> read_pictures(const network &net, heed_import::span file) {
  const std::vector<tensor> all = heed_import::read_npy(file, "rows");
  const tensor &t = all.at(0);
  const auto size = static_cast<uint32_t>(net.image_size), channels = static_cast<uint32_t>(net.n_channels);
  const std::string wanted = "(n, " + std::to_string(size) + ", " + std::to_string(size) + ", " +
                             std::to_string(channels) + "): pictures, rows of pixels with their channels side by side";
  if (!t.left_out.empty()) throw refusal("has no numbers; a sample for each row is needed: " + wanted);
  const std::vector<uint64_t> dims(t.dims.begin(), t.dims.end());
  if (t.dims.size() != 4 || t.dims[1] != size || t.dims[2] != size || t.dims[3] != channels)
    throw refusal("has the shape " + shape_text(dims) + ", and not " + wanted);
  if (t.dtype == HEED_FILE_U8 || t.dtype == HEED_FILE_I8)
    throw refusal(
        "holds bytes, and not the floats that the model was trained with, such as (byte / 255 - mean) / "
        "deviation");
  const std::vector<float> numbers = heed_import::floats_of(t);
  const size_t each = numbers.size() / t.dims[0];
  std::vector<sample> samples;
  for (size_t row = 0; row < t.dims[0]; ++row) {
    const auto from = numbers.begin() + static_cast<ptrdiff_t>(row * each);
    sample s;
    s.pixels.assign(from, from + static_cast<ptrdiff_t>(each));
    for (size_t i = 0; i < each; ++i)
      if (!std::isfinite(s.pixels[i])) throw refusal(place(row, i) + "is infinite or no number");
    samples.push_back(std::move(s));
  }
  return samples;
}

std::vector<sample> read_texts(const network &net, const choices &c, heed_import::span file) {
  std::vector<uint64_t> dims;
  const std::vector<int64_t> numbers = heed_import::read_npy_integers(file, dims);
  const auto most = static_cast<uint64_t>(context_of(net, c));
  const std::string wanted = "(n, length): tokens of texts, at most " + std::to_string(most) + " of each";
  if (dims.size() != 2 || dims[1] > most) throw refusal("has the shape " + shape_text(dims) + ", and not " + wanted);
  if (numbers.empty()) throw refusal("has no numbers; a sample for each row is needed: " + wanted);
  std::vector<sample> samples;
  for (uint64_t row = 0; row < dims[0]; ++row) {
    sample s;
    bool is_over = false;  // -1 fills the row of a text that is shorter than others
    for (uint64_t i = 0; i < dims[1]; ++i) {
      const int64_t token = numbers[row * dims[1] + i];
      is_over = is_over || (token == -1 && i > 0);
      if (is_over ? token != -1 : token < 0 || token >= net.n_tokens)
        throw refusal(place(row, i) + "is " + std::to_string(token) + ", and the model has tokens from 0 to " +
                      std::to_string(net.n_tokens - 1) + "; -1 fills the end of a short text");
      if (!is_over) s.tokens.push_back(static_cast<int32_t>(token));
    }
    samples.push_back(std::move(s));
  }
  return samples;
}

}  // namespace

std::vector<sample> read_samples(const network &net, const choices &c, const std::string &path) {
  try {
    const heed_import::file_bytes file(path);
    return net.what == task::vision ? read_pictures(net, file.all()) : read_texts(net, c, file.all());
  } catch (const refusal &error) {
    throw refusal("--integers: " + path + ": " + error.what());
  }
}

void expect_possible_in_integers(const network &net, const choices &c) {
  const auto refuse_if = [&](bool is, const std::string &what) {
    if (is)
      throw refusal("--integers: " + what + " is not possible in integers, and this model (" + net.family + ") has it");
  };
  refuse_if(net.rope.is_used && net.what != task::decoder, "a rotary embedding of an encoder");
  refuse_if(net.local_rope.is_used, "a rotary embedding of its own in layers with a window");
  refuse_if(net.attention_softcap > 0 || net.logits_softcap > 0, "a cap on scores or logits");
  refuse_if(!net.qk_norm.empty(), "a norm of queries and keys");
  refuse_if(net.post_norm, "a norm behind each sublayer");
  refuse_if(net.parallel, "a layer whose sublayers are parallel");
  refuse_if(net.gate_up, "a gate in one matrix with w_up");
  const auto is_short = [&](int32_t window) { return window > 0 && window < context_of(net, c); };
  refuse_if(std::any_of(net.windows.begin(), net.windows.end(), is_short),
            "a sliding window of fewer tokens than the context (--context)");
  refuse_if(net.what == task::speech, "a model of speech");
  refuse_if(net.activation != "heed_gelu" && net.activation != "heed_gelu_tanh" && net.activation != "heed_silu" &&
                net.activation != "heed_relu",
            "the activation " + net.activation);
  refuse_if(net.dim > HEED_INT_MAX_NORM_DIM,
            "a norm of more than " + std::to_string(HEED_INT_MAX_NORM_DIM) + " numbers");
  refuse_if(net.ffn_dim > HEED_INT_MAX_IN, "a product of more than " + std::to_string(HEED_INT_MAX_IN) + " inputs");
  const int64_t patch = int64_t{net.patch_size} * net.patch_size * net.n_channels;
  refuse_if(patch > HEED_INT_MAX_IN, "a patch of more than " + std::to_string(HEED_INT_MAX_IN) + " numbers");
}

}  // namespace heed_compile
