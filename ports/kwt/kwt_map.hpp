// What KWT-1 attends to in a spoken word. SPDX-License-Identifier: MIT
#ifndef HEED_KWT_MAP_HPP
#define HEED_KWT_MAP_HPP

#include <string>
#include <vector>

#include "kwt.h"
#include "map.hpp"

// The spectrogram of a file's first second, and under it, for each layer, the weights that the class token, from which the word
// is read, has for each moment. Throws std::runtime_error.
heed_map::picture kwt_attention(kwt &net, const std::string &path);

#endif
