// Where everything of a picture lies, in pixels; screens of today show two for one of their units. SPDX-License-Identifier: MIT
#include "drawing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace heed_map {
namespace {

constexpr colour ink = {0x22, 0x22, 0x22}, pale = {0x66, 0x66, 0x66}, nothing = {0xee, 0xee, 0xee},
                 line = {0x99, 0x99, 0x99};
constexpr font title_font = {36, true}, panel_font = {25, true}, note_font = {24, false}, label_font = {23, false};
constexpr int margin = 36, space = 14, usual_width = 1500, label_cell = 26, legend_width = 280, legend_height = 22,
              legend_space = 60, tick = 8;
constexpr int most_labels = 64;  // of more rows or columns some are named only

bool same(const axis &a, const axis &b) {
  return a.name == b.name && a.labels == b.labels && a.unit == b.unit && a.first == b.first && a.step == b.step;
}

std::string short_label(const std::string &text) { return text.size() > 24 ? text.substr(0, 22) + ".." : text; }

double widest(const axis &a) {
  double most = 0.0;
  for (const std::string &label : a.labels) most = std::max(most, text_width(short_label(label), label_font));
  return most;
}

// One panel's cells, and what stands around them.
struct place {
  const panel *of;
  int x, y, width, height;
  bool row_names, column_names;  // else those of the neighbour are the same
  bool last;                     // no panel below names the same columns: the name of the axis stands here
  bool upright;                  // labels of columns are turned
  double cell_width() const { return static_cast<double>(width) / of->n_columns; }
  double cell_height() const { return static_cast<double>(height) / of->n_rows; }
  int left(int column) const { return x + static_cast<int>(std::lround(column * cell_width())); }
  int top(int row) const {
    const int from_above = of->rows.labels.empty() ? of->n_rows - 1 - row : row;
    return y + static_cast<int>(std::lround(from_above * cell_height()));
  }
  int above() const {  // pixels over the cells
    const int names = !column_names || of->columns.labels.empty() ? 0
                      : upright                                   ? static_cast<int>(widest(of->columns)) + space
                                                                  : 32;
    return names + (of->title.empty() ? 0 : 40);
  }
  int below() const {
    const bool numbers = of->columns.labels.empty();
    return (numbers && column_names ? tick + 30 : 0) + (of->columns.name.empty() || !last ? 0 : 34);
  }
  int before() const {
    if (!row_names) return 0;
    const int names = of->rows.labels.empty() ? 60 : static_cast<int>(widest(of->rows)) + space;
    return names + (of->rows.name.empty() ? 0 : 36);
  }
};

// Pixels of a panel's cells, for about so many from left to right.
void size_cells(place &p, int usable) {
  const panel &of = *p.of;
  const bool words_down = !of.rows.labels.empty(), words_across = !of.columns.labels.empty();
  int cell = usable / of.n_columns;
  if (words_across) cell = std::clamp(cell, of.n_columns <= most_labels ? label_cell : 4, 84);
  p.width = words_across ? cell * of.n_columns : std::max(usable, of.n_columns);
  p.upright = widest(of.columns) > cell - 6;
  const int row = words_across ? cell : words_down ? 34 : std::max(1, 280 / of.n_rows);
  p.height = std::max(row, words_down && of.n_rows <= most_labels ? label_cell : 1) * of.n_rows;
}

// Where the parts of a scale's legend begin, and where it ends.
struct legend {
  int least, bar, greatest, end;
};

legend place_legend(const scale &s, int x) {
  legend at;
  at.least = x + static_cast<int>(text_width(s.quantity, label_font)) + 24;
  at.bar = at.least + static_cast<int>(text_width(number_text(s.least), label_font)) + 12;
  at.greatest = at.bar + legend_width + 12;
  at.end = at.greatest + static_cast<int>(text_width(number_text(s.greatest), label_font));
  return at;
}

struct layout {
  std::vector<place> places;
  int width, height, legends_y;
};

layout lay_out(const picture &p, const std::vector<scale> &scales) {
  const int across = std::min(p.across, static_cast<int>(p.panels.size())), n = static_cast<int>(p.panels.size());
  layout all = {{}, 0, 0, 0};
  for (int i = 0; i < n; ++i) {
    const panel &of = p.panels[static_cast<size_t>(i)];
    place here = {&of, 0, 0, 0, 0, true, true, true, false};
    if (i % across != 0) here.row_names = !same(of.rows, (&of - 1)->rows) || of.n_rows != (&of - 1)->n_rows;
    const bool as_below =
        i + across < n && same(of.columns, (&of + across)->columns) && of.n_columns == (&of + across)->n_columns;
    const bool as_above =
        i >= across && same(of.columns, (&of - across)->columns) && of.n_columns == (&of - across)->n_columns;
    here.column_names = of.columns.labels.empty() ? !as_below : !as_above;
    here.last = !as_below;
    size_cells(here, (usual_width - 2 * space * (across - 1)) / across);
    all.places.push_back(here);
  }
  // Columns of panels are as wide as their widest, rows as high as their highest.
  int y = margin + (p.title.empty() ? 0 : 44) + (p.note.empty() ? 0 : 40) + space;
  all.width = std::max({0, static_cast<int>(text_width(p.title, title_font)),
                        static_cast<int>(text_width(p.note, note_font))}) +
              2 * margin;
  for (int row = 0; row * across < n; ++row) {
    int above = 0, height = 0;
    for (int i = row * across; i < std::min(n, (row + 1) * across); ++i) {
      const place &here = all.places[static_cast<size_t>(i)];
      above = std::max(above, here.above());
      height = std::max(height, here.height + here.below());
    }
    for (int i = row * across; i < std::min(n, (row + 1) * across); ++i)
      all.places[static_cast<size_t>(i)].y = y + above;
    y += above + height + 2 * space;
  }
  int x = margin;
  for (int column = 0; column < across; ++column) {
    int before = 0, width = 0;
    for (int i = column; i < n; i += across) {
      before = std::max(before, all.places[static_cast<size_t>(i)].before());
      width = std::max({width, all.places[static_cast<size_t>(i)].width,
                        static_cast<int>(text_width(p.panels[static_cast<size_t>(i)].title, panel_font))});
    }
    for (int i = column; i < n; i += across) all.places[static_cast<size_t>(i)].x = x + before;
    x += before + width + 2 * space;
  }
  all.width = std::max(all.width, x - 2 * space + margin);
  x = all.places[0].x;
  for (const scale &s : scales) x = place_legend(s, x).end + legend_space;
  all.width = std::max(all.width, x - legend_space + margin);
  all.legends_y = y + space;
  all.height = all.legends_y + legend_height + margin;
  return all;
}

// A step of 1, 2 or 5 times a power of ten that leaves `room` pixels between marks.
double step_of(double per_pixel, double room) {
  const double least = per_pixel * room, power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least) return factor * power;
  return 10.0 * power;
}

