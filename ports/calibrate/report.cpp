// See report.hpp. SPDX-License-Identifier: MIT
#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "../terminal.h"

namespace calibrate {
namespace {

// Differences of rows from others, and those rows themselves.
struct comparison {
  double differences = 0, squares = 0;
  void add(const sequence &found, const sequence &expected) {
    for (size_t i = 0; i < found.size(); ++i) {
      const double x = double(expected[i]), d = double(found[i]) - x;
      differences += d * d;
      squares += x * x;
    }
  }
  double percent() const {
    if (differences == 0) return 0;
    return 100 * std::sqrt(differences / squares);
  }
};

struct harm {
  double percent;
  const site *where;
};

// The effect of each place of a layer, the greatest first.
std::vector<harm> harms_of(const layer &floats, const std::string &name, const std::vector<sequence> &in,
                           const std::vector<sequence> &out) {
  std::vector<harm> harms;
  const size_t dim = size_t(floats.model_dim());
  for (int p = 0; p < n_places; ++p) {
    show_progress((name + ", place").c_str(), size_t(p), size_t(n_places));
    const site &s = floats.sites()[size_t(p)];
    if (s.seen.rms() == 0) continue;
    comparison c;
    for (size_t i = 0; i < in.size(); ++i) c.add(floats.round_at(place(p), in[i], int32_t(in[i].size() / dim)), out[i]);
    harms.push_back({c.percent(), &s});
  }
  show_progress("", 1, 1);
  std::stable_sort(harms.begin(), harms.end(), [](const harm &a, const harm &b) { return a.percent > b.percent; });
  return harms;
}

// The two places that hurt most: a layer of zeros has none.
std::string worst_of(const std::vector<harm> &harms) {
  if (harms.empty()) return "nothing: every number is 0";
  std::string worst;
  for (size_t i = 0; i < harms.size() && i < 2; ++i) {
    char text[64];
    std::snprintf(text, sizeof text, "%s%s %.3f %%", i == 0 ? "" : ", then ", harms[i].where->name.c_str(),
                  harms[i].percent);
    worst += text;
  }
  return worst;
}

void print_places(const std::vector<harm> &harms) {
  for (const harm &h : harms)
    std::printf(
        "       %-10s %2d bits  scale %.3e  greatest %9.3f  rms %8.3f  rounding %6.3f %%  hurts y by %6.3f %%\n",
        h.where->name.c_str(), int(h.where->bits), h.where->scale, h.where->seen.greatest(), h.where->seen.rms(),
        100 * h.where->error(), h.percent);
}

}  // namespace

void print_report(const std::vector<layer> &floats, const std::vector<int_layer> &integers,
                  const std::vector<sequence> &sequences, bool every_place) {
  std::vector<sequence> exact = sequences, rounded = sequences;
  const size_t dim = size_t(floats.front().model_dim());
  std::printf("layer  error alone  with those before  hurts most\n");
  for (size_t l = 0; l < floats.size(); ++l) {
    std::vector<sequence> next = exact;
    comparison alone, together;
    for (size_t i = 0; i < sequences.size(); ++i) {
      const int32_t n = int32_t(exact[i].size() / dim);
      next[i] = floats[l].round_at(n_places, exact[i], n);  // rounds nothing
      rounded[i] = in_layer(l, [&] { return integers[l].run(rounded[i], n); });
      alone.add(in_layer(l, [&] { return integers[l].run(exact[i], n); }), next[i]);
      together.add(rounded[i], next[i]);
    }
    const std::vector<harm> harms = harms_of(floats[l], "layer " + std::to_string(l), exact, next);
    std::printf("%5zu  %9.3f %%  %15.3f %%  %s\n", l, alone.percent(), together.percent(), worst_of(harms).c_str());
    if (every_place) print_places(harms);
    exact = std::move(next);
  }
}

}  // namespace calibrate
