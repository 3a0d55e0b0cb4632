// What run.cpp and run_speech.cpp share: the weights of a program's file, and heed's functions by their names.
// SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_RUN_PARTS_HPP
#define HEED_COMPILE_RUN_PARTS_HPP

#include <memory>
#include <new>

#include "heed/heed.h"
#include "heed/int_products.h"
#include "heed_file.h"
#include "run.hpp"

namespace heed_compile {

inline void require(heed_status status) {
  if (status != HEED_OK) throw refusal(std::string("heed refuses a call of this model: ") + heed_status_text(status));
}
inline void require(const char *error) {
  if (error != nullptr) throw refusal(error);
}

inline heed_norm *norm_of(const std::string &name) {
  if (name == "heed_rms_norm") return heed_rms_norm;
  if (name == "heed_rms_norm_plus_one") return heed_rms_norm_plus_one;
  if (name == "heed_layer_norm") return heed_layer_norm;
  throw std::logic_error("the norm " + name + " is not known");
}
inline heed_activation *activation_of(const std::string &name) {
  if (name == "heed_silu") return heed_silu;
  if (name == "heed_gelu") return heed_gelu;
  if (name == "heed_gelu_tanh") return heed_gelu_tanh;
  if (name == "heed_relu") return heed_relu;
  if (name == "heed_tanh") return heed_tanh;
  throw std::logic_error("the activation " + name + " is not known");
}

struct free_aligned {
  void operator()(uint8_t *p) const { ::operator delete(p, std::align_val_t(HEED_FILE_ALIGNMENT)); }
};
using memory = std::unique_ptr<uint8_t, free_aligned>;
inline memory memory_of(size_t n) {
  return memory(static_cast<uint8_t *>(::operator new(std::max<size_t>(n, 1), std::align_val_t(HEED_FILE_ALIGNMENT))));
}

// Bits that look random: SplitMix32 of a counter.
inline uint32_t mixed(uint32_t i) {
  i = (i ^ (i >> 16)) * 0x21f0aaadu;
  i = (i ^ (i >> 15)) * 0x735a2d97u;
  return i ^ (i >> 15);
}

// A program's file, which stays where it is.
class weights_in_file {
 public:
  weights_in_file(heed_import::span file, bool in_integers) : in_integers_(in_integers) {
    require(heed_file_open(&file_, file.data, file.size));
  }
  heed_weights matrix(const std::string &name, int32_t n_in, int32_t n_out) const {
    heed_weights w;
    require(heed_file_packed(&file_, name.c_str(), n_in, n_out, &w));
    const bool is_narrow = w.dtype != HEED_F32 && w.dtype != HEED_F16 && w.dtype != HEED_BF16;
    if (in_integers_ && is_narrow) require(heed_weights_in_integers(&w, w));
    return w;
  }
  const float *floats(const std::string &name, int32_t n) const {
    heed_file_tensor t;
    const float *numbers = nullptr;
    if (heed_file_find(&file_, name.c_str(), &t) != nullptr) return nullptr;  // a bias that the model has not
    require(heed_file_floats(&file_, name.c_str(), n, &numbers));
    return numbers;
  }
  void open_rope(heed_rope &rope, const rope_settings &from, const char *frequencies) {
    require(heed_rope_init(&rope, from.interleaved ? HEED_ROPE_INTERLEAVED : HEED_ROPE_HALVES));
    rope.rotary_dim = from.rotary_dim;
    rope.base = static_cast<float>(from.base);
    rope.scale = static_cast<float>(from.scale);
    rope.factor = static_cast<float>(from.factor);
    rope.inverse_frequencies = floats(frequencies, from.rotary_dim / 2);
  }
  // The weights of layer l of those that have it. cross: of a decoder that reads an encoder's rows, or null.
  void open_layer(const network &net, int32_t l, heed_transformer_layer &t, heed_attention_layer &a,
                  heed_attention_layer *cross) const;

 private:
  bool in_integers_;
  heed_file file_;
};

}  // namespace heed_compile

#endif
