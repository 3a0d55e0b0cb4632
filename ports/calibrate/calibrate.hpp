// From a transformer layer of floats to one of integers. For the host: a firmware holds what comes out of it.
//
//   calibrate::layer c(float_layer);                        // a heed_transformer_layer
//   for (each recorded sequence) x = c.see(x, n);           // runs the layer, and notes the range of every number in it
//   calibrate::int_layer integers = c.quantize(choice);     // numbers, multipliers, tables
//   heed_int_layer_run(&integers.layer(), ...);
//   for (const calibrate::site &s : c.sites()) ...          // which range hurts
//
// Layers follow each other: the scale of what goes into the second is that of what comes out of the first.
// Rotary embedding (attention_layer.rope) becomes a table for choice.n_positions positions, 0 to n_positions - 1. q and k are rounded
// before and after it, with one scale, so their ranges are those of the numbers before and after.
// Refused (std::invalid_argument) are a layer with a cache, options, positions of its rope's own, norms of q and k, post-norms,
// cross-attention, batches, parallel sublayers or another ffn_order than HEED_FFN_SEPARATE; a number that is infinite or none, in the
// rows or on their way; and a range that no multiplier reaches.
// SPDX-License-Identifier: MIT
#ifndef HEED_CALIBRATE_HPP
#define HEED_CALIBRATE_HPP

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "channels.hpp"
#include "heed/heed.h"
#include "heed/integers.h"
#include "quantize.hpp"

namespace calibrate {

// How often magnitudes were seen: bins of equal width, which grows when a larger number comes.
class histogram {
 public:
  void see(const float *x, size_t n);
  double greatest() const { return greatest_; }
  double low() const { return low_; }
  double high() const { return high_; }
  double rms() const;
  // The magnitude that so many percent do not exceed; 100: the greatest.
  double limit(double percent) const;

 private:
  static constexpr size_t n_bins = 4096;
  std::array<uint64_t, n_bins> bins_{};
  double width_ = 0, greatest_ = 0, low_ = 0, high_ = 0, squares_ = 0;
  uint64_t total_ = 0;
};

// One place in a layer where numbers are rounded to integers.
struct site {
  std::string name;
  int32_t bits;  // 8 or 16
  histogram seen;
  channel_ranges of_channels;
  double scale = 0;         // of an integer's unit, once quantized
  int32_t zero = 0;         // the integer that stands for 0
  channel_scales channels;  // a unit of channel i is scale * channels[i], if there are any
  // The error of rounding beside the numbers themselves, root mean squares of both: the greatest one hurts most.
  double error() const;
};

// Where. Names of heed_int_layer; sums are what goes into a norm that comes last.
enum place {
  at_x,
  at_h,
  at_q,
  at_k,
  at_v,
  at_context,
  at_attention,
  at_sum1,
  at_a,
  at_g,
  at_up,
  at_gate,
  at_hidden,
  at_result,
  at_sum2,
  at_y,
  n_places
};

struct choice {
  double percent = 100;     // of magnitudes within the range of int8
  double headroom = 1.5;    // int16 rows may be so many times as large as any that was seen
  double x_scale = 0;       // of the rows that come in; 0: from their range
  double y_scale = 0;       // of the rows that go out; 0: from their range
  int32_t n_positions = 0;  // of layers with rotary embedding: the longest sequence, 1 to HEED_INT_MAX_KEYS
  // Layers whose norm comes last: rows of int16 may have scales of their channels, which the layer's norm function takes away before
  // each norm. heed's norms do not: see norm_of_channels in calibrate.cpp.
  bool has_channels = false, x_has_channels = false;  // x: the rows that come in may have them, too
  channel_scales x_channels, y_channels;              // of the rows that come in and go out
};

// A layer of integers with all that it points to.
class int_layer {
 public:
  int_layer() = default;
  int_layer(int_layer &&) = default;
  int_layer &operator=(int_layer &&) = default;
  const heed_int_layer &layer() const { return layer_; }
  // y (n, model_dim) of x: rounded to int16, through heed_int_layer_run, and back to floats.
  std::vector<float> run(const std::vector<float> &x, int32_t n) const;
  double x_scale() const { return x_scale_; }
  double y_scale() const { return y_scale_; }
  // A row's number i stands for its integer times scale * channels[i], where there are channels.
  const channel_scales &x_channels() const { return x_channels_; }
  const channel_scales &y_channels() const { return y_channels_; }
  // Whether norms are norm_of_channels, and 2^15 times the scales, which are 1 at most, follow their weights.
  bool has_channels() const { return has_channels_; }
  bool has_rope() const { return rope_ != nullptr; }

