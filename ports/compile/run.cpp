// See run.hpp. The calls are those of write_decoder.cpp and write_encoder.cpp: a program checks its known answers when it opens its
// file, so a difference between them does not stay hidden. SPDX-License-Identifier: MIT
#include "run.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "../receipt/receipts.hpp"
#include "run_parts.hpp"
#include "weight_file.hpp"

namespace heed_compile {
namespace {

class machine {
 public:
  machine(const network &net, const choices &c, heed_import::span file, int32_t n_rows)
      : net_(net),
        file_(file, !c.exact),
        x_(static_cast<size_t>(n_rows) * static_cast<size_t>(net.dim)),
        attention_(static_cast<size_t>(net.n_layers)),
        layers_(attention_.size()),
        caches_(attention_.size()),
        n_(n_rows) {
    if (net.rope.is_used) file_.open_rope(rope_, net.rope, "rope_frequencies");
    if (net.local_rope.is_used) file_.open_rope(local_rope_, net.local_rope, "local_rope_frequencies");
    options_ = heed_options_default();
    if (net.attention_softcap > 0) {
      require(heed_softcap_init(&softcap_, static_cast<float>(net.attention_softcap)));
      options_.softcap = &softcap_;
    }
    for (int32_t l = 0; l < net.n_layers; ++l) open_layer(l, c);
  }

  heed_matrix_out x() { return heed_matrix_out_of(x_.data(), n_, net_.dim); }
  heed_matrix rows(int32_t n) const { return heed_matrix_of(x_.data(), n, net_.dim); }
  float *data() { return x_.data(); }

  heed_weights matrix(const std::string &name, int32_t n_in, int32_t n_out) const {
    return file_.matrix(name, n_in, n_out);
  }
  const float *floats(const std::string &name, int32_t n) const { return file_.floats(name, n); }

  // y has n_out rows of the last layer, the first ones.
  void run_layers(const see_rows &see, int32_t n_out) {
    std::vector<float> first(static_cast<size_t>(n_out) * static_cast<size_t>(net_.dim));
    for (int32_t l = 0; l < net_.n_layers; ++l) {
      heed_transformer_layer &t = layers_[static_cast<size_t>(l)];
      const bool is_cut = l == net_.n_layers - 1 && n_out < n_;
      if (is_cut) t.out_rows = n_out;
      const size_t n_bytes = heed_transformer_layer_bytes(&t, n_);
      const memory workspace = memory_of(n_bytes);
      const heed_matrix_out y = is_cut ? heed_matrix_out_of(first.data(), n_out, net_.dim) : x();
      require(heed_transformer_layer_run(&t, rows(n_), y, heed_memory_of(workspace.get(), n_bytes), nullptr));
      if (is_cut) std::copy(first.begin(), first.end(), x_.begin());
      see(l, 0, rows(is_cut ? n_out : n_));
    }
  }
  void norm(const std::string &name, int32_t n) {
    const float *const weight = floats(name + "_weight", net_.dim), *const bias = floats(name + "_bias", net_.dim);
    require(norm_of(net_.norm)(rows(n), weight, bias, static_cast<float>(net_.eps),
                               heed_matrix_out_of(x_.data(), n, net_.dim), nullptr));
  }

 private:
  void open_layer(int32_t l, const choices &c) {
    const auto at = static_cast<size_t>(l);
    heed_attention_layer &a = attention_[at];
    a = heed_attention_layer_default(net_.dim, net_.n_heads);
    a.n_kv_heads = net_.n_kv_heads, a.head_dim = a.v_dim = net_.head_dim;
    if (net_.what == task::decoder) {
      a.causal = 1;
      open_cache(l, c);
      a.cache = &caches_[at];
    }
    const bool has_window = at < net_.windows.size() && net_.windows[at] > 0;
    if (net_.rope.is_used) a.rope = has_window && net_.local_rope.is_used ? &local_rope_ : &rope_;
    if (net_.attention_scale > 0) a.scale = static_cast<float>(net_.attention_scale);
    if (net_.attention_softcap > 0) a.options = &options_;
    if (!net_.qk_norm.empty()) {
      a.qk_norm = norm_of(net_.qk_norm), a.qk_eps = static_cast<float>(net_.eps);
      a.qk_norm_whole = net_.qk_norm_whole ? 1 : 0;
    }
    heed_transformer_layer &t = layers_[at];
    t = heed_transformer_layer_default(&a, net_.ffn_dim, norm_of(net_.norm), activation_of(net_.activation));
    t.norm_first = net_.norm_first ? 1 : 0;
    t.eps = static_cast<float>(net_.eps);
    t.post_norm = net_.post_norm ? 1 : 0;
    t.parallel = net_.parallel ? 1 : 0;
    if (net_.gate_up) t.ffn_order = HEED_FFN_GATE_UP;
    file_.open_layer(net_, l, t, a, nullptr);
  }

