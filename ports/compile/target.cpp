// See target.hpp. tests/compile_targets.sh compares every number here with what GCC builds. SPDX-License-Identifier: MIT
#include "target.hpp"

#include <algorithm>

#include "heed/heed.h"

namespace heed_compile {
namespace {

// Code and constants of a program with all that it calls of heed, heed_model and libgcc, in bytes. Layers choose formats at run time, so
// that other models of a kind have nearly as much.
struct core_code {
  const char *name, *title, *compiler;
  uint32_t decoder, encoder, picture;  // with a tokenizer, but for pictures
  uint32_t stack;                      // HEED_STACK_BYTES
};
const core_code cores[] = {
#include "target_code.inc"
};

const core_code *core_of(const std::string &name) {
  for (const core_code &core : cores)
    if (name == core.name) return &core;
  return nullptr;
}

// Objects of heed where pointers have 4 bytes; all are aligned to 4, but for digests, which have integers of 64 bits.
enum : uint64_t {
  file_object = 12,
  tokenizer_object = 108,
  weights_object = 40,
  rope_object = 44,
  options_object = 52,
  softcap_object = 12,
  cache_object = 52,
  attention_object = 260,
  layer_object = 228,
  digest_object = 160,
  pointer = 4
};

// Adds up the fields of a struct.
class layout {
 public:
  void add(uint64_t n_bytes, uint64_t alignment = 4) {
    at_ = (at_ + alignment - 1) / alignment * alignment + n_bytes;
    most_ = std::max(most_, alignment);
  }
  void add_aligned(uint64_t n_bytes) { add(n_bytes, HEED_ALIGNMENT); }
  void add_pointers(uint64_t n) { add(n * pointer); }
  uint64_t bytes() const { return (at_ + most_ - 1) / most_ * most_; }