 private:
  friend class layer;
  heed_int_layer layer_{};
  std::array<int_linear, 7> linears_;
  std::array<int_norm, 2> norms_;
  std::vector<int8_t> table_;
  int_rope rope_table_;
  std::unique_ptr<heed_int_rope> rope_;  // or none
  double x_scale_ = 0, y_scale_ = 0;
  bool has_channels_ = false;
  channel_scales x_channels_, y_channels_;
};

class layer {
 public:
  // The weights, and frequencies of a rope, must stay as long as this does.
  explicit layer(const heed_transformer_layer &of_floats);
  // x (n, model_dim), one sequence; returns y.
  std::vector<float> see(const std::vector<float> &x, int32_t n);
  int_layer quantize(const choice &c = {});
  // As see, but with the numbers of one place rounded as the layer of integers rounds them, and no others: what comes out
  // is as far from see's as this rounding alone carries it. n_places rounds nothing.
  std::vector<float> round_at(place only, const std::vector<float> &x, int32_t n) const;
  const std::array<site, n_places> &sites() const { return sites_; }
  int32_t model_dim() const { return attention_.model_dim; }
  bool norm_first() const { return floats_.norm_first != 0; }
  // Of a layer whose norm comes last: scales that the products behind at_h or at_g want, if they are worth their price.
  channel_scales wanted_channels(place where) const;

 private:
  heed_transformer_layer floats_;
  heed_attention_layer attention_;
  std::optional<heed_rope> rope_;
  std::array<site, n_places> sites_;

  using visitor = std::function<void(place, std::vector<float> &)>;
  std::vector<float> run(const std::vector<float> &x, int32_t n, const visitor &at) const;
  std::vector<float> attend(const std::vector<float> &q, const std::vector<float> &k, const std::vector<float> &v,
                            int32_t n) const;
  void set_scale(place where, const choice &c);
  quantity quantity_of(place where) const { return {sites_[where].scale, sites_[where].zero}; }
  struct matrices {
    matrix wq, wk, wv, wo, w_up, w_gate, w_down;
  };
  matrices widened_matrices() const;
  void choose_channels(const matrices &m, const choice &c);
  channel_ranges joined_by_rope(place where) const;
  heed_int_projection quantize_linear(int_layer &to, int which, const matrix &w, const float *bias, place x,
                                      place y) const;
  heed_int_norm quantize_norm(int_layer &to, int which, const float *weight, const float *bias, place x, place y) const;
};

// Rotates the heads of x (n, n_heads * head_dim), whose positions are 0 to n - 1. A rope that heed refuses is std::invalid_argument.
void rotate(const heed_rope &rope, std::vector<float> &x, int32_t n, int32_t head_dim);

// What f returns. What it refuses gets the number of the layer.
template <class F>
auto in_layer(size_t number, const F &f) {
  try {
    return f();
  } catch (const std::invalid_argument &error) {
    throw std::invalid_argument("layer " + std::to_string(number) + ", counted from 0: " + error.what());
  }
}

// Layers that follow each other: what goes into one has the scale of what comes out of the one before.
std::vector<int_layer> quantize(std::vector<layer> &layers, const choice &c = {});

// Rows of floats as rows of int16, and back.
std::vector<int16_t> to_int16(const std::vector<float> &x, double scale, const channel_scales &s = {});
std::vector<float> to_float(const std::vector<int16_t> &x, double scale, const channel_scales &s = {});

}  // namespace calibrate

#endif