  void open_cache(int32_t l, const choices &c) {
    const auto at = static_cast<size_t>(l);
    heed_cache_shape shape = heed_cache_shape_default(n_, net_.n_kv_heads, net_.head_dim);
    shape.dtype = dtype_of_cache(c);
    if (at < net_.windows.size() && net_.windows[at] > 0 && net_.windows[at] < context_of(net_, c)) {
      shape.kind = HEED_CACHE_RING;
      shape.capacity = net_.windows[at];
      shape.spare = n_ - 1;
    }
    const size_t n_bytes = heed_cache_bytes(&shape);
    cache_memory_.push_back(memory_of(n_bytes));
    require(heed_cache_init(&caches_[at], &shape, heed_memory_of(cache_memory_.back().get(), n_bytes)));
  }

  const network &net_;
  weights_in_file file_;
  heed_rope rope_, local_rope_;
  heed_options options_;
  heed_softcap softcap_;
  std::vector<float> x_;
  std::vector<heed_attention_layer> attention_;
  std::vector<heed_transformer_layer> layers_;
  std::vector<heed_cache> caches_;
  std::vector<memory> cache_memory_;
  int32_t n_;
};

void run_decoder(machine &m, const network &net, const std::vector<int32_t> &tokens, const see_rows &see) {
  const auto n = static_cast<int32_t>(tokens.size());
  const heed_weights embedding = m.matrix("embedding", net.dim, net.n_tokens);
  require(heed_gather_rows(embedding, tokens.data(), m.x()));
  if (net.embedding_scale != 1)
    for (int32_t i = 0; i < n * net.dim; ++i) m.data()[i] *= static_cast<float>(net.embedding_scale);
  if (const float *const positions = m.floats("positions", net.n_positions * net.dim))
    require(heed_add(m.rows(n), heed_matrix_of(positions, n, net.dim), m.x(), nullptr));
  m.run_layers(see, n);
  m.norm("final_norm", n);
  std::vector<float> all(static_cast<size_t>(n) * static_cast<size_t>(net.n_tokens));
  const heed_matrix_out logits = heed_matrix_out_of(all.data(), n, net.n_tokens);
  const heed_matrix as_read = heed_matrix_of(all.data(), n, net.n_tokens);
  require(heed_linear(m.rows(n), net.is_tied ? embedding : m.matrix("classifier", net.dim, net.n_tokens), nullptr,
                      logits, nullptr));
  if (net.logits_softcap > 0) {
    const auto cap = static_cast<float>(net.logits_softcap);
    for (float &logit : all) logit *= 1.0f / cap;
    require(heed_tanh(as_read, heed_no_matrix(), logits, nullptr));
    for (float &logit : all) logit *= cap;
  }
  see(net.n_layers, 0, as_read);
}

// What follows the layers of an encoder.
void run_head(machine &m, const network &net, int32_t n, const see_rows &see) {
  const bool has_classes = net.n_classes > 0;
  std::vector<float> result(static_cast<size_t>(has_classes ? net.n_classes : net.dim)),
      pooled(static_cast<size_t>(net.dim));
  const auto row = [](std::vector<float> &of) { return heed_matrix_of(of.data(), 1, static_cast<int32_t>(of.size())); };
  const auto out = [](std::vector<float> &of) {
    return heed_matrix_out_of(of.data(), 1, static_cast<int32_t>(of.size()));
  };
  if (has_classes) {
    heed_matrix from = heed_matrix_of(m.data(), 1, net.n_class_rows * net.dim);
    if (net.has_pooler) {
      require(heed_linear(from, m.matrix("pooler", net.dim, net.dim), m.floats("pooler_bias", net.dim), out(pooled),
                          nullptr));
      require(activation_of(net.pooler_activation)(row(pooled), heed_no_matrix(), out(pooled), nullptr));
      from = row(pooled);
    }
    require(heed_linear(from, m.matrix("classes", from.dim, net.n_classes), m.floats("classes_bias", net.n_classes),
                        out(result), nullptr));
  } else {
    if (net.pool == network::pooling::mean)
      require(heed_mean_rows(m.rows(n), result.data(), nullptr));
    else
      std::copy(m.data(), m.data() + net.dim, result.begin());
    if (net.normalizes) require(heed_l2_norm(row(result), nullptr, nullptr, 0.0f, out(result), nullptr));
  }
  see(net.n_layers, 0, row(result));
}

void run_encoder(machine &m, const network &net, int32_t n, const see_rows &see) {
  const int32_t n_out = net.pool == network::pooling::first ? net.n_class_rows : n;
  m.run_layers(see, n_out);
  if (net.has_final_norm) m.norm("final_norm", n_out);
  run_head(m, net, n, see);
}

}  // namespace

void run_tokens(const network &net, const choices &c, heed_import::span file, const std::vector<int32_t> &tokens,
                const see_rows &see) {
  const auto n = static_cast<int32_t>(tokens.size());
  machine m(net, c, file, n);
  if (net.what == task::decoder) {
    run_decoder(m, net, tokens, see);
    return;
  }
  require(heed_gather_rows(m.matrix("embedding", net.dim, net.n_tokens), tokens.data(), m.x()));
  if (net.has_token_types) {
    heed_matrix kind = heed_matrix_of(m.floats("token_types", net.n_token_types * net.dim), n, net.dim);
    kind.row_stride = 0;  // all tokens are of kind 0
    require(heed_add(m.rows(n), kind, m.x(), nullptr));
  }
  const float *const positions =
      m.floats("positions", net.n_positions * net.dim) + static_cast<ptrdiff_t>(net.position_offset) * net.dim;
  require(heed_add(m.rows(n), heed_matrix_of(positions, n, net.dim), m.x(), nullptr));
  if (net.has_embedding_norm) m.norm("embedding_norm", n);
  run_encoder(m, net, n, see);
}

void run_picture(const network &net, const choices &c, heed_import::span file, const std::vector<float> &pixels,
                 const see_rows &see) {
  machine m(net, c, file, net.n_positions);
  const int32_t side = net.image_size / net.patch_size, row = net.patch_size * net.n_channels,
                n_in = net.patch_size * row;
  const float *const token = m.floats("class_token", net.dim), *const other = m.floats("distillation_token", net.dim);
  std::copy(token, token + net.dim, m.data());
  if (other != nullptr) std::copy(other, other + net.dim, m.data() + net.dim);
  const heed_weights patches = m.matrix("patches", n_in, net.dim);
  std::vector<float> patch(static_cast<size_t>(n_in));
  for (int32_t p = 0; p < side * side; ++p) {
    const float *const corner = pixels.data() +
                                static_cast<ptrdiff_t>(p / side) * net.patch_size * net.image_size * net.n_channels +
                                static_cast<ptrdiff_t>(p % side) * row;
    for (int32_t i = 0; i < n_in; ++i)
      patch[static_cast<size_t>(i)] =
          corner[static_cast<ptrdiff_t>(i / row) * net.image_size * net.n_channels + i % row];
    require(heed_linear(
        heed_matrix_of(patch.data(), 1, n_in), patches, m.floats("patches_bias", net.dim),
        heed_matrix_out_of(m.data() + static_cast<ptrdiff_t>(net.n_special_rows + p) * net.dim, 1, net.dim), nullptr));
  }
  const float *const positions = m.floats("positions", net.n_positions * net.dim);
  require(heed_add(m.rows(net.n_positions), heed_matrix_of(positions, net.n_positions, net.dim), m.x(), nullptr));
  run_encoder(m, net, net.n_positions, see);
}

std::vector<int32_t> known_tokens(const network &net, const choices &c) {
  std::vector<int32_t> tokens(static_cast<size_t>(std::min<int32_t>(n_known_tokens, context_of(net, c))));
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<int32_t>(mixed(static_cast<uint32_t>(i)) % static_cast<uint32_t>(net.n_tokens));
  return tokens;
}

std::vector<float> known_picture(const network &net) {
  std::vector<float> pixels(static_cast<size_t>(net.image_size) * static_cast<size_t>(net.image_size) *
                            static_cast<size_t>(net.n_channels));
  for (size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<float>(mixed(static_cast<uint32_t>(i)) >> 24) / 128.0f - 1.0f;
  return pixels;
}

std::vector<tensor> known_answers(const network &net, const choices &c, heed_import::span file) {
  const std::string before = heed_isa_current();
  std::vector<tensor> answers;
  for (const std::string arithmetic : {"fma", "no-fma"}) {
    if (heed_isa_use(arithmetic.c_str()) != HEED_OK) continue;
    receipts::writer writer({receipt_name(c), net.digest, net.n_layers, false}, {});
    const see_rows see = [&](int32_t layer, int64_t first, heed_matrix rows) {
      const bool has_logits = net.what == task::decoder || net.what == task::speech;
      if (has_logits && layer == net.n_layers)  // a program computes the logits of the last token alone
        first += rows.n_rows - 1, rows.data += static_cast<ptrdiff_t>(rows.n_rows - 1) * rows.row_stride,
            rows.n_rows = 1;
      receipts::writer::see(&writer, layer, first, rows);
    };
    if (net.what == task::vision) {
      run_picture(net, c, file, known_picture(net), see);
    } else if (net.what == task::speech) {
      const std::vector<int32_t> tokens = known_tokens(net, c);
      for (size_t i = 0; i < tokens.size(); ++i) heed_receipt_token(writer.get(), static_cast<int64_t>(i), tokens[i]);
      run_sound(net, c, file, known_sound(), tokens, see);
    } else {
      const std::vector<int32_t> tokens = known_tokens(net, c);
      for (size_t i = 0; i < tokens.size(); ++i) heed_receipt_token(writer.get(), static_cast<int64_t>(i), tokens[i]);
      run_tokens(net, c, file, tokens, see);
    }
    answers.push_back(golden_tensor(arithmetic, writer.finish()));
  }
  heed_isa_use(before.c_str());
  return answers;
}

}  // namespace heed_compile
