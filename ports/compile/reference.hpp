// What a model computes, in double precision and by the formulas of the papers: heed's own functions have no part in
// it, so it can tell whether a program is right. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_REFERENCE_HPP
#define HEED_COMPILE_REFERENCE_HPP

#include <functional>
#include <string>
#include <vector>

#include "network.hpp"

namespace heed_compile {

// Rows as the program's hook `see` shows them: layer n_layers has the logits, the embedding or the classes.
struct reference_rows {
  int32_t layer;
  int32_t n, dim;
  std::vector<double> numbers;
};

// The weights of the source, as doubles, under the program's names ("embedding", "layers.3.wq" as (n_out, n_in)); an
// empty vector: the model has none.
using weights_as_doubles = std::function<std::vector<double>(const std::string &name)>;

// The rows of each layer, then the result: of a decoder the logits of all positions, of an encoder one row. The last
// layer of an encoder has all its rows here, although the program computes only those that the result needs. Both throw
// std::logic_error if there is no formula here for what the network says, or if a weight has another size.
std::vector<reference_rows> reference_of_tokens(const network &net, const weights_as_doubles &weights,
                                                const std::vector<int32_t> &tokens);
// pixels (image_size, image_size, n_channels)
std::vector<reference_rows> reference_of_picture(const network &net, const weights_as_doubles &weights,
                                                 const std::vector<float> &pixels);
// Samples of 16 kHz, a whole number of rows of the spectrogram: the layers of the encoder, then those of the decoder, which reads the
// tokens. attended, unless it is null: what each token attends to in each row of the encoder, summed over heads and layers.
std::vector<reference_rows> reference_of_sound(const network &net, const weights_as_doubles &weights,
                                               const std::vector<int16_t> &samples, const std::vector<int32_t> &tokens,
                                               std::vector<double> *attended = nullptr);

}  // namespace heed_compile

#endif
