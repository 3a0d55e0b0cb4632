// See letters.hpp. Drawn for heed. SPDX-License-Identifier: MIT
#include "letters.hpp"

#include <string>

namespace heed_map {
namespace {

// From ' ' to '~': the width, then strokes: pairs of digits x, y (':' is 10). A stroke rounds its corners (each is cut three times);
// '-' before it: corners stay sharp; '*': it is closed. Twice the same point is a dot.
const char *const glyphs[] = {
    "2",                                   // space
    "0 0904 0202",                         // !
    "2 0907 2927",                         // "
    "4 1219 3239 0444 0747",               // #
    "4 4849090645420203 2:21",             // $
    "5 *09292606 *35555232 5902",          // %
    "5 521719393705024255",                // &
    "0 0907",                              // '
    "2 2:070421",                          // (
    "2 0:272401",                          // )
    "4 2925 0846 0648",                    // *
    "4 2327 0545",                         // +
    "1 1200",                              // ,
    "3 0535",                              // -
    "0 0202",                              // .
    "3 013:",                              // /
    "4 *09494202",                         // 0
    "2 -072922",                           // 1
    "4 0709494602 0242",                   // 2
    "4 0809494626 2646420203",             // 3
    "4 -32390444",                         // 4
    "4 -490906 0647420203",                // 5
    "4 *06464202 390904",                  // 6
    "4 -094912",                           // 7
    "4 *09494606 *06464202",               // 8
    "4 *09494505 124247",                  // 9
    "0 0202 0606",                         // :
    "1 1200 1616",                         // ;
    "4 -470543",                           // <
    "4 0444 0646",                         // =
    "4 -074503",                           // >
    "4 070949462624 2222",                 // ?
    "6 46436369090151 *26464323",          // @
    "4 -022942 1434",                      // A
    "4 -29090222 0626 29494626 26464222",  // B
    "4 474909024244",                      // C
    "4 -19090212 19494212",                // D
    "3 -39090232 0626",                    // E
    "3 -390902 0626",                      // F
    "4 474909024245 4525",                 // G
    "4 0902 4942 0646",                    // H
    "0 0902",                              // I
    "3 39320204",                          // J
    "4 0902 4905 1642",                    // K
    "3 -090232",                           // L
    "4 -0209254942",                       // M
    "4 -02094249",                         // N
    "5 *09595202",                         // O
    "4 0902 0919 0515 19494515",           // P
    "5 *09595202 3451",                    // Q
    "4 0902 0919 0515 19494515 2542",      // R
    "4 4849090645420203",                  // S
    "4 0949 2922",                         // T
    "4 0905 05024245 4549",                // U
    "4 -092249",                           // V
    "6 -0912385269",                       // W
    "4 0942 0249",                         // X
    "4 -092549 2522",                      // Y
    "4 -09490242",                         // Z
    "1 -1:0:0111",                         // [
    "3 0:31",                              // backslash
    "1 -0:1:1101",                         // ]
    "4 -072947",                           // ^
    "4 0141",                              // _
    "1 0918",                              // `
    "4 *07474202 4742",                    // a
    "4 0902 *07474202",                    // b
    "3 363707023233",                      // c
    "4 4942 *07474202",                    // d
    "4 0545 454707024243",                 // e
    "2 291917 1712 0727",                  // f
    "4 *07474202 4742 42400001",           // g
    "4 0902 05074745 4542",                // h
    "0 0702 0909",                         // i
    "1 1712 121000 1919",                  // j
    "3 0902 3704 1532",                    // k
    "1 0903 030212",                       // l
    "6 0207 05073735 3532 35376765 6562",  // m
    "4 0207 05074745 4542",                // n
    "4 *07474202",                         // o
    "4 0700 *07474202",                    // p
    "4 4740 *07474202",                    // q
    "2 0207 050727",                       // r
    "3 3637070534320203",                  // s
    "2 1914 141222 0727",                  // t
    "4 0704 04024244 4742",                // u
    "4 -072247",                           // v
    "6 -0722364267",                       // w
    "3 0732 0237",                         // x
    "4 0722 4710",                         // y
    "3 -07370232",                         // z
    "2 2:1:1605 05141121",                 // {
    "0 0:01",                              // |
    "2 0:1:1625 25141101",                 // }
    "4 04163446",                          // ~
    "4 -0949420209",                       // the empty box
};

struct point {
  double x, y;
};

// Cuts every corner at a quarter of its two sides: towards a quadratic spline.
std::vector<point> rounded(const std::vector<point> &line, bool closed) {
  std::vector<point> result;
  const size_t n = line.size(), sides = closed ? n : n - 1;
  for (size_t i = 0; i < sides; ++i) {
    const point a = line[i], b = line[(i + 1) % n];
    const bool first = !closed && i == 0, last = !closed && i + 1 == sides;
    const double from = first ? 0.0 : 0.25, to = last ? 1.0 : 0.75;
    result.push_back({a.x + (b.x - a.x) * from, a.y + (b.y - a.y) * from});
    result.push_back({a.x + (b.x - a.x) * to, a.y + (b.y - a.y) * to});
  }
  return result;
}

void add_stroke(const std::string &text, letter &l) {
  const bool sharp = text[0] == '-', closed = text[0] == '*';
  std::vector<point> line;
  for (size_t i = sharp || closed; i + 1 < text.size(); i += 2)
    line.push_back({text[i] - '0' + 0.0, text[i + 1] - '0' + 0.0});
  if (!sharp && line.size() > 2)
    for (int i = 0; i < 3; ++i) line = rounded(line, closed);
  for (size_t i = 0; i + 1 < line.size(); ++i)
    l.strokes.push_back({line[i].x, line[i].y, line[i + 1].x, line[i + 1].y});
  if (closed) l.strokes.push_back({line.back().x, line.back().y, line[0].x, line[0].y});
}

}  // namespace

letter letter_of(char c) {
  const std::string glyph = glyphs[c >= ' ' && c <= '~' ? c - ' ' : '~' - ' ' + 1];
  letter l = {glyph[0] - '0' + 0.0, {}};
  for (size_t at = 2; at < glyph.size();) {
    const size_t end = glyph.find(' ', at) == std::string::npos ? glyph.size() : glyph.find(' ', at);
    add_stroke(glyph.substr(at, end - at), l);
    at = end + 1;
  }
  return l;
}

}  // namespace heed_map
