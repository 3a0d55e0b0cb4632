// Attention and RotaryEmbedding of ONNX. See operators.hpp and attention.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "attention.hpp"

namespace heed_compile {

array split_heads(const call &c, const array &x, int64_t n_heads) {
  c.expect(x.dims.size() == 3 && n_heads > 0 && x.dims[2] % n_heads == 0, "has rows that its heads do not divide");
  return transposed(reshaped(x, {x.dims[0], x.dims[1], n_heads, x.dims[2] / n_heads}), {0, 2, 1, 3});
}

array join_heads(const array &x) {
  return reshaped(transposed(x, {0, 2, 1, 3}), {x.dims[0], x.dims[2], x.dims[1] * x.dims[3]});
}

array sum_of(const call &c, const array &a, const array &b) {
  const shape dims = broadcast_shape(c, a.dims, b.dims);
  array made = broadcast_to(c, a, dims);
  const array other = broadcast_to(c, b, dims);
  for (size_t i = 0; i < made.numbers.size(); ++i) made.numbers[i] += other.numbers[i];
  return made;
}

array causal_bias(int64_t queries, int64_t keys, int64_t offset, int64_t window, double filter) {
  array made = zeros_of(element::floats, {queries, keys});
  for (int64_t i = 0; i < queries; ++i) {
    for (int64_t j = 0; j < keys; ++j) {
      const bool is_seen = j <= i + offset && (window <= 0 || j > i + offset - window);
      if (!is_seen) made.numbers[static_cast<size_t>(i * keys + j)] = filter;
    }
  }
  return made;
}

namespace {

// Each head of keys serves several heads of queries that follow each other.
array repeated_heads(const call &c, const array &x, int64_t n_heads) {
  if (x.dims[1] == n_heads) return x;
  c.expect(x.dims[1] > 0 && n_heads % x.dims[1] == 0, "has heads of queries that its heads of keys do not divide");
  const int64_t repeats = n_heads / x.dims[1];
  array made = zeros_like(x, {x.dims[0], n_heads, x.dims[2], x.dims[3]});
  const int64_t n = x.dims[2] * x.dims[3];
  for (int64_t head = 0; head < x.dims[0] * n_heads; ++head)
    std::copy_n(x.numbers.begin() + head / repeats * n, n, made.numbers.begin() + head * n);
  return made;
}

// Softmax of rows that may have no key at all: zeros.
void softmax_of_seen(array &scores, const array *bias) {
  const size_t keys = static_cast<size_t>(scores.dims.back());
  for (size_t first = 0; keys > 0 && first < scores.numbers.size(); first += keys) {
    double *const row = scores.numbers.data() + first;
    bool sees = bias == nullptr;
    for (size_t j = 0; !sees && j < keys; ++j) sees = bias->numbers[first + j] != -INFINITY;
    if (!sees) {
      std::fill_n(row, keys, 0.0);
      continue;
    }
    const double most = *std::max_element(row, row + keys);
    double sum = 0;
    for (size_t j = 0; j < keys; ++j) sum += row[j] = std::exp(row[j] - most);
    for (size_t j = 0; j < keys; ++j) row[j] /= sum;
  }
}

}  // namespace

attended attend(const call &c, const array &q, const array &k, const array &v, const attention_settings &how) {
  c.expect(q.dims.size() == 4 && k.dims.size() == 4 && v.dims.size() == 4,
           "has queries, keys or values of a wrong shape");
  c.expect(k.dims[1] == v.dims[1] && k.dims[2] == v.dims[2] && q.dims[3] == k.dims[3],
           "has queries, keys and values that do not fit");
  const array keys = repeated_heads(c, k, q.dims[1]), values = repeated_heads(c, v, q.dims[1]);
  attended made;
  made.scores = multiplied(c, q, transposed(keys, {0, 1, 3, 2}));
  const double scale = how.scale != 0 ? how.scale : 1 / std::sqrt(static_cast<double>(q.dims[3]));
  for (double &number : made.scores.numbers) number *= scale;
  if (how.softcap > 0)
    for (double &number : made.scores.numbers) number = how.softcap * std::tanh(number / how.softcap);
  made.biased = made.scores;
  array bias;
  if (how.bias != nullptr) {
    bias = broadcast_to(c, *how.bias, made.scores.dims);
    for (size_t i = 0; i < bias.numbers.size(); ++i) made.biased.numbers[i] += bias.numbers[i];
  }
  made.softmaxed = made.biased;
  softmax_of_seen(made.softmaxed, how.bias == nullptr ? nullptr : &bias);
  made.rows = multiplied(c, made.softmaxed, values);
  return made;
}

array rows_at(const call &c, const array &table, const std::vector<int64_t> &positions, int64_t batch, int64_t rows) {
  c.expect(table.dims.size() == 2, "has a table of angles that is no matrix");
  c.expect(static_cast<int64_t>(positions.size()) == batch * rows, "has more or fewer positions than rows");
  array made = zeros_like(table, {batch, rows, table.dims[1]});
  auto to = made.numbers.begin();
  for (const int64_t position : positions) {
    c.expect(position >= 0 && position < table.dims[0], "has a position beyond its table of angles");
    to = std::copy_n(table.numbers.begin() + position * table.dims[1], table.dims[1], to);
  }
  return made;
}

array rotated(const call &c, const array &x, const array &cos, const array &sin, int64_t n_rotated, bool interleaved) {
  const int64_t batch = x.dims[0], heads = x.dims[1], rows = x.dims[2], n = x.dims[3];
  const int64_t turned = n_rotated == 0 ? n : n_rotated, half = turned / 2;
  c.expect(turned > 0 && turned <= n && turned % 2 == 0,
           "rotates a number of dimensions that is odd, or larger than a head");
  const shape angles = {batch, rows, half};
  c.expect(cos.dims == angles && sin.dims == angles, "has angles of another number than half of what it rotates");
  array made = x;
  for (int64_t row = 0; row < batch * heads * rows; ++row) {
    const int64_t b = row / (heads * rows), at = row % rows;
    for (int64_t k = 0; k < half; ++k) {
      const size_t angle = static_cast<size_t>((b * rows + at) * half + k);
      const size_t first = static_cast<size_t>(row * n + (interleaved ? 2 * k : k));
      const size_t second = static_cast<size_t>(row * n + (interleaved ? 2 * k + 1 : half + k));
      made.numbers[first] = cos.numbers[angle] * x.numbers[first] - sin.numbers[angle] * x.numbers[second];
      made.numbers[second] = sin.numbers[angle] * x.numbers[first] + cos.numbers[angle] * x.numbers[second];
    }
  }
  return made;
}

namespace {

// (batch, heads, rows, numbers) of an input of three or four dimensions.
array heads_of(const call &c, size_t input, const char *attribute) {
  const array &x = c.in(input);
  if (x.dims.size() == 4) return x;
  return split_heads(c, x, c.integer(attribute, 0));
}

// A mask as what is added, as wide as the keys.
array mask_bias(const call &c, const array &mask, int64_t keys) {
  array made = mask;
  made.kind = element::floats;
  const bool is_boolean = mask.kind == element::booleans;
  if (is_boolean)
    for (double &number : made.numbers) number = number != 0 ? 0 : -INFINITY;
  c.expect(!made.dims.empty() && made.dims.back() <= keys, "has a mask that is wider than its keys");
  if (made.dims.back() == keys || (made.dims.back() == 1 && !is_boolean)) return made;
  shape rest = made.dims;
  rest.back() = keys - made.dims.back();
  array hidden = zeros_like(made, rest);
  std::fill(hidden.numbers.begin(), hidden.numbers.end(), -INFINITY);
  return joined({&made, &hidden}, made.dims.size() - 1);
}

results attention(const call &c) {
  const array q = heads_of(c, 0, "q_num_heads");
  array k = heads_of(c, 1, "kv_num_heads"), v = heads_of(c, 2, "kv_num_heads");
  c.expect(q.dims.size() == 4 && k.dims.size() == 4 && v.dims.size() == 4,
           "has queries, keys or values of a wrong shape");
  const bool has_past = c.has(4), has_lengths = c.has(6);
  int64_t offset = 0;
  if (has_past) {
    const array new_keys = k, new_values = v;
    c.expect(c.in(4).dims.size() == 4 && c.in(5).dims.size() == 4, "has a past of a wrong shape");
    offset = c.in(4).dims[2];
    k = joined({&c.in(4), &new_keys}, 2);
    v = joined({&c.in(5), &new_values}, 2);
  }
  const int64_t batch = q.dims[0], queries = q.dims[2], keys = k.dims[2];
  array bias = zeros_of(element::floats, {queries, keys});
  bool has_bias = false;
  const auto add = [&](const array &more) { bias = sum_of(c, bias, more), has_bias = true; };
  if (c.has(3)) add(mask_bias(c, c.in(3), keys));
  const bool is_causal = c.integer("is_causal", 0) != 0;
  const int64_t left = c.integer("left_window_size", -1), right = c.integer("right_window_size", -1);
  const bool has_window = left >= 0 || right >= 0;
  std::vector<int64_t> lengths(static_cast<size_t>(batch), offset + queries);
  if (has_lengths) lengths = c.integers_in(6);
  c.expect(static_cast<int64_t>(lengths.size()) == batch, "has more or fewer lengths of keys than its batch");
  if (is_causal || has_window || has_lengths) {
    array seen = zeros_of(element::floats, {batch, 1, queries, keys});
    for (size_t i = 0; i < seen.numbers.size(); ++i) {
      const int64_t at = static_cast<int64_t>(i), key = at % keys, query = at / keys % queries;
      const int64_t length = lengths[static_cast<size_t>(at / (queries * keys))];
      const double position =
          static_cast<double>(query) +
          (has_lengths ? static_cast<double>(length) - static_cast<double>(queries) : static_cast<double>(offset));
      const double distance = position - static_cast<double>(key);
      const bool is_hidden = (is_causal && distance < 0) || (left >= 0 && distance > static_cast<double>(left)) ||
                             (right >= 0 && -distance > static_cast<double>(right)) || (has_lengths && key >= length);
      if (is_hidden) seen.numbers[i] = -INFINITY;
    }
    add(seen);
  }
  attention_settings how;
  how.scale = c.number("scale", 0);
  how.softcap = c.number("softcap", 0);
  how.bias = has_bias ? &bias : nullptr;
  attended made = attend(c, q, k, v, how);
  const int64_t mode = c.integer("qk_matmul_output_mode", 0);
  c.expect(!c.needs_output(3) || (mode >= 0 && mode <= 3), "has a qk_matmul_output_mode that is not known");
  results all = one(c.in(0).dims.size() == 3 ? join_heads(made.rows) : std::move(made.rows));
  all.push_back(std::move(k));
  all.push_back(std::move(v));
  if (mode == 3)
    all.push_back(std::move(made.softmaxed));
  else
    all.push_back(mode == 2 ? std::move(made.biased) : std::move(made.scores));
  return all;
}

// (x, cos, sin, positions): tables of all positions, or one row for each row of x.
results rotary_embedding(const call &c) {
  const array &given = c.in(0);
  const bool is_flat = given.dims.size() == 3;
  const array x = is_flat ? split_heads(c, given, c.integer("num_heads", 0)) : given;
  c.expect(x.dims.size() == 4, "has an input of neither three nor four dimensions");
  array cos = c.in(1), sin = c.in(2);
  if (c.has(3)) {
    const std::vector<int64_t> positions = c.integers_in(3);
    cos = rows_at(c, cos, positions, x.dims[0], x.dims[2]);
    sin = rows_at(c, sin, positions, x.dims[0], x.dims[2]);
  }
  const array made = rotated(c, x, cos, sin, c.integer("rotary_embedding_dim", 0), c.integer("interleaved", 0) != 0);
  return one(is_flat ? join_heads(made) : array(made));
}

}  // namespace

void add_attention(operations &all) {
  all["Attention"] = attention;
  all["RotaryEmbedding"] = rotary_embedding;
}

}  // namespace heed_compile
