// A model of float layers as a text and flat files of f32: what heed_calibrate reads. For the host.
// SPDX-License-Identifier: MIT
//
//   # comment
//   layers 4             model_dim 128        ffn_dim 512        heads 4
//   kv_heads 4           head_dim 32          (these two: heads and model_dim / heads, unless told otherwise)
//   norm layer           (or rms)             norm_first 0          (or 1)
//   eps 1e-5             causal 0             gated 0
//   activation gelu      (gelu_tanh, silu, relu)
//   layout out_in        (PyTorch's; or in_out)
//   biases wq wk wv wo w_up w_down norm1 norm2    (those that the file has)
//   weights weights.f32
//   rows rows.f32        sequence 50          (rows of a recorded sequence)
//
// Counts are 1 to 32768, heads times head_dim too; eps is 0 to 1.
// One word and its value, as many pairs on a line as one likes; `biases` takes the rest of its line. Files lie beside the
// text. weights.f32 has for each layer, one after another, little-endian floats: norm1, wq, wk, wv, wo, norm2, w_up, w_gate
// (if gated), w_down; each followed by its bias, if `biases` names it. rows.f32 has the rows that go into the first layer.
#ifndef HEED_CALIBRATE_DESCRIPTION_HPP
#define HEED_CALIBRATE_DESCRIPTION_HPP

#include <string>
#include <vector>

#include "calibrate.hpp"
#include "report.hpp"

namespace calibrate {

// Layers that point into `numbers`.
struct described_model {
  std::vector<std::string> files;  // the text, weights, rows
  std::vector<float> numbers;
  std::vector<heed_attention_layer> attentions;
  std::vector<heed_transformer_layer> layers;
  std::vector<sequence> sequences;
};

// Compares every count with the others and with the files' sizes before it is used. Throws std::runtime_error with the path
// and a sentence; for a number that is infinite or none, it names the row and the column.
described_model read_description(const std::string &path);

}  // namespace calibrate

#endif
