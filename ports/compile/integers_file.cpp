// The numbers of a model in integers as structs of C, and as tensors of the program's file. See integers.hpp.
// SPDX-License-Identifier: MIT
#include "integers.hpp"

namespace heed_compile {
namespace {

using calibrate::int_linear;
using calibrate::int_norm;

class builder {
 public:
  explicit builder(const network &net) : net_(net) {}

  // source: the program's name of the tensor that the numbers are made of, whose name in the model's file becomes a comment.
  template <class T>
  void words(const std::string &name, const std::string &size, const T *numbers, size_t n, const std::string &source) {
    line(part_.words, "int32_t", name, size, source);
    for (size_t i = 0; i < n; ++i) heed_import::put(part_.words.numbers, static_cast<uint32_t>(numbers[i]), 4);
  }
  void word(const std::string &name, int64_t number, const char *type = "int32_t") {
    line(part_.words, type, name, "", "");
    heed_import::put(part_.words.numbers, static_cast<uint32_t>(number), 4);
  }
  void multipliers(const std::string &name, const std::string &size, const heed_multiplier *m, size_t n) {
    line(part_.words, "heed_multiplier", name, size, "");
    for (size_t i = 0; i < n; ++i) {
      heed_import::put(part_.words.numbers, static_cast<uint32_t>(m[i].m), 4);
      heed_import::put(part_.words.numbers, static_cast<uint32_t>(m[i].e), 4);
    }
  }
  void multiplier(const std::string &name, heed_multiplier m) { multipliers(name, "", &m, 1); }
  void bytes(const std::string &name, const std::string &size, const int8_t *numbers, size_t n,
             const std::string &source) {
    line(part_.bytes, "int8_t", name, size, source);
    const auto *const from = reinterpret_cast<const uint8_t *>(numbers);
    part_.bytes.numbers.insert(part_.bytes.numbers.end(), from, from + n);
  }

  // A matrix (n_out, n_in), of_ and bias_ of its name.
  void linear(const std::string &name, const std::string &n_out, const std::string &n_in, const heed_int_projection &l,
              const std::string &source, const std::string &source_of_bias) {
    const auto outputs = static_cast<size_t>(l.w.n_out), inputs = static_cast<size_t>(l.w.n_in);
    bytes(name, factor(n_out) + " * " + factor(n_in), static_cast<const int8_t *>(l.w.data), outputs * inputs, source);
    of_outputs(name, n_out, l, source_of_bias);
  }
  // The same without the numbers of the matrix.
  void of_outputs(const std::string &name, const std::string &n_out, const heed_int_projection &l,
                  const std::string &source_of_bias) {
    const auto outputs = static_cast<size_t>(l.w.n_out);
    multipliers("of_" + name, n_out, l.multipliers, outputs);
    words("bias_" + name, n_out, l.bias, outputs, source_of_bias);
  }
  // has_channels: as many scales follow the weights.
  void norm(const std::string &name, const std::string &dim, const heed_int_norm &n, const std::string &source,
            bool has_channels = false) {
    const auto count = static_cast<size_t>(net_.dim);
    words(name + "_weight", has_channels ? "2 * " + dim : dim, n.weight, has_channels ? 2 * count : count,
          source.empty() ? "" : source + "_weight");
    words(name + "_bias", dim, n.bias, count, source.empty() ? "" : source + "_bias");
    word(name + "_shift", n.shift);
    word(name + "_eps", n.eps, "uint32_t");
  }
  void table(const std::string &name, const std::string &rows, const std::string &dim, const int_table &t) {
    bytes(name, factor(rows) + " * " + dim, t.numbers.data(), t.numbers.size(), name);
    multipliers("of_" + name, rows, t.units.data(), t.units.size());
  }
  integer_part take() { return std::move(part_); }

 private:
  static std::string factor(const std::string &size) {
    return size.find(' ') == std::string::npos ? size : "(" + size + ")";
  }
  void line(integer_struct &to, const std::string &type, const std::string &name, const std::string &size,
            const std::string &source) {
    const std::string from = source.empty() ? "" : source_of(net_, source);
    to.fields += "  " + type + " " + name + (size.empty() ? "" : "[" + size + "]") + ";" +
                 (from.empty() ? "" : "  /* " + names::for_c(from) + " */") + "\n";
  }

