// See run_parts.hpp. SPDX-License-Identifier: MIT
#include "run_parts.hpp"

#include <map>

namespace heed_compile {
namespace {

// The fields of a layer by their names in network::weights.
struct fields {
  std::map<std::string, heed_weights *> matrices;
  std::map<std::string, const float **> vectors;

  void add(heed_attention_layer &a, const std::string &before) {
    matrices.insert({{before + "wq", &a.wq}, {before + "wk", &a.wk}, {before + "wv", &a.wv}, {before + "wo", &a.wo}});
    vectors.insert({{before + "bq", &a.bq}, {before + "bk", &a.bk}, {before + "bv", &a.bv}, {before + "bo", &a.bo}});
  }
  void add(heed_transformer_layer &t, heed_attention_layer &a) {
    matrices.insert({{"w_gate", &t.w_gate}, {"w_up", &t.w_up}, {"w_down", &t.w_down}});
    vectors.insert({{"b_gate", &t.b_gate},
                    {"b_up", &t.b_up},
                    {"b_down", &t.b_down},
                    {"q_norm_weight", &a.q_norm_weight},
                    {"q_norm_bias", &a.q_norm_bias},
                    {"k_norm_weight", &a.k_norm_weight},
                    {"k_norm_bias", &a.k_norm_bias},
                    {"norm1_weight", &t.norm1_weight},
                    {"norm1_bias", &t.norm1_bias},
                    {"norm2_weight", &t.norm2_weight},
                    {"norm2_bias", &t.norm2_bias},
                    {"norm_cross_weight", &t.norm_cross_weight},
                    {"norm_cross_bias", &t.norm_cross_bias},
                    {"post_norm1_weight", &t.post_norm1_weight},
                    {"post_norm1_bias", &t.post_norm1_bias},
                    {"post_norm2_weight", &t.post_norm2_weight},
                    {"post_norm2_bias", &t.post_norm2_bias}});
  }
};

}  // namespace

void weights_in_file::open_layer(const network &net, int32_t l, heed_transformer_layer &t, heed_attention_layer &a,
                                 heed_attention_layer *cross) const {
  fields f;
  f.add(a, "");
  f.add(t, a);
  if (cross != nullptr) f.add(*cross, "cross_");
  const std::string prefix = "layers." + std::to_string(l) + ".";
  for (const weight &w : net.weights) {
    const bool is_here = w.n_layers == 0 || (l >= w.first_layer && l < w.first_layer + w.n_layers);
    const auto m = f.matrices.find(w.field);
    const auto v = f.vectors.find(w.field);
    if (is_here && m != f.matrices.end()) *m->second = matrix(prefix + w.field, w.n_in, w.n_out);
    if (is_here && v != f.vectors.end()) *v->second = floats(prefix + w.field, w.n_out);
  }
}

}  // namespace heed_compile