// Calls mark(place along the axis in cells, text) for each mark of a numbered axis.
template <typename F>
void marks(const axis &a, int n, int pixels, double room, F mark) {
  const double from = a.first - a.step / 2, range = a.step * n, step = step_of(std::fabs(range) / pixels, room);
  for (double at = std::ceil(std::min(from, from + range) / step - 1e-9) * step;
       at <= std::max(from, from + range) + step * 1e-9; at += step)
    mark((at - from) / a.step, number_text(std::fabs(at) < step / 2 ? 0.0 : at));
}

void draw_cells(canvas &c, const place &p, const scale &s) {
  const panel &of = *p.of;
  const int gap_x = !of.columns.labels.empty() && p.cell_width() >= 12,
            gap_y = !of.rows.labels.empty() && p.cell_height() >= 12;
  for (int i = 0; i < of.n_rows; ++i)
    for (int j = 0; j < of.n_columns; ++j) {
      const float value =
          of.values[static_cast<size_t>(i) * static_cast<size_t>(of.n_columns) + static_cast<size_t>(j)];
      const colour back = std::isnan(value) ? nothing : colour_of(of.colours, s.share(value));
      const int y = p.top(i), bottom = p.y + static_cast<int>(std::lround(
                                                 (std::lround((y - p.y) / p.cell_height()) + 1) * p.cell_height()));
      c.fill(p.left(j), y, p.left(j + 1) - gap_x, bottom - gap_y, back);
      if (std::isnan(value) || of.columns.labels.empty() || p.cell_width() < 72 || p.cell_height() < 40) continue;
      char text[32];
      std::snprintf(text, sizeof text, "%.2f", static_cast<double>(value));
      const bool dark = back.red * 3 + back.green * 6 + back.blue < 1100;
      c.text(p.left(j) + p.cell_width() / 2, y + p.cell_height() / 2 + 7, text, label_font, anchor::middle,
             dark ? colour{255, 255, 255} : ink);
    }
  c.frame(p.x, p.y, p.x + p.width - gap_x, p.y + p.height - gap_y, line);
}

