// A picture as an image. SPDX-License-Identifier: MIT
#ifndef HEED_MAP_DRAWING_HPP
#define HEED_MAP_DRAWING_HPP

#include "canvas.hpp"

namespace heed_map {

canvas draw(const picture &p);

}  // namespace heed_map

#endif
