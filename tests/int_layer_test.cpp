// A layer in integers: the bits of its functions one after another, with any memory and any number of threads; near the
// same layer in double precision; and what is refused. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "heed/int_cache.h"
#include "heed/int_layers.h"
#include "support/executors.hpp"
#include "support/int_layer_parts.hpp"
#include "support/int_ropes.hpp"
#include "support/random.hpp"
#include "support/refusal.hpp"

namespace heed_test {
namespace {

// Weights of a projection, with everything that points to them.
struct linear {
  std::vector<int8_t> numbers;
  std::vector<int32_t> bias;
  std::vector<heed_multiplier> multipliers;
  int32_t n_in, n_out;
  double x_scale, w_scale, y_scale;
  linear(random_source &r, int32_t n_in_, int32_t n_out_, double x_scale_, double y_scale_)
      : numbers(size_t(n_in_ * n_out_)),
        bias(size_t(n_out_)),
        multipliers(size_t(n_out_)),
        n_in(n_in_),
        n_out(n_out_),
        x_scale(x_scale_),
        w_scale(1.7 / (127 * std::sqrt(double(n_in_)))),
        y_scale(y_scale_) {
    for (auto &w : numbers) w = int8_t(r.between(-127, 127));
    for (auto &b : bias) b = r.between(-3000, 3000);
    for (auto &m : multipliers) m = heed_multiplier_of(float(x_scale * w_scale / y_scale));
  }
  heed_int_projection get() const {
    return {heed_weights_of(numbers.data(), nullptr, HEED_INT8, HEED_OUT_IN, n_in, n_out), bias.data(),
            multipliers.data()};
  }
  double real(const std::vector<double> &x, int32_t o) const {
    double sum = bias[size_t(o)] * x_scale * w_scale;
    for (int32_t i = 0; i < n_in; ++i) sum += x[size_t(i)] * numbers[size_t(o * n_in + i)] * w_scale;
    return sum;
  }
};

// A layer whose rows all have about the standard deviation 1.
struct trained_layer {
  static constexpr double wide = 8.0 / 32767, narrow = 5.0 / 127;
  int32_t dim, n_heads, n_kv_heads, head_dim, hidden;
  bool first, gated;
  linear wq, wk, wv, wo, up, gate, down;
  std::vector<int32_t> weight1, bias1, weight2, bias2;
  int8_t table[256];
  std::unique_ptr<int_rope_table> rope;
  heed_int_layer layer;

  trained_layer(random_source &r, bool first_, bool gated_, int32_t n_heads_ = 4, int32_t n_kv_heads_ = 2,
                int32_t head_dim_ = 8, int32_t hidden_ = 50)
      : dim(n_heads_ * head_dim_),
        n_heads(n_heads_),
        n_kv_heads(n_kv_heads_),
        head_dim(head_dim_),
        hidden(hidden_),
        first(first_),
        gated(gated_),
        wq(r, dim, dim, narrow, narrow),
        wk(r, dim, n_kv_heads * head_dim, narrow, narrow),
        wv(r, dim, n_kv_heads * head_dim, narrow, narrow),
        wo(r, dim, dim, narrow, wide),
        up(r, dim, hidden, narrow, narrow),
        gate(r, dim, hidden, narrow, narrow),
        down(r, hidden, dim, narrow, wide),
        weight1(size_t(dim)),
        bias1(size_t(dim)),
        weight2(size_t(dim)),
        bias2(size_t(dim)) {
    const double y = first ? narrow : wide;
    const int32_t shift = first ? 20 : 12;
    for (auto *w : {&weight1, &weight2})
      for (auto &x : *w) x = int32_t(std::lround(std::ldexp((1 + 0.2 * double(r.uniform())) / y, shift)));
    for (auto *b : {&bias1, &bias2})
      for (auto &x : *b) x = int32_t(std::lround(std::ldexp(0.2 * double(r.uniform()) / y, shift)));
    EXPECT_EQ(heed_int_table(HEED_INT_GELU, heed_multiplier_of(float(narrow)), 0, heed_multiplier_of(float(1 / narrow)),
                             0, table),
              HEED_OK);
    layer = heed_int_layer_default(dim, n_heads, hidden, first ? heed_int_layer_norm : heed_int_rms_norm);
    layer.n_kv_heads = n_kv_heads;
    layer.head_dim = head_dim;
    layer.norm_first = first;
    layer.causal = r.between(0, 1);
    layer.wq = wq.get(), layer.wk = wk.get(), layer.wv = wv.get(), layer.wo = wo.get();
    layer.w_up = up.get(), layer.w_down = down.get();
    if (gated) layer.w_gate = gate.get();
    layer.norm1 = {weight1.data(), bias1.data(), shift, 1000};
    layer.norm2 = {weight2.data(), bias2.data(), shift, 1000};
    layer.activation = table;
    layer.score = heed_multiplier_of(float(narrow * narrow / std::sqrt(double(head_dim)) * 1.4426950408889634));
    layer.value = heed_multiplier_of(1);
    layer.to_h = layer.to_g = heed_multiplier_of(float(wide / narrow));
    layer.of_x = layer.of_attention = layer.of_a = layer.of_hidden = heed_multiplier_of(1);
    layer.gate = heed_multiplier_of(float(narrow));
  }