 private:
  uint64_t at_ = 0, most_ = 1;
};

uint64_t product(int64_t a, int64_t b, int64_t c = 1) {
  return static_cast<uint64_t>(a) * static_cast<uint64_t>(b) * static_cast<uint64_t>(c);
}

// Fields that all programs end with.
void add_layers(layout &to, const network &net) {
  to.add(product(net.n_layers, attention_object));
  to.add(product(net.n_layers, layer_object));
}
void add_end(layout &to, const network &net, const choices &c) {
  if (!c.unchecked) {
    to.add(product(net.n_layers, digest_object), 8);
    to.add(4);
  }
  to.add_pointers(3);
}

uint64_t decoder_bytes(const network &net, const choices &c, const std::vector<tensor> &weights) {
  const int32_t context = context_of(net, c), piece = std::min(c.piece, context), dtype = dtype_of_cache(c);
  const auto n_windows = std::count_if(net.windows.begin(), net.windows.end(), [](int32_t w) { return w > 0; });
  const int32_t window = net.windows.empty() ? 0 : *std::max_element(net.windows.begin(), net.windows.end());
  const int64_t n_rings = n_windows > 0 && window < context ? n_windows : 0;
  const bool gated = net.gate_up || has(weights, "layers.0.w_gate");
  const int32_t ffn = net.ffn_dim + (net.parallel ? net.dim : 0);
  const uint64_t full = HEED_CACHE_BYTES(context, 1, net.n_kv_heads, net.head_dim, net.head_dim, dtype);
  uint64_t caches = product(net.n_layers - n_rings, static_cast<int64_t>(full));
  if (n_rings > 0) {
    const uint64_t ring = HEED_RING_BYTES(window, 0, piece - 1, 1, net.n_kv_heads, net.head_dim, net.head_dim, dtype);
    caches += product(n_rings, static_cast<int64_t>(ring));
  }
  const uint64_t layer = HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(piece, net.dim, net.n_heads, net.n_kv_heads,
                                                               net.head_dim, net.head_dim, ffn, gated);
  layout to;
  to.add_aligned(caches);
  to.add_aligned(std::max<uint64_t>(layer, HEED_SAMPLE_BYTES(net.n_tokens)));
  to.add_aligned(product(piece, net.dim, 4));
  to.add(product(net.n_tokens, 4));
  to.add(product(context, 4));
  to.add(8);
  to.add(file_object);
  if (has(weights, "tokenizer")) to.add(tokenizer_object);
  to.add(2 * weights_object);
  if (has(weights, "positions")) to.add_pointers(1);
  to.add_pointers(2);
  if (net.rope.is_used) to.add(rope_object);
  if (net.local_rope.is_used && n_windows > 0) to.add(rope_object);
  if (net.attention_softcap > 0) to.add(options_object + softcap_object);
  to.add(product(net.n_layers, cache_object));
  add_layers(to, net);
  add_end(to, net, c);
  return to.bytes();
}

uint64_t encoder_bytes(const network &net, const choices &c, const std::vector<tensor> &weights) {
  const bool is_text = net.what == task::encoder;
  const int32_t rows = context_of(net, c), out = net.n_classes > 0 ? net.n_classes : net.dim;
  layout to;
  to.add_aligned(HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(rows, net.dim, net.n_heads, net.n_heads, net.head_dim,
                                                       net.head_dim, net.ffn_dim, 0));
  to.add_aligned(product(rows, net.dim, 4));
  if (net.pool == network::pooling::first) to.add(product(net.n_class_rows, net.dim, 4));
  if (net.has_pooler) to.add(product(net.dim, 4));
  if (is_text) {
    to.add(product(rows, 4));
  } else {
    to.add(product(product(net.patch_size, net.patch_size), net.n_channels, 4));
  }
  to.add(file_object);
  if (is_text && has(weights, "tokenizer")) to.add(tokenizer_object);
  to.add(weights_object);  // embedding of tokens or patches
  if (is_text && net.has_token_types) to.add_pointers(1);
  if (!is_text) to.add_pointers(net.n_special_rows == 2 ? 3 : 2);
  to.add_pointers(1);  // positions
  if (net.has_embedding_norm) to.add_pointers(2);
  if (net.has_final_norm) to.add_pointers(2);
  if (net.has_pooler) to.add(weights_object + pointer);
  if (net.n_classes > 0) to.add(weights_object + pointer);
  add_layers(to, net);
  if (!c.unchecked) to.add(product(out, 4));
  add_end(to, net, c);
  return to.bytes();
}

std::string kilobytes(uint64_t n) { return std::to_string((n + 1023) / 1024) + " KB"; }

}  // namespace

void expect_target(const std::string &core) {
  if (core_of(core) != nullptr) return;
  std::string all;
  for (const core_code &known : cores) all += (all.empty() ? "" : ", ") + std::string(known.name);
  throw refusal("--target " + names::for_terminal(core) + ": is not one of " + all);
}

uint64_t ram_bytes(const network &net, const choices &c, const std::vector<tensor> &weights) {
  return net.what == task::decoder ? decoder_bytes(net, c, weights) : encoder_bytes(net, c, weights);
}

std::string target_text(const std::string &name, const network &net, const choices &c,
                        const std::vector<tensor> &weights, uint64_t file_bytes) {
  const core_code &core = *core_of(name);
  uint32_t code = core.picture;
  if (net.what == task::decoder) code = core.decoder;
  if (net.what == task::encoder) code = core.encoder;
  const uint64_t ram = ram_bytes(net, c, weights);
  std::string text = std::string(core.title) + ", " + core.compiler + "; computed, not built\n";
  const auto line = [&text](const std::string &what, uint64_t n, const std::string &of) {
    text += what + " " + std::to_string(n) + " bytes (" + kilobytes(n) + "): " + of + "\n";
  };
  line("flash", file_bytes + code,
       std::to_string(file_bytes) + " of weights, about " + std::to_string(code) +
           " of code, which may differ by a tenth");
  line("RAM  ", ram, "sizeof(" + c.name + "), all of the memory");
  line("stack", core.stack + 1024, "at most");
  text += "smaller flash: --format int8, q8_0 or int4";
  if (net.what == task::decoder) text += "; smaller RAM: --context, --piece, --cache int8";
  if (net.what == task::encoder) text += "; smaller RAM: --context";
  return text + "\n";
}

}  // namespace heed_compile
