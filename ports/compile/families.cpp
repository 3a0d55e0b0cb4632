// What the metadata of published models say. See network.hpp. Names of GGUF: github.com/ggml-org/ggml, docs/gguf.md, and
// llama.cpp's converters; names of config.json: Hugging Face's transformers. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "families.hpp"

namespace heed_compile {

// What the counts of a file have in common: their products stay numbers of 31 bits.
void expect_sizes(const network &net) {
  const auto expect = [](bool is, const char *what) {
    if (!is) throw refusal(std::string("the counts of the model do not fit each other: ") + what);
  };
  const auto product = [](int64_t a, int64_t b) { return a * b; };
  expect(net.n_layers <= 4096, "there are more than 4096 layers");
  expect(product(net.n_heads, net.head_dim) <= 1 << 24, "heads are too long");
  expect(net.n_kv_heads <= net.n_heads && net.n_heads % net.n_kv_heads == 0,
         "heads of keys do not divide those of queries");
  expect(net.rope.rotary_dim % 2 == 0 && net.rope.rotary_dim <= net.head_dim, "more is rotated than a head has");
  expect(product(net.n_positions, net.dim) < INT32_MAX, "the table of positions is too large");
  expect(net.position_offset < net.n_positions, "there are no positions");
}

void add_positions(network &net, const std::string &source) {
  expect_sizes(net);
  weight_list(net).one("positions", source, 0, net.n_positions * net.dim);
}

namespace {

// q, k and v as three matrices, and the matrix behind them.
void add_attention(network &net, const std::string &q, const std::string &k, const std::string &v,
                   const std::string &o) {
  expect_sizes(net);
  weight_list w(net);
  w.matrix("wq", q, net.dim, net.n_heads * net.head_dim);
  w.matrix("wk", k, net.dim, net.n_kv_heads * net.head_dim);
  w.matrix("wv", v, net.dim, net.n_kv_heads * net.head_dim);
  w.matrix("wo", o, net.n_heads * net.head_dim, net.dim);
}
// As one matrix, one below the other.
void add_fused_attention(network &net, const std::string &qkv, const std::string &o) {
  expect_sizes(net);
  const int32_t q = net.n_heads * net.head_dim, kv = net.n_kv_heads * net.head_dim;
  weight_list w(net);
  w.rows("wq", qkv, net.dim, 0, q);
  w.rows("wk", qkv, net.dim, q, kv);
  w.rows("wv", qkv, net.dim, q + kv, kv);
  w.matrix("wo", o, q, net.dim);
}
void add_mlp(network &net, const std::string &gate, const std::string &up, const std::string &down) {
  weight_list w(net);
  if (!gate.empty()) w.matrix("w_gate", gate, net.dim, net.ffn_dim);
  w.matrix("w_up", up, net.dim, net.gate_up ? 2 * net.ffn_dim : net.ffn_dim);
  w.matrix("w_down", down, net.ffn_dim, net.dim);
}

// ---------------------------------------------------------------------------------------------------------------- rope

// Llama 3.1: long wavelengths are stretched by `factor`, short ones stay, those between are mixed (Grattafiori et al. 2024).
std::vector<float> llama3_frequencies(const rope_settings &r, double factor, double low, double high, double original) {
  std::vector<float> all;
  for (int32_t i = 0; i < r.rotary_dim / 2; ++i) {
    const double frequency = std::pow(r.base, -2.0 * i / r.rotary_dim), wavelength = 2 * M_PI / frequency;
    const double smooth = (original / wavelength - low) / (high - low);
    const double mixed = (1 - smooth) * frequency / factor + smooth * frequency;
    all.push_back(static_cast<float>(wavelength < original / high  ? frequency
                                     : wavelength > original / low ? frequency / factor
                                                                   : mixed));
  }
  return all;
}

// YaRN (Peng et al. 2023): dimensions that turn often stay, those that turn less than once are stretched.
void set_yarn(rope_settings &r, double factor, double original, double fast, double slow, double attention_factor) {
  const auto dimension_of = [&](double turns) {
    return r.rotary_dim * std::log(original / (turns * 2 * M_PI)) / (2 * std::log(r.base));
  };
  const double low = std::max(std::floor(dimension_of(fast)), 0.0);
  const double high = std::min(std::ceil(dimension_of(slow)), r.rotary_dim - 1.0);
  for (int32_t i = 0; i < r.rotary_dim / 2; ++i) {
    const double frequency = std::pow(r.base, -2.0 * i / r.rotary_dim);
    const double stretched = std::clamp((i - low) / std::max(high - low, 0.001), 0.0, 1.0);
    r.frequencies.push_back(static_cast<float>(frequency / factor * stretched + frequency * (1 - stretched)));
  }
  r.factor = attention_factor > 0 ? attention_factor : 0.1 * std::log(factor) + 1;
}

void expect_possible(double base, double factor, double original) {
  if (!(base > 1 && factor > 0 && original >= 1))
    throw refusal("rope_theta, or a factor or length of the scaling of rope, is not possible");
}

// Each pair has a divisor of its own (Llama 3 in GGUF; LongRoPE, Ding et al. 2024).
void set_divisors(rope_settings &r, const std::vector<double> &divisors) {
  r.frequencies.clear();
  for (size_t i = 0; i < divisors.size(); ++i) {
    if (!(divisors[i] > 0)) throw refusal("a divisor of rope is not above 0");
    r.frequencies.push_back(
        static_cast<float>(std::pow(r.base, -2.0 * static_cast<double>(i) / r.rotary_dim) / divisors[i]));
  }
}

// ---------------------------------------------------------------------------------------------------------------- GGUF

class gguf {
 public:
  explicit gguf(const std::vector<tensor> &all) : all_(all) {
    const tensor *lines = find(all, "metadata");
    if (lines != nullptr) {
      const heed_import::span text = lines->numbers();
      lines_.assign(text.data, text.data + text.size);
    }
    family_ = text_of("general.architecture");
  }
  const std::string &family() const { return family_; }
  double number(const std::string &key, double otherwise) const { return value(family_ + "." + key, otherwise); }
  // Of a key that does not begin with the family.
  double value(const std::string &key, double otherwise) const {
    const std::string wanted = key + " ";
    for (size_t at = 0; at < lines_.size();) {
      const size_t end = std::min(lines_.find('\n', at), lines_.size());
      if (lines_.compare(at, wanted.size(), wanted) == 0)
        return std::strtod(lines_.substr(at + wanted.size(), end - at - wanted.size()).c_str(), nullptr);
      at = end + 1;
    }
    return otherwise;
  }
  int32_t count(const std::string &key) const {
    const double n = number(key, -1);
    if (n < 0) throw refusal("the metadata have no " + family_ + "." + key);
    return count_of(family_ + "." + key, n);
  }
  std::string text_of(const std::string &key) const {
    const tensor *t = find(all_, key);
    if (t == nullptr || t->dtype != HEED_FILE_TEXT) return "";
    return std::string(t->numbers().data, t->numbers().data + t->numbers().size);
  }
  std::string text(const std::string &key) const { return text_of(family_ + "." + key); }

