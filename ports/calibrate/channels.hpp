// Scales of channels. A few numbers of every row that are much larger than the others (real transformers have them) leave the others
// few of int8's steps. So a row holds x / s with a scale s for each number, and the matrix behind it has its inputs times s: the
// product is the same, and nothing is computed more. SPDX-License-Identifier: MIT
#ifndef HEED_CALIBRATE_CHANNELS_HPP
#define HEED_CALIBRATE_CHANNELS_HPP

#include <cstddef>
#include <vector>

namespace calibrate {

// A scale for each number of a row; empty: all are 1.
using channel_scales = std::vector<double>;

// Of number i, counted through all rows.
inline double scale_at(const channel_scales &s, size_t i) { return s.empty() ? 1 : s[i % s.size()]; }

// (n_in, n_out), row-major.
struct matrix {
  std::vector<double> numbers;
  size_t n_in = 0, n_out = 0;
};

// The matrix that takes x / of_x and makes y / of_y, where m takes x and makes y.
matrix scaled(matrix m, const channel_scales &of_x, const channel_scales &of_y);
// Numbers of a row, divided by its scales; null stays null, as an empty vector.
std::vector<float> divided(const float *row, const channel_scales &s, size_t n);

// What was seen of each number of a row.
class channel_ranges {
 public:
  void see(const float *x, size_t n_rows, size_t n_channels);
  size_t n_channels() const { return low_.size(); }
  double greatest(size_t channel) const { return -low_[channel] > high_[channel] ? -low_[channel] : high_[channel]; }
  double mean_square(size_t channel) const { return squares_[channel] / n_rows_; }
  // Both channels get the range of both, so that they have one scale.
  void join(size_t a, size_t b);
  // Of x / s: the least number or 0, the greatest number or 0, the greatest magnitude.
  double low_of(const channel_scales &s) const;
  double high_of(const channel_scales &s) const;
  double greatest_of(const channel_scales &s) const;

 private:
  std::vector<double> low_, high_, squares_;
  double n_rows_ = 0;
};

// Scales for rows that these matrices take, of those tried: powers of the root mean square of a channel, over powers of its greatest
// weight, much as SmoothQuant has them. (The greatest number of a channel is one of few samples, and the next input has a greater one:
// its root mean square leaves it room.) The best ones make the least error of the products, which is computed from the mean squares of
// all channels, as errors of rounding are independent. Empty, if more than `most` of the square of the error is left.
constexpr double most_left = 0.5, most_left_at_a_price = 0.25;  // a price: one more product for each number of a row
channel_scales choose_scales(const channel_ranges &x, const std::vector<const matrix *> &behind,
                             double most = most_left);
// The same for q and k, whose products are scores: those of k are the inverse ones.
channel_scales choose_scales(const channel_ranges &q, const channel_ranges &k);
channel_scales inverse(channel_scales s);

}  // namespace calibrate

#endif