  // Rotary embedding of some elements of each head, for so many positions.
  void add_rope(random_source &r, int32_t n_positions) {
    rope = std::make_unique<int_rope_table>(n_positions, 2 * r.between(1, head_dim / 2), r.between(0, 1));
    layer.rope = rope->get();
  }

  std::vector<double> norm(const std::vector<double> &x, const std::vector<int32_t> &weight,
                           const std::vector<int32_t> &bias) const {
    const double y = first ? narrow : wide, unit = std::ldexp(y, first ? -20 : -12);
    double mean = 0, squares = 0;
    for (double v : x) mean += first ? v / dim : 0;
    for (double v : x) squares += (v - mean) * (v - mean) / dim;
    std::vector<double> out;
    for (int32_t i = 0; i < dim; ++i)
      out.push_back((x[size_t(i)] - mean) / std::sqrt(squares) * weight[size_t(i)] * unit + bias[size_t(i)] * unit);
    return out;
  }

  // The same layer in double precision.
  std::vector<std::vector<double>> exact(const std::vector<std::vector<double>> &x) const {
    std::vector<std::vector<double>> h, k, v, out;
    for (const auto &row : x) {
      h.push_back(first ? norm(row, weight1, bias1) : row);
      k.emplace_back(), v.emplace_back();
      for (int32_t o = 0; o < n_kv_heads * head_dim; ++o)
        k.back().push_back(wk.real(h.back(), o)), v.back().push_back(wv.real(h.back(), o));
      for (int32_t head = 0; rope && head < n_kv_heads; ++head)
        rope->rotate(&k.back()[size_t(head * head_dim)], int32_t(k.size()) - 1);
    }
    for (size_t t = 0; t < x.size(); ++t) {
      std::vector<double> context, a, g, u, y;
      for (int32_t head = 0; head < n_heads; ++head) {
        const int32_t from = head / (n_heads / n_kv_heads) * head_dim;
        std::vector<double> p, q;
        double l = 0;
        for (int32_t i = 0; i < head_dim; ++i) q.push_back(wq.real(h[t], head * head_dim + i));
        if (rope) rope->rotate(q.data(), int32_t(t));
        for (size_t j = 0; j < (layer.causal ? t + 1 : x.size()); ++j) {
          double dot = 0;
          for (int32_t i = 0; i < head_dim; ++i) dot += q[size_t(i)] * k[j][size_t(from + i)];
          p.push_back(std::exp(dot / std::sqrt(double(head_dim))));
          l += p.back();
        }
        for (int32_t i = 0; i < head_dim; ++i) {
          double sum = 0;
          for (size_t j = 0; j < p.size(); ++j) sum += p[j] / l * v[j][size_t(from + i)];
          context.push_back(sum);
        }
      }
      for (int32_t i = 0; i < dim; ++i) a.push_back(x[t][size_t(i)] + wo.real(context, i));
      if (!first) a = norm(a, weight1, bias1);
      g = first ? norm(a, weight2, bias2) : a;
      const auto gelu = [](double z) { return z * std::erfc(-z / std::sqrt(2.0)) / 2; };
      for (int32_t o = 0; o < hidden; ++o)
        u.push_back(gated ? gelu(gate.real(g, o)) * up.real(g, o) : gelu(up.real(g, o)));
      for (int32_t i = 0; i < dim; ++i) y.push_back(a[size_t(i)] + down.real(u, i));
      out.push_back(first ? y : norm(y, weight2, bias2));
    }
    return out;
  }
};

std::vector<int16_t> drawn_rows(random_source &r, int32_t n) {
  std::vector<int16_t> x(static_cast<size_t>(n));
  for (auto &v : x) v = int16_t(std::lround(double(r.bell()) / trained_layer::wide));
  return x;
}

std::vector<int16_t> run(const heed_int_layer &layer, std::vector<int16_t> x, int32_t n, size_t bytes,
                         const heed_executor *executor) {
  std::vector<unsigned char> room(bytes + 64, 0xa5);
  void *data = room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64) % 64;
  EXPECT_EQ(heed_int_layer_run(&layer, heed_int_matrix_of(x.data(), HEED_INT16, n, layer.model_dim, 0),
                               heed_int_matrix_out_of(x.data(), HEED_INT16, n, layer.model_dim, 0),
                               heed_memory_of(data, bytes), executor),
            HEED_OK);
  return x;
}

TEST(int_layer, is_near_the_layer_in_double_precision) {
  random_source r(740001);
  for (int32_t kind = 0; kind < 8; ++kind) {
    trained_layer t(r, kind % 2 == 1, kind / 2 % 2 == 1);
    const int32_t n = 37;
    if (kind >= 4) t.add_rope(r, n);
    const std::vector<int16_t> x = drawn_rows(r, n * t.dim);
    std::vector<std::vector<double>> rows;
    for (int32_t i = 0; i < n; ++i) {
      rows.emplace_back();
      for (int32_t k = 0; k < t.dim; ++k) rows.back().push_back(x[size_t(i * t.dim + k)] * trained_layer::wide);
    }
    const auto exact = t.exact(rows);
    const auto y = run(t.layer, x, n, heed_int_layer_bytes(&t.layer, n), nullptr);
    double error = 0, power = 0;
    for (int32_t i = 0; i < n * t.dim; ++i) {
      const double wanted = exact[size_t(i / t.dim)][size_t(i % t.dim)];
      error += std::pow(y[size_t(i)] * trained_layer::wide - wanted, 2);
      power += wanted * wanted;
    }
    EXPECT_LT(std::sqrt(error / power), 0.06) << kind;  // int8 rows cost about 1 % each
    RecordProperty("relative_error_" + std::to_string(kind), std::to_string(std::sqrt(error / power)));
  }
}

// The header's words alone make the same layer: gated or not, norms first or last, with zero points of all kinds.
TEST(int_layer, is_its_functions_one_after_another) {
  random_source r(740006);
  for (int32_t kind = 0; kind < 40; ++kind) {
    trained_layer t(r, kind % 2 == 1, kind / 2 % 2 == 1);
    for (int32_t *zero : {&t.layer.h_zero, &t.layer.q_zero, &t.layer.k_zero, &t.layer.v_zero, &t.layer.c_zero,
                          &t.layer.g_zero, &t.layer.u_zero, &t.layer.up_zero, &t.layer.gate_zero})
      *zero = r.between(-20, 20);
    const int32_t n = r.between(1, 60);
    if (kind / 4 % 2 == 1) t.add_rope(r, n + r.between(0, 3));
    const std::vector<int16_t> x = drawn_rows(r, n * t.dim);
    EXPECT_EQ(run(t.layer, x, n, heed_int_layer_min_bytes(&t.layer, n), nullptr),
              compose_int_layer(t.layer, heed_int_matrix_of(x.data(), HEED_INT16, n, t.dim, 0)))
        << kind;
  }
}

TEST(int_layer, any_memory_and_any_threads_give_the_same_numbers) {
  random_source r(740002);
  for (int32_t kind = 0; kind < 8; ++kind) {
    trained_layer t(r, kind % 2 == 1, kind / 2 % 2 == 1);
    const int32_t n = 300;
    if (kind >= 4) t.add_rope(r, n);
    const std::vector<int16_t> x = drawn_rows(r, n * t.dim);
    const size_t least = heed_int_layer_min_bytes(&t.layer, n), most = heed_int_layer_bytes(&t.layer, n);
    EXPECT_EQ(least, HEED_INT_LAYER_MIN_BYTES(n, t.dim, 4, 2, 8, 50, t.gated));
    EXPECT_EQ(most, HEED_INT_LAYER_BYTES(n, t.dim, 4, 2, 8, 50, t.gated));
    const auto y = run(t.layer, x, n, most, nullptr);
    EXPECT_EQ(run(t.layer, x, n, least, nullptr), y);
    EXPECT_EQ(run(t.layer, x, n, least + 777 * 64, nullptr), y);
    thread_executor threads(3);
    const size_t worker = HEED_INT_LAYER_SIZE_OF_WORKER(t.dim, 4, 8, 50, t.gated);
    EXPECT_EQ(run(t.layer, x, n, most + 2 * worker, threads.get()), y);
    EXPECT_GT(threads.most_tasks(), 1);
    EXPECT_EQ(run(t.layer, x, n, least, threads.get()), y);
  }
}

// A cache that holds all rows: a causal layer in any pieces. A ring: the same rows at once and in pieces.
TEST(int_layer, with_a_cache_any_pieces_give_the_same_numbers) {
  random_source r(740004);
  alignas(64) static unsigned char memory[1 << 16];
  thread_executor threads(3);
  for (int32_t kind = 0; kind < 16; ++kind) {
    trained_layer t(r, kind % 2 == 1, kind / 2 % 2 == 1);
    const int32_t n = 150;
    const std::vector<int16_t> x = drawn_rows(r, n * t.dim);
    t.layer.causal = 1;
    t.layer.k_zero = 3, t.layer.v_zero = -2;
    if (kind >= 8) t.add_rope(r, n);  // a ring has positions beyond its slots
    const bool ring = kind / 4 % 2 == 1;
    std::vector<int16_t> y;
    if (!ring) y = run(t.layer, x, n, heed_int_layer_bytes(&t.layer, n), nullptr);
    heed_int_cache cache;
    heed_int_cache_shape shape = heed_int_cache_shape_default(ring ? 40 : n, 2, 8);
    shape.k_zero = 3, shape.v_zero = -2;
    if (ring) shape.kind = HEED_CACHE_RING, shape.spare = 11;
    t.layer.cache = &cache;
    const size_t least = heed_int_layer_min_bytes(&t.layer, n), most = heed_int_layer_bytes(&t.layer, n);
    EXPECT_EQ(least, HEED_INT_LAYER_MIN_BYTES(0, t.dim, 4, 2, 8, 50, t.gated));
    EXPECT_EQ(most, HEED_INT_LAYER_BYTES(0, t.dim, 4, 2, 8, 50, t.gated));
    for (const int32_t step : {n, 1, 12, 37}) {
      ASSERT_EQ(heed_int_cache_init(&cache, &shape, heed_memory_of(memory, sizeof memory)), HEED_OK);
      std::vector<int16_t> all;
      for (int32_t begin = 0; begin < n; begin += step) {
        const int32_t m = std::min(step, n - begin);
        const std::vector<int16_t> piece(x.begin() + begin * t.dim, x.begin() + (begin + m) * t.dim);
        const size_t bytes = step == 12 ? least : step == 37 ? 3 * most : most;
        const std::vector<int16_t> out = run(t.layer, piece, m, bytes, step == 37 ? threads.get() : nullptr);
        all.insert(all.end(), out.begin(), out.end());
      }
      EXPECT_EQ(heed_int_cache_length(&cache, 0), n);
      if (y.empty()) y = all;
      EXPECT_EQ(all, y) << "kind " << kind << ", " << step << " at a time";
    }
  }
}

// The first rows, or the last, have the numbers of the whole call, in any memory, on threads, and in a ring's pieces.
TEST(int_layer, rows_that_are_wanted_have_the_numbers_of_the_whole_call) {
  random_source r(740005);
  alignas(64) static unsigned char kept[1 << 16], memory[1 << 17];
  thread_executor threads(3);
  for (int32_t kind = 0; kind < 16; ++kind) {
    trained_layer t(r, kind % 2 == 1, kind / 2 % 2 == 1);
    const int32_t n = 150;
    const std::vector<int16_t> x = drawn_rows(r, n * t.dim);
    heed_int_cache cache;
    heed_int_cache_shape shape = heed_int_cache_shape_default(40, 2, 8);
    shape.kind = HEED_CACHE_RING, shape.spare = 11;
    if (kind >= 8) t.add_rope(r, n);
    const auto begin = [&] {
      if (kind / 4 % 2 == 1) {
        ASSERT_EQ(heed_int_cache_init(&cache, &shape, heed_memory_of(kept, sizeof kept)), HEED_OK);
        t.layer.causal = 1, t.layer.cache = &cache;
      }
    };
    begin();
    const std::vector<int16_t> all = run(t.layer, x, n, heed_int_layer_bytes(&t.layer, n), nullptr);
    const size_t least = heed_int_layer_min_bytes(&t.layer, n);
    for (const int32_t out : {1, 5, 70, n, -1, -5, -70, -n}) {
      const int32_t rows = std::abs(out), first = out < 0 ? n - rows : 0;
      const std::vector<int16_t> wanted(all.begin() + first * t.dim, all.begin() + (first + rows) * t.dim);
      for (const bool much : {false, true}) {
        begin();
        t.layer.out_rows = out;
        std::vector<int16_t> y(wanted.size());
        heed_int_matrix_out to = heed_int_matrix_out_of(y.data(), HEED_INT16, rows, t.dim, 0);
        if (rows == 1) to.row_stride = 0;  // of one row nobody looks at it
        ASSERT_EQ(
            heed_int_layer_run(&t.layer, heed_int_matrix_of(x.data(), HEED_INT16, n, t.dim, 0), to,
                               heed_memory_of(memory, much ? sizeof memory : least), much ? threads.get() : nullptr),
            HEED_OK);
        EXPECT_EQ(y, wanted) << "kind " << kind << ", out_rows " << out;
        if (kind / 4 % 2 == 1) {
          EXPECT_EQ(heed_int_cache_length(&cache, 0), n);
        }
        t.layer.out_rows = 0;
      }
    }
  }
}

heed_status refusing_norm(heed_int_matrix, heed_int_norm, heed_int_matrix_out, const heed_executor *) {
  return HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_EPS);
}

