// model.bin and tokenizer.bin of llama2.c, a Llama in floats, as tensors with the names and metadata of GGUF. Source:
// github.com/karpathy/llama2.c, export.py (version 0) and tokenizer.py. SPDX-License-Identifier: MIT
#include <algorithm>

#include "../import/checked_reader.hpp"
#include "../import/vocabulary.hpp"
#include "published.hpp"

namespace heed_compile {
namespace {

using heed_import::bytes;
using heed_import::checked_reader;
using heed_import::span;

tensor metadata_of(const std::string &name, int32_t dtype, size_t n, bytes numbers) {
  tensor t;
  t.name = name, t.dtype = dtype, t.dims = {static_cast<uint32_t>(n)}, t.is_metadata = true;
  t.own(std::move(numbers));
  return t;
}
tensor text_of(const std::string &name, const std::string &text) {
  return metadata_of(name, HEED_FILE_TEXT, text.size(), bytes(text.begin(), text.end()));
}

struct header {
  int32_t dim, ffn_dim, n_layers, n_heads, n_kv_heads, n_tokens, n_positions;
  bool is_tied;
};

header read_header(checked_reader &file) {
  const auto number = [&](const char *what) {
    const auto n = static_cast<int32_t>(file.number(4));
    if (n < 1 || n > 1 << 24)
      throw refusal(std::string(what) + " is not a count of 1 to 2^24: this is no checkpoint of llama2.c");
    return n;
  };
  header h = {};
  h.dim = number("dim"), h.ffn_dim = number("hidden_dim"), h.n_layers = number("n_layers"),
  h.n_heads = number("n_heads");
  h.n_kv_heads = number("n_kv_heads");
  const auto n_tokens = static_cast<int32_t>(file.number(4));  // is negative if the logits have weights of their own
  h.is_tied = n_tokens > 0;
  h.n_tokens = h.is_tied ? n_tokens : -std::max(n_tokens, -INT32_MAX);
  if (h.n_tokens < 1 || h.n_tokens > 1 << 24) throw refusal("vocab_size is not a count of 1 to 2^24");
  h.n_positions = number("seq_len");
  if (h.dim % h.n_heads != 0) throw refusal("heads do not divide dim");
  return h;
}

// The tensors lie one behind the other; a kind of weights of all layers is one tensor.
void add_weights(checked_reader &file, const header &h, std::vector<tensor> &all) {
  const auto add = [&](const std::string &name, int32_t n_layers, const std::vector<int32_t> &dims) {
    for (int32_t layer = 0; layer < std::max(n_layers, 1); ++layer) {
      tensor t;
      t.name = n_layers > 0 ? "blk." + std::to_string(layer) + "." + name : name;
      uint64_t n = 4;
      for (const int32_t dim : dims) n *= static_cast<uint64_t>(dim), t.dims.push_back(static_cast<uint32_t>(dim));
      t.refer(file.take(n));
      all.push_back(std::move(t));
    }
  };
  const int32_t kv = h.dim / h.n_heads * h.n_kv_heads, half = h.dim / h.n_heads / 2;
  add("token_embd.weight", 0, {h.n_tokens, h.dim});
  add("attn_norm.weight", h.n_layers, {h.dim});
  add("attn_q.weight", h.n_layers, {h.dim, h.dim});
  add("attn_k.weight", h.n_layers, {kv, h.dim});
  add("attn_v.weight", h.n_layers, {kv, h.dim});
  add("attn_output.weight", h.n_layers, {h.dim, h.dim});
  add("ffn_norm.weight", h.n_layers, {h.dim});
  add("ffn_gate.weight", h.n_layers, {h.ffn_dim, h.dim});
  add("ffn_down.weight", h.n_layers, {h.dim, h.ffn_dim});
  add("ffn_up.weight", h.n_layers, {h.ffn_dim, h.dim});
  add("output_norm.weight", 0, {h.dim});
  file.skip(8 * static_cast<uint64_t>(h.n_positions) * static_cast<uint64_t>(half));  // tables of cosines and sines
  if (!h.is_tied) add("output.weight", 0, {h.n_tokens, h.dim});
  if (file.left() != 0) throw refusal("is longer than its counts say: this is no checkpoint of llama2.c");
}

// A token has a score and a text, in which U+2581 has become a blank.
void add_words(checked_reader &file, int32_t n_tokens, std::vector<tensor> &all) {
  file.skip(4);  // the length of the longest text
  bytes scores, kinds, ends;
  std::string texts;
  const auto n = static_cast<uint64_t>(n_tokens);
  heed_import::put(ends, n, 4);
  for (int32_t id = 0; id < n_tokens; ++id) {
    const span score = file.take(4);
    scores.insert(scores.end(), score.data, score.data + score.size);
    const std::string text = file.text(file.number(4));
    const bool is_byte = text.size() == 6 && text.compare(0, 3, "<0x") == 0 && text.back() == '>';
    enum { normal = 1, unknown = 2, control = 3, byte_of = 6 };
    heed_import::put(kinds, id == 0 ? unknown : id < 3 ? control : is_byte ? byte_of : normal, 4);
    for (const char c : text) texts += id > 2 && c == ' ' ? "\xe2\x96\x81" : std::string(1, c);
    heed_import::put(ends, texts.size(), 4);
  }
  if (file.left() != 0) throw refusal("has more tokens than the model");
  ends.insert(ends.end(), texts.begin(), texts.end());
  const size_t n_bytes = ends.size();
  all.push_back(text_of("tokenizer.ggml.model", "llama"));
  all.push_back(metadata_of("tokenizer.ggml.tokens", HEED_FILE_LIST, n_bytes, std::move(ends)));
  all.push_back(metadata_of("tokenizer.ggml.scores", HEED_F32, n, std::move(scores)));
  all.push_back(metadata_of("tokenizer.ggml.token_type", HEED_FILE_I32, n, std::move(kinds)));
}

}  // namespace

std::vector<tensor> read_checkpoint(span model, span words) {
  checked_reader file(model), of_words(words);
  const header h = read_header(file);
  std::vector<tensor> all;
  add_weights(file, h, all);
  std::string lines;
  const auto line = [&](const std::string &key, int32_t value) { lines += key + " " + std::to_string(value) + "\n"; };
  line("llama.block_count", h.n_layers), line("llama.embedding_length", h.dim),
      line("llama.feed_forward_length", h.ffn_dim);
  line("llama.attention.head_count", h.n_heads), line("llama.attention.head_count_kv", h.n_kv_heads);
  line("llama.context_length", h.n_positions);
  lines += "llama.attention.layer_norm_rms_epsilon 1e-5\n";
  line("tokenizer.ggml.bos_token_id", 1),
      line("tokenizer.ggml.eos_token_id", 1);  // a text ends where the next one begins
  all.push_back(text_of("general.architecture", "llama"));
  all.push_back(text_of("metadata", lines));
#ifdef HEED_IMPORT_TOKENIZERS
  if (words.size > 0) {
    std::vector<tensor> lists;
    lists.push_back(text_of("metadata", lines));
    add_words(of_words, h.n_tokens, lists);
    for (tensor &t : heed_import::tokenizer_of_gguf(lists)) all.push_back(std::move(t));
  }
#endif
  return all;
}

}  // namespace heed_compile
