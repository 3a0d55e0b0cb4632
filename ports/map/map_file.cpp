// The text file of a picture. See README.md. SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "../output_file.hpp"
#include "map.hpp"

namespace heed_map {
namespace {

constexpr int most_rows = 4096, most_panels = 256;

[[noreturn]] void fail(const std::string &what) { throw std::runtime_error(what); }

// A text of a program without control characters, which would end a line of the file, and which a reader refuses.
std::string shown(std::string text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char byte = static_cast<unsigned char>(text[i]);
    const unsigned char next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0xff;
    if (byte < ' ' || byte == 127) text[i] = ' ';
    if (byte == 0xc2 && next < 0xa0) text[i] = text[i + 1] = ' ';  // U+0080 to U+009F
  }
  return text;
}

std::vector<std::string> fields_of(const std::string &text) {
  std::vector<std::string> fields(1);
  unsigned char before = 0;
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    const bool is_second = before == 0xc2 && byte < 0xa0;  // U+0080 to U+009F
    before = byte;
    if (c == '\t')
      fields.emplace_back();
    else if (byte == 127 || is_second || (byte < ' ' && c != '\r'))
      fail("holds a control character, which a terminal would obey");
    else if (c != '\r')
      fields.back() += c;
  }
  return fields;
}

double number_of(const std::string &text) {
  char *end;
  const double x = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(x)) fail("\"" + text + "\" is not a number");
  return x;
}

void read_axis(const std::vector<std::string> &f, axis &a) {
  if (f.size() < 3) fail(f[0] + " wants a name and labels");
  a.name = f[1];
  a.labels.assign(f.begin() + 2, f.end());
}

void read_numbered(const std::vector<std::string> &f, axis &a) {
  if (f.size() != 5) fail(f[0] + " wants a name, a unit, the first number and the step");
  a = {f[1], {}, f[2], number_of(f[3]), number_of(f[4])};
}

void read_row(const std::vector<std::string> &f, panel &p) {
  const int n = static_cast<int>(f.size()) - 1;
  if (p.n_rows > 0 && n != p.n_columns)
    fail("a row of " + std::to_string(n) + " values, others have " + std::to_string(p.n_columns));
  p.n_columns = n;
  ++p.n_rows;
  for (size_t i = 1; i < f.size(); ++i) p.values.push_back(f[i] == "-" ? NAN : static_cast<float>(number_of(f[i])));
}

void read_values(const std::vector<std::string> &f, panel &p) {
  if (f.size() != 3 || (f[2] != "viridis" && f[2] != "grey")) fail("values wants a quantity, and viridis or grey");
  p.quantity = f[1];
  p.colours = f[2] == "grey" ? palette::grey : palette::viridis;
}

void read_line(const std::vector<std::string> &f, picture &p) {
  const std::string &word = f[0];
  if (word.empty() || word[0] == '#') return;
  if (f.size() < 2) fail("nothing stands behind " + word);
  if (word == "title") {
    p.title = f[1];
  } else if (word == "note") {
    p.note = f[1];
  } else if (word == "across") {
    p.across = static_cast<int>(std::fmax(0, std::fmin(most_panels, number_of(f[1]))));
  } else if (word == "panel") {
    p.panels.emplace_back();
    p.panels.back().title = f[1];
  } else if (p.panels.empty()) {
    fail("\"" + word + "\" before the first panel");
  } else {
    panel &of = p.panels.back();
    if (word == "rows") return read_axis(f, of.rows);
    if (word == "columns") return read_axis(f, of.columns);
    if (word == "rows_from") return read_numbered(f, of.rows);
    if (word == "columns_from") return read_numbered(f, of.columns);
    if (word == "values") return read_values(f, of);
    if (word == "row") return read_row(f, of);
    fail("\"" + word + "\" is no word of a map");
  }
}

void check_axis(const axis &a, int n, const std::string &what) {
  if (!a.labels.empty() && a.labels.size() != static_cast<size_t>(n))
    fail(std::to_string(n) + " " + what + " with " + std::to_string(a.labels.size()) + " labels");
  if (a.labels.empty() && !(a.step != 0.0 && std::isfinite(a.step) && std::isfinite(a.first)))
    fail("numbered " + what + " with a step of 0");
}

void write_axis(std::ostream &file, const char *word, const axis &a) {
  if (a.labels.empty()) {
    file << word << "_from\t" << shown(a.name) << '\t' << shown(a.unit) << '\t' << a.first << '\t' << a.step << '\n';
    return;
  }
  file << word << '\t' << shown(a.name);
  for (const std::string &label : a.labels) file << '\t' << shown(label);
  file << '\n';
}

}  // namespace

void check(const picture &p) {
  if (p.panels.empty() || p.panels.size() > most_panels) fail("a picture has 1 to 256 panels");
  if (p.across < 1) fail("\"across\" is 1 or more");
  for (const panel &of : p.panels) {
    const std::string name = of.title.empty() ? "a panel" : "panel \"" + of.title + "\"";
    if (of.n_rows < 1 || of.n_columns < 1 || of.n_rows > most_rows || of.n_columns > most_rows)
      fail(name + " has not 1 to 4096 rows and columns");
    if (of.values.size() != static_cast<size_t>(of.n_rows) * static_cast<size_t>(of.n_columns))
      fail(name + " has another number of values");
    for (const float value : of.values)
      if (std::isinf(value)) fail(name + " has an infinite value");
    check_axis(of.rows, of.n_rows, "rows");
    check_axis(of.columns, of.n_columns, "columns");
  }
}

picture read_map(const std::string &path) {
  std::ifstream file(path);
  if (!file) fail(path + " cannot be read");
  picture p;
  std::string text;
  int line = 0;
  try {
    while (std::getline(file, text)) {
      ++line;
      read_line(fields_of(text), p);
    }
    line = 0;
    check(p);
  } catch (const std::runtime_error &error) {
    fail(path + (line > 0 ? ":" + std::to_string(line) : "") + ": " + error.what());
  }
  return p;
}

void write_map(const picture &p, const std::string &path, const std::vector<std::string> &inputs) {
  check(p);
  std::ostringstream file;
  file.precision(7);
  file << "title\t" << shown(p.title) << "\nnote\t" << shown(p.note) << "\nacross\t" << p.across << '\n';
  for (const panel &of : p.panels) {
    file << "panel\t" << shown(of.title) << "\nvalues\t" << shown(of.quantity) << '\t'
         << (of.colours == palette::grey ? "grey" : "viridis") << '\n';
    write_axis(file, "rows", of.rows);
    write_axis(file, "columns", of.columns);
    for (int i = 0; i < of.n_rows; ++i) {
      file << "row";
      for (int j = 0; j < of.n_columns; ++j) {
        const float value =
            of.values[static_cast<size_t>(i) * static_cast<size_t>(of.n_columns) + static_cast<size_t>(j)];
        if (std::isnan(value))
          file << "\t-";
        else
          file << '\t' << value;
      }
      file << '\n';
    }
  }
  const std::string text = file.str();
  files::write_whole(path, text.data(), text.size(), inputs);
}

}  // namespace heed_map
