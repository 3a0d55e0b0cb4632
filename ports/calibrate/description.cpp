// See description.hpp. SPDX-License-Identifier: MIT
#include "description.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "../names.hpp"

namespace calibrate {
namespace {

constexpr int32_t most = 32768;  // of any count: int_model.h

// A word of the text.
std::string quoted(const std::string &word) { return "\"" + names::for_terminal(word.substr(0, 40)) + "\""; }

bool is_number(const std::string &word) {
  char *end = nullptr;
  std::strtod(word.c_str(), &end);
  return *end == '\0';
}

class reader {
 public:
  explicit reader(const std::string &path) : path_(path) {
    std::ifstream in(path);
    if (!in) refuse("cannot be opened");
    for (std::string line; std::getline(in, line);) read_line(line.substr(0, line.find('#')));
    if (!in.eof()) refuse("cannot be read");
  }

  [[noreturn]] void refuse(const std::string &why) const { throw std::runtime_error(path_ + ": " + why); }

  bool has(const std::string &name) const { return values_.count(name) > 0; }
  const std::string &text(const std::string &name) const {
    const auto at = values_.find(name);
    if (at == values_.end()) refuse(name + " is missing");
    return at->second;
  }
  double number(const std::string &name, double least, double greatest) const {
    const double x = std::strtod(text(name).c_str(), nullptr);  // read_line has seen that it is one
    if (!(x >= least && x <= greatest)) refuse(name + " is out of range: " + quoted(text(name)));
    return x;
  }
  int32_t size(const std::string &name) const {
    const double x = number(name, 1, most);
    if (x != int32_t(x)) refuse(name + " is not a whole number: " + quoted(text(name)));
    return int32_t(x);
  }
  // 0 if it is not there.
  int32_t flag(const std::string &name) const { return has(name) ? choice(name, {"0", "1"}) : 0; }
  // Which of the words it is.
  int32_t choice(const std::string &name, const std::vector<std::string> &words) const {
    std::string list;
    for (size_t i = 0; i < words.size(); ++i) {
      if (text(name) == words[i]) return int32_t(i);
      list += (i > 0 ? " or " : "") + words[i];
    }
    refuse(name + " is " + list + ", not " + quoted(text(name)));
  }
  bool has_bias(const std::string &name) const { return biases_.count(name) > 0; }
  // A file lies beside the text.
  std::string file(const std::string &name) const {
    const size_t slash = path_.rfind('/');
    if (slash == std::string::npos || text(name)[0] == '/') return text(name);
    return path_.substr(0, slash + 1) + text(name);
  }

 private:
  void read_line(const std::string &line) {
    static const std::set<std::string> known = {"layers", "model_dim", "ffn_dim", "heads",   "kv_heads",   "head_dim",
                                                "norm",   "eps",       "causal",  "gated",   "norm_first", "activation",
                                                "layout", "weights",   "rows",    "sequence"};
    static const std::set<std::string> numbers = {"layers",   "model_dim", "ffn_dim", "heads",
                                                  "kv_heads", "head_dim",  "eps",     "sequence"};
    static const std::set<std::string> files = {"weights", "rows"};
    static const std::set<std::string> parts = {"wq", "wk", "wv", "wo", "w_up", "w_gate", "w_down", "norm1", "norm2"};
    std::istringstream in(line);
    for (std::string word, value; in >> word;) {
      if (word == "biases") {
        for (; in >> value; biases_.insert(value))
          if (!parts.count(value)) refuse("biases names no part of a layer: " + quoted(value));
        return;
      }
      if (!known.count(word)) refuse("nobody knows what " + quoted(word) + " is");
      if (!(in >> value)) refuse(word + " has no value");
      if (numbers.count(word) && !is_number(value)) refuse(word + " is not a number: " + quoted(value));
      if (!files.count(word) && known.count(value)) refuse(word + " has no value: " + quoted(value) + " follows");
      if (!values_.emplace(word, value).second) refuse(word + " comes twice");
    }
  }

