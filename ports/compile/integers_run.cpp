// Runs a model in integers by the calls that its program makes: for the known answers, and for --check. See integers.hpp.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <memory>

#include "../receipt/receipts.hpp"
#include "heed/integers.h"
#include "integers.hpp"
#include "reference.hpp"
#include "run.hpp"
#include "weight_file.hpp"

namespace heed_compile {
namespace {

void require(heed_status status) {
  if (status == HEED_OK) return;
  throw refusal(std::string("--integers: heed refuses a call of this model: ") + heed_status_argument(status) + ": " +
                heed_status_text(status) + ". Are the ranges of the samples those of the model's inputs?");
}

heed_int_norm_function *norm_of(const network &net) {
  return net.norm == "heed_layer_norm" ? heed_int_layer_norm : heed_int_rms_norm;
}

class machine {
 public:
  machine(const network &net, const integer_model &m, int32_t n_rows, const see_integers &see)
      : net_(net), m_(m), see_(see), n_(n_rows), x_(static_cast<size_t>(n_rows) * static_cast<size_t>(net.dim)) {}

  void run_text(const std::vector<int32_t> &tokens) {
    for (int32_t t = 0; t < n_; ++t) {
      const auto token = static_cast<size_t>(tokens[static_cast<size_t>(t)]), at = static_cast<size_t>(t);
      const heed_int_matrix of_token = row_of(m_.embedding, token);
      const heed_multiplier unit = m_.embedding.units[token];
      if (m_.positions.numbers.empty())
        require(heed_int_rescale(of_token, unit, out(row(t), 1), nullptr));
      else
        require(
            heed_int_add(of_token, unit, row_of(m_.positions, at), m_.positions.units[at], out(row(t), 1), nullptr));
    }
    if (net_.has_embedding_norm)
      require(norm_of(net_)(in(x_.data(), n_), m_.embedding_norm.view(), out(x_.data(), n_), nullptr));
    run();
  }

  void run_picture(const std::vector<int8_t> &pixels) {
    const int32_t side = net_.image_size / net_.patch_size, line = net_.patch_size * net_.n_channels;
    const int32_t n_in = net_.patch_size * line, width = net_.image_size * net_.n_channels;
    std::vector<int8_t> patch(static_cast<size_t>(n_in));
    std::copy(m_.special_rows.begin(), m_.special_rows.end(), x_.begin());
    for (int32_t p = 0; p < side * side; ++p) {
      const ptrdiff_t corner = static_cast<ptrdiff_t>(p / side) * net_.patch_size * width + p % side * line;
      for (int32_t i = 0; i < n_in; ++i)
        patch[static_cast<size_t>(i)] = pixels[static_cast<size_t>(corner + i / line * width + i % line)];
      int16_t *const y = row(net_.n_special_rows + p);
      require(linear(patch.data(), m_.patches, y, HEED_INT16));
      const auto at = static_cast<size_t>(p);
      require(heed_int_add(in(y, 1), heed_multiplier_one(), row_of(m_.positions, at), m_.positions.units[at], out(y, 1),
                           nullptr));
    }
    run();
  }

 private:
  int16_t *row(int32_t r) { return x_.data() + static_cast<ptrdiff_t>(r) * net_.dim; }
  heed_int_matrix in(const int16_t *x, int32_t n) const { return heed_int_matrix_of(x, HEED_INT16, n, net_.dim, 0); }
  heed_int_matrix_out out(int16_t *x, int32_t n) const { return heed_int_matrix_out_of(x, HEED_INT16, n, net_.dim, 0); }
  heed_int_matrix row_of(const int_table &t, size_t r) const {
    return heed_int_matrix_of(t.numbers.data() + r * static_cast<size_t>(net_.dim), HEED_INT8, 1, net_.dim, 0);
  }
  // Zero points of x and y are in the bias.
  static heed_status linear(const int8_t *x, const calibrate::int_linear &l, void *y, int32_t dtype) {
    const heed_int_projection p = l.view();
    return heed_int_linear(heed_int_matrix_of(x, HEED_INT8, 1, l.n_in, 0), p.w, p.bias, p.multipliers,
                           heed_int_matrix_out_of(y, dtype, 1, l.n_out, 0), nullptr);
  }

