// See channels.hpp. Numbers are of + - * / and square roots alone, so that they are the same on every computer.
// SPDX-License-Identifier: MIT
#include "channels.hpp"

#include <algorithm>
#include <cmath>

namespace calibrate {
namespace {

constexpr int quarters = 4;  // exponents are quarters up to 1

double square(double x) { return x * x; }

// x^(n / 4)
double power(double x, int n) {
  const double root = std::sqrt(x), fourth = std::sqrt(root);
  return n == 4 ? x : (n >= 2 ? root : 1) * (n % 2 != 0 ? fourth : 1);
}

// What rows are multiplied by: inputs of a matrix, or the channels of other rows.
struct partner {
  std::vector<double> greatest, squares;  // of each channel
  const matrix *m = nullptr;  // each output has steps of its own; without a matrix all channels have the same
};

partner partner_of(const matrix &m) {
  partner of;
  of.m = &m;
  for (size_t c = 0; c < m.n_in; ++c) {
    double greatest = 0, squares = 0;
    for (size_t o = 0; o < m.n_out; ++o) {
      const double w = m.numbers[c * m.n_out + o];
      greatest = std::max(greatest, std::fabs(w));
      squares += square(w);
    }
    of.greatest.push_back(greatest);
    of.squares.push_back(squares);
  }
  return of;
}

partner partner_of(const channel_ranges &rows) {
  partner of;
  for (size_t c = 0; c < rows.n_channels(); ++c) {
    of.greatest.push_back(rows.greatest(c));
    of.squares.push_back(rows.mean_square(c));
  }
  return of;
}

// The sum of squares of the greatest numbers that have the same steps.
double steps_of(const partner &p, const channel_scales &s) {
  const size_t n_out = p.m ? p.m->n_out : 1;
  std::vector<double> greatest(n_out);
  for (size_t c = 0; c < p.greatest.size(); ++c) {
    const double scale = scale_at(s, c), *const numbers = p.m ? &p.m->numbers[c * n_out] : &p.greatest[c];
    for (size_t o = 0; o < n_out; ++o) greatest[o] = std::max(greatest[o], std::fabs(numbers[o]) * scale);
  }
  double sum = 0;
  for (const double number : greatest) sum += square(number);
  return sum;
}

// The mean square error of x / s times the partner's numbers times s, beside the mean square of what comes out.
double error_of(const channel_ranges &x, const partner &p, const channel_scales &s) {
  double of_x = 0, of_partner = 0, power = 0;
  for (size_t c = 0; c < x.n_channels(); ++c) {
    of_x += p.squares[c] * square(scale_at(s, c));
    of_partner += x.mean_square(c) / square(scale_at(s, c));
    power += p.squares[c] * x.mean_square(c);
  }
  return power > 0 ? (of_x * square(x.greatest_of(s)) + of_partner * steps_of(p, s)) / power : 0;
}

// Each number beside the median: smaller ones as large as the median. What samples leave at 0, or nearly, may be as large as the
// others in the next input, so that its range stays that of the others.
std::vector<double> beside_median(std::vector<double> numbers) {
  std::vector<double> sorted = numbers;
  const auto middle = sorted.begin() + static_cast<ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  for (double &number : numbers) number = *middle > 0 ? std::max(number / *middle, 1.0) : 1;
  return numbers;
}

channel_scales best_scales(const channel_ranges &x, const std::vector<partner> &partners, double most) {
  std::vector<double> of_x(x.n_channels()), of_partners(x.n_channels());
  for (size_t c = 0; c < of_x.size(); ++c) {
    of_x[c] = std::sqrt(x.mean_square(c));
    for (const partner &p : partners) of_partners[c] = std::max(of_partners[c], p.greatest[c]);
  }
  of_x = beside_median(of_x), of_partners = beside_median(of_partners);
  const auto error = [&](const channel_scales &s) {
    double sum = 0;
    for (const partner &p : partners) sum += error_of(x, p, s);
    return sum;
  };
  channel_scales best, tried(of_x.size());
  double wanted = most * error({});
  for (int i = 1; i <= quarters; ++i)
    for (int k = 0; k <= quarters; ++k) {
      for (size_t c = 0; c < tried.size(); ++c) tried[c] = power(of_x[c], i) / power(of_partners[c], k);
      const double found = error(tried);
      if (found < wanted) wanted = found, best = tried;
    }
  return best;
}

}  // namespace

matrix scaled(matrix m, const channel_scales &of_x, const channel_scales &of_y) {
  for (size_t c = 0; c < m.n_in; ++c)
    for (size_t o = 0; o < m.n_out; ++o) m.numbers[c * m.n_out + o] *= scale_at(of_x, c) / scale_at(of_y, o);
  return m;
}

std::vector<float> divided(const float *row, const channel_scales &s, size_t n) {
  std::vector<float> to;
  for (size_t i = 0; row && i < n; ++i) to.push_back(static_cast<float>(static_cast<double>(row[i]) / scale_at(s, i)));
  return to;
}

void channel_ranges::see(const float *x, size_t n_rows, size_t n_channels) {
  low_.resize(n_channels), high_.resize(n_channels), squares_.resize(n_channels);
  for (size_t i = 0; i < n_rows * n_channels; ++i) {
    const size_t c = i % n_channels;
    const double number = static_cast<double>(x[i]);
    low_[c] = std::min(low_[c], number), high_[c] = std::max(high_[c], number);
    squares_[c] += square(number);
  }
  n_rows_ += static_cast<double>(n_rows);
}

void channel_ranges::join(size_t a, size_t b) {
  low_[a] = low_[b] = std::min(low_[a], low_[b]), high_[a] = high_[b] = std::max(high_[a], high_[b]);
  squares_[a] = squares_[b] = (squares_[a] + squares_[b]) / 2;
}

double channel_ranges::low_of(const channel_scales &s) const {
  double low = 0;
  for (size_t c = 0; c < low_.size(); ++c) low = std::min(low, low_[c] / scale_at(s, c));
  return low;
}
double channel_ranges::high_of(const channel_scales &s) const {
  double high = 0;
  for (size_t c = 0; c < high_.size(); ++c) high = std::max(high, high_[c] / scale_at(s, c));
  return high;
}
double channel_ranges::greatest_of(const channel_scales &s) const { return std::max(-low_of(s), high_of(s)); }

channel_scales choose_scales(const channel_ranges &x, const std::vector<const matrix *> &behind, double most) {
  std::vector<partner> partners;
  for (const matrix *m : behind) partners.push_back(partner_of(*m));
  return best_scales(x, partners, most);
}

channel_scales choose_scales(const channel_ranges &q, const channel_ranges &k) {
  return best_scales(q, {partner_of(k)}, most_left);
}

channel_scales inverse(channel_scales s) {
  for (double &number : s) number = 1 / number;
  return s;
}

}  // namespace calibrate