void name_rows(canvas &c, const place &p) {
  const panel &of = *p.of;
  if (!of.rows.name.empty()) {
    const std::string name = of.rows.unit.empty() ? of.rows.name : of.rows.name + " (" + of.rows.unit + ")";
    c.text(p.x - p.before() + 22, p.y + p.height / 2.0, name, label_font, anchor::middle, pale, true);
  }
  if (of.rows.labels.empty()) {
    marks(of.rows, of.n_rows, p.height, 44, [&](double cells, const std::string &text) {
      const double y = p.y + p.height - cells * p.cell_height();
      c.fill(p.x - tick, static_cast<int>(y), p.x, static_cast<int>(y) + 2, line);
      c.text(p.x - tick - 6, y + 8, text, label_font, anchor::end, ink);
    });
    return;
  }
  const int every = static_cast<int>(std::ceil(22 / p.cell_height()));
  for (int i = 0; i < of.n_rows; i += every)
    c.text(p.x - 10, p.top(i) + p.cell_height() / 2 + 8, short_label(of.rows.labels[static_cast<size_t>(i)]),
           label_font, anchor::end, ink);
}

void name_columns(canvas &c, const place &p) {
  const panel &of = *p.of;
  const std::string name = of.columns.unit.empty() ? of.columns.name : of.columns.name + " (" + of.columns.unit + ")";
  if (p.last) c.text(p.x + p.width / 2.0, p.y + p.height + p.below() - 6, name, label_font, anchor::middle, pale);
  if (!p.column_names) return;
  if (of.columns.labels.empty()) {
    marks(of.columns, of.n_columns, p.width, 90, [&](double cells, const std::string &text) {
      const double x = p.x + cells * p.cell_width();
      c.fill(static_cast<int>(x) - 1, p.y + p.height, static_cast<int>(x) + 1, p.y + p.height + tick, line);
      c.text(x, p.y + p.height + tick + 22, text, label_font, anchor::middle, ink);
    });
    return;
  }
  const int every = p.upright ? static_cast<int>(std::ceil(22 / p.cell_width())) : 1;
  for (int j = 0; j < of.n_columns; j += every) {
    const double x = p.left(j) + p.cell_width() / 2;
    c.text(p.upright ? x + 8 : x, p.y - 10, short_label(of.columns.labels[static_cast<size_t>(j)]), label_font,
           p.upright ? anchor::begin : anchor::middle, ink, p.upright);
  }
}

void draw_legend(canvas &c, const scale &s, int x, int y) {
  const legend at = place_legend(s, x);
  c.text(x, y + 18, s.quantity, label_font, anchor::begin, pale);
  c.text(at.least, y + 18, number_text(s.least), label_font, anchor::begin, ink);
  for (int i = 0; i < legend_width; ++i)
    c.fill(at.bar + i, y, at.bar + i + 1, y + legend_height, colour_of(s.colours, i / (legend_width - 1.0)));
  c.frame(at.bar, y, at.bar + legend_width, y + legend_height, line);
  c.text(at.greatest, y + 18, number_text(s.greatest), label_font, anchor::begin, ink);
}

}  // namespace

canvas draw(const picture &p) {
  check(p);
  const std::vector<scale> scales = scales_of(p);
  const layout all = lay_out(p, scales);
  canvas c(all.width, all.height);
  int y = margin + 28;
  c.text(margin, y, p.title, title_font, anchor::begin, ink);
  if (!p.title.empty()) y += 42;
  c.text(margin, y, p.note, note_font, anchor::begin, pale);
  for (const place &here : all.places) {
    draw_cells(c, here, scale_of(scales, *here.of));
    if (here.row_names) name_rows(c, here);
    name_columns(c, here);
    c.text(here.x, here.y - here.above() + 24, here.of->title, panel_font, anchor::begin, ink);
  }
  int x = all.places[0].x;
  for (const scale &s : scales) {
    draw_legend(c, s, x, all.legends_y);
    x = place_legend(s, x).end + legend_space;
  }
  return c;
}

}  // namespace heed_map