 private:
  const std::vector<tensor> &all_;
  std::string lines_, family_;
};

void read_gguf_rope(const gguf &g, const std::vector<tensor> &all, network &net) {
  rope_settings &r = net.rope;
  r.is_used = true;
  r.rotary_dim = count_of("rope.dimension_count", g.number("rope.dimension_count", net.head_dim));
  r.base = g.number("rope.freq_base", 10000);
  const std::string scaling = g.text("rope.scaling.type");
  const double factor = g.number("rope.scaling.factor", 1);
  const double original = g.number("rope.scaling.original_context_length", net.n_positions);
  expect_possible(r.base, factor, original);
  if (scaling == "linear" || (scaling.empty() && factor > 1))
    r.scale = 1 / factor;
  else if (scaling == "yarn")
    set_yarn(r, factor, original, g.number("rope.scaling.yarn_beta_fast", 32),
             g.number("rope.scaling.yarn_beta_slow", 1), 0);
  else if (!scaling.empty() && scaling != "none" && scaling != "longrope")
    throw refusal("the scaling of rope \"" + names::for_terminal(scaling) + "\" is not known");
  const double attention_factor = g.number("rope.scaling.attn_factor", 1);
  if (!(attention_factor > 0 && attention_factor < 1 << 16)) throw refusal("rope.scaling.attn_factor is not possible");
  r.factor *= attention_factor;
  const bool is_long = net.wanted_context > original;
  for (const std::string name :
       {"rope_freqs.weight", is_long ? "rope_factors_long.weight" : "rope_factors_short.weight"}) {
    const tensor *divisors = find(all, name);
    if (divisors == nullptr) continue;
    if (divisors->count() != static_cast<uint64_t>(r.rotary_dim / 2) || divisors->dtype != HEED_F32)
      throw refusal(name + " has another number of divisors than there are pairs that rotate");
    std::vector<double> numbers;
    for (int32_t i = 0; i < r.rotary_dim / 2; ++i)
      numbers.push_back(static_cast<double>(heed_import::f32_at(divisors->numbers().data + 4 * i)));
    set_divisors(r, numbers);
  }
}

void read_gguf_counts(const gguf &g, const std::vector<tensor> &all, network &net) {
  net.n_layers = g.count("block_count");
  net.dim = g.count("embedding_length");
  net.ffn_dim = g.count("feed_forward_length");
  net.n_heads = g.count("attention.head_count");
  net.n_kv_heads = count_of("attention.head_count_kv", g.number("attention.head_count_kv", net.n_heads));
  net.head_dim = count_of("attention.key_length", g.number("attention.key_length", net.dim / net.n_heads));
  if (g.number("attention.value_length", net.head_dim) != net.head_dim)
    throw refusal("keys and values of different lengths are not known in this family");
  net.n_positions = g.count("context_length");
  const tensor *table = find(all, "token_embd.weight");
  if (table == nullptr || table->dims.size() != 2) throw refusal("there is no token_embd.weight");
  net.n_tokens = static_cast<int32_t>(table->dims[0]);
  net.eps = g.number("attention.layer_norm_rms_epsilon", g.number("attention.layer_norm_epsilon", 1e-5));
}

// Names that the decoders of GGUF share. post: the norms of the sublayers' results, too.
void add_gguf_decoder(network &net, const std::vector<tensor> &all) {
  weight_list w(net);
  const std::string b = "blk.{}.";
  w.one("embedding", "token_embd.weight", net.dim, net.n_tokens);
  w.norm("norm1", b + "attn_norm", net.dim);
  if (has(all, "blk.0.attn_qkv.weight"))
    add_fused_attention(net, b + "attn_qkv", b + "attn_output");
  else
    add_attention(net, b + "attn_q", b + "attn_k", b + "attn_v", b + "attn_output");
  if (!net.qk_norm.empty()) {
    w.norm("q_norm", b + "attn_q_norm", net.qk_norm_whole ? net.n_heads * net.head_dim : net.head_dim);
    w.norm("k_norm", b + "attn_k_norm", net.qk_norm_whole ? net.n_kv_heads * net.head_dim : net.head_dim);
  }
  if (net.post_norm) {
    w.norm("post_norm1", b + "post_attention_norm", net.dim);
    w.norm("post_norm2", b + "post_ffw_norm", net.dim);
  }
  w.norm("norm2", b + "ffn_norm", net.dim);
  add_mlp(net, has(all, "blk.0.ffn_gate.weight") ? b + "ffn_gate" : "", b + "ffn_up", b + "ffn_down");
  w.norm_outside("final_norm", "output_norm");
  net.is_tied = !has(all, "output.weight");
  if (!net.is_tied) w.one("classifier", "output.weight", net.dim, net.n_tokens);
}

void add_end_token(network &net, double token) {
  if (!(token >= 0 && token < net.n_tokens) || token != std::floor(token)) return;
  const auto id = static_cast<int32_t>(token);
  if (std::find(net.end_tokens.begin(), net.end_tokens.end(), id) == net.end_tokens.end()) net.end_tokens.push_back(id);
}

// BERT in GGUF: embeddings alone, for the converter leaves heads out.
void read_gguf_bert(const gguf &g, const std::vector<tensor> &all, network &net) {
  net.what = task::encoder;
  net.norm = "heed_layer_norm", net.activation = "heed_gelu";
  net.norm_first = false, net.has_final_norm = false, net.has_embedding_norm = true;
  const double pooling = g.number("pooling_type", 1);
  if (pooling != 0 && pooling != 1 && pooling != 2)
    throw refusal("bert.pooling_type is none of 0 (none), 1 (mean) and 2 (first row)");
  net.pool = pooling == 2 ? network::pooling::first : network::pooling::mean;
  net.normalizes = true;
  weight_list w(net);
  w.one("embedding", "token_embd.weight", net.dim, net.n_tokens);
  add_positions(net, "position_embd.weight");
  if (const tensor *types = find(all, "token_types.weight")) {
    net.has_token_types = true;
    net.n_token_types = types->dims.size() == 2 ? static_cast<int32_t>(std::min<uint32_t>(types->dims[0], 1024)) : 1;
    w.one("token_types", "token_types.weight", 0, net.n_token_types * net.dim);
  }
  w.norm_outside("embedding_norm", "token_embd_norm");
  const std::string b = "blk.{}.";
  add_attention(net, b + "attn_q", b + "attn_k", b + "attn_v", b + "attn_output");
  w.norm("norm1", b + "attn_output_norm", net.dim);
  add_mlp(net, "", b + "ffn_up", b + "ffn_down");
  w.norm("norm2", b + "layer_output_norm", net.dim);
}

// window: tokens, or 0.
void set_windows(network &net, double window, const std::function<bool(int32_t)> &has_window) {
  const int32_t n = window == 0 ? 0 : count_of("sliding_window", window);
  for (int32_t l = 0; l < net.n_layers; ++l) net.windows.push_back(n > 0 && has_window(l) ? n : 0);
}

}  // namespace

network network_of_gguf(const std::vector<tensor> &all, int32_t wanted_context) {
  const gguf g(all);
  network net;
  net.wanted_context = wanted_context;
  net.family = g.family();
  if (net.family.empty()) throw refusal("has no general.architecture: it is no GGUF file of a model");
  read_gguf_counts(g, all, net);
  if (g.number("expert_count", 0) > 0) throw refusal("layers with several experts are not known");
  const double window = g.number("attention.sliding_window", 0);
  const std::string &f = net.family;
  if (f == "gpt2") {
    net.norm = "heed_layer_norm", net.activation = "heed_gelu_tanh";
    add_positions(net, "position_embd.weight");
  } else if (f == "gptneox") {
    net.norm = "heed_layer_norm", net.activation = "heed_gelu";
    net.parallel = g.number("use_parallel_residual", 1) != 0;
  } else if (f == "llama") {
    net.rope.interleaved = true;  // the converter reorders rows
  } else if (f == "qwen3") {
    net.qk_norm = "heed_rms_norm";
  } else if (f == "gemma" || f == "gemma2" || f == "gemma3") {
    // The converter has added 1 to the weights of norms.
    net.activation = "heed_gelu_tanh";
    net.embedding_scale = std::sqrt(static_cast<double>(net.dim));
    net.post_norm = f != "gemma";
    if (f == "gemma2") {
      net.attention_softcap = g.number("attn_logit_softcapping", 50);
      net.logits_softcap = g.number("final_logit_softcapping", 30);
    }
    if (f == "gemma3") {
      net.qk_norm = "heed_rms_norm";
      net.logits_softcap = g.number("final_logit_softcapping", 0);
      net.local_rope.is_used = true, net.local_rope.rotary_dim = net.head_dim;
      net.local_rope.base = g.number("rope.freq_base_swa", 10000);
    }
    const int32_t every = count_of("attention.sliding_window_pattern",
                                   g.number("attention.sliding_window_pattern", f == "gemma2" ? 2 : 6));
    if (has(all, f + ".attention.sliding_window_pattern"))
      throw refusal("a list of layers with windows is not known: attention.sliding_window_pattern");
    if (f != "gemma") set_windows(net, window, [&](int32_t l) { return (l + 1) % every != 0; });
    // 27B divides by dim / n_heads, not by head_dim.
    if ((f == "gemma2" && net.n_layers == 46) || (f == "gemma3" && net.n_layers == 62))
      net.attention_scale = 1 / std::sqrt(static_cast<double>(net.dim) / net.n_heads);
  } else if (f == "phi3") {
    net.gate_up = true;
  } else if (f == "bert") {
    read_gguf_bert(g, all, net);
    return net;
  } else if (f != "qwen2" && f != "mistral") {
    throw refusal(
        "the family \"" + names::for_terminal(f) +
        "\" is not known; these are: bert, gemma, gemma2, gemma3, gpt2, gptneox, llama, mistral, phi3, qwen2, qwen3");
  }
  if (f == "mistral" || f == "phi3")
    set_windows(net, window < net.n_positions ? window : 0, [](int32_t) { return true; });
  if (f != "gpt2") read_gguf_rope(g, all, net);
  add_gguf_decoder(net, all);
  for (const char *const end : {"eos", "eot", "eom"})
    add_end_token(net, g.value(std::string("tokenizer.ggml.") + end + "_token_id", -1));
  return net;
}

// ---------------------------------------------------------------------------------------------------------- config.json

std::string activation_named(const std::string &name) {
  static const std::map<std::string, std::string> known = {{"gelu", "heed_gelu"},
                                                           {"gelu_new", "heed_gelu_tanh"},
                                                           {"gelu_pytorch_tanh", "heed_gelu_tanh"},
                                                           {"gelu_fast", "heed_gelu_tanh"},
                                                           {"silu", "heed_silu"},
                                                           {"swish", "heed_silu"},
                                                           {"relu", "heed_relu"}};
  const auto found = known.find(name);
  if (found == known.end()) throw refusal("the activation \"" + names::for_terminal(name) + "\" is not known");
  return found->second;
}

namespace {

// LongRoPE has divisors for texts up to the length of its first training, and others for longer ones.
void read_long_rope(const config &s, const network &net, rope_settings &r) {
  const double original = s.number("original_max_position_embeddings", net.original_context),
               scale = net.n_positions / original;
  if (!(original > 1)) throw refusal("config.json has no original_max_position_embeddings");
  const auto list = s.all().find(net.wanted_context > original ? "long_factor" : "short_factor");
  if (list == s.all().end() || !list->is_array() || list->size() != static_cast<size_t>(r.rotary_dim / 2))
    throw refusal(
        "long_factor or short_factor of rope_scaling has another number of divisors than there are pairs that rotate");
  std::vector<double> divisors;
  for (const json &number : *list) divisors.push_back(number.is_number() ? number.get<double>() : 0);
  set_divisors(r, divisors);
  r.factor = s.number("attention_factor", scale > 1 ? std::sqrt(1 + std::log(scale) / std::log(original)) : 1);
  if (!(r.factor > 0 && r.factor < 1 << 16)) throw refusal("attention_factor is not possible");
}

// One kind of rotation. s: what a file says of it; base: if it does not say that.
void read_one_rope(const config &s, double base, const network &net, rope_settings &r) {
  r.is_used = true;
  r.base = s.number("rope_theta", base);
  const std::string type = s.text("rope_type").empty() ? s.text("type") : s.text("rope_type");
  const double factor = s.number("factor", 1), original = s.number("original_max_position_embeddings", net.n_positions);
  expect_possible(r.base, factor, original);
  if (type == "linear")
    r.scale = 1 / factor;
  else if (type == "llama3")
    r.frequencies =
        llama3_frequencies(r, factor, s.number("low_freq_factor", 1), s.number("high_freq_factor", 4), original);
  else if (type == "yarn")
    set_yarn(r, factor, original, s.number("beta_fast", 32), s.number("beta_slow", 1), s.number("attention_factor", 0));
  else if (type == "longrope" || type == "su")
    read_long_rope(s, net, r);
  else if (!type.empty() && type != "default")
    throw refusal("the scaling of rope \"" + names::for_terminal(type) + "\" is not known");
}

}  // namespace

// transformers 5 has all in rope_parameters, and there by kinds of layers if they differ; 4 has rope_theta and rope_scaling.
void read_rope(const config &c, network &net) {
  const config parameters = c.inner("rope_parameters"), scaling = c.inner("rope_scaling");
  const config full = parameters.inner("full_attention"), sliding = parameters.inner("sliding_attention");
  const double share =
      c.number("partial_rotary_factor", c.number("rotary_pct", parameters.number("partial_rotary_factor", 1)));
  if (!(share > 0 && share <= 1)) throw refusal("partial_rotary_factor is not between 0 and 1");
  net.rope.rotary_dim = net.local_rope.rotary_dim = static_cast<int32_t>(share * net.head_dim) / 2 * 2;
  const double base = c.number("rope_theta", c.number("rotary_emb_base", 10000));
  read_one_rope(!full.all().empty() ? full : !parameters.all().empty() ? parameters : scaling, base, net, net.rope);
  if (!sliding.all().empty())
    read_one_rope(sliding, base, net, net.local_rope);
  else if (c.number("rope_local_base_freq", 0) > 1)
    net.local_rope.is_used = true, net.local_rope.base = c.number("rope_local_base_freq", 0);
  if (net.local_rope.scale != 1 || !net.local_rope.frequencies.empty())
    throw refusal("the scaling of rope in layers with a window is not known");
}

namespace {

// Which layers have a window: by layer_types, or else by the rule of the family.
void read_windows(const config &c, network &net, const std::function<bool(int32_t)> &has_window) {
  const double window = c.number("sliding_window", 0);
  if (!(window >= 1)) return;
  const auto types = c.all().find("layer_types");
  const bool has_types = types != c.all().end() && types->is_array();
  if (has_types && types->size() != static_cast<size_t>(net.n_layers))
    throw refusal("layer_types has another number of layers");
  set_windows(net, window, [&](int32_t l) {
    return has_types ? (*types)[static_cast<size_t>(l)] == "sliding_attention" : has_window(l);
  });
  if (std::all_of(net.windows.begin(), net.windows.end(), [](int32_t w) { return w == 0; })) net.windows.clear();
}

}  // namespace

std::string prefix_of(const std::vector<tensor> &all, const std::vector<std::string> &prefixes,
                      const std::string &name) {
  for (const std::string &prefix : prefixes)
    if (has(all, prefix + name)) return prefix;
  throw refusal("there is no tensor " + name);
}

namespace {

void add_llama(const config &c, network &net, const std::vector<tensor> &all) {
  weight_list w(net);
  const std::string m =
      prefix_of(all, {"model.", "", "language_model.model.", "model.language_model."}, "embed_tokens.weight");
  const std::string b = m + "layers.{}.", a = b + "self_attn.";
  const bool is_gemma = net.post_norm;
  w.one("embedding", m + "embed_tokens.weight", net.dim, net.n_tokens);
  w.norm("norm1", b + "input_layernorm", net.dim);
  if (has(all, m + "layers.0.self_attn.qkv_proj.weight"))
    add_fused_attention(net, a + "qkv_proj", a + "o_proj");
  else
    add_attention(net, a + "q_proj", a + "k_proj", a + "v_proj", a + "o_proj");
  if (!net.qk_norm.empty()) w.norm("q_norm", a + "q_norm", net.head_dim), w.norm("k_norm", a + "k_norm", net.head_dim);
  if (is_gemma) {
    w.norm("post_norm1", b + "post_attention_layernorm", net.dim);
    w.norm("post_norm2", b + "post_feedforward_layernorm", net.dim);
  }
  w.norm("norm2", b + (is_gemma ? "pre_feedforward_layernorm" : "post_attention_layernorm"), net.dim);
  if (net.gate_up)
    add_mlp(net, "", b + "mlp.gate_up_proj", b + "mlp.down_proj");
  else
    add_mlp(net, b + "mlp.gate_proj", b + "mlp.up_proj", b + "mlp.down_proj");
  w.norm_outside("final_norm", m + "norm");
  const std::string head = has(all, "lm_head.weight") ? "lm_head.weight" : "language_model.lm_head.weight";
  const bool has_own = has(all, head);
  net.is_tied = c.flag("tie_word_embeddings", !has_own);
  if (!net.is_tied && !has_own) throw refusal("there is no tensor lm_head.weight, and tie_word_embeddings is false");
  if (!net.is_tied) w.one("classifier", head, net.dim, net.n_tokens);
}

void read_llama(const config &c, const std::vector<tensor> &all, network &net) {
  net.n_kv_heads = count_of("num_key_value_heads", c.number("num_key_value_heads", net.n_heads));
  net.head_dim = count_of("head_dim", c.number("head_dim", net.dim / net.n_heads));
  net.ffn_dim = c.count("intermediate_size");
  net.eps = c.number("rms_norm_eps", 1e-6);
  const std::string activation =
      c.text("hidden_activation").empty() ? c.text("hidden_act") : c.text("hidden_activation");
  net.activation = activation_named(activation.empty() ? "silu" : activation);
  const std::string &f = net.family;
  if (f == "gemma" || f == "gemma2" || f == "gemma3_text") {
    net.norm = "heed_rms_norm_plus_one", net.activation = "heed_gelu_tanh";
    net.embedding_scale = std::sqrt(static_cast<double>(net.dim));
    net.post_norm = f != "gemma";
    const double scalar = c.number("query_pre_attn_scalar", net.head_dim);
    if (scalar != net.head_dim) net.attention_scale = 1 / std::sqrt(scalar);
    net.attention_softcap = c.number("attn_logit_softcapping", 0);
    net.logits_softcap = c.number("final_logit_softcapping", 0);
    const int32_t every = count_of("sliding_window_pattern", c.number("sliding_window_pattern", f == "gemma2" ? 2 : 6));
    if (net.post_norm) read_windows(c, net, [&](int32_t l) { return (l + 1) % every != 0; });
    if (f == "gemma3_text") {
      net.qk_norm = "heed_rms_norm_plus_one";
      net.local_rope.is_used = true;
    }
  } else if (f == "qwen3") {
    net.qk_norm = "heed_rms_norm";
  } else if (f == "phi3") {
    net.gate_up = true;
  }
  if (f == "mistral" || f == "phi3") read_windows(c, net, [](int32_t) { return true; });
  if ((f == "qwen2" || f == "qwen3") && c.flag("use_sliding_window", false))
    read_windows(c, net, [&](int32_t l) { return l >= c.number("max_window_layers", net.n_layers); });
  read_rope(c, net);
  add_llama(c, net, all);
}

void read_gpt2(const config &c, const std::vector<tensor> &all, network &net) {
  net.norm = "heed_layer_norm";
  net.activation = activation_named(c.text("activation_function").empty() ? "gelu_new" : c.text("activation_function"));
  net.n_kv_heads = net.n_heads, net.head_dim = net.dim / net.n_heads;
  net.ffn_dim = count_of("n_inner", c.number("n_inner", 4.0 * net.dim));
  net.eps = c.number("layer_norm_epsilon", 1e-5);
  weight_list w(net);
  const std::string m = prefix_of(all, {"transformer.", ""}, "wte.weight"), b = m + "h.{}.";
  w.one("embedding", m + "wte.weight", net.dim, net.n_tokens);
  add_positions(net, m + "wpe.weight");
  w.norm("norm1", b + "ln_1", net.dim);
  add_fused_attention(net, b + "attn.c_attn", b + "attn.c_proj");
  w.norm("norm2", b + "ln_2", net.dim);
  add_mlp(net, "", b + "mlp.c_fc", b + "mlp.c_proj");
  w.norm_outside("final_norm", m + "ln_f");
  net.is_tied = true;
}

void read_neox(const config &c, const std::vector<tensor> &all, network &net) {
  net.norm = "heed_layer_norm", net.activation = activation_named(c.text("hidden_act"));
  net.parallel = c.flag("use_parallel_residual", true);
  net.n_kv_heads = net.n_heads, net.head_dim = net.dim / net.n_heads;
  net.ffn_dim = c.count("intermediate_size");
  net.eps = c.number("layer_norm_eps", 1e-5);
  read_rope(c, net);
  weight_list w(net);
  const std::string m = prefix_of(all, {"gpt_neox.", ""}, "embed_in.weight"), b = m + "layers.{}.";
  expect_sizes(net);
  const int32_t heads = net.n_heads * net.head_dim;
  w.one("embedding", m + "embed_in.weight", net.dim, net.n_tokens);
  w.norm("norm1", b + "input_layernorm", net.dim);
  w.matrix("wq", b + "attention.query_key_value", net.dim, heads, 0, 3, true);
  w.matrix("wk", b + "attention.query_key_value", net.dim, heads, 1, 3, true);
  w.matrix("wv", b + "attention.query_key_value", net.dim, heads, 2, 3, true);
  w.matrix("wo", b + "attention.dense", heads, net.dim);
  w.norm("norm2", b + "post_attention_layernorm", net.dim);
  add_mlp(net, "", b + "mlp.dense_h_to_4h", b + "mlp.dense_4h_to_h");
  w.norm_outside("final_norm", m + "final_layer_norm");
  w.one("classifier", "embed_out.weight", net.dim, net.n_tokens);
}

// --------------------------------------------------------------------------------------------------------------- encoders

void read_labels(const config &c, network &net) {
  const json &all = c.all();
  if (!all.contains("id2label") || !all["id2label"].is_object()) return;
  net.labels.resize(all["id2label"].size());
  for (const auto &[id, label] : all["id2label"].items()) {
    const unsigned long at = std::strtoul(id.c_str(), nullptr, 10);
    if (at < net.labels.size() && label.is_string()) net.labels[at] = label;
  }
}

// The head behind an encoder: classes if the source has their weights, else an embedding.
void add_head(network &net, const std::vector<tensor> &all, const std::string &pooler, const std::string &classes,
              const std::string &activation) {
  weight_list w(net);
  const tensor *matrix = find(all, classes + ".weight");
  net.pool = network::pooling::first;
  if (matrix == nullptr) {
    net.pool = network::pooling::mean, net.normalizes = true;
    return;
  }
  if (matrix->dims.size() != 2) throw refusal(classes + ".weight is no matrix");
  net.n_classes = static_cast<int32_t>(matrix->dims[0]);
  net.has_pooler = !pooler.empty() && has(all, pooler + ".weight");
  net.pooler_activation = activation;
  if (net.has_pooler) {
    w.one("pooler", pooler + ".weight", net.dim, net.dim);
    w.one("pooler_bias", pooler + ".bias", 0, net.dim, true);
  }
  const bool has_two = classes == "cls_classifier" && has(all, "distillation_classifier.weight");
  net.n_class_rows = has_two ? 2 : 1;
  w.one("classes", classes + ".weight", net.dim, net.n_classes, false, has_two ? "distillation_classifier.weight" : "");
  w.one("classes_bias", classes + ".bias", 0, net.n_classes, true, has_two ? "distillation_classifier.bias" : "");
}

void read_bert(const config &c, const std::vector<tensor> &all, network &net) {
  net.what = task::encoder;
  net.norm = "heed_layer_norm", net.norm_first = false, net.has_final_norm = false, net.has_embedding_norm = true;
  const bool is_distil = net.family == "distilbert",
             is_roberta = net.family == "roberta" || net.family == "xlm-roberta" || net.family == "camembert";
  net.activation = activation_named(is_distil ? c.text("activation") : c.text("hidden_act"));
  net.n_kv_heads = net.n_heads, net.head_dim = net.dim / net.n_heads;
  net.ffn_dim = c.count_of_any({"intermediate_size", "hidden_dim"});
  net.eps = c.number("layer_norm_eps", 1e-12);
  weight_list w(net);
  const std::string m = prefix_of(all, {"bert.", "roberta.", "distilbert.", ""}, "embeddings.word_embeddings.weight");
  w.one("embedding", m + "embeddings.word_embeddings.weight", net.dim, net.n_tokens);
  if (is_roberta) net.position_offset = count_of("pad_token_id", c.number("pad_token_id", 1) + 1);
  add_positions(net, m + "embeddings.position_embeddings.weight");
  net.has_token_types = has(all, m + "embeddings.token_type_embeddings.weight");
  if (net.has_token_types) {
    net.n_token_types = c.count("type_vocab_size");
    if (net.n_token_types > 1024) throw refusal("type_vocab_size is greater than 1024");
    w.one("token_types", m + "embeddings.token_type_embeddings.weight", 0, net.n_token_types * net.dim);
  }
  w.norm_outside("embedding_norm", m + "embeddings.LayerNorm");
  if (is_distil) {
    const std::string b = m + "transformer.layer.{}.", a = b + "attention.";
    add_attention(net, a + "q_lin", a + "k_lin", a + "v_lin", a + "out_lin");
    w.norm("norm1", b + "sa_layer_norm", net.dim);
    add_mlp(net, "", b + "ffn.lin1", b + "ffn.lin2");
    w.norm("norm2", b + "output_layer_norm", net.dim);
    add_head(net, all, "pre_classifier", "classifier", "heed_relu");
    return;
  }
  const std::string b = m + "encoder.layer.{}.", a = b + "attention.";
  add_attention(net, a + "self.query", a + "self.key", a + "self.value", a + "output.dense");
  w.norm("norm1", a + "output.LayerNorm", net.dim);
  add_mlp(net, "", b + "intermediate.dense", b + "output.dense");
  w.norm("norm2", b + "output.LayerNorm", net.dim);
  if (is_roberta)
    add_head(net, all, "classifier.dense", "classifier.out_proj", "heed_tanh");
  else
    add_head(net, all, m + "pooler.dense", "classifier", "heed_tanh");
}

void read_vit(const config &c, const std::vector<tensor> &all, network &net) {
  net.what = task::vision;
  net.norm = "heed_layer_norm", net.activation = activation_named(c.text("hidden_act"));
  net.n_kv_heads = net.n_heads, net.head_dim = net.dim / net.n_heads;
  net.ffn_dim = c.count("intermediate_size");
  net.eps = c.number("layer_norm_eps", 1e-12);
  net.image_size = c.count("image_size"), net.patch_size = c.count("patch_size"),
  net.n_channels = c.count("num_channels");
  if (net.image_size % net.patch_size != 0) throw refusal("image_size is no multiple of patch_size");
  if (net.image_size > 8192 || net.n_channels > 64)
    throw refusal("pictures of more than 8192 pixels a side, or of more than 64 channels, are not known");
  const int32_t side = net.image_size / net.patch_size, patch = net.patch_size * net.patch_size * net.n_channels;
  weight_list w(net);
  const std::string m = prefix_of(all, {"vit.", "deit.", ""}, "embeddings.cls_token"), e = m + "embeddings.";
  const std::string b = m + "encoder.layer.{}.", a = b + "attention.";
  net.n_special_rows = has(all, e + "distillation_token") ? 2 : 1;
  net.n_positions = side * side + net.n_special_rows;
  add_positions(net, e + "position_embeddings");
  w.one("class_token", e + "cls_token", 0, net.dim);
  if (net.n_special_rows == 2) w.one("distillation_token", e + "distillation_token", 0, net.dim);
  w.one("patches", e + "patch_embeddings.projection.weight", patch, net.dim);
  w.one("patches_bias", e + "patch_embeddings.projection.bias", 0, net.dim, true);
  w.norm("norm1", b + "layernorm_before", net.dim);
  add_attention(net, a + "attention.query", a + "attention.key", a + "attention.value", a + "output.dense");
  w.norm("norm2", b + "layernorm_after", net.dim);
  add_mlp(net, "", b + "intermediate.dense", b + "output.dense");
  w.norm_outside("final_norm", m + "layernorm");
  add_head(net, all, "", has(all, "cls_classifier.weight") ? "cls_classifier" : "classifier", "");
  if (net.n_classes == 0) net.pool = network::pooling::first, net.normalizes = false;
}

json object_of(const std::string &text, const std::string &name) {
  json parsed = json::parse(text, nullptr, false);
  if (!parsed.is_object()) throw refusal(name + " is no object of JSON");
  return parsed;
}

void add_end_tokens(network &net, const json &j) {
  const auto end = j.find("eos_token_id");
  if (end == j.end()) return;
  for (const json &token : end->is_array() ? *end : json::array({*end}))
    if (token.is_number()) add_end_token(net, token.get<double>());
}

// What config.json leaves out, because it is the same as in the library that reads it: transformers' configurations of each family.
void add_defaults(const std::string &family, json &config) {
  static const std::map<std::string, json> defaults = {
      {"gemma2",
       {{"attn_logit_softcapping", 50.0},
        {"final_logit_softcapping", 30.0},
        {"query_pre_attn_scalar", 256},
        {"sliding_window", 4096},
        {"tie_word_embeddings", true}}},
      {"gemma3_text",
       {{"vocab_size", 262208},
        {"num_attention_heads", 8},
        {"num_key_value_heads", 4},
        {"head_dim", 256},
        {"max_position_embeddings", 131072},
        {"query_pre_attn_scalar", 256},
        {"rope_theta", 1e6},
        {"rope_local_base_freq", 1e4},
        {"sliding_window", 4096},
        {"rms_norm_eps", 1e-6},
        {"tie_word_embeddings", true}}},
      {"gemma", {{"tie_word_embeddings", true}}},
      {"gpt_neox", {{"rotary_pct", 0.25}, {"hidden_act", "gelu"}}},
      {"moonshine", {{"partial_rotary_factor", 0.9}, {"eos_token_id", 2}}},
      {"whisper", {{"eos_token_id", 50256}}}};
  const auto found = defaults.find(family);
  if (found == defaults.end()) return;
  for (const auto &[key, value] : found->second.items())
    if (!config.contains(key)) config[key] = value;
}

// What changes the numbers, and no program has.
void expect_known_settings(const config &c) {
  const std::string positions = c.text("position_embedding_type");
  if (!positions.empty() && positions != "absolute")
    throw refusal("position_embedding_type \"" + names::for_terminal(positions) + "\" is not known");
  if (c.flag("scale_attn_by_inverse_layer_idx", false) || !c.flag("scale_attn_weights", true))
    throw refusal("scale_attn_by_inverse_layer_idx and scale_attn_weights: false are not known");
}

// Heads that no program has yet: the weights behind the layers would be left out without a word.
void expect_known_head(const json &j) {
  const auto names_of_heads = j.find("architectures");
  if (names_of_heads == j.end() || !names_of_heads->is_array()) return;
  for (const json &one : *names_of_heads) {
    const std::string name = one.is_string() ? one.get<std::string>() : "";
    for (const std::string end : {"ForTokenClassification", "ForQuestionAnswering", "ForMultipleChoice",
                                  "ForMaskedImageModeling", "ForAudioClassification"})
      if (name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0)
        throw refusal("the head " + names::for_terminal(name) +
                      " is not known; those of sequence and image classification, embeddings and texts are");
  }
}

}  // namespace

std::set<std::string> files_of_index(const std::string &text) {
  const json j = object_of(text, "model.safetensors.index.json");
  std::set<std::string> files;
  const auto map = j.find("weight_map");
  if (map == j.end() || !map->is_object()) throw refusal("model.safetensors.index.json has no weight_map");
  for (const json &file : *map) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || name.find_first_of("/\\") != std::string::npos)
      throw refusal("model.safetensors.index.json names a file that is not beside it");
    files.insert(name);
  }
  return files;
}

