// Windows of convolutions and pools. See operators_convolutions.cpp. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_WINDOWS_HPP
#define HEED_COMPILE_WINDOWS_HPP

#include "operators.hpp"

namespace heed_compile {

struct windows {
  shape space, kernel, out;  // of the input, of a window, of the output
  std::vector<int64_t> strides, dilations, before, behind;

  // For each place of a window, and for each output, the place in the input; -1: in the padding.
  std::vector<int64_t> reads() const;
};

// As the attributes of the node say. Throws refusal.
windows windows_of(const call &c, const shape &space, const shape &kernel);
array convolved(const call &c, const array &x, const array &w, const array *bias);

}  // namespace heed_compile

#endif