  void run() {
    const bool is_first = net_.pool == network::pooling::first;
    const int32_t n_out = is_first ? net_.n_class_rows : n_;
    std::vector<int16_t> first(static_cast<size_t>(n_out) * static_cast<size_t>(net_.dim));
    for (int32_t l = 0; l < net_.n_layers; ++l) {
      const calibrate::int_layer &of = m_.layers[static_cast<size_t>(l)];
      heed_int_layer layer = of.layer();
      const bool is_cut = is_first && l == net_.n_layers - 1;
      if (is_cut) layer.out_rows = n_out;
      const size_t n_bytes = heed_int_layer_bytes(&layer, n_);
      std::vector<uint8_t> room(n_bytes + HEED_ALIGNMENT);
      void *const aligned = room.data() + (0 - reinterpret_cast<uintptr_t>(room.data())) % HEED_ALIGNMENT;
      int16_t *const y = is_cut ? first.data() : x_.data();
      require(heed_int_layer_run(&layer, in(x_.data(), n_), out(y, is_cut ? n_out : n_),
                                 heed_memory_of(aligned, n_bytes), nullptr));
      see_(l, 0, in(y, is_cut ? n_out : n_), of.y_scale());
    }
    if (is_first) std::copy(first.begin(), first.end(), x_.begin());
    run_head(n_out);
  }

  void run_head(int32_t n) {
    if (net_.what == task::decoder) return run_logits(n);
    if (has_wide_final_norm(net_))
      require(norm_of(net_)(in(x_.data(), n), m_.final_norm.view(), out(x_.data(), n), nullptr));
    if (net_.pool == network::pooling::mean) make_mean(n), n = 1;
    if (net_.n_classes > 0)
      run_classes(n);
    else
      run_embedding();
  }
  // Of each token, as if it was the newest one.
  void run_logits(int32_t n) {
    std::vector<int8_t> head(static_cast<size_t>(net_.dim));
    std::vector<int16_t> logits(static_cast<size_t>(net_.n_tokens));
    for (int32_t r = 0; r < n; ++r) {
      require(norm_of(net_)(in(row(r), 1), m_.final_norm.view(),
                            heed_int_matrix_out_of(head.data(), HEED_INT8, 1, net_.dim, m_.head.zero), nullptr));
      require(linear(head.data(), m_.classes, logits.data(), HEED_INT16));
      see_(net_.n_layers, r, heed_int_matrix_of(logits.data(), HEED_INT16, 1, net_.n_tokens, 0), m_.result_scale);
    }
  }
  void make_mean(int32_t n) {
    for (int32_t i = 0; i < net_.dim; ++i) {
      int64_t sum = 0;
      for (int32_t r = 0; r < n; ++r) sum += row(r)[i];
      const int64_t twice = sum * (int64_t{2} << m_.mean_shift);
      const int64_t mean = (twice + (twice < 0 ? -n : n)) / (int64_t{2} * n);
      x_[static_cast<size_t>(i)] = static_cast<int16_t>(std::max<int64_t>(-32767, std::min<int64_t>(32767, mean)));
    }
  }
  // Rows of int16 as int8: through the final norm, or by their units.
  heed_status narrow(int32_t n, std::vector<int8_t> &y, int32_t zero) {
    const heed_int_matrix_out to = heed_int_matrix_out_of(y.data(), HEED_INT8, n, net_.dim, zero);
    const bool is_norm = net_.has_final_norm && !has_wide_final_norm(net_);
    return is_norm ? norm_of(net_)(in(x_.data(), n), m_.final_norm.view(), to, nullptr)
                   : heed_int_rescale(in(x_.data(), n), m_.to_head, to, nullptr);
  }
  void run_classes(int32_t n) {
    std::vector<int8_t> head(static_cast<size_t>(n) * static_cast<size_t>(net_.dim)), pooled(head.size());
    std::vector<int16_t> result(static_cast<size_t>(net_.n_classes));
    require(narrow(n, head, m_.head.zero));
    if (net_.has_pooler) {
      require(linear(head.data(), m_.pooler, pooled.data(), HEED_INT8));
      require(heed_int_lookup(heed_int_matrix_of(pooled.data(), HEED_INT8, 1, net_.dim, 0), m_.pooler_activation.data(),
                              heed_int_matrix_out_of(head.data(), HEED_INT8, 1, net_.dim, 0), nullptr));
    }
    require(linear(head.data(), m_.classes, result.data(), HEED_INT16));
    see_(net_.n_layers, 0, heed_int_matrix_of(result.data(), HEED_INT16, 1, net_.n_classes, 0), m_.result_scale);
  }
  void run_embedding() {
    std::vector<int8_t> result(static_cast<size_t>(net_.dim));
    if (net_.normalizes)
      require(heed_int_rms_norm(in(x_.data(), 1), m_.unit_length.view(),
                                heed_int_matrix_out_of(result.data(), HEED_INT8, 1, net_.dim, 0), nullptr));
    else
      require(narrow(1, result, 0));
    see_(net_.n_layers, 0, heed_int_matrix_of(result.data(), HEED_INT8, 1, net_.dim, 0), m_.result_scale);
  }