TEST(int_layer, returns_what_a_norm_of_the_callers_own_refuses) {
  random_source r(740004);
  alignas(64) static unsigned char memory[1 << 17];
  for (const bool first : {false, true}) {
    trained_layer t(r, first, false);
    t.layer.norm = refusing_norm;
    std::vector<int16_t> x = drawn_rows(r, 40 * t.dim);
    thread_executor threads(2);
    for (const heed_executor *executor : {static_cast<const heed_executor *>(nullptr), threads.get()})
      EXPECT_EQ(heed_int_layer_run(&t.layer, heed_int_matrix_of(x.data(), HEED_INT16, 40, t.dim, 0),
                                   heed_int_matrix_out_of(x.data(), HEED_INT16, 40, t.dim, 0),
                                   heed_memory_of(memory, sizeof memory), executor),
                HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_EPS));
  }
}

TEST(int_layer, states_the_memory_of_its_macros) {
  random_source r(740007);
  for (const bool gated : {false, true})
    for (const int32_t hidden : {1, 33, 50, 400}) {  // less and more than a row of the attention needs
      const trained_layer t(r, true, gated, 4, 2, 8, hidden);
      for (const int32_t n : {1, 2, 300}) {
        EXPECT_EQ(heed_int_layer_min_bytes(&t.layer, n), HEED_INT_LAYER_MIN_BYTES(n, t.dim, 4, 2, 8, hidden, gated));
        EXPECT_EQ(heed_int_layer_bytes(&t.layer, n), HEED_INT_LAYER_BYTES(n, t.dim, 4, 2, 8, hidden, gated));
      }
    }
}

