// Pictures of attention weights: as a text file, as a PNG, as blocks in a terminal. For the host; the library needs none of it.
// Functions throw std::runtime_error with a sentence. SPDX-License-Identifier: MIT
#ifndef HEED_MAP_HPP
#define HEED_MAP_HPP

#include <string>
#include <vector>

namespace heed_map {

// What the rows or columns of a panel are: things with labels, or numbers first, first + step, ... of a unit.
struct axis {
  std::string name;                 // "query", "time"; may be empty
  std::vector<std::string> labels;  // one for each row or column; empty: numbers
  std::string unit;                 // of the numbers: "s"; may be empty
  double first = 0.0, step = 1.0;   // the middle of the first row or column, and from one to the next
};

enum class palette { viridis, grey };

// A matrix. Labelled rows are drawn from the top down, numbered ones from the bottom up.
struct panel {
  std::string title;  // may be empty
  axis rows, columns;
  int n_rows = 0, n_columns = 0;
  std::vector<float> values;        // (n_rows, n_columns); NaN: there is none, as of keys that a query does not see
  std::string quantity = "weight";  // panels of one quantity share colours and legend
  palette colours = palette::viridis;
};

// Panels from left to right, `across` in a row.
struct picture {
  std::string title, note;  // the note, smaller, stands under the title
  int across = 1;
  std::vector<panel> panels;
};

// The text file that README.md describes. read_map refuses what is not one, with the number of the line.
picture read_map(const std::string &path);
// inputs: files that must not be written over. The same for write_png.
void write_map(const picture &p, const std::string &path, const std::vector<std::string> &inputs = {});

// Whether this build has libpng. Without it write_png throws.
bool has_png();
void write_png(const picture &p, const std::string &path, const std::vector<std::string> &inputs = {});

// Lines of text: two blocks a value, of 24-bit colours or, without, of characters from light to dense.
std::string blocks(const picture &p, bool coloured);

// Throws what is wrong with a picture that a program made: counts of values and labels, sizes.
void check(const picture &p);

}  // namespace heed_map

#endif