  const network &net_;
  const integer_model &m_;
  const see_integers &see_;
  int32_t n_;
  std::vector<int16_t> x_;
};

double number_at(const heed_int_matrix &rows, int32_t r, int32_t i) {
  const ptrdiff_t at = r * rows.row_stride + i;
  const int32_t number = rows.dtype == HEED_INT16 ? static_cast<const int16_t *>(rows.data)[at]
                                                  : static_cast<const int8_t *>(rows.data)[at];
  return number - rows.zero_point;
}

std::vector<reference_rows> reference_of(const network &net, const source_weights &weights, const sample &s) {
  const auto numbers = [&](const std::string &name) {
    const auto found = weights.find(name);
    if (found == weights.end()) return std::vector<double>();
    return std::vector<double>(found->second.begin(), found->second.end());
  };
  if (net.what == task::vision) return reference_of_picture(net, numbers, s.pixels);
  return reference_of_tokens(net, numbers, s.tokens);
}

// What one result has become.
void add_result(const std::vector<double> &found, const std::vector<double> &exact, integer_errors &errors) {
  const auto greatest = [](const std::vector<double> &x) { return std::max_element(x.begin(), x.end()) - x.begin(); };
  errors.n_same_class += greatest(found) == greatest(exact) ? 1 : 0;
  errors.n_results += 1;
  double both = 0, ours = 0, theirs = 0;
  for (size_t i = 0; i < found.size(); ++i)
    both += found[i] * exact[i], ours += found[i] * found[i], theirs += exact[i] * exact[i];
  const double lengths = std::sqrt(ours * theirs);
  errors.least_cosine = std::min(errors.least_cosine, lengths > 0 ? both / lengths : 0);
}

}  // namespace

void run_tokens_in_integers(const network &net, const integer_model &m, const std::vector<int32_t> &tokens,
                            const see_integers &see) {
  machine(net, m, static_cast<int32_t>(tokens.size()), see).run_text(tokens);
}

void run_picture_in_integers(const network &net, const integer_model &m, const std::vector<int8_t> &pixels,
                             const see_integers &see) {
  machine(net, m, net.n_positions, see).run_picture(pixels);
}

std::vector<int8_t> pixels_in_integers(const integer_model &m, const std::vector<float> &pixels) {
  std::vector<int8_t> integers;
  for (const float pixel : pixels) {
    const double number = std::round(static_cast<double>(pixel) / m.pixels.scale) + m.pixels.zero;
    integers.push_back(static_cast<int8_t>(std::max(-128.0, std::min(127.0, number))));
  }
  return integers;
}

tensor known_integers(const network &net, const choices &c, const integer_model &m) {
  receipts::writer writer({receipt_name(c), net.digest, net.n_layers, true}, {});
  const see_integers see = [&](int32_t layer, int64_t first, heed_int_matrix rows, double) {
    receipts::writer::see_int(&writer, layer, first, rows);
  };
  if (net.what == task::vision) {
    std::vector<int8_t> pixels;
    for (const float pixel : known_picture(net)) pixels.push_back(static_cast<int8_t>(pixel * 128));
    run_picture_in_integers(net, m, pixels, see);
  } else {
    const std::vector<int32_t> tokens = known_tokens(net, c);
    for (size_t i = 0; i < tokens.size(); ++i) heed_receipt_token(writer.get(), static_cast<int64_t>(i), tokens[i]);
    const auto last = static_cast<int64_t>(tokens.size()) - 1;  // a program computes the logits of this one alone
    run_tokens_in_integers(net, m, tokens, [&](int32_t layer, int64_t first, heed_int_matrix rows, double scale) {
      if (net.what != task::decoder || layer < net.n_layers || first == last) see(layer, first, rows, scale);
    });
  }
  return golden_tensor("integers", writer.finish());
}

integer_errors errors_in_integers(const network &net, const integer_model &m, const source_weights &weights,
                                  const std::vector<sample> &samples) {
  integer_errors errors;
  errors.layers.resize(static_cast<size_t>(net.n_layers) + 1);
  for (const sample &s : samples) {
    const std::vector<reference_rows> reference = reference_of(net, weights, s);
    const see_integers see = [&](int32_t layer, int64_t first, heed_int_matrix rows, double scale) {
      const reference_rows &expected = reference.at(static_cast<size_t>(layer));
      integer_error &e = errors.layers[static_cast<size_t>(layer)];
      const bool is_layer = layer < net.n_layers;
      const calibrate::channel_scales channels =
          is_layer ? m.layers[static_cast<size_t>(layer)].y_channels() : calibrate::channel_scales();
      const auto from = expected.numbers.begin() + static_cast<ptrdiff_t>(first) * rows.dim;
      const std::vector<double> exact(from, from + static_cast<ptrdiff_t>(rows.n_rows) * rows.dim);
      std::vector<double> found;
      for (int32_t r = 0; r < rows.n_rows; ++r)
        for (int32_t i = 0; i < rows.dim; ++i) {
          const double number = exact[found.size()];
          found.push_back(number_at(rows, r, i) * scale * calibrate::scale_at(channels, static_cast<size_t>(i)));
          const double difference = found.back() - number;
          e.greatest = std::max(e.greatest, std::fabs(difference));
          e.largest = std::max(e.largest, std::fabs(number));
          e.squares += difference * difference;
          ++e.n;
        }
      if (layer == net.n_layers) add_result(found, exact, errors);
    };
    if (net.what == task::vision)
      run_picture_in_integers(net, m, pixels_in_integers(m, s.pixels), see);
    else
      run_tokens_in_integers(net, m, s.tokens, see);
  }
  return errors;
}

void print_integer_errors(const network &net, const integer_errors &errors) {
  std::printf("%-15s %16s %16s   of numbers up to\n", "error:", "greatest", "rms");
  for (size_t i = 0; i < errors.layers.size(); ++i) {
    const integer_error &e = errors.layers[i];
    const std::string name = i + 1 == errors.layers.size() ? "result" : "layer " + std::to_string(i);
    const double rms = std::sqrt(e.squares / static_cast<double>(std::max<uint64_t>(e.n, 1)));
    std::printf("%-15s %16.3g %16.3g   %.4g\n", name.c_str(), e.greatest, rms, e.largest);
  }
  if (net.what == task::decoder)
    std::printf("%zu of %zu next tokens stay the most probable ones\n", errors.n_same_class, errors.n_results);
  else if (net.n_classes > 0)
    std::printf("%zu of %zu samples keep their class\n", errors.n_same_class, errors.n_results);
  else
    std::printf("the cosine of the embedding and the exact one is %.4f at least\n", errors.least_cosine);
}

}  // namespace heed_compile