// Of one row nobody looks at the distance to the next.
TEST(int_layer, one_row_is_in_place_whatever_its_strides) {
  random_source r(740008);
  alignas(64) static unsigned char memory[1 << 17];
  const trained_layer t(r, true, true);
  const std::vector<int16_t> x = drawn_rows(r, t.dim);
  std::vector<int16_t> y = x;
  ASSERT_EQ(heed_int_layer_run(&t.layer, heed_int_matrix_of(y.data(), HEED_INT16, 1, t.dim, 0),
                               {y.data(), HEED_INT16, 1, t.dim, 0, 0}, heed_memory_of(memory, sizeof memory), nullptr),
            HEED_OK);
  EXPECT_EQ(y, run(t.layer, x, 1, heed_int_layer_bytes(&t.layer, 1), nullptr));
}

TEST(int_layer, refuses_an_output_of_another_shape) {
  random_source r(740009);
  alignas(64) static unsigned char memory[1 << 17];
  const trained_layer t(r, true, true);
  std::vector<int16_t> rows = drawn_rows(r, 4 * t.dim), other(rows.size());
  const std::vector<int16_t> before = rows;
  const heed_int_matrix x = heed_int_matrix_of(rows.data(), HEED_INT16, 3, t.dim, 0);
  const auto is = [&](heed_int_matrix_out y, heed_fault fault) {
    EXPECT_EQ(heed_int_layer_run(&t.layer, x, y, heed_memory_of(memory, sizeof memory), nullptr),
              HEED_STATUS(fault, HEED_ARG_Y));
    EXPECT_EQ(rows, before);
  };
  is({rows.data(), HEED_INT16, 3, t.dim, t.dim + 1, 0}, HEED_OVERLAP);  // not in place: its rows lie elsewhere
  is({other.data(), HEED_INT16, 3, t.dim - 1, t.dim, 0}, HEED_SHAPE_MISMATCH);
  is({other.data(), HEED_INT16, 2, t.dim, t.dim, 0}, HEED_SHAPE_MISMATCH);
}