  const network &net_;
  integer_part part_;
};

tensor words_tensor(const std::string &name, integer_struct &of) {
  tensor t;
  t.name = name, t.dtype = HEED_FILE_I32, t.is_metadata = true;
  t.dims = {static_cast<uint32_t>(of.numbers.size() / 4)};
  t.own(std::move(of.numbers));
  return t;
}

// Their units are among the words.
tensor bytes_tensor(const std::string &name, integer_struct &of) {
  if (of.numbers.size() > INT32_MAX) throw refusal("--integers: " + name + " has 2^31 bytes or more");
  tensor t;
  t.name = name, t.dtype = HEED_FILE_I8, t.scales = {1}, t.zeros = {0};
  t.dims = {static_cast<uint32_t>(of.numbers.size())};
  t.own(std::move(of.numbers));
  return t;
}

void add(std::vector<tensor> &all, const std::string &prefix, integer_part part) {
  all.push_back(words_tensor(prefix + "words", part.words));
  all.push_back(bytes_tensor(prefix + "bytes", part.bytes));
}

}  // namespace

integer_part part_of_layer(const network &net, const integer_model &m, int32_t layer, const std::string &NAME) {
  const calibrate::int_layer &of = m.layers[static_cast<size_t>(layer)];
  const heed_int_layer &l = of.layer();
  const std::string dim = NAME + "_DIM", ffn = NAME + "_FFN_DIM", q = NAME + "_HEADS * " + NAME + "_HEAD_DIM",
                    k = NAME + "_KV_HEADS * " + NAME + "_HEAD_DIM", at = "layers.{}.";
  builder b(net);
  b.multiplier("score", l.score), b.multiplier("value", l.value);
  if (!net.norm_first) b.multiplier("to_h", l.to_h), b.multiplier("to_g", l.to_g);
  b.multiplier("of_x", l.of_x), b.multiplier("of_attention", l.of_attention);
  b.multiplier("of_a", l.of_a), b.multiplier("of_hidden", l.of_hidden);
  const bool gated = l.w_gate.w.data != nullptr;
  if (gated) b.multiplier("gate", l.gate);
  b.norm("norm1", dim, l.norm1, at + "norm1", of.has_channels());
  b.norm("norm2", dim, l.norm2, at + "norm2", of.has_channels());
  b.linear("wq", q, dim, l.wq, at + "wq", at + "bq");
  b.linear("wk", k, dim, l.wk, at + "wk", at + "bk");
  b.linear("wv", k, dim, l.wv, at + "wv", at + "bv");
  b.linear("wo", dim, q, l.wo, at + "wo", at + "bo");
  b.linear("w_up", ffn, dim, l.w_up, at + "w_up", at + "b_up");
  if (gated) b.linear("w_gate", ffn, dim, l.w_gate, at + "w_gate", at + "b_gate");
  b.linear("w_down", dim, ffn, l.w_down, at + "w_down", at + "b_down");
  b.bytes("activation", "256", l.activation, 256, "");
  return b.take();
}

namespace {

integer_part part_of_decoder(const network &net, const integer_model &m, const std::string &NAME) {
  const std::string dim = NAME + "_DIM", tokens = NAME + "_TOKENS";
  builder b(net);
  b.table("embedding", tokens, dim, m.embedding);
  if (!m.positions.numbers.empty()) b.table("positions", NAME + "_CONTEXT", dim, m.positions);
  b.norm("final_norm", dim, m.final_norm.view(), "final_norm");
  b.word("head_zero", m.head.zero);
  if (m.is_tied)
    b.of_outputs("classifier", tokens, m.classes.view(), "");
  else
    b.linear("classifier", tokens, dim, m.classes.view(), net.is_tied ? "embedding" : "classifier", "");
  return b.take();
}

}  // namespace

integer_part part_outside(const network &net, const integer_model &m, const std::string &NAME) {
  if (net.what == task::decoder) return part_of_decoder(net, m, NAME);
  const std::string dim = NAME + "_DIM", rows = NAME + "_ROWS", out = NAME + "_OUT";
  const std::string n_class_rows = std::to_string(net.n_class_rows), n_special = std::to_string(net.n_special_rows);
  builder b(net);
  if (net.what == task::vision) {
    b.words("special_rows", n_special + " * " + dim, m.special_rows.data(), m.special_rows.size(), "class_token");
    b.linear("patches", dim, NAME + "_PATCH_NUMBERS", m.patches.view(), "patches", "patches_bias");
    b.table("positions", rows + " - " + n_special, dim, m.positions);
  } else {
    b.table("embedding", NAME + "_TOKENS", dim, m.embedding);
    b.table("positions", rows, dim, m.positions);
    if (net.has_embedding_norm) b.norm("embedding_norm", dim, m.embedding_norm.view(), "embedding_norm");
  }
  const bool has_norm_to_int8 = net.has_final_norm && !has_wide_final_norm(net);
  if (net.has_final_norm) b.norm("final_norm", dim, m.final_norm.view(), "final_norm");
  if (net.pool == network::pooling::mean) b.word("mean_shift", m.mean_shift);
  if (net.n_classes == 0 && net.normalizes) b.norm("unit_length", dim, m.unit_length.view(), "");
  const bool is_rescaled = !has_norm_to_int8 && !(net.n_classes == 0 && net.normalizes);
  if (is_rescaled) b.multiplier("to_head", m.to_head);
  if (net.n_classes > 0) {
    b.word("head_zero", m.head.zero);
    if (net.has_pooler) {
      b.linear("pooler", dim, dim, m.pooler.view(), "pooler", "pooler_bias");
      b.bytes("pooler_activation", "256", m.pooler_activation.data(), m.pooler_activation.size(), "");
    }
    b.linear("classes", out, n_class_rows + " * " + dim, m.classes.view(), "classes", "classes_bias");
  }
  return b.take();
}

// Cosines and sines, once for all layers.
static tensor rope_tensor(const heed_int_rope &rope) {
  tensor t;
  t.name = "rope", t.dtype = HEED_FILE_I16, t.is_metadata = true;
  t.dims = {static_cast<uint32_t>(rope.n_positions), static_cast<uint32_t>(rope.rotary_dim)};
  heed_import::bytes numbers;
  for (ptrdiff_t i = 0; i < static_cast<ptrdiff_t>(rope.n_positions) * rope.rotary_dim; ++i)
    heed_import::put(numbers, static_cast<uint16_t>(rope.table[i]), 2);
  t.own(std::move(numbers));
  return t;
}

std::vector<tensor> integer_tensors(const network &net, const choices &c, const integer_model &m) {
  const std::string NAME = upper(c.name);
  std::vector<tensor> all;
  if (const heed_int_rope *const rope = m.layers.front().layer().rope) all.push_back(rope_tensor(*rope));
  add(all, "", part_outside(net, m, NAME));
  for (int32_t l = 0; l < net.n_layers; ++l)
    add(all, "layers." + std::to_string(l) + ".", part_of_layer(net, m, l, NAME));
  return all;
}

}  // namespace heed_compile
