// A transformer as heed_compile sees it: counts, which functions its layers take, and under which names a file has their weights.
// families.cpp reads it from the metadata of GGUF or from config.json; write_decoder.cpp and write_encoder.cpp write the program.
// SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_NETWORK_HPP
#define HEED_COMPILE_NETWORK_HPP

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "../import/select.hpp"

namespace heed_compile {

using heed_import::refusal;
using heed_import::tensor;

// A tensor of the program. {} in a name stands for the number of a layer.
struct weight {
  std::string name;     // in the program's file, such as layers.{}.wq
  std::string source;   // in the model's file
  int32_t n_in, n_out;  // of a matrix; of a vector n_in is 0
  std::string field;    // of the layer in C, such as a->wq
  bool is_optional;     // is left out if the source has none
  int32_t part,
      parts;  // which of several matrices that lie side by side in the source: rows part of parts, if they are equal
  int32_t first, n_rows;  // or these rows, if n_rows is not 0
  bool by_heads;          // parts lie side by side in each head (GPT-NeoX)
  std::string
      beside;  // a tensor of the same shape, for the row behind the first: the mean of both results counts (DeiT)
  int32_t kernel = 0;  // of a convolution over time, (n_out, channels, kernel) in the source; 0: of none
  int32_t first_layer = 0, n_layers = 0;  // layers that have it, with numbers from 0 on in the source; 0: all
};

enum class task { decoder, encoder, vision, speech };

// What a model of speech has before its decoder, whose settings are those of the network. Layers 0 to n_layers - 1 are of the encoder,
// and the others, up to the network's n_layers, of the decoder.
struct speech_settings {
  bool takes_samples = false;  // convolutions of the samples (Moonshine); else of a log-mel spectrogram (Whisper)
  int32_t n_mels = 0;
  int32_t n_layers = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0, ffn_dim = 0;
  int32_t n_positions = 0;  // of the encoder's rows; 0: there is no table
  std::string activation;
  std::vector<float> mel_filters;                                // (n_mels, n_frequencies); empty: those of the formula
  std::vector<int32_t> start_tokens;                             // -1: the most probable one of `languages`
  std::vector<int32_t> languages, suppressed, suppressed_first;  // suppressed_first: right behind the start
};

// Whisper's spectrogram, and the rate of all models: samples a second, of a window, from one to the next, and frequencies of it.
enum { sample_rate = 16000, window_length = 400, window_step = 160, n_frequencies = window_length / 2 + 1 };

struct rope_settings {
  bool is_used = false, interleaved = false;
  int32_t rotary_dim = 0;
  double base = 10000, scale = 1, factor = 1;
  std::vector<float> frequencies;  // instead of base, if there are any
};

struct network {
  std::string family, source;
  std::array<uint8_t, 32> digest = {};  // SHA-256 of the source's files, one behind the other
  task what = task::decoder;
  int32_t n_layers = 0, dim = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0, ffn_dim = 0, n_tokens = 0, n_positions = 0;

  int32_t wanted_context = 0;   // that the user asks for
  double original_context = 0;  // tokens of the first training, if the file says so beside its rope

  // a layer
  std::string norm = "heed_rms_norm", activation = "heed_silu", qk_norm;
  double eps = 1e-5, attention_scale = 0, attention_softcap = 0;
  bool norm_first = true, post_norm = false, parallel = false, gate_up = false, qk_norm_whole = false;
  std::vector<int32_t> windows;    // tokens that each layer sees; 0: all
  rope_settings rope, local_rope;  // local: of layers with a window, if it is used
  int32_t position_offset = 0;     // the first row of the table of positions (RoBERTa: 2)

  // before and behind the layers
  double embedding_scale = 1, logits_softcap = 0;
  bool is_tied = false;  // logits are made with the embedding
  bool has_final_norm = true, has_embedding_norm = false, has_token_types = false;
  enum class pooling { none, first, mean } pool = pooling::none;
  bool normalizes = false;  // an embedding has length 1
  int32_t n_token_types = 0;
  int32_t n_classes = 0;
  int32_t n_class_rows = 1;  // first rows that the classes are made of
  bool has_pooler = false;   // dense and tanh before the classes (BERT), or relu (DistilBERT)
  std::string pooler_activation = "heed_tanh";
  bool up_gate = false;  // value and gate lie in w_up, the value first (Moonshine)
  speech_settings speech;
  int32_t image_size = 0, patch_size = 0, n_channels = 3,
          n_special_rows = 1;  // vision; DeiT has 2 rows before the patches
  std::vector<std::string> labels;

  std::vector<weight> weights;
  std::vector<int32_t> end_tokens;
};

// From tensors of GGUF with their metadata; from a folder's config.json and the tensors of its safetensors. Throws refusal, which names
// the family or the value that is not known.
// wanted_context: tokens that the program will see, which decide between the two forms of LongRoPE.
network network_of_gguf(const std::vector<tensor> &all, int32_t wanted_context);
network network_of_config(const std::string &config, const std::vector<tensor> &all, int32_t wanted_context);

// The files that model.safetensors.index.json names.
std::set<std::string> files_of_index(const std::string &text);

// What other files of such a folder say: tokens that end a text; how sentence-transformers makes an embedding of rows.
void read_generation_config(const std::string &text, network &net);
void read_pooling_config(const std::string &text, bool normalizes, network &net);
// How sounds become spectrograms.
void read_preprocessor_config(const std::string &text, network &net);

// The bands of Whisper's spectrogram, (n_mels, n_frequencies), as in the file or by the formula of Slaney 1998.
std::vector<double> mel_filters_of(const network &net);

// The tables that compute it: cosines and sines of a window, and the bands.
std::vector<tensor> spectrogram_tensors(const network &net);

// A tensor of the program, and the one of the source that it is made of.
struct plan {
  std::string name;
  const weight *what;
  const tensor *source;
  const tensor *beside;  // null, or the one of weight::beside
};

// The format in which a matrix of the source is packed, unless the user says another one: its own, or the nearest one that heed
// computes with.
int32_t kept_format(const tensor &t);

// All of them, in the order of net.weights. Throws refusal if the source has one not, or not in its shape.
std::vector<plan> plans_of(const network &net, const std::vector<tensor> &all);

// Throws refusal if a layer of the source has a weight that no plan takes: the program would compute something else.
void expect_all_used(const network &net, const std::vector<plan> &plans, const std::vector<tensor> &all);

// One of them, in the program's format. The last rule counts whose pattern matches its name here or in the source; no rule: as the
// source has it, if heed computes with that, else Q8_0. Matrices are packed.
tensor made(const network &net, const plan &p, const std::vector<heed_import::format_rule> &formats);

// The numbers of the source as they are, for the reference.
std::vector<double> numbers_of(const network &net, const plan &p);

// What the program's file has besides: frequencies of rotations, the tokenizer. It takes them out of `all`.
std::vector<tensor> more_tensors(const network &net, std::vector<tensor> &all);

}  // namespace heed_compile

#endif