  std::string path_;
  std::map<std::string, std::string> values_;
  std::set<std::string> biases_;
};

// All counts of the text, compared with each other: what follows trusts them.
struct counts {
  int32_t layers, dim, hidden, heads, kv_heads, head_dim, sequence, gated;
  uint64_t layer_floats;
};

counts read_counts(const reader &r) {
  counts c = {};
  c.layers = r.size("layers"), c.dim = r.size("model_dim"), c.hidden = r.size("ffn_dim");
  c.heads = r.size("heads"), c.sequence = r.size("sequence"), c.gated = r.flag("gated");
  c.kv_heads = r.has("kv_heads") ? r.size("kv_heads") : c.heads;
  if (!r.has("head_dim") && c.dim % c.heads != 0) r.refuse("heads does not divide model_dim, and there is no head_dim");
  c.head_dim = r.has("head_dim") ? r.size("head_dim") : c.dim / c.heads;
  if (c.heads % c.kv_heads != 0) r.refuse("kv_heads does not divide heads");
  if (c.heads * c.head_dim > most) r.refuse("heads times head_dim is more than " + std::to_string(most));
  if (!c.gated && r.has_bias("w_gate")) r.refuse("biases names w_gate, and the layers are not gated");
  const uint64_t dim = uint64_t(c.dim), hidden = uint64_t(c.hidden), rows = uint64_t(c.heads * c.head_dim),
                 keys = uint64_t(c.kv_heads * c.head_dim);
  c.layer_floats = 2 * dim * rows + 2 * dim * keys + (c.gated ? 3 : 2) * dim * hidden + 2 * dim;
  for (const char *part : {"wo", "w_down", "norm1", "norm2"}) c.layer_floats += r.has_bias(part) ? dim : 0;
  for (const char *part : {"wk", "wv"}) c.layer_floats += r.has_bias(part) ? keys : 0;
  for (const char *part : {"w_up", "w_gate"}) c.layer_floats += r.has_bias(part) ? hidden : 0;
  c.layer_floats += r.has_bias("wq") ? rows : 0;
  return c;
}

// Where a number stands that is none.
std::string place_of(size_t at, size_t width, float x) {
  return "row " + std::to_string(at / width) + ", column " + std::to_string(at % width) +
         ", counted from 0: " + (std::isnan(x) ? "not a number" : "infinite");
}

// Floats of a file. Of `n` or, if that is 0, of any whole number of `piece`.
std::vector<float> read_floats(const std::string &path, uint64_t n, uint64_t piece) {
  const auto refuse = [&](const std::string &why) { throw std::runtime_error(path + ": " + why); };
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) refuse("cannot be opened");
  const std::streamoff bytes = in.tellg();
  if (bytes == 0) refuse("is empty");
  in.seekg(0);
  if (bytes < 0 || in.peek() == EOF) refuse("cannot be read");  // as a folder
  if (bytes % 4 != 0) refuse("ends within a float: it has " + std::to_string(bytes) + " bytes, a float has 4");
  const uint64_t found = uint64_t(bytes) / 4;
  if (n != 0 && found != n) refuse("has " + std::to_string(found) + " floats, the layers need " + std::to_string(n));
  if (n == 0 && found % piece != 0)
    refuse("has " + std::to_string(found) + " floats, no whole number of sequences of " + std::to_string(piece));
  std::vector<float> x(found);
  if (!in.read(reinterpret_cast<char *>(x.data()), bytes)) refuse("cannot be read");
  for (const float v : x)
    if (v != 0) return x;
  throw std::runtime_error(path + ": every number is 0");
}

heed_activation *activation_of(const reader &r) {
  static heed_activation *const functions[] = {heed_gelu, heed_gelu_tanh, heed_silu, heed_relu};
  return functions[r.choice("activation", {"gelu", "gelu_tanh", "silu", "relu"})];
}

// Takes the numbers of the layers one after another; there are as many as counts say.
class taker {
 public:
  taker(const reader &r, const std::vector<float> &numbers) : reader_(r), next_(numbers.data()) {
    layout_ = r.choice("layout", {"in_out", "out_in"}) == 0 ? HEED_IN_OUT : HEED_OUT_IN;
  }
  void begin_layer(size_t i) { layer_ = i; }
  const float *vector(const std::string &name, int32_t n) { return take(name, 1, n); }
  const float *bias(const std::string &of, int32_t n) {
    return reader_.has_bias(of) ? vector(of + "'s bias", n) : nullptr;
  }
  heed_weights matrix(const std::string &name, int32_t n_in, int32_t n_out) {
    const bool in_out = layout_ == HEED_IN_OUT;
    return heed_weights_of(take(name, in_out ? n_in : n_out, in_out ? n_out : n_in), nullptr, HEED_F32, layout_, n_in,
                           n_out);
  }