void read_generation_config(const std::string &text, network &net) {
  const json j = object_of(text, "generation_config.json");
  add_end_tokens(net, j);
  if (net.what == task::speech) read_speech_generation(j, net);
}

void read_preprocessor_config(const std::string &text, network &net) {
  read_speech_preprocessor(object_of(text, "preprocessor_config.json"), net);
}

void read_pooling_config(const std::string &text, bool normalizes, network &net) {
  const json j = object_of(text, "1_Pooling/config.json");
  if (net.what != task::encoder || net.n_classes > 0) return;
  bool is_known = false;
  for (const auto &[key, value] : j.items()) {
    if (key.compare(0, 13, "pooling_mode_") != 0 || value != true) continue;
    const bool is_mean = key == "pooling_mode_mean_tokens", is_first = key == "pooling_mode_cls_token";
    if (is_known || !(is_mean || is_first))
      throw refusal("1_Pooling/config.json: " + names::for_terminal(key) + " is not known");
    net.pool = is_mean ? network::pooling::mean : network::pooling::first;
    is_known = true;
  }
  if (!is_known) throw refusal("1_Pooling/config.json names no pooling");
  net.normalizes = normalizes;
}

network network_of_config(const std::string &text, const std::vector<tensor> &all, int32_t wanted_context) {
  json parsed = object_of(text, "config.json");
  if (parsed.contains("text_config") && parsed["text_config"].is_object()) parsed = json(parsed["text_config"]);
  expect_known_head(parsed);
  const config c(parsed);
  network net;
  net.family = c.text("model_type");
  net.wanted_context = wanted_context;
  add_defaults(net.family, parsed);
  expect_known_settings(c);
  if (is_speech(net.family)) {
    net = speech_of_config(c, all);
    add_end_tokens(net, parsed);
    return net;
  }
  net.original_context = c.number("original_max_position_embeddings", 0);
  net.n_layers = c.count_of_any({"num_hidden_layers", "n_layer", "n_layers"});
  net.dim = c.count_of_any({"hidden_size", "n_embd", "dim"});
  net.n_heads = c.count_of_any({"num_attention_heads", "n_head", "n_heads"});
  if (net.dim % net.n_heads != 0 && c.number("head_dim", 0) == 0) throw refusal("heads do not divide hidden_size");
  const std::string &f = net.family;
  const bool sees = f == "vit" || f == "deit";
  if (!sees)
    net.n_tokens = c.count("vocab_size"), net.n_positions = c.count_of_any({"max_position_embeddings", "n_positions"});
  read_labels(c, net);
  static const std::map<std::string, void (*)(const config &, const std::vector<tensor> &, network &)> known = {
      {"llama", read_llama},     {"mistral", read_llama}, {"qwen2", read_llama},      {"qwen3", read_llama},
      {"gemma", read_llama},     {"gemma2", read_llama},  {"phi3", read_llama},       {"gemma3_text", read_llama},
      {"smollm", read_llama},    {"gpt2", read_gpt2},     {"gpt_neox", read_neox},    {"bert", read_bert},
      {"distilbert", read_bert}, {"roberta", read_bert},  {"xlm-roberta", read_bert}, {"camembert", read_bert},
      {"vit", read_vit},         {"deit", read_vit}};
  const auto found = known.find(f);
  if (found == known.end()) {
    std::string names;
    for (const auto &[name, reader] : known) names += (names.empty() ? "" : ", ") + name;
    names += ", moonshine, whisper";
    throw refusal("the family \"" + names::for_terminal(f) + "\" is not known; these are: " + names);
  }
  found->second(c, all, net);
  add_end_tokens(net, parsed);
  return net;
}

}  // namespace heed_compile
