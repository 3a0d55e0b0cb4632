// See dreams_map.hpp. SPDX-License-Identifier: MIT
#include "dreams_map.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace {

std::string text_of(const dreams_words &words, int32_t previous, int32_t token) {
  std::string text(size_t(words.longest) + 1, ' ');
  text.resize(size_t(dreams_decode(&words, previous, token, &text[0], int32_t(text.size()))));
  return text;
}

// A label shows where a blank stands.
std::string label_of(const std::string &text) {
  std::string label;
  for (const char c : text) label += c == ' ' ? '_' : c;
  return label.empty() ? "(begin)" : label;
}

// Reads the tokens one by one; weights (layers, heads, n, n), NaN where nothing is seen.
std::vector<float> read_all(dreams &net, const std::vector<int32_t> &tokens) {
  const size_t n = tokens.size(), n_layers = size_t(net.model.n_layers), n_heads = size_t(net.model.n_heads);
  std::vector<float> weights(n_layers * n_heads * n * n, NAN);
  std::vector<heed_attention_weights> outputs(n_layers);
  std::vector<heed_options> options(n_layers, heed_options_default());
  dreams_restart(&net);
  dreams_status status = DREAMS_OK;
  for (size_t t = 0; t < n && status == DREAMS_OK; ++t) {
    for (size_t l = 0; l < n_layers; ++l) {
      float *row = &weights[(l * n_heads * n + t) * n];  // of head 0; that of head h lies h * n * n further
      heed_tensor_out out = heed_head_major_out(row, int32_t(n), int32_t(n_heads), int32_t(n));
      if (heed_attention_weights_init(&outputs[l], out) != HEED_OK) throw std::runtime_error("no weights of attention");
      options[l].weights = &outputs[l];
    }
    net.options = options.data();
    status = dreams_read(&net, &tokens[t], 1, nullptr, 0);
  }
  net.options = nullptr;
  if (status != DREAMS_OK) throw std::runtime_error(std::string("the text: ") + dreams_status_text(status));
  return weights;
}

}  // namespace

heed_map::picture dreams_attention(dreams &net, const dreams_words &words, const std::vector<int32_t> &tokens,
                                   size_t n_prompt) {
  const size_t n = tokens.size();
  const std::vector<float> weights = read_all(net, tokens);
  heed_map::axis labels;
  std::string prompt, text;
  for (size_t t = 0; t < n; ++t) {
    const std::string token = t > 0 ? text_of(words, tokens[t - 1], tokens[t]) : "";
    labels.labels.push_back(label_of(token));
    (t < n_prompt ? prompt : text) += token;
  }
  heed_map::picture p;
  p.title = "\"" + prompt + "\" goes on:" + text;
  p.note = "what each token attends to; _ is a blank";
  p.across = net.model.n_heads;
  for (int32_t l = 0; l < net.model.n_layers; ++l)
    for (int32_t h = 0; h < net.model.n_heads; ++h) {
      heed_map::panel of;
      of.title = "layer " + std::to_string(l + 1) + ", head " + std::to_string(h + 1);
      of.rows = of.columns = labels;
      of.rows.name = "query", of.columns.name = "key";
      of.n_rows = of.n_columns = int(n);
      const auto first = weights.begin() + ptrdiff_t(size_t(l * net.model.n_heads + h) * n * n);
      of.values.assign(first, first + ptrdiff_t(n * n));
      p.panels.push_back(of);
    }
  return p;
}