 private:
  const float *take(const std::string &name, int32_t n_rows, int32_t width) {
    const float *here = next_;
    const size_t n = size_t(n_rows) * size_t(width);
    next_ += n;
    for (size_t i = 0; i < n; ++i)
      if (!std::isfinite(here[i]))
        throw std::runtime_error(reader_.file("weights") + ": layer " + std::to_string(layer_) + ", " + name + ", " +
                                 place_of(i, size_t(width), here[i]));
    return here;
  }

  const reader &reader_;
  const float *next_;
  size_t layer_ = 0;
  int32_t layout_;
};

void take_layer(const reader &r, const counts &c, taker &t, heed_attention_layer &a, heed_transformer_layer &l) {
  const int32_t dim = c.dim, hidden = c.hidden, rows = c.heads * c.head_dim, keys = c.kv_heads * c.head_dim;
  const bool layer_norm = r.choice("norm", {"layer", "rms"}) == 0;
  a = heed_attention_layer_default(dim, c.heads);
  a.n_kv_heads = c.kv_heads;
  a.head_dim = a.v_dim = c.head_dim;
  a.causal = r.flag("causal");
  l = heed_transformer_layer_default(&a, hidden, layer_norm ? heed_layer_norm : heed_rms_norm, activation_of(r));
  l.norm_first = r.flag("norm_first");
  l.eps = static_cast<float>(r.number("eps", 0, 1));
  l.norm1_weight = t.vector("norm1", dim), l.norm1_bias = t.bias("norm1", dim);
  a.wq = t.matrix("wq", dim, rows), a.bq = t.bias("wq", rows);
  a.wk = t.matrix("wk", dim, keys), a.bk = t.bias("wk", keys);
  a.wv = t.matrix("wv", dim, keys), a.bv = t.bias("wv", keys);
  a.wo = t.matrix("wo", rows, dim), a.bo = t.bias("wo", dim);
  l.norm2_weight = t.vector("norm2", dim), l.norm2_bias = t.bias("norm2", dim);
  l.w_up = t.matrix("w_up", dim, hidden), l.b_up = t.bias("w_up", hidden);
  if (c.gated) l.w_gate = t.matrix("w_gate", dim, hidden), l.b_gate = t.bias("w_gate", hidden);
  l.w_down = t.matrix("w_down", hidden, dim), l.b_down = t.bias("w_down", dim);
}

}  // namespace

described_model read_description(const std::string &path) {
  const reader r(path);
  const counts c = read_counts(r);
  described_model m;
  m.files = {path, r.file("weights"), r.file("rows")};
  m.numbers = read_floats(r.file("weights"), uint64_t(c.layers) * c.layer_floats, 0);
  taker t(r, m.numbers);
  m.attentions.resize(size_t(c.layers));
  m.layers.resize(m.attentions.size());
  for (size_t i = 0; i < m.layers.size(); ++i) {
    t.begin_layer(i);
    take_layer(r, c, t, m.attentions[i], m.layers[i]);
  }
  const size_t piece = size_t(c.sequence) * size_t(c.dim);
  const std::vector<float> rows = read_floats(r.file("rows"), 0, piece);
  for (size_t i = 0; i < rows.size(); ++i)
    if (!std::isfinite(rows[i])) throw std::runtime_error(r.file("rows") + ": " + place_of(i, size_t(c.dim), rows[i]));
  for (size_t at = 0; at < rows.size(); at += piece)
    m.sequences.emplace_back(rows.begin() + ptrdiff_t(at), rows.begin() + ptrdiff_t(at + piece));
  return m;
}

}  // namespace calibrate
