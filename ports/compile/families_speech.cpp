// What config.json, generation_config.json and preprocessor_config.json say of models of speech: Whisper (Radford et al. 2022) and
// Moonshine (Jeffries et al. 2024). Names are those of Hugging Face's transformers. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "../import/convert.hpp"
#include "families.hpp"

namespace heed_compile {
namespace {

// Layers of the encoder, then those of the decoder. They have the same names in each.
struct layer_names {
  std::string prefix, norm1, cross, norm_cross, norm2, up, down, out;
};

void add_attention_of_speech(weight_list &w, const std::string &source, const std::string &out, int32_t dim,
                             int32_t queries, int32_t keys, const std::string &field) {
  w.matrix(field + "wq", source + ".q_proj", dim, queries);
  w.matrix(field + "wk", source + ".k_proj", dim, keys);
  w.matrix(field + "wv", source + ".v_proj", dim, keys);
  w.matrix(field + "wo", source + "." + out, queries, dim);
}

void add_layers_of_speech(network &net, const layer_names &encoder, const layer_names &decoder) {
  const speech_settings &s = net.speech;
  weight_list w(net);
  w.of_layers(0, s.n_layers);
  w.norm("norm1", encoder.prefix + encoder.norm1, net.dim);
  add_attention_of_speech(w, encoder.prefix + "self_attn", encoder.out, net.dim, s.n_heads * s.head_dim,
                          s.n_kv_heads * s.head_dim, "");
  w.norm("norm2", encoder.prefix + encoder.norm2, net.dim);
  w.matrix("w_up", encoder.prefix + encoder.up, net.dim, s.ffn_dim);
  w.matrix("w_down", encoder.prefix + encoder.down, s.ffn_dim, net.dim);
  w.of_layers(s.n_layers, net.n_layers - s.n_layers);
  const int32_t queries = net.n_heads * net.head_dim, keys = net.n_kv_heads * net.head_dim;
  w.norm("norm1", decoder.prefix + decoder.norm1, net.dim);
  add_attention_of_speech(w, decoder.prefix + "self_attn", decoder.out, net.dim, queries, keys, "");
  w.norm("norm_cross", decoder.prefix + decoder.norm_cross, net.dim);
  add_attention_of_speech(w, decoder.prefix + decoder.cross, decoder.out, net.dim, queries, keys, "cross_");
  w.norm("norm2", decoder.prefix + decoder.norm2, net.dim);
  w.matrix("w_up", decoder.prefix + decoder.up, net.dim, net.up_gate ? 2 * net.ffn_dim : net.ffn_dim);
  w.matrix("w_down", decoder.prefix + decoder.down, net.ffn_dim, net.dim);
}

// Counts of both halves; the names of the keys differ.
void read_counts(const config &c, bool is_whisper, network &net) {
  speech_settings &s = net.speech;
  net.dim = c.count(is_whisper ? "d_model" : "hidden_size");
  s.n_layers = c.count(is_whisper ? "encoder_layers" : "encoder_num_hidden_layers");
  const int32_t n_decoder = c.count(is_whisper ? "decoder_layers" : "decoder_num_hidden_layers");
  if (s.n_layers > 2048 || n_decoder > 2048)
    throw refusal("the counts of the model do not fit each other: there are more than 4096 layers");
  net.n_layers = s.n_layers + n_decoder;
  s.n_heads = c.count(is_whisper ? "encoder_attention_heads" : "encoder_num_attention_heads");
  net.n_heads = c.count(is_whisper ? "decoder_attention_heads" : "decoder_num_attention_heads");
  if (net.dim % s.n_heads != 0 || net.dim % net.n_heads != 0)
    throw refusal("heads do not divide " + std::string(is_whisper ? "d_model" : "hidden_size"));
  s.n_kv_heads = s.n_heads, net.n_kv_heads = net.n_heads;
  s.head_dim = net.dim / s.n_heads, net.head_dim = net.dim / net.n_heads;
  s.ffn_dim = c.count(is_whisper ? "encoder_ffn_dim" : "intermediate_size");
  net.ffn_dim = c.count(is_whisper ? "decoder_ffn_dim" : "intermediate_size");
  net.n_tokens = c.count("vocab_size");
  net.n_positions = c.count(is_whisper ? "max_target_positions" : "max_position_embeddings");
  net.norm = "heed_layer_norm", net.eps = 1e-5;
}

int32_t token_of(const network &net, const json &number, const std::string &key) {
  const double token = number.is_number() ? number.get<double>() : -1;
  if (!(token >= 0 && token < net.n_tokens) || token != std::floor(token))
    throw refusal(key + " has a token that the vocabulary has not");
  return static_cast<int32_t>(token);
}

void read_tokens(const json &j, const char *key, const network &net, std::vector<int32_t> &to) {
  const auto list = j.find(key);
  if (list == j.end() || !list->is_array()) return;
  to.clear();
  for (const json &one : *list)
    if (one != -1)
      to.push_back(token_of(net, one, key));  // -1: all that the program of the file's author calls symbols
}

// [[1, 50259], [2, 50359]]: tokens by their places behind the first one; null: the language is to be found.
void read_forced(const json &j, network &net) {
  const auto list = j.find("forced_decoder_ids");
  if (list == j.end() || !list->is_array()) return;
  std::vector<int32_t> &start = net.speech.start_tokens;
  start.resize(1);
  for (const json &pair : *list) {
    if (!pair.is_array() || pair.size() != 2 || pair[0] != start.size())
      throw refusal("forced_decoder_ids is no list of places, from 1 on, with their tokens");
    start.push_back(pair[1].is_null() ? -1 : token_of(net, pair[1], "forced_decoder_ids"));
  }
}

// What is the same in config.json and in generation_config.json, which counts.
void read_start(const json &j, network &net) {
  const auto first = j.find("decoder_start_token_id");
  if (first != j.end() && !first->is_null())
    net.speech.start_tokens.assign(1, token_of(net, *first, "decoder_start_token_id"));
  if (net.speech.start_tokens.empty()) throw refusal("config.json has no decoder_start_token_id");
  read_forced(j, net);
  read_tokens(j, "suppress_tokens", net, net.speech.suppressed);
  read_tokens(j, "begin_suppress_tokens", net, net.speech.suppressed_first);
}

// Convolutions over time. expect_sizes has looked at the dimensions.
void add_convolution(network &net, const std::string &name, const std::string &source, int32_t kernel, int32_t channels,
                     int32_t n_out) {
  weight_list w(net);
  w.one(name, source + ".weight", kernel * channels, n_out);
  net.weights.back().kernel = kernel;
  w.one(name + "_bias", source + ".bias", 0, n_out, true);
}

void read_whisper(const config &c, const std::vector<tensor> &all, network &net) {
  speech_settings &s = net.speech;
  if (c.flag("scale_embedding", false)) throw refusal("scale_embedding: true is not known");
  const std::string activation = c.text("activation_function");
  net.activation = s.activation = activation_named(activation.empty() ? "gelu" : activation);
  s.n_mels = c.count("num_mel_bins"), s.n_positions = c.count("max_source_positions");
  if (s.n_mels > 1024) throw refusal("num_mel_bins is greater than 1024");
  if (static_cast<int64_t>(s.n_positions) * net.dim >= INT32_MAX || net.dim > 1 << 20)
    throw refusal("the counts of the model do not fit each other: the table of positions is too large");
  if (s.n_positions < 50) throw refusal("max_source_positions is less than a second of sound, which has 50");
  const std::string m = prefix_of(all, {"model.", ""}, "encoder.conv1.weight"), e = m + "encoder.", d = m + "decoder.";
  weight_list w(net);
  add_convolution(net, "conv1", e + "conv1", 3, s.n_mels, net.dim);
  add_convolution(net, "conv2", e + "conv2", 3, net.dim, net.dim);
  w.one("encoder_positions", e + "embed_positions.weight", 0, s.n_positions * net.dim);
  add_layers_of_speech(net,
                       {e + "layers.{}.", "self_attn_layer_norm", "", "", "final_layer_norm", "fc1", "fc2", "out_proj"},
                       {d + "layers.{}.", "self_attn_layer_norm", "encoder_attn", "encoder_attn_layer_norm",
                        "final_layer_norm", "fc1", "fc2", "out_proj"});
  w.norm_outside("encoder_norm", e + "layer_norm");
  w.one("embedding", d + "embed_tokens.weight", net.dim, net.n_tokens);
  add_positions(net, d + "embed_positions.weight");
  w.norm_outside("final_norm", d + "layer_norm");
}

// An export keeps the frequencies that the model was trained with. The last bit of some is another one than that of a formula.
void read_frequencies(const std::vector<tensor> &all, rope_settings &rope) {
  const int32_t n = rope.rotary_dim / 2;
  for (const tensor &t : all) {
    if (t.name.find("/rotary_emb/") == std::string::npos || !t.refused.empty() || t.dtype != HEED_F32 ||
        t.count() != static_cast<uint64_t>(n))
      continue;
    const std::vector<float> found = heed_import::floats_of(t);
    const auto is_possible = [](float f) { return f > 0 && f <= 1; };
    if (std::all_of(found.begin(), found.end(), is_possible)) rope.frequencies = found;
  }
}

void read_moonshine(const config &c, const std::vector<tensor> &all, network &net) {
  speech_settings &s = net.speech;
  s.takes_samples = true, net.up_gate = true;
  s.n_kv_heads = count_of("encoder_num_key_value_heads", c.number("encoder_num_key_value_heads", s.n_heads));
  net.n_kv_heads = count_of("decoder_num_key_value_heads", c.number("decoder_num_key_value_heads", net.n_heads));
  if (s.n_heads % s.n_kv_heads != 0) throw refusal("heads of keys do not divide those of queries");
  const auto activation = [&](const char *key, const char *otherwise) {
    return activation_named(c.text(key).empty() ? otherwise : c.text(key));
  };
  s.activation = activation("encoder_hidden_act", "gelu");
  net.activation = activation("decoder_hidden_act", "silu");
  if (s.head_dim != net.head_dim)
    throw refusal("heads of different lengths in the encoder and the decoder are not known");
  read_rope(c, net);
  net.rope.interleaved = true;
  if (net.rope.scale == 1 && net.rope.frequencies.empty()) read_frequencies(all, net.rope);
  if (net.dim > 1 << 20) throw refusal("hidden_size is greater than 2^20");
  const std::string m = prefix_of(all, {"model.", ""}, "encoder.conv1.weight"), e = m + "encoder.", d = m + "decoder.";
  weight_list w(net);
  add_convolution(net, "conv1", e + "conv1", 127, 1, net.dim);
  w.norm_outside("group_norm", e + "groupnorm");
  add_convolution(net, "conv2", e + "conv2", 7, net.dim, 2 * net.dim);
  add_convolution(net, "conv3", e + "conv3", 3, 2 * net.dim, net.dim);
  add_layers_of_speech(
      net, {e + "layers.{}.", "input_layernorm", "", "", "post_attention_layernorm", "mlp.fc1", "mlp.fc2", "o_proj"},
      {d + "layers.{}.", "input_layernorm", "encoder_attn", "post_attention_layernorm", "final_layernorm", "mlp.fc1",
       "mlp.fc2", "o_proj"});
  w.norm_outside("encoder_norm", e + "layer_norm");
  w.one("embedding", d + "embed_tokens.weight", net.dim, net.n_tokens);
  w.norm_outside("final_norm", d + "norm");
}

}  // namespace

bool is_speech(const std::string &family) { return family == "whisper" || family == "moonshine"; }

network speech_of_config(const config &c, const std::vector<tensor> &all) {
  network net;
  net.family = c.text("model_type");
  net.what = task::speech;
  const bool is_whisper = net.family == "whisper";
  read_counts(c, is_whisper, net);
  expect_sizes(net);
  is_whisper ? read_whisper(c, all, net) : read_moonshine(c, all, net);
  expect_sizes(net);
  net.is_tied = c.flag("tie_word_embeddings", true) || !has(all, "proj_out.weight");
  if (!net.is_tied) weight_list(net).one("classifier", "proj_out.weight", net.dim, net.n_tokens);
  read_start(c.all(), net);
  return net;
}

void read_speech_generation(const json &j, network &net) {
  read_start(j, net);
  std::vector<int32_t> &start = net.speech.start_tokens;
  const config c(j);
  const json languages = c.inner("lang_to_id").all(), tasks = c.inner("task_to_id").all();
  for (const auto &[name, token] : languages.items())
    net.speech.languages.push_back(token_of(net, token, "lang_to_id"));
  std::sort(net.speech.languages.begin(), net.speech.languages.end());
  // Files of transformers 4.40 and later have these instead of forced_decoder_ids.
  if (start.size() == 1 && !net.speech.languages.empty() && c.flag("is_multilingual", true)) {
    start.push_back(-1);
    if (tasks.contains("transcribe")) start.push_back(token_of(net, tasks["transcribe"], "task_to_id"));
  }
  const auto no_times = j.find("no_timestamps_token_id");
  if (no_times != j.end() && no_times->is_number()) {
    const int32_t token = token_of(net, *no_times, "no_timestamps_token_id");
    if (std::find(start.begin(), start.end(), token) == start.end()) start.push_back(token);
  }
  if (std::find(start.begin(), start.end(), -1) != start.end() && net.speech.languages.empty())
    throw refusal("forced_decoder_ids leaves the language open, and generation_config.json has no lang_to_id");
}

void read_speech_preprocessor(const json &j, network &net) {
  if (net.what != task::speech) return;
  const config c(j);
  const auto expect = [&](const char *key, double wanted) {
    if (c.number(key, wanted) != wanted)
      throw refusal("preprocessor_config.json: " + std::string(key) + " is not " +
                    std::to_string(static_cast<int>(wanted)));
  };
  expect("sampling_rate", sample_rate);
  if (net.speech.takes_samples) return;
  expect("feature_size", net.speech.n_mels);
  expect("hop_length", window_step);
  expect("n_fft", window_length);
  const auto filters = j.find("mel_filters");
  if (filters == j.end() || filters->is_null()) return;
  const auto n_mels = static_cast<size_t>(net.speech.n_mels);
  const auto refuse = [] {
    throw refusal("preprocessor_config.json: mel_filters is no matrix of num_mel_bins x 201 numbers");
  };
  if (!filters->is_array() || filters->size() != n_mels) refuse();
  for (const json &band : *filters) {
    if (!band.is_array() || band.size() != n_frequencies) refuse();
    for (const json &number : band) {
      if (!number.is_number()) refuse();
      net.speech.mel_filters.push_back(number.get<float>());
      if (!(std::fabs(net.speech.mel_filters.back()) < 1e6f)) refuse();
    }
  }
}

}  // namespace heed_compile
