// Operators that ONNX Runtime makes of several of ONNX (com.microsoft). See operators.hpp. Source: ONNX Runtime's
// docs/ContribOperators.md. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "attention.hpp"
#include "windows.hpp"

namespace heed_compile {
namespace {

array mapped(array &&x, double (*f)(double)) {
  for (double &number : x.numbers) number = f(number);
  return std::move(x);
}

array with_bias(const call &c, const array &x, const array *bias) {
  if (bias == nullptr) return x;
  if (broadcast_shape(c, x.dims, bias->dims) != x.dims) c.refuse("has a bias that does not fit its input");
  return sum_of(c, x, *bias);
}

// Numbers [first, first + n) of a bias that is several vectors in one.
array part_of_bias(const call &c, const array &bias, int64_t first, int64_t n) {
  c.expect(bias.dims.size() == 1 && first + n <= bias.dims[0], "has a bias that is too short");
  return part_of(bias, 0, first, n);
}

// What a mask of keys adds to the scores. It has one number for each batch and key; a length for each batch, or a last and a first
// key; or one number for each batch, query and key.
array key_mask(const call &c, const array &mask, int64_t batch, int64_t queries, int64_t keys, double filter) {
  const shape &dims = mask.dims;
  const bool by_query = dims.size() == 3, by_key = dims.size() == 2;
  c.expect(dims.size() >= 1 && dims.size() <= 3, "has a mask of four dimensions, which is not known");
  array made = zeros_of(element::floats, {batch, 1, by_query ? queries : 1, keys});
  const shape of_keys = {batch, keys}, of_queries = {batch, queries, keys};
  const bool is_length = dims.size() == 1 && dims[0] == batch, is_range = dims.size() == 1 && dims[0] == 2 * batch;
  c.expect((by_key && dims == of_keys) || (by_query && dims == of_queries) || is_length || is_range,
           "has a mask whose shape is not known");
  for (size_t i = 0; i < made.numbers.size(); ++i) {
    const int64_t b = static_cast<int64_t>(i) / (made.dims[2] * keys), key = static_cast<int64_t>(i) % keys;
    bool is_seen = true;
    if (by_key || by_query) is_seen = mask.numbers[i] != 0;
    if (is_length || is_range) is_seen = static_cast<double>(key) < mask.numbers[static_cast<size_t>(b)];
    if (is_range) is_seen = is_seen && static_cast<double>(key) >= mask.numbers[static_cast<size_t>(batch + b)];
    if (!is_seen) made.numbers[i] = filter;
  }
  return made;
}

struct parts {
  array q, k, v;  // (batch, heads, rows, numbers)
};

// The end of Attention and MultiHeadAttention: past keys, masks, and the outputs.
results finish(const call &c, parts &&p, const array *mask, const array *bias, const array *past_keys,
               const array *past_values) {
  int64_t offset = 0;
  if (past_keys != nullptr && past_values != nullptr) {
    const array new_keys = p.k, new_values = p.v;
    c.expect(past_keys->dims.size() == 4, "has a past of a wrong shape");
    offset = past_keys->dims[2];
    p.k = joined({past_keys, &new_keys}, 2);
    p.v = joined({past_values, &new_values}, 2);
  }
  const int64_t batch = p.q.dims[0], queries = p.q.dims[2], keys = p.k.dims[2];
  const double filter = c.number("mask_filter_value", -10000);
  array total = zeros_of(element::floats, {queries, keys});
  if (mask != nullptr) total = sum_of(c, total, key_mask(c, *mask, batch, queries, keys, filter));
  if (bias != nullptr) total = sum_of(c, total, *bias);
  if (c.integer("unidirectional", 0) != 0) total = sum_of(c, total, causal_bias(queries, keys, offset, 0, -INFINITY));
  attention_settings how;
  how.scale = c.number("scale", 0);
  how.bias = &total;
  attended made = attend(c, p.q, p.k, p.v, how);
  results all = one(join_heads(made.rows));
  all.push_back(std::move(p.k));
  all.push_back(std::move(p.v));
  all.push_back(std::move(made.scores));
  return all;
}

// (x, weights of q, k and v side by side, bias, mask, past, bias of the scores).
results attention(const call &c) {
  c.expect(c.integer("do_rotary", 0) == 0, "rotates (do_rotary), which is not known");
  c.expect(c.integer("past_present_share_buffer", 0) == 0, "shares the memory of its past, which is not known");
  const array &x = c.in(0), &w = c.in(1);
  c.expect(x.dims.size() == 3 && w.dims.size() == 2, "has an input or weights of a wrong shape");
  const int64_t n_heads = c.integer("num_heads", 0), columns = w.dims[1];
  std::vector<int64_t> sizes = c.list("qkv_hidden_sizes");
  if (sizes.empty()) sizes.assign(3, columns / 3);
  c.expect(sizes.size() == 3 && sizes[0] > 0 && sizes[1] > 0 && sizes[2] > 0 && sizes[0] <= columns &&
               sizes[1] <= columns && sizes[0] + sizes[1] + sizes[2] == columns,
           "has weights of another size than its queries, keys and values");
  const array rows = with_bias(c, multiplied(c, x, w), c.maybe(2));
  parts p = {split_heads(c, part_of(rows, 2, 0, sizes[0]), n_heads),
             split_heads(c, part_of(rows, 2, sizes[0], sizes[1]), n_heads),
             split_heads(c, part_of(rows, 2, sizes[0] + sizes[1], sizes[2]), n_heads)};
  array past_keys, past_values;
  const bool has_past = c.has(4);
  if (has_past) {
    const shape &dims = c.in(4).dims;
    c.expect(dims.size() == 5 && dims[0] == 2, "has a past of a wrong shape");
    const shape each(dims.begin() + 1, dims.end());
    past_keys = reshaped(part_of(c.in(4), 0, 0, 1), each), past_values = reshaped(part_of(c.in(4), 0, 1, 1), each);
  }
  results all = finish(c, std::move(p), c.maybe(3), c.maybe(5), has_past ? &past_keys : nullptr,
                       has_past ? &past_values : nullptr);
  if (!c.needs_output(1)) return all;
  shape dims = all[1].dims;
  c.expect(dims == all[2].dims, "has a present of keys and values of different sizes");
  array present = joined({&all[1], &all[2]}, 0);
  dims.insert(dims.begin(), 2);
  all[1] = reshaped(present, dims);
  return all;
}

// Part `i` of (batch, rows, heads, parts, numbers), as (batch, heads, rows, numbers).
array unpacked(const array &x, int64_t i) {
  const array part = part_of(x, 3, i, 1);
  return transposed(reshaped(part, {x.dims[0], x.dims[1], x.dims[2], x.dims[4]}), {0, 2, 1, 3});
}

// (query, key, value, bias, mask of keys, bias of the scores, past keys, past values).
results multi_head_attention(const call &c) {
  const int64_t n_heads = c.integer("num_heads", 0);
  c.expect(n_heads > 0, "has no num_heads");
  const array &query = c.in(0);
  const array *const bias = c.maybe(3);
  parts p;
  if (query.dims.size() == 5) {
    c.expect(query.dims[3] == 3 && !c.has(1) && !c.has(2), "has packed queries of a wrong shape");
    p = {unpacked(query, 0), unpacked(query, 1), unpacked(query, 2)};
  } else {
    c.expect(query.dims.size() == 3, "has queries of a wrong shape");
    p.q = split_heads(c, query, n_heads);
    const array &key = c.in(1);
    if (key.dims.size() == 5) {
      c.expect(key.dims[3] == 2 && !c.has(2), "has packed keys of a wrong shape");
      p.k = unpacked(key, 0), p.v = unpacked(key, 1);
    } else {
      p.k = key.dims.size() == 4 ? key : split_heads(c, key, n_heads);
      p.v = c.in(2).dims.size() == 4 ? c.in(2) : split_heads(c, c.in(2), n_heads);
    }
  }
  if (bias != nullptr) {
    int64_t first = 0;
    for (array *const part : {&p.q, &p.k, &p.v}) {
      const int64_t n = part->dims[1] * part->dims[3];
      const array own = part_of_bias(c, *bias, first, n);
      *part = sum_of(c, *part, reshaped(own, {1, part->dims[1], 1, part->dims[3]}));
      first += n;
    }
  }
  return finish(c, std::move(p), c.maybe(4), c.maybe(5), c.maybe(6), c.maybe(7));
}

// (x, positions, cos, sin): positions of each row, or of the first one.
results rotary_embedding(const call &c) {
  const array &given = c.in(0), &cos = c.in(2), &sin = c.in(3);
  c.expect(cos.dims.size() == 2 && sin.dims == cos.dims, "has tables of angles of a wrong shape");
  c.expect(c.integer("is_packed_batching", 0) == 0, "has a batch in one row, which is not known");
  const int64_t n_rotated = c.integer("rotary_embedding_dim", 0);
  int64_t n_heads = c.integer("num_heads", 0);
  const bool is_flat = given.dims.size() == 3;
  if (is_flat && n_heads == 0) {
    c.expect(cos.dims[1] > 0 && given.dims[2] % (2 * cos.dims[1]) == 0, "has rows that its angles do not divide");
    n_heads = given.dims[2] / (2 * cos.dims[1]);
  }
  const array x = is_flat ? split_heads(c, given, n_heads) : given;
  c.expect(x.dims.size() == 4, "has an input of neither three nor four dimensions");
  std::vector<int64_t> positions = c.integers_in(1);
  const int64_t batch = x.dims[0], rows = x.dims[2];
  if (positions.size() == 1) {
    const int64_t first = positions[0];
    c.expect(first >= 0 && first < INT32_MAX, "has a position that is negative or too large");
    positions.clear();
    for (int64_t i = 0; i < batch * rows; ++i) positions.push_back(first + i % rows);
  }
  const array made = rotated(c, x, rows_at(c, cos, positions, batch, rows), rows_at(c, sin, positions, batch, rows),
                             n_rotated, c.integer("interleaved", 0) != 0);
  return one(is_flat ? join_heads(made) : array(made));
}

// Rows [0, past) of `before` with the new ones behind them, in room for `length` rows.
array appended(const call &c, const array *before, const array &rows, const std::vector<int64_t> &past,
               int64_t length) {
  array made = zeros_like(rows, {rows.dims[0], rows.dims[1], length, rows.dims[3]});
  const int64_t n = rows.dims[3], heads = rows.dims[1];
  for (int64_t head = 0; head < rows.dims[0] * heads; ++head) {
    const int64_t old = past[static_cast<size_t>(head / heads)];
    c.expect(old + rows.dims[2] <= length, "has more rows than its total length");
    if (old > 0) {
      c.expect(before != nullptr && before->dims.size() == 4 && before->dims[2] >= old && before->dims[1] == heads &&
                   before->dims[0] == rows.dims[0] && before->dims[3] == n,
               "has a past that is shorter than its lengths say");
      std::copy_n(before->numbers.begin() + head * before->dims[2] * n, old * n,
                  made.numbers.begin() + head * length * n);
    }
    std::copy_n(rows.numbers.begin() + head * rows.dims[2] * n, rows.dims[2] * n,
                made.numbers.begin() + (head * length + old) * n);
  }
  return made;
}

// (query, key, value, past keys, past values, lengths - 1, total length, cos, sin, positions, bias of the scores).
results group_query_attention(const call &c) {
  const int64_t n_heads = c.integer("num_heads", 0), n_kv_heads = c.integer("kv_num_heads", 0);
  c.expect(n_heads > 0 && n_kv_heads > 0, "has no heads");
  c.expect(c.integer("smooth_softmax", 0) == 0 && !c.has(11), "has a softmax with a sink, which is not known");
  const array &query = c.in(0);
  c.expect(query.dims.size() == 3, "has queries of a wrong shape");
  parts p;
  if (c.has(1)) {
    p = {split_heads(c, query, n_heads), split_heads(c, c.in(1), n_kv_heads), split_heads(c, c.in(2), n_kv_heads)};
  } else {
    const int64_t all_heads = n_heads + 2 * n_kv_heads;
    c.expect(n_heads <= most_numbers && n_kv_heads <= most_numbers, "has too many heads");
    const array heads = split_heads(c, query, all_heads);
    p = {part_of(heads, 1, 0, n_heads), part_of(heads, 1, n_heads, n_kv_heads),
         part_of(heads, 1, n_heads + n_kv_heads, n_kv_heads)};
  }
  const int64_t batch = query.dims[0], rows = query.dims[1];
  const int64_t total = c.integer_in(6), room = c.has(3) && c.in(3).dims.size() == 4 ? c.in(3).dims[2] : 0;
  const int64_t length = std::max(total, room);
  c.expect(length > 0 && length <= most_numbers, "has a total length that is not positive, or too large");
  const std::vector<int64_t> last = c.integers_in(5);
  c.expect(static_cast<int64_t>(last.size()) == batch, "has more or fewer lengths than its batch");
  std::vector<int64_t> past, positions;
  for (const int64_t key : last) {
    c.expect(key < length, "has a length beyond its total length");
    past.push_back(std::max(std::max(key, int64_t{-1}) + 1 - rows, int64_t{0}));
    for (int64_t i = 0; i < rows; ++i) positions.push_back(past.back() + i);
  }
  if (c.integer("do_rotary", 0) != 0) {
    if (c.has(9)) positions = c.integers_in(9);
    const array cos = rows_at(c, c.in(7), positions, batch, rows), sin = rows_at(c, c.in(8), positions, batch, rows);
    const bool interleaved = c.integer("rotary_interleaved", 0) != 0;
    p.q = rotated(c, p.q, cos, sin, 2 * cos.dims[2], interleaved);
    p.k = rotated(c, p.k, cos, sin, 2 * cos.dims[2], interleaved);
  }
  p.k = appended(c, c.maybe(3), p.k, past, length);
  p.v = appended(c, c.maybe(4), p.v, past, length);
  const int64_t window = c.integer("local_window_size", -1);
  array bias = zeros_of(element::floats, {batch, 1, rows, length});
  for (int64_t b = 0; b < batch; ++b) {
    const array own = causal_bias(rows, length, past[static_cast<size_t>(b)], window, -INFINITY);
    std::copy(own.numbers.begin(), own.numbers.end(), bias.numbers.begin() + b * rows * length);
  }
  if (c.has(10)) bias = sum_of(c, bias, c.in(10));
  attention_settings how;
  how.scale = c.number("scale", 0);
  how.softcap = c.number("softcap", 0);
  how.bias = &bias;
  results all = one(join_heads(attend(c, p.q, p.k, p.v, how).rows));
  all.push_back(std::move(p.k));
  all.push_back(std::move(p.v));
  return all;
}

// (ids, segments, words, positions, segments' table, scale, shift, mask, ids of positions).
results embed_layer_norm(const call &c) {
  const array &ids = c.in(0), &words = c.in(2), &places = c.in(3);
  c.expect(ids.dims.size() == 2 && words.dims.size() == 2 && places.dims.size() == 2,
           "has ids or tables of a wrong shape");
  const int64_t batch = ids.dims[0], rows = ids.dims[1], n = words.dims[1];
  std::vector<int64_t> positions;
  if (c.has(8)) positions = c.integers_in(8);
  for (int64_t i = 0; !c.has(8) && i < rows; ++i) positions.push_back(i);
  if (static_cast<int64_t>(positions.size()) == rows)
    for (int64_t b = 1; b < batch; ++b)
      for (int64_t i = 0; i < rows; ++i) positions.push_back(positions[static_cast<size_t>(i)]);
  array sum = sum_of(c, rows_at(c, words, c.integers_in(0), batch, rows), rows_at(c, places, positions, batch, rows));
  if (c.has(1) && c.has(4)) sum = sum_of(c, sum, rows_at(c, c.in(4), c.integers_in(1), batch, rows));
  c.expect(sum.dims.back() == n && n > 0, "has tables of different widths");
  array made = sum;
  const double eps = c.number("epsilon", 1e-12);
  const array &scale = c.in(5), &shift = c.in(6);
  c.expect(static_cast<int64_t>(scale.numbers.size()) == n && static_cast<int64_t>(shift.numbers.size()) == n,
           "has a scale or a shift of another width");
  for (int64_t row = 0; row < batch * rows; ++row) {
    double *const number = made.numbers.data() + row * n;
    double mean = 0, variance = 0;
    for (int64_t k = 0; k < n; ++k) mean += number[k] / static_cast<double>(n);
    for (int64_t k = 0; k < n; ++k) variance += (number[k] - mean) * (number[k] - mean) / static_cast<double>(n);
    for (int64_t k = 0; k < n; ++k)
      number[k] = (number[k] - mean) / std::sqrt(variance + eps) * scale.numbers[static_cast<size_t>(k)] +
                  shift.numbers[static_cast<size_t>(k)];
  }
  array lengths = zeros_of(element::integers, {batch}, type_int32);
  if (c.has(7)) {
    c.expect(c.in(7).dims == ids.dims, "has a mask of another shape than its ids");
    for (int64_t i = 0; i < batch * rows; ++i)
      if (c.in(7).numbers[static_cast<size_t>(i)] != 0) lengths.numbers[static_cast<size_t>(i / rows)] += 1;
  }
  results all = one(std::move(made));
  all.push_back(std::move(lengths));
  all.push_back(std::move(sum));
  return all;
}

// An activation that is part of another operator.
array activated(const call &c, array &&x) {
  const std::string name = c.text("activation", "");
  std::vector<double> settings;
  const auto found = c.node.attributes.find("activation_params");
  if (found != c.node.attributes.end()) settings.assign(found->second.floats.begin(), found->second.floats.end());
  const auto setting = [&](size_t i, const char *attribute, double otherwise) {
    return i < settings.size() ? settings[i] : c.number(attribute, otherwise);
  };
  const double alpha = setting(0, "activation_alpha", name == "HardSigmoid" ? 0.2 : 0.01),
               beta = setting(1, "activation_beta", 0.5);
  if (name.empty()) return std::move(x);
  if (name == "Relu") return mapped(std::move(x), [](double v) { return v < 0 ? 0.0 : v; });
  if (name == "Tanh") return mapped(std::move(x), [](double v) { return std::tanh(v); });
  if (name == "Sigmoid") return mapped(std::move(x), [](double v) { return 1 / (1 + std::exp(-v)); });
  for (double &number : x.numbers) {
    if (name == "LeakyRelu")
      number = number < 0 ? alpha * number : number;
    else if (name == "Clip")
      number = std::min(std::max(number, alpha), beta);
    else if (name == "HardSigmoid")
      number = std::min(std::max(alpha * number + beta, 0.0), 1.0);
    else
      c.refuse("has the activation " + name + ", which is not known");
  }
  return std::move(x);
}

results fused_conv(const call &c) {
  array made = convolved(c, c.in(0), c.in(1), c.maybe(2));
  if (c.has(3)) made = sum_of(c, made, c.in(3));
  return one(activated(c, std::move(made)));
}

results fused_gemm(const call &c) {
  graph_node plain = c.node;
  plain.operation = "Gemm";
  results made = c.only_shapes ? evaluate_shapes(plain, c.opset, c.inputs) : evaluate(plain, c.opset, c.inputs);
  made[0] = activated(c, std::move(made[0]));
  return made;
}

results quick_gelu(const call &c) {
  const double alpha = c.number("alpha", 1.702);
  array made = c.in(0);
  for (double &number : made.numbers) number = number / (1 + std::exp(-alpha * number));
  return one(std::move(made));
}

}  // namespace

void add_microsoft(operations &all) {
  const std::string domain = "com.microsoft.";
  all[domain + "Attention"] = attention;
  all[domain + "MultiHeadAttention"] = multi_head_attention;
  all[domain + "GroupQueryAttention"] = group_query_attention;
  all[domain + "RotaryEmbedding"] = rotary_embedding;
  all[domain + "EmbedLayerNormalization"] = embed_layer_norm;
  all[domain + "Gelu"] = [](const call &c) { return one(mapped(array(c.in(0)), gelu)); };
  all[domain + "BiasGelu"] = [](const call &c) { return one(mapped(with_bias(c, c.in(0), &c.in(1)), gelu)); };
  all[domain + "FastGelu"] = [](const call &c) { return one(mapped(with_bias(c, c.in(0), c.maybe(1)), gelu_tanh)); };
  all[domain + "QuickGelu"] = quick_gelu;
  all[domain + "BiasAdd"] = [](const call &c) { return one(sum_of(c, with_bias(c, c.in(0), &c.in(1)), c.in(2))); };
  all[domain + "FusedConv"] = fused_conv;
  all[domain + "FusedGemm"] = fused_gemm;
}

}  // namespace heed_compile
