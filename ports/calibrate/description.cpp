// See description.hpp. SPDX-License-Identifier: MIT
#include "description.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

namespace calibrate {
namespace {

class reader {
 public:
  explicit reader(const std::string &path) : path_(path) {
    std::ifstream in(path);
    if (!in) refuse("cannot be opened");
    for (std::string line; std::getline(in, line);) read_line(line.substr(0, line.find('#')));
  }

  [[noreturn]] void refuse(const std::string &why) const { throw std::runtime_error(path_ + ": " + why); }

  const std::string &text(const std::string &name) const {
    const auto at = values_.find(name);
    if (at == values_.end()) refuse(name + " is missing");
    return at->second;
  }
  std::string text(const std::string &name, const std::string &otherwise) const {
    return values_.count(name) ? text(name) : otherwise;
  }
  double number(const std::string &name) const {
    char *end = nullptr;
    const double x = std::strtod(text(name).c_str(), &end);
    if (*end != '\0') refuse(name + " is not a number: " + text(name));
    return x;
  }
  int32_t size(const std::string &name) const {
    const double x = number(name);
    if (!(x >= 1 && x <= 32768) || x != int32_t(x)) refuse(name + " is not a whole number of 1 to 32768");
    return int32_t(x);
  }
  int32_t size(const std::string &name, int32_t otherwise) const {
    return values_.count(name) ? size(name) : otherwise;
  }
  int32_t flag(const std::string &name) const {
    const std::string value = text(name, "0");
    if (value != "0" && value != "1") refuse(name + " is not 0 or 1");
    return value == "1";
  }
  bool has_bias(const std::string &name) const { return biases_.count(name) > 0; }

  // Floats of the file that `name` names, beside the text.
  std::vector<float> floats(const std::string &name) const {
    const size_t slash = path_.rfind('/');
    const std::string file =
        slash == std::string::npos || text(name)[0] == '/' ? text(name) : path_.substr(0, slash + 1) + text(name);
    std::ifstream in(file, std::ios::binary);
    if (!in) refuse(file + " cannot be opened");
    const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    if (bytes.empty() || bytes.size() % 4 != 0) refuse(file + " does not hold floats");
    std::vector<float> x(bytes.size() / 4);
    std::memcpy(x.data(), bytes.data(), bytes.size());
    return x;
  }

 private:
  void read_line(const std::string &line) {
    static const std::set<std::string> known = {
        "layers", "model_dim", "hidden_dim", "heads",      "kv_heads", "head_dim", "norm", "eps",
        "causal", "gated",     "norm_first", "activation", "layout",   "weights",  "rows", "sequence"};
    std::istringstream in(line);
    for (std::string word, value; in >> word;) {
      if (word == "biases") {
        while (in >> value) biases_.insert(value);
        return;
      }
      if (!known.count(word)) refuse("nobody knows what " + word + " is");
      if (!(in >> value)) refuse(word + " has no value");
      if (!values_.emplace(word, value).second) refuse(word + " comes twice");
    }
  }

  std::string path_;
  std::map<std::string, std::string> values_;
  std::set<std::string> biases_;
};

heed_activation *activation_of(const reader &r) {
  const std::string name = r.text("activation");
  if (name == "gelu") return heed_gelu;
  if (name == "gelu_tanh") return heed_gelu_tanh;
  if (name == "silu") return heed_silu;
  if (name == "relu") return heed_relu;
  r.refuse("the activation is gelu, gelu_tanh, silu or relu, not " + name);
}

// Takes the numbers of a layer one after another.
class taker {
 public:
  taker(const reader &r, const std::vector<float> &numbers) : reader_(r), numbers_(numbers) {
    const std::string layout = r.text("layout");
    if (layout != "out_in" && layout != "in_out") r.refuse("the layout is out_in or in_out, not " + layout);
    layout_ = layout == "out_in" ? HEED_OUT_IN : HEED_IN_OUT;
  }
  const float *floats(size_t n) {
    if (n > numbers_.size() - at_) reader_.refuse("the weights end too early");
    at_ += n;
    return numbers_.data() + at_ - n;
  }
  const float *bias(const char *name, int32_t n) { return reader_.has_bias(name) ? floats(size_t(n)) : nullptr; }
  heed_weights matrix(int32_t n_in, int32_t n_out) {
    return heed_weights_of(floats(size_t(n_in) * size_t(n_out)), nullptr, HEED_F32, layout_, n_in, n_out);
  }
  bool at_end() const { return at_ == numbers_.size(); }

 private:
  const reader &reader_;
  const std::vector<float> &numbers_;
  size_t at_ = 0;
  int32_t layout_;
};

void take_layer(const reader &r, taker &t, heed_attention_layer &a, heed_transformer_layer &l) {
  const int32_t dim = r.size("model_dim"), hidden = r.size("hidden_dim"), heads = r.size("heads");
  const int32_t kv_heads = r.size("kv_heads", heads), head_dim = r.size("head_dim", dim / heads);
  const int32_t rows = heads * head_dim, keys = kv_heads * head_dim;
  const std::string norm = r.text("norm");
  if (norm != "layer" && norm != "rms") r.refuse("the norm is layer or rms, not " + norm);
  a = heed_attention_layer_default(dim, heads);
  a.n_kv_heads = kv_heads;
  a.head_dim = a.v_dim = head_dim;
  a.causal = r.flag("causal");
  l = heed_transformer_layer_default(&a, hidden, norm == "layer" ? heed_layer_norm : heed_rms_norm, activation_of(r));
  l.norm_first = r.flag("norm_first");
  l.eps = static_cast<float>(r.number("eps"));
  l.norm1_weight = t.floats(size_t(dim)), l.norm1_bias = t.bias("norm1", dim);
  a.wq = t.matrix(dim, rows), a.bq = t.bias("wq", rows);
  a.wk = t.matrix(dim, keys), a.bk = t.bias("wk", keys);
  a.wv = t.matrix(dim, keys), a.bv = t.bias("wv", keys);
  a.wo = t.matrix(rows, dim), a.bo = t.bias("wo", dim);
  l.norm2_weight = t.floats(size_t(dim)), l.norm2_bias = t.bias("norm2", dim);
  l.w_up = t.matrix(dim, hidden), l.b_up = t.bias("w_up", hidden);
  if (r.flag("gated")) l.w_gate = t.matrix(dim, hidden), l.b_gate = t.bias("w_gate", hidden);
  l.w_down = t.matrix(hidden, dim), l.b_down = t.bias("w_down", dim);
}

}  // namespace

described_model read_description(const std::string &path) {
  const reader r(path);
  described_model m;
  m.numbers = r.floats("weights");
  taker t(r, m.numbers);
  m.attentions.resize(size_t(r.size("layers")));
  m.layers.resize(m.attentions.size());
  for (size_t i = 0; i < m.layers.size(); ++i) take_layer(r, t, m.attentions[i], m.layers[i]);
  if (!t.at_end()) r.refuse("the weights have more numbers than the layers");
  const std::vector<float> rows = r.floats("rows");
  const size_t piece = size_t(r.size("sequence")) * size_t(r.size("model_dim"));
  if (rows.size() % piece != 0) r.refuse("the rows are no whole number of sequences");
  for (size_t at = 0; at < rows.size(); at += piece)
    m.sequences.emplace_back(rows.begin() + ptrdiff_t(at), rows.begin() + ptrdiff_t(at + piece));
  return m;
}

}  // namespace calibrate
