// Pictures of attention: the text file and what it refuses, colours, blocks in the terminal, pixels. SPDX-License-Identifier: MIT
#include "map.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>
#include <stdexcept>

#include "colours.hpp"
#include "drawing.hpp"
#include "letters.hpp"

namespace {

using heed_map::palette;

heed_map::picture small() {
  heed_map::panel weights;
  weights.title = "weights";
  weights.rows = {"query", {"a", "b"}, "", 0.0, 1.0};
  weights.columns = {"key", {"a", "b", "c"}, "", 0.0, 1.0};
  weights.n_rows = 2, weights.n_columns = 3;
  weights.values = {0.0f, 0.5f, 1.0f, 0.25f, 0.75f, NAN};
  heed_map::panel levels;
  levels.rows = {"band", {}, "kHz", 0.5, 1.0};
  levels.columns = {"time", {}, "s", 0.05, 0.1};
  levels.n_rows = 2, levels.n_columns = 10;
  for (int i = 0; i < 20; ++i) levels.values.push_back(-float(i));
  levels.quantity = "level (dB)";
  levels.colours = palette::grey;
  return {"title", "note", 2, {weights, levels}};
}

std::string path_of(const char *name) { return testing::TempDir() + name; }

std::string refusal_of(const std::string &text) {
  const std::string path = path_of("heed_refused.map");
  std::ofstream(path) << text;
  try {
    heed_map::read_map(path);
  } catch (const std::runtime_error &error) {
    return std::string(error.what()).substr(path.size());
  }
  return "accepted";
}

TEST(map, file_is_read_as_it_was_written) {
  const heed_map::picture p = small();
  heed_map::write_map(p, path_of("heed_small.map"));
  const heed_map::picture q = heed_map::read_map(path_of("heed_small.map"));
  EXPECT_EQ(heed_map::blocks(p, true), heed_map::blocks(q, true));
  ASSERT_EQ(q.panels.size(), 2u);
  EXPECT_EQ(q.across, 2);
  EXPECT_EQ(q.panels[0].rows.labels, p.panels[0].rows.labels);
  EXPECT_EQ(q.panels[1].columns.unit, "s");
  EXPECT_EQ(q.panels[1].columns.step, 0.1);
  EXPECT_TRUE(std::isnan(q.panels[0].values[5]));
}

// Neither a line of the file ends too early, nor does a terminal obey the text.
TEST(map, texts_have_no_control_characters) {
  heed_map::picture p = small();
  p.title = "two\nlines\tand \x1b[31mred\xc2\x9b";
  p.note = p.panels[0].title = p.panels[0].quantity = p.panels[0].rows.name = p.panels[1].rows.unit = p.title;
  p.panels[0].rows.labels[1] = p.title;
  const std::string path = path_of("heed_controls.map"), cleaned = "two lines and  [31mred  ";
  heed_map::write_map(p, path);
  const heed_map::picture q = heed_map::read_map(path);
  for (const std::string &text : {q.title, q.note, q.panels[0].title, q.panels[0].quantity, q.panels[0].rows.name,
                                  q.panels[1].rows.unit, q.panels[0].rows.labels[1]})
    EXPECT_EQ(text, cleaned);
  EXPECT_THROW(heed_map::write_map(p, path, {path}), std::runtime_error);
}

TEST(map, file_is_refused_with_line_and_reason) {
  EXPECT_EQ(refusal_of("panel\tx\nrow\t1\t2\n"), "accepted");
  EXPECT_EQ(refusal_of(""), ": a picture has 1 to 256 panels");
  EXPECT_EQ(refusal_of("row\t1\n"), ":1: \"row\" before the first panel");
  EXPECT_EQ(refusal_of("panel\tx\nrow\t1\t2\nrow\t1\n"), ":3: a row of 1 values, others have 2");
  EXPECT_EQ(refusal_of("panel\tx\nrow\t1\tmuch\n"), ":2: \"much\" is not a number");
  EXPECT_EQ(refusal_of("panel\tx\nrow\tinf\n"), ":2: \"inf\" is not a number");
  EXPECT_EQ(refusal_of("panel\tx\nrow\n"), ":2: nothing stands behind row");
  EXPECT_EQ(refusal_of("panel\tx\nline\t1\n"), ":2: \"line\" is no word of a map");
  EXPECT_EQ(refusal_of("panel\tx\ncolumns\tkey\ta\nrow\t1\t2\n"), ": 2 columns with 1 labels");
  EXPECT_EQ(refusal_of("panel\tx\nrows_from\tx\ts\t0\t0\nrow\t1\n"), ": numbered rows with a step of 0");
  EXPECT_EQ(refusal_of("panel\tx\nvalues\tweight\tred\nrow\t1\n"), ":2: values wants a quantity, and viridis or grey");
  EXPECT_EQ(refusal_of("across\t0\npanel\tx\nrow\t1\n"), ": \"across\" is 1 or more");
  for (const char *const control : {"\x1b[31m", "\x07", "\x7f", "\xc2\x9b"}) {
    const std::string line = "panel\tx" + std::string(control) + "\nrow\t1\n";
    EXPECT_EQ(refusal_of(line), ":1: holds a control character, which a terminal would obey");
  }
  EXPECT_EQ(refusal_of("panel\tcaf\xc3\xa9\r\nrow\t1\r\n"), "accepted");
  EXPECT_THROW(heed_map::read_map(path_of("heed_no_such.map")), std::runtime_error);
}

// Who sees no hues reads lightness alone.
TEST(map, colours_become_evenly_lighter) {
  const auto lightness = [](heed_map::colour c) {
    const auto linear = [](uint8_t x) { return std::pow(x / 255.0, 2.2); };
    return std::cbrt(0.2126 * linear(c.red) + 0.7152 * linear(c.green) + 0.0722 * linear(c.blue));
  };
  const double first = lightness(heed_map::colour_of(palette::viridis, 0.0)),
               last = lightness(heed_map::colour_of(palette::viridis, 1.0));
  for (int i = 0; i <= 16; ++i) {
    const double expected = first + (last - first) * i / 16;
    EXPECT_NEAR(lightness(heed_map::colour_of(palette::viridis, i / 16.0)), expected, 0.04) << i;
    EXPECT_LT(lightness(heed_map::colour_of(palette::grey, (i + 1) / 17.0)),
              lightness(heed_map::colour_of(palette::grey, i / 17.0)));
  }
}

TEST(map, panels_of_one_quantity_share_a_scale_from_zero) {
  heed_map::picture p = small();
  p.panels.push_back(p.panels[0]);
  p.panels[2].values[0] = 4.0f;
  const std::vector<heed_map::scale> scales = heed_map::scales_of(p);
  ASSERT_EQ(scales.size(), 2u);
  EXPECT_EQ(scales[0].least, 0.0);
  EXPECT_EQ(scales[0].greatest, 4.0);
  EXPECT_EQ(scales[1].least, -19.0);
  EXPECT_EQ(scales[0].share(1.0), 0.25);
}

TEST(map, terminal_shows_labels_values_and_a_legend) {
  heed_map::picture p = small();
  p.panels.pop_back();
  EXPECT_EQ(heed_map::blocks(p, false),
            "title\nnote\n\nweights\n       a     b     c     \n     a       ++++++@@@@@@\n     b ::::::######      \n"
            "\nweight 0   ..::--==++**##%%@@ 1\n");
  EXPECT_NE(heed_map::blocks(p, true).find("\033[48;2;253;231;37m"), std::string::npos);  // the greatest
}

TEST(map, letters_differ) {
  std::set<std::string> seen;
  for (char c = '!'; c <= '~'; ++c) {
    std::string strokes;
    for (const heed_map::segment &s : heed_map::letter_of(c).strokes)
      for (const double x : {s.x0, s.y0, s.x1, s.y1}) strokes += std::to_string(x) + " ";
    EXPECT_TRUE(seen.insert(strokes).second) << c;
  }
}

// A legend, or a title, may be wider than the cells.
TEST(map, image_has_room_for_legends_and_titles) {
  heed_map::picture p = small();
  for (const char *title :
       {"weights", "a title that is much wider than the cells of its panel, and than the legend below it"}) {
    p.panels.resize(1);
    p.panels[0].title = title;
    const heed_map::canvas drawn = heed_map::draw(p);
    for (int y = 0; y < drawn.height(); ++y)
      for (int x = drawn.width() - 24; x < drawn.width(); ++x)
        ASSERT_EQ(drawn.pixels()[3 * (y * drawn.width() + x)], 255) << x << " " << y << " of " << drawn.width();
  }
}

// Each cell has a pixel of its colour, in reading order.
TEST(map, image_shows_every_value) {
  const heed_map::picture p = small();
  const heed_map::canvas drawn = heed_map::draw(p);
  std::set<int> colours;
  for (int i = 0; i < drawn.width() * drawn.height(); ++i) {
    const uint8_t *at = drawn.pixels() + 3 * i;
    colours.insert(at[0] << 16 | at[1] << 8 | at[2]);
  }
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    const heed_map::colour c = heed_map::colour_of(palette::viridis, share);
    EXPECT_TRUE(colours.count(c.red << 16 | c.green << 8 | c.blue)) << share;
  }
  heed_map::picture huge = p;
  huge.panels[0].n_rows = 4096;
  huge.panels[0].values.assign(size_t(4096) * 3, 1.0f);
  huge.panels[0].rows.labels.clear();
  huge.panels[0].columns.labels.assign(3, "a");
  huge.panels.resize(1);
  huge.panels.resize(40, huge.panels[0]);
  EXPECT_THROW(heed_map::draw(huge), std::runtime_error);
}

TEST(map, png_is_a_png_or_says_what_is_missing) {
  const std::string path = path_of("heed_small.png");
  if (!heed_map::has_png()) {
    EXPECT_THROW(heed_map::write_png(small(), path), std::runtime_error);
    GTEST_SKIP() << "libpng is not installed (Debian: libpng-dev)";
  }
  heed_map::write_png(small(), path);
  std::ifstream file(path, std::ios::binary);
  unsigned char head[24];
  ASSERT_TRUE(file.read(reinterpret_cast<char *>(head), sizeof head));
  const unsigned char signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  EXPECT_TRUE(std::equal(signature, signature + 8, head));
  EXPECT_EQ(head[18] << 8 | head[19], heed_map::draw(small()).width());
  EXPECT_THROW(heed_map::write_png(small(), testing::TempDir() + "no/such/folder.png"), std::runtime_error);
}

}  // namespace
