// Images by libpng, where it was found. SPDX-License-Identifier: MIT
#include <cstdio>
#include <map>
#include <stdexcept>
#include <vector>

#include "../output_file.hpp"
#include "drawing.hpp"
#include "map.hpp"

#ifdef HEED_MAP_PNG
#include <png.h>
#endif

namespace heed_map {

#ifdef HEED_MAP_PNG
namespace {

// Pixels as numbers of colours, while there are at most 256: a third of the file.
struct indexed {
  std::vector<png_color> colours;
  std::vector<png_byte> pixels;
};

bool index_colours(const canvas &drawn, indexed &to) {
  std::map<uint32_t, png_byte> known;
  const size_t n = static_cast<size_t>(drawn.width()) * static_cast<size_t>(drawn.height());
  for (size_t i = 0; i < n; ++i) {
    const uint8_t *p = drawn.pixels() + 3 * i;
    const auto found = known.insert({uint32_t(p[0] << 16 | p[1] << 8 | p[2]), png_byte(to.colours.size())});
    if (found.second) to.colours.push_back({p[0], p[1], p[2]});
    if (to.colours.size() > 256) return false;
    to.pixels.push_back(found.first->second);
  }
  return true;
}

// Even areas and letters are smallest without a filter. No object with a destructor in here: libpng leaves by longjmp.
bool write(std::FILE *file, const canvas &drawn, const std::vector<png_color> *colours, const png_byte *pixels) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  if (!info || setjmp(png_jmpbuf(png))) {
    png_destroy_write_struct(&png, &info);
    return false;
  }
  png_init_io(png, file);
  png_set_compression_level(png, 9);
  png_set_filter(png, 0, PNG_FILTER_NONE);
  png_set_IHDR(png, info, png_uint_32(drawn.width()), png_uint_32(drawn.height()), 8,
               colours ? PNG_COLOR_TYPE_PALETTE : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (colours) png_set_PLTE(png, info, colours->data(), int(colours->size()));
  png_write_info(png, info);
  const size_t row = size_t(drawn.width()) * (colours ? 1 : 3);
  for (int y = 0; y < drawn.height(); ++y) png_write_row(png, pixels + size_t(y) * row);
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return true;
}

}  // namespace

bool has_png() { return true; }

void write_png(const picture &p, const std::string &path, const std::vector<std::string> &inputs) {
  const canvas drawn = draw(p);
  files::output_file file(path, inputs);
  indexed few;
  const bool is_few = index_colours(drawn, few);
  const bool whole =
      write(file.stream(), drawn, is_few ? &few.colours : nullptr, is_few ? few.pixels.data() : drawn.pixels());
  if (!whole) throw std::runtime_error(path + ": cannot be written");
  file.finish();
}

#else

bool has_png() { return false; }

void write_png(const picture &, const std::string &path, const std::vector<std::string> &) {
  throw std::runtime_error(
      path + " is not written: this build has no libpng (Debian: libpng-dev); heed_map MAP draws in the terminal");
}

#endif

}  // namespace heed_map
