// Rotations, and the embedding of a BERT as ONNX Runtime writes it. See rewrite.hpp. SPDX-License-Identifier: MIT
#include "rewrite.hpp"

namespace heed_compile {
namespace {

// Angles of all positions (positions, half), or those of each row (batch, rows, half): as (batch, rows, half).
int angles_of(rewriter &r, int table, int positions, const shape &x) {
  const int64_t n_batch = x[0], n_rows = x.size() == 3 ? x[1] : x[2];
  const shape dims = r.dims(table);
  if (positions == no_value) return table;
  r.expect(dims.size() == 2 && r.value(positions).kind == element::integers, "has tables of angles that are no matrix");
  const int64_t n_positions = dims[0];
  const int64_t n = product_of(r.dims(positions), 0, r.dims(positions).size());
  const bool is_first = n == 1;
  r.expect(is_first || n == n_batch * n_rows, "has more or fewer positions than rows");
  r.expect(n_positions >= n_rows || !is_first, "has more rows than its tables have positions");
  const int64_t least = is_first ? n_positions - n_rows + 1 : n_positions;
  positions = r.made("heed.indices", {positions}, r.dims(positions),
                     {{"dims", rewriter::of(least)}, {"positive", rewriter::of(int64_t{1})}}, element::integers);
  if (is_first) {  // the position of the first row
    std::vector<double> more;
    for (int64_t i = 0; i < n_rows; ++i) more.push_back(static_cast<double>(i));
    const int first = r.reshaped(positions, {1, 1});
    positions = r.both("Add", first, r.constant(more, {1, n_rows}, element::integers));
  } else {
    positions = r.reshaped(positions, {n_batch, n_rows});
  }
  // Three dimensions are no table of heed's, so that no format makes angles coarser.
  const int rows = r.gathered(r.reshaped(table, {n_positions, 1, dims[1]}), positions);
  return r.reshaped(rows, {r.dims(positions)[0], r.dims(positions)[1], dims[1]});
}

// x (batch, heads, rows, numbers), or (batch, rows, heads * numbers). Angles: (batch, rows, half).
int rotated(rewriter &r, int x, int cosine, int sine, int64_t n_heads) {
  const shape given = r.dims(x);
  const bool is_flat = given.size() == 3;
  r.expect(!is_flat || (n_heads > 0 && given[2] % n_heads == 0), "has heads that do not divide its rows");
  if (is_flat) x = r.reshaped(x, {given[0], given[1], n_heads, given[2] / n_heads});
  const shape whole = r.dims(x);
  shape angles = r.dims(cosine);
  r.expect(angles.size() == 3 && r.dims(sine) == angles, "has angles of a wrong shape");
  const int64_t n = whole[3], half = angles[2], turned = 2 * half, said = r.integer("rotary_embedding_dim", 0);
  r.expect(half > 0 && turned == (said > 0 ? said : n) && turned <= n,
           "has angles of another number than half of what it rotates");
  angles.insert(angles.begin() + (is_flat ? 2 : 1), 1);
  cosine = r.reshaped(cosine, angles), sine = r.reshaped(sine, angles);
  const bool is_interleaved = r.integer("interleaved", 0) != 0;
  const int a = is_interleaved ? r.part(x, 3, 0, half, 2) : r.part(x, 3, 0, half),
            b = is_interleaved ? r.part(x, 3, 1, half, 2) : r.part(x, 3, half, half);
  const int ac = r.both("Mul", a, cosine), bs = r.both("Mul", b, sine), first = r.both("Sub", ac, bs);
  const int as = r.both("Mul", a, sine), bc = r.both("Mul", b, cosine), second = r.both("Add", as, bc);
  std::vector<int> parts = {first, second};
  if (is_interleaved) {
    shape pairs = r.dims(parts[0]), flat = pairs;
    pairs.push_back(1), flat[3] = turned;
    parts = {r.reshaped(r.joined({r.reshaped(parts[0], pairs), r.reshaped(parts[1], pairs)}, 4), flat)};
  }
  if (turned < n) parts.push_back(r.part(x, 3, turned, n - turned));
  return r.reshaped(parts.size() > 1 ? r.joined(parts, 3) : parts[0], given);
}

// (x, cos, sin, positions) of ONNX.
void rotary_embedding(rewriter &r) {
  const shape x = r.dims(r.in(0));
  r.expect(x.size() == 3 || x.size() == 4, "has an input of neither three nor four dimensions");
  const int positions = r.has(3) ? r.in(3) : int{no_value};
  const int cosine = angles_of(r, r.in(1), positions, x), sine = angles_of(r, r.in(2), positions, x);
  r.finish(rotated(r, r.in(0), cosine, sine, r.integer("num_heads", 0)));
}

// (x, positions, cos, sin) of ONNX Runtime.
void microsoft_rotary_embedding(rewriter &r) {
  const shape x = r.dims(r.in(0)), angles = r.dims(r.in(2));
  r.expect(x.size() == 3 || x.size() == 4, "has an input of neither three nor four dimensions");
  r.expect(r.integer("is_packed_batching", 0) == 0, "has a batch in one row, which is not known");
  r.expect(angles.size() == 2 && angles[1] > 0, "has tables of angles that are no matrix");
  const int64_t n_heads = r.integer("num_heads", 0);
  const int cosine = angles_of(r, r.in(2), r.in(1), x), sine = angles_of(r, r.in(3), r.in(1), x);
  r.finish(rotated(r, r.in(0), cosine, sine, n_heads > 0 || x.size() != 3 ? n_heads : x[2] / (2 * angles[1])));
}

// (ids, segments, words, places, kinds, scale, shift, mask, positions): rows, the length of each text, and the sum before the norm.
void embed_layer_norm(rewriter &r) {
  const int ids = r.in(0);
  const shape dims = r.dims(ids), words = r.dims(r.in(2)), places = r.dims(r.in(3));
  r.expect(dims.size() == 2 && words.size() == 2 && places.size() == 2 && words[1] == places[1],
           "has ids or tables of a wrong shape");
  r.expect(r.has(8) || places[0] >= dims[1], "has more rows than positions");
  const int rows = r.gathered(r.in(2), ids);
  const int where = r.has(8) ? r.gathered(r.in(3), r.in(8)) : r.part(r.in(3), 0, 0, dims[1]);
  int sum = r.both("Add", rows, where), lengths = no_value;
  if (r.has(1) && r.has(4)) sum = r.both("Add", sum, r.gathered(r.in(4), r.in(1)));
  if (r.makes(1) && r.has(7)) {
    const int shown = r.made("Cast", {r.in(7)}, dims, {{"to", rewriter::of(int64_t{type_bool})}}, element::booleans);
    const int ones = r.made("Cast", {shown}, dims, {{"to", rewriter::of(int64_t{type_int32})}}, element::integers);
    lengths = r.sum_over(ones, {1});
  } else if (r.makes(1)) {
    lengths = r.constant(std::vector<double>(static_cast<size_t>(dims[0]), 0), {dims[0]}, element::integers);
  }
  r.finish(r.made("LayerNormalization", {sum, r.in(5), r.in(6)}, r.dims(sum),
                  {{"epsilon", rewriter::of_real(r.real("epsilon", 1e-12))}}));
  if (r.makes(1)) r.finish(lengths, 1);
  if (r.makes(2)) r.finish(sum, 2);
}

// A mask that is the length of each text becomes one of keys.
void attention(rewriter &r) {
  std::vector<int> inputs = r.node().inputs;
  const shape x = r.dims(r.in(0));
  if (r.has(3) && x.size() == 3 && r.dims(r.in(3)) == shape{x[0]} && r.value(r.in(3)).kind == element::integers) {
    std::vector<double> keys;
    for (int64_t i = 0; i < x[1]; ++i) keys.push_back(static_cast<double>(i));
    const int lengths = r.reshaped(r.in(3), {x[0], 1});
    const int is_seen = r.compared("Less", r.constant(keys, {1, x[1]}, element::integers), lengths);
    inputs[3] = r.made("Cast", {is_seen}, {x[0], x[1]}, {{"to", rewriter::of(int64_t{type_int32})}}, element::integers);
  }
  r.keep(inputs);
}

}  // namespace

void add_rotations(rewritings &all) {
  all["RotaryEmbedding"] = rotary_embedding;
  all["com.microsoft.RotaryEmbedding"] = microsoft_rotary_embedding;
  all["com.microsoft.EmbedLayerNormalization"] = embed_layer_norm;
  all["com.microsoft.Attention"] = attention;
}

}  // namespace heed_compile
