// Runs a model through heed by the calls that its program makes: for the known answers in the program's file, and for --check.
// SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_RUN_HPP
#define HEED_COMPILE_RUN_HPP

#include <functional>

#include "program.hpp"

namespace heed_compile {

// As the program's hook: rows of a layer from row `first` on; of layer n_layers: logits, an embedding or classes.
using see_rows = std::function<void(int32_t layer, int64_t first, heed_matrix rows)>;

// file: what flat_file has written, aligned to 64. Throws refusal.
void run_tokens(const network &net, const choices &c, heed_import::span file, const std::vector<int32_t> &tokens,
                const see_rows &see);
void run_picture(const network &net, const choices &c, heed_import::span file, const std::vector<float> &pixels,
                 const see_rows &see);
// Samples are those of 16 kHz; tokens those that the decoder reads then. A spectrogram ends where the sound ends.
void run_sound(const network &net, const choices &c, heed_import::span file, const std::vector<int16_t> &samples,
               const std::vector<int32_t> &tokens, const see_rows &see);

// What the program runs when it opens its file: tokens or a picture that anybody can make, without a file of their own.
std::vector<int32_t> known_tokens(const network &net, const choices &c);
std::vector<float> known_picture(const network &net);
std::vector<int16_t> known_sound();

// The receipts of that run, as tensors golden.fma and golden.no-fma.
std::vector<tensor> known_answers(const network &net, const choices &c, heed_import::span file);

}  // namespace heed_compile

#endif