// A program of 0.3.0 gives the size that the layer had then, and what lies behind it is not read.
TEST(int_layer, takes_the_size_that_it_had_before_its_rope) {
  random_source r(740010);
  trained_layer t(r, true, true);
  const std::vector<int16_t> x = drawn_rows(r, 5 * t.dim);
  const size_t bytes = heed_int_layer_bytes(&t.layer, 5);
  const std::vector<int16_t> y = run(t.layer, x, 5, bytes, nullptr);
  t.layer.struct_size = uint32_t(offsetof(heed_int_layer, rope));
  std::memset(&t.layer.rope, 0xa5, sizeof t.layer.rope);
  EXPECT_EQ(run(t.layer, x, 5, bytes, nullptr), y);
}

heed_status own_norm(heed_int_matrix x, heed_int_norm norm, heed_int_matrix_out y, const heed_executor *executor) {
  return heed_int_layer_norm(x, norm, y, executor);
}

TEST(int_layer, takes_a_norm_of_the_callers_own_and_does_without_biases) {
  random_source r(740005);
  alignas(64) static unsigned char memory[1 << 17];
  trained_layer t(r, true, true);
  const std::vector<int16_t> x = drawn_rows(r, 9 * t.dim);
  const auto run = [&](const heed_int_layer &l) {
    std::vector<int16_t> y = x;
    EXPECT_EQ(heed_int_layer_run(&l, heed_int_matrix_of(y.data(), HEED_INT16, 9, t.dim, 0),
                                 heed_int_matrix_out_of(y.data(), HEED_INT16, 9, t.dim, 0),
                                 heed_memory_of(memory, sizeof memory), nullptr),
              HEED_OK);
    return y;
  };
  heed_int_layer l = t.layer;
  l.norm = own_norm;
  EXPECT_EQ(run(l), run(t.layer));
  const std::vector<int32_t> zeros(size_t(std::max(l.model_dim, l.ffn_dim)));
  heed_int_layer none = t.layer;
  for (heed_int_projection *p : {&l.wq, &l.wk, &l.wv, &l.wo, &l.w_up, &l.w_gate, &l.w_down}) p->bias = zeros.data();
  for (heed_int_projection *p : {&none.wq, &none.wk, &none.wv, &none.wo, &none.w_up, &none.w_gate, &none.w_down})
    p->bias = nullptr;
  l.norm1.bias = l.norm2.bias = zeros.data();
  none.norm1.bias = none.norm2.bias = nullptr;
  EXPECT_EQ(run(l), run(none));
}

