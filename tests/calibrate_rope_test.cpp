// From layers of floats with rotary embedding to layers of integers: the table, the ranges, the error, and a prompt against its
// tokens one by one. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "calibrate.hpp"
#include "model_file.hpp"
#include "support/random.hpp"

namespace heed_test {
namespace {

using rows = std::vector<float>;

// A decoder's layer of random floats: rms norm first, gated, causal, with or without grouped heads.
struct float_layer {
  static constexpr int32_t dim = 32, hidden = 48;
  std::vector<rows> kept;
  heed_rope rope;
  heed_attention_layer attention;
  heed_transformer_layer layer;

  float_layer(random_source &r, int32_t n_kv_heads, int32_t style, int32_t rotary_dim) {
    kept.reserve(8);
    EXPECT_EQ(heed_rope_init(&rope, style), HEED_OK);
    rope.rotary_dim = rotary_dim;
    attention = heed_attention_layer_default(dim, 4);
    attention.n_kv_heads = n_kv_heads;
    attention.causal = 1;
    attention.rope = &rope;
    const int32_t keys = n_kv_heads * attention.head_dim;
    attention.wq = weights(r, dim, dim, 1.5f), attention.wk = weights(r, dim, keys, 1.5f);
    attention.wv = weights(r, dim, keys), attention.wo = weights(r, dim, dim);
    layer = heed_transformer_layer_default(&attention, hidden, heed_rms_norm, heed_silu);
    layer.norm_first = 1;
    layer.w_up = weights(r, dim, hidden), layer.w_gate = weights(r, dim, hidden);
    layer.w_down = weights(r, hidden, dim);
  }
  float_layer(const float_layer &) = delete;
  float_layer &operator=(const float_layer &) = delete;
  heed_weights weights(random_source &r, int32_t n_in, int32_t n_out, float size = 1) {
    kept.emplace_back(size_t(n_in * n_out));
    for (float &w : kept.back()) w = size * r.bell() / std::sqrt(float(n_in));
    return heed_weights_of(kept.back().data(), nullptr, HEED_F32, HEED_OUT_IN, n_in, n_out);
  }
  // What heed's own layer makes of x.
  rows exact(const rows &x) const {
    const int32_t n = int32_t(x.size()) / dim;
    rows y(x.size());
    std::vector<unsigned char> room(heed_transformer_layer_bytes(&layer, n) + 64);
    void *const data = room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64) % 64;
    EXPECT_EQ(heed_transformer_layer_run(&layer, heed_matrix_of(x.data(), n, dim), heed_matrix_out_of(y.data(), n, dim),
                                         heed_memory_of(data, room.size() - 64), nullptr),
              HEED_OK);
    return y;
  }
};

rows drawn(random_source &r, int32_t n) {
  rows x(size_t(n * float_layer::dim));
  for (float &v : x) v = r.bell();
  return x;
}

double relative_error(const rows &found, const rows &wanted) {
  double error = 0, power = 0;
  for (size_t i = 0; i < wanted.size(); ++i)
    error += std::pow(double(found[i] - wanted[i]), 2), power += std::pow(double(wanted[i]), 2);
  return std::sqrt(error / power);
}

calibrate::choice positions(int32_t n) {
  calibrate::choice c;
  c.n_positions = n;
  return c;
}

// Heads of their own and grouped ones, both styles, all of a head and a part, the paper's base and frequencies of one's own.
TEST(calibrate_rope, a_layer_of_integers_is_near_its_floats) {
  const float own[] = {1.0f, 0.31f, 0.02f, 0.0007f};
  for (int32_t kind = 0; kind < 8; ++kind) {
    random_source r(780000 + uint64_t(kind));
    const int32_t n = 60;
    float_layer f(r, kind % 2 ? 2 : 4, kind / 2 % 2, kind / 4 ? 4 : 0);
    if (kind == 0) f.rope.inverse_frequencies = own;
    if (kind == 1) f.rope.base = 500000, f.rope.scale = 0.25f, f.rope.factor = 1.2f;
    calibrate::layer c(f.layer);
    rows x, y;
    for (int32_t i = 0; i < 8; ++i) {
      x = drawn(r, n);
      y = c.see(x, n);
      EXPECT_LT(relative_error(y, f.exact(x)), 1e-5);  // it computes what heed's layer computes
    }
    const calibrate::int_layer integers = c.quantize(positions(n));
    const double error = relative_error(integers.run(x, n), y);
    EXPECT_LT(error, 0.05) << kind;
    RecordProperty("relative_error_" + std::to_string(kind), std::to_string(error));
    for (const calibrate::site &s : c.sites()) EXPECT_LT(s.error(), 0.05) << s.name;
    // Without its positions the layer is another one, and its error is not much smaller: q and k are rounded once.
    heed_transformer_layer none = f.layer;
    heed_attention_layer attention = f.attention;
    attention.rope = nullptr, none.attention = &attention;
    calibrate::layer plain(none);
    const rows other = plain.see(x, n);
    EXPECT_GT(relative_error(other, y), 0.1) << kind;
    const double error_of_other = relative_error(plain.quantize().run(x, n), other);
    EXPECT_LT(error, 1.6 * error_of_other) << kind;
    RecordProperty("relative_error_without_" + std::to_string(kind), std::to_string(error_of_other));
  }
}

// Half a unit and what the floats add, against angles in double precision.
TEST(calibrate_rope, the_table_is_that_of_the_rope) {
  const float own[] = {0.9f, 0.25f, 0.013f};
  for (int32_t kind = 0; kind < 6; ++kind) {
    heed_rope rope;
    ASSERT_EQ(heed_rope_init(&rope, kind % 2), HEED_OK);
    const int32_t head_dim = 10, n = 700, rotary_dim = kind < 2 ? head_dim : 6;
    rope.rotary_dim = kind < 2 ? 0 : rotary_dim;
    if (kind >= 2) rope.base = 1e6f, rope.scale = 0.125f;
    if (kind >= 4) rope.inverse_frequencies = own, rope.factor = 1.9f;
    const calibrate::int_rope made = calibrate::quantize_rope(rope, head_dim, n);
    EXPECT_EQ(made.style, kind % 2);
    EXPECT_EQ(made.rotary_dim, rotary_dim);
    EXPECT_EQ(made.n_positions, n);
    ASSERT_EQ(made.table.size(), size_t(n * rotary_dim));
    double greatest = 0;
    for (int32_t t = 0; t < n; ++t)
      for (int32_t i = 0; i < rotary_dim; ++i) {
        const int32_t pair = i % (rotary_dim / 2);
        const double frequency = kind >= 4 ? double(own[pair]) : std::pow(double(rope.base), -2.0 * pair / rotary_dim);
        const double angle = t * double(rope.scale) * frequency;
        const double exact = 16384 * double(rope.factor) * (i < rotary_dim / 2 ? std::cos(angle) : std::sin(angle));
        greatest = std::max(greatest, std::fabs(made.table[size_t(t * rotary_dim + i)] - exact));
      }
    EXPECT_LT(greatest, 0.51) << kind;
    for (int32_t i = 0; i < rotary_dim; ++i)
      EXPECT_EQ(made.table[size_t(i)], i < rotary_dim / 2 ? std::lround(16384 * double(rope.factor)) : 0);
  }
}

// Numbers that the rotation makes larger, and those that it makes smaller, both fit.
TEST(calibrate_rope, ranges_reach_over_numbers_before_and_after) {
  random_source r(790001);
  float_layer f(r, 2, HEED_ROPE_HALVES, 0);
  calibrate::layer c(f.layer);
  const rows x = drawn(r, 50);
  double before = 0, after = 0;
  heed_transformer_layer plain = f.layer;
  heed_attention_layer attention = f.attention;
  attention.rope = nullptr, plain.attention = &attention;
  calibrate::layer without(plain);
  without.see(x, 50);
  before = without.sites()[calibrate::at_k].seen.greatest();
  // With position 0 alone, nothing turns: what is greater comes from the rotation.
  c.see(x, 50);
  after = c.sites()[calibrate::at_k].seen.greatest();
  EXPECT_GT(after, before);
  c.quantize(positions(50));
  EXPECT_NEAR(c.sites()[calibrate::at_k].scale, after / 127, 1e-9);
  // A loud first row, which stays as it is, and quiet ones behind it.
  rows loud = x;
  for (size_t i = float_layer::dim; i < loud.size(); ++i) loud[i] = 0;
  calibrate::layer first(f.layer), first_without(plain);
  first.see(loud, 50), first_without.see(loud, 50);
  EXPECT_EQ(first.sites()[calibrate::at_q].seen.greatest(), first_without.sites()[calibrate::at_q].seen.greatest());
}

// A few loud channels of keys: scales that both elements of a pair share.
TEST(calibrate_rope, both_elements_of_a_pair_have_one_scale) {
  for (const int32_t style : {HEED_ROPE_INTERLEAVED, HEED_ROPE_HALVES}) {
    random_source r(790002);
    float_layer f(r, 4, style, 6);
    rows &wk = f.kept[1];  // (out, in): outputs 3 and 9 are loud
    for (const size_t o : {size_t(3), size_t(9)})
      for (size_t i = 0; i < size_t(float_layer::dim); ++i) wk[o * float_layer::dim + i] *= 30;
    f.attention.scale = 0.02f;
    calibrate::layer c(f.layer);
    rows x, y;
    for (int32_t i = 0; i < 6; ++i) x = drawn(r, 40), y = c.see(x, 40);
    const calibrate::int_layer integers = c.quantize(positions(40));
    const calibrate::channel_scales &q = c.sites()[calibrate::at_q].channels, &k = c.sites()[calibrate::at_k].channels;
    ASSERT_EQ(q.size(), size_t(float_layer::dim));
    ASSERT_EQ(k.size(), q.size());
    for (size_t head = 0; head < q.size(); head += 8)
      for (size_t i = 0; i < 3; ++i) {
        const size_t a = head + (style == HEED_ROPE_HALVES ? i : 2 * i), b = a + (style == HEED_ROPE_HALVES ? 3 : 1);
        EXPECT_EQ(q[a], q[b]);
        EXPECT_EQ(k[a], k[b]);
        EXPECT_NEAR(q[a] * k[a], 1, 1e-12);
      }
    EXPECT_GT(*std::max_element(k.begin(), k.end()), 3 * *std::min_element(k.begin(), k.end()));
    EXPECT_LT(relative_error(integers.run(x, 40), y), 0.03);
  }
}

// The place whose rounding is looked at alone: q is rounded twice, before and after.
TEST(calibrate_rope, rounding_of_one_place_has_an_effect_of_its_own) {
  random_source r(790003);
  float_layer f(r, 2, HEED_ROPE_HALVES, 0);
  calibrate::layer c(f.layer);
  const rows x = drawn(r, 50), y = c.see(x, 50);
  const calibrate::int_layer all = c.quantize(positions(50));
  EXPECT_EQ(c.round_at(calibrate::n_places, x, 50), y);
  const double of_q = relative_error(c.round_at(calibrate::at_q, x, 50), y), of_all = relative_error(all.run(x, 50), y);
  EXPECT_GT(of_q, 0);
  EXPECT_LT(of_q, of_all);
}

// Two layers after each other, as a language model runs them: all tokens at once, some at a time, one at a time.
TEST(calibrate_rope, a_prompt_has_the_numbers_of_its_tokens) {
  random_source r(790004);
  constexpr int32_t n = 40, dim = float_layer::dim;
  float_layer one(r, 2, HEED_ROPE_HALVES, 0), two(r, 2, HEED_ROPE_HALVES, 0);
  std::vector<calibrate::layer> floats;
  floats.emplace_back(one.layer), floats.emplace_back(two.layer);
  const rows x = drawn(r, n);
  const rows y = floats[1].see(floats[0].see(x, n), n);
  const std::vector<calibrate::int_layer> integers = calibrate::quantize(floats, positions(n));
  const std::vector<int16_t> input = calibrate::to_int16(x, integers[0].x_scale());
  alignas(64) static unsigned char kept[2][HEED_INT_CACHE_BYTES(n, 1, 2, 8, 8)], room[1 << 16];
  std::vector<int16_t> at_once;
  for (const int32_t step : {n, 1, 7}) {
    std::vector<int16_t> h = input;
    for (size_t l = 0; l < 2; ++l) {
      heed_int_layer layer = integers[l].layer();
      ASSERT_NE(layer.rope, nullptr);
      heed_int_cache cache;
      const heed_int_cache_shape shape = heed_int_cache_shape_default(n, 2, 8);
      ASSERT_EQ(heed_int_cache_init(&cache, &shape, heed_memory_of(kept[l], sizeof kept[l])), HEED_OK);
      layer.cache = &cache;
      for (int32_t t = 0; t < n; t += step) {
        int16_t *const piece = &h[size_t(t * dim)];
        const int32_t m = std::min(step, n - t);
        ASSERT_EQ(heed_int_layer_run(&layer, heed_int_matrix_of(piece, HEED_INT16, m, dim, 0),
                                     heed_int_matrix_out_of(piece, HEED_INT16, m, dim, 0),
                                     heed_memory_of(room, sizeof room), nullptr),
                  HEED_OK);
      }
    }
    if (at_once.empty()) at_once = h;
    EXPECT_EQ(h, at_once) << step;
  }
  EXPECT_LT(relative_error(calibrate::to_float(at_once, integers[1].y_scale()), y), 0.05);
  EXPECT_EQ(calibrate::to_float(at_once, integers[1].y_scale()), integers[1].run(integers[0].run(x, n), n));
}

TEST(calibrate_rope, refuses_what_integers_cannot_do) {
  random_source r(790005);
  float_layer f(r, 2, HEED_ROPE_HALVES, 0);
  const auto refused = [](const auto &call, const std::string &reason) {
    try {
      call();
      ADD_FAILURE() << "not refused: " << reason;
    } catch (const std::invalid_argument &error) {
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
  };
  calibrate::layer c(f.layer);
  const rows x = drawn(r, 12);
  c.see(x, 12);
  for (const int32_t wrong : {0, -1, HEED_INT_MAX_KEYS + 1})
    refused([&] { c.quantize(positions(wrong)); }, "n_positions");
  const calibrate::int_layer integers = c.quantize(positions(11));
  EXPECT_TRUE(integers.has_rope());
  refused([&] { integers.run(x, 12); }, "position");
  std::vector<calibrate::int_layer> layers;
  layers.push_back(c.quantize(positions(12)));
  EXPECT_EQ(layers[0].run(x, 12).size(), x.size());
  refused([&] { calibrate::model_file(layers); }, "rotary");

  const heed_rope good = f.rope;
  const auto with_rope = [&](const auto &change, const std::string &reason) {
    f.rope = good;
    change();
    refused([&] { calibrate::layer{f.layer}; }, reason);
    f.rope = good;
  };
  const int32_t own_positions[] = {0, 1, 2};
  with_rope([&] { f.rope.positions = own_positions; }, "positions");
  with_rope([&] { f.rope.rotary_dim = 3; }, "rotary_dim");
  with_rope([&] { f.rope.rotary_dim = 10; }, "rotary_dim");
  with_rope([&] { f.rope.base = 1; }, "base");
  with_rope([&] { f.rope = {}; }, "rope");
  f.rope.factor = 2;
  calibrate::layer large(f.layer);
  large.see(x, 12);
  refused([&] { large.quantize(positions(12)); }, "factor");
  f.rope = good;

  const auto with_layer = [&](const auto &change, const std::string &reason) {
    heed_transformer_layer l = f.layer;
    heed_attention_layer a = f.attention;
    l.attention = &a;
    change(l, a);
    refused([&] { calibrate::layer{l}; }, reason);
  };
  const heed_ragged_batch batch = {};
  with_layer([](auto &, auto &a) { a.qk_norm = heed_rms_norm; }, "norms of q and k");
  with_layer([](auto &l, auto &) { l.post_norm = 1; }, "norms of q and k");
  with_layer([](auto &, auto &a) { a.cross = 1; }, "cross-attention");
  with_layer([](auto &l, auto &a) { l.cross = &a; }, "cross-attention");
  with_layer([&](auto &, auto &a) { a.batch = &batch; }, "cross-attention");
  with_layer([](auto &l, auto &) { l.parallel = 1; }, "parallel");
  with_layer([](auto &l, auto &) { l.ffn_order = HEED_FFN_SEPARATE + 1; }, "ffn_order");
  with_layer([](auto &l, auto &) { l.out_rows = -1; }, "out_rows");
}

}  // namespace
}  // namespace heed_test
