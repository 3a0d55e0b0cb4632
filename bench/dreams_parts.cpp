// See dreams_parts.hpp. SPDX-License-Identifier: MIT
#include "dreams_parts.hpp"

#include <algorithm>
#include <stdexcept>

namespace {
constexpr float norm_epsilon = 1e-5f;

heed_matrix row(const std::vector<float> &x) { return heed_matrix_of(x.data(), 1, int32_t(x.size())); }
heed_matrix_out out(std::vector<float> &x) { return heed_matrix_out_of(x.data(), 1, int32_t(x.size())); }
const heed_matrix no_matrix = heed_matrix_of(nullptr, 0, 0);
}  // namespace

dreams_parts::dreams_parts(dreams &net) : net_(net) {
  const dreams_model &m = net.model;
  const size_t dim = size_t(m.dim), kv_dim = dim / size_t(m.n_heads) * size_t(m.n_kv_heads);
  x_.resize(dim), h_.resize(dim), q_.resize(dim), context_.resize(dim);
  k_.resize(kv_dim), v_.resize(kv_dim);
  up_.resize(size_t(m.ffn_dim)), gate_.resize(size_t(m.ffn_dim));
  // The least of many laps with nothing between them.
  clock_nanoseconds_ = 1e9;
  for (int i = 0; i < 1000; ++i) {
    const clock::time_point begin = clock::now(), end = clock::now();
    clock_nanoseconds_ = std::min(clock_nanoseconds_, std::chrono::duration<double, std::nano>(end - begin).count());
  }
}

void dreams_parts::keep(heed_status status) const {
  if (status == HEED_OK) return;
  throw std::runtime_error(std::string(heed_status_argument(status)) + ": " + heed_status_text(status));
}

void dreams_parts::lap(dreams_part part) {
  const clock::time_point now = clock::now();
  sums_[size_t(part)] += std::chrono::duration<double, std::nano>(now - last_).count();
  laps_[size_t(part)] += 1.0;
  last_ = now;
}

double dreams_parts::nanoseconds(dreams_part part) const {
  return std::max(0.0, sums_[size_t(part)] - laps_[size_t(part)] * clock_nanoseconds_);
}

void dreams_parts::project(const float *x, const heed_weights &w, float *y) {
  keep(heed_linear(heed_matrix_of(x, 1, w.n_in), w, nullptr, heed_matrix_out_of(y, 1, w.n_out), nullptr));
  lap(dreams_part::projections);
}

void dreams_parts::norm(const float *weight) {
  keep(heed_rms_norm(row(x_), weight, nullptr, norm_epsilon, out(h_), nullptr));
  lap(dreams_part::norms);
}

void dreams_parts::add() {
  keep(heed_add(row(x_), row(h_), out(x_), nullptr));
  lap(dreams_part::sums);
}

void dreams_parts::layer(int32_t l) {
  const dreams_model &m = net_.model;
  const dreams_model_layer &of = m.layers[l];
  const heed_weights *w = of.matrices;
  const int32_t head_dim = m.dim / m.n_heads;
  norm(of.norm_1);
  project(h_.data(), w[DREAMS_WQ], q_.data());
  project(h_.data(), w[DREAMS_WK], k_.data());
  project(h_.data(), w[DREAMS_WV], v_.data());
  heed_cache *cache = &net_.layers[l].cache;
  const int64_t position = heed_cache_length(cache, 0);
  keep(heed_rope_apply(&net_.rope, heed_token_major(q_.data(), 1, m.n_heads, head_dim), 1, m.n_heads, head_dim,
                       position, nullptr, heed_token_major_out(q_.data(), 1, m.n_heads, head_dim), nullptr));
  lap(dreams_part::rotary);
  keep(heed_cache_append(cache, 0, heed_token_major(k_.data(), 1, m.n_kv_heads, head_dim),
                         heed_token_major(v_.data(), 1, m.n_kv_heads, head_dim), 1, &net_.rope));
  lap(dreams_part::append);
  const heed_attention call = heed_attention_of_cache(cache, q_.data(), 1, m.n_heads, context_.data(), net_.memory);
  keep(heed_attention_run(&call));
  lap(dreams_part::attention);
  project(context_.data(), w[DREAMS_WO], h_.data());
  add();
  norm(of.norm_2);
  project(h_.data(), w[DREAMS_GATE], gate_.data());
  project(h_.data(), w[DREAMS_UP], up_.data());
  keep(heed_silu(row(gate_), row(up_), out(gate_), nullptr));
  lap(dreams_part::activation);
  project(gate_.data(), w[DREAMS_DOWN], h_.data());
  add();
}

void dreams_parts::read(int32_t token, float *logits) {
  const dreams_model &m = net_.model;
  last_ = clock::now();
  dreams_embed(&m, token, x_.data());
  lap(dreams_part::embedding);
  for (int32_t l = 0; l < m.n_layers; ++l) layer(l);
  norm(m.last_norm);
  keep(heed_linear(row(h_), m.classifier, nullptr, heed_matrix_out_of(logits, 1, m.n_tokens), nullptr));
  lap(dreams_part::classifier);
}