TEST(int_layer, refuses_what_is_wrong) {
  random_source r(740003);
  const trained_layer t(r, false, true);
  std::vector<int16_t> x = drawn_rows(r, 3 * t.dim);
  const std::vector<int16_t> before = x;
  alignas(64) static unsigned char memory[1 << 17];
  const auto is = [&](const heed_int_layer &l, heed_fault fault, heed_argument argument, size_t bytes = sizeof memory) {
    EXPECT_EQ(heed_int_layer_run(&l, heed_int_matrix_of(x.data(), HEED_INT16, 3, t.dim, 0),
                                 heed_int_matrix_out_of(x.data(), HEED_INT16, 3, t.dim, 0),
                                 heed_memory_of(memory, bytes), nullptr),
              HEED_STATUS(fault, argument));
    EXPECT_EQ(x, before);
  };
  heed_int_layer l = t.layer;
  const auto broken = [&](auto change, heed_fault fault, heed_argument argument) {
    l = t.layer;
    change();
    is(l, fault, argument);
  };
  broken([&] { l.struct_size = 0; }, HEED_NOT_INITIALIZED, HEED_ARG_LAYER);
  broken([&] { l.model_dim = 0; }, HEED_OUT_OF_RANGE, HEED_ARG_MODEL_DIM);
  broken([&] { l.ffn_dim = 0; }, HEED_OUT_OF_RANGE, HEED_ARG_FFN_DIM);
  broken([&] { l.n_kv_heads = 3; }, HEED_SHAPE_MISMATCH, HEED_ARG_N_KV_HEADS);
  broken([&] { l.norm_first = 2; }, HEED_OUT_OF_RANGE, HEED_ARG_NORM_FIRST);
  broken([&] { l.causal = -1; }, HEED_OUT_OF_RANGE, HEED_ARG_CAUSAL);
  broken([&] { l.wq.w.n_out--; }, HEED_SHAPE_MISMATCH, HEED_ARG_WQ);
  broken([&] { l.wk.w.n_in++; }, HEED_SHAPE_MISMATCH, HEED_ARG_WK);
  broken([&] { l.wv.w.data = nullptr; }, HEED_NULL_POINTER, HEED_ARG_WV);
  broken([&] { l.wo.w.dtype = HEED_F16; }, HEED_BAD_DTYPE, HEED_ARG_WO);
  broken([&] { l.w_up.w.layout = 7; }, HEED_BAD_LAYOUT, HEED_ARG_W_UP);
  broken([&] { l.w_gate.multipliers = nullptr; }, HEED_NULL_POINTER, HEED_ARG_W_GATE);
  broken([&] { l.w_down.bias = misaligned(l.w_down.bias); }, HEED_MISALIGNED, HEED_ARG_W_DOWN);
  broken([&] { l.norm = nullptr; }, HEED_NULL_POINTER, HEED_ARG_NORM);
  broken([&] { l.norm1.weight = nullptr; }, HEED_NULL_POINTER, HEED_ARG_NORM1_WEIGHT);
  for (const int32_t wrong : {31, -1}) broken([&] { l.norm2.shift = wrong; }, HEED_OUT_OF_RANGE, HEED_ARG_NORM2_WEIGHT);
  broken([&] { l.norm2.bias = misaligned(l.norm2.bias); }, HEED_MISALIGNED, HEED_ARG_NORM2_BIAS);
  broken([&] { l.activation = nullptr; }, HEED_NULL_POINTER, HEED_ARG_ACTIVATION);
  for (const int32_t wrong : {128, -129}) broken([&] { l.c_zero = wrong; }, HEED_OUT_OF_RANGE, HEED_ARG_LAYER);
  broken([&] { l.score.e = 1; }, HEED_OUT_OF_RANGE, HEED_ARG_SCORE);
  broken([&] { l.value.m = 0; }, HEED_OUT_OF_RANGE, HEED_ARG_VALUE);
  broken([&] { l.out_rows = 4; }, HEED_SHAPE_MISMATCH, HEED_ARG_OUT_ROWS);
  broken([&] { l.out_rows = INT32_MIN; }, HEED_SHAPE_MISMATCH, HEED_ARG_OUT_ROWS);
  broken([&] { l.out_rows = -2; }, HEED_SHAPE_MISMATCH, HEED_ARG_Y);
  broken([&] { l.out_rows = 3; }, HEED_OVERLAP, HEED_ARG_Y);
  for (const int32_t wrong : {-15, 15}) {
    broken([&] { l.of_x.e = wrong, l.of_attention.e = 0; }, HEED_OUT_OF_RANGE, HEED_ARG_MULTIPLIERS);
    broken([&] { l.of_a.e = 0, l.of_hidden.e = wrong; }, HEED_OUT_OF_RANGE, HEED_ARG_MULTIPLIERS);
  }
  broken([&] { l.n_heads = HEED_INT_MAX_IN, l.head_dim = 2; }, HEED_OUT_OF_RANGE, HEED_ARG_N_HEADS);
  EXPECT_EQ(heed_int_layer_bytes(nullptr, 1), 0u);
  EXPECT_EQ(heed_int_layer_bytes(&t.layer, 0), 0u);
  l = t.layer, l.n_heads = 0;
  EXPECT_EQ(heed_int_layer_min_bytes(&l, 1), 0u);
  broken([&] { l.gate.m = 1; }, HEED_OUT_OF_RANGE, HEED_ARG_MULTIPLIERS);
  broken([&] { l.to_g.m = 1; }, HEED_OUT_OF_RANGE, HEED_ARG_MULTIPLIERS);
  heed_int_cache cache;
  heed_int_cache_shape shape = heed_int_cache_shape_default(2, 2, 8);
  alignas(64) static unsigned char kept[4096];
  const auto with_cache = [&](auto change, heed_fault fault, heed_argument argument) {
    heed_int_cache_shape changed = shape;
    l = t.layer;
    l.causal = 1;
    l.cache = &cache;
    change(changed);
    EXPECT_EQ(heed_int_cache_init(&cache, &changed, heed_memory_of(kept, sizeof kept)), HEED_OK);
    is(l, fault, argument);
    EXPECT_EQ(heed_int_cache_longest(&cache), 0);
  };
  with_cache([](auto &) {}, HEED_FULL, HEED_ARG_CACHE);
  shape.capacity = 3;
  with_cache([](auto &s) { s.n_sequences = 2; }, HEED_SHAPE_MISMATCH, HEED_ARG_N_SEQUENCES);
  with_cache([](auto &s) { s.n_kv_heads = 1; }, HEED_SHAPE_MISMATCH, HEED_ARG_N_KV_HEADS);
  with_cache([](auto &s) { s.head_dim = 4; }, HEED_SHAPE_MISMATCH, HEED_ARG_HEAD_DIM);
  with_cache([](auto &s) { s.v_dim = 4; }, HEED_SHAPE_MISMATCH, HEED_ARG_V_DIM);
  with_cache([](auto &s) { s.k_zero = 1; }, HEED_SHAPE_MISMATCH, HEED_ARG_K);
  with_cache([](auto &s) { s.v_zero = 1; }, HEED_SHAPE_MISMATCH, HEED_ARG_V);
  with_cache([&](auto &) { l.causal = 0; }, HEED_NOT_CAUSAL, HEED_ARG_CAUSAL);
  with_cache([&](auto &) { l.cache = misaligned(l.cache); }, HEED_MISALIGNED, HEED_ARG_CACHE);
  const int_rope_table table(3, 8, HEED_ROPE_HALVES);
  heed_int_rope rope;
  const auto with_rope = [&](auto change, heed_fault fault, heed_argument argument) {
    rope = *table.get();
    change();
    with_cache([&](auto &) { l.rope = &rope; }, fault, argument);
    l = t.layer, l.rope = &rope;
    is(l, fault, argument);
  };
  with_rope([&] { rope.n_positions = 2; }, HEED_OUT_OF_RANGE, HEED_ARG_POSITION);
  with_rope([&] { rope.n_positions = 0; }, HEED_OUT_OF_RANGE, HEED_ARG_POSITIONS);
  with_rope([&] { rope.rotary_dim = 10; }, HEED_SHAPE_MISMATCH, HEED_ARG_ROTARY_DIM);
  with_rope([&] { rope.style = 2; }, HEED_OUT_OF_RANGE, HEED_ARG_STYLE);
  with_rope([&] { rope.table = nullptr; }, HEED_NULL_POINTER, HEED_ARG_FREQUENCIES);
  broken([&] { l.rope = misaligned(table.get()); }, HEED_MISALIGNED, HEED_ARG_ROPE);
  is(t.layer, HEED_TOO_SMALL, HEED_ARG_WORKSPACE, heed_int_layer_min_bytes(&t.layer, 3) - 1);
}

}  // namespace
}  // namespace heed_test
