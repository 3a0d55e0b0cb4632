// Writes a folder of random vectors of the ONNX operator Attention, in the format that support/vectors.hpp reads:
//   heed_vectors_random FOLDER CASES SEED [damaged]
// What is expected comes from support/vector_reference.hpp. "damaged": one expected number of each case is wrong.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/vector_draw.hpp"

namespace heed_test {
namespace {

// (batch, heads, rows, dim), or flat: (batch, rows, heads * dim).
struct tensor {
  std::string name, type;
  std::vector<int32_t> dims;
  std::vector<double> numbers;
};

// Rows first ... first + n - 1 of every head of numbers that have n_rows of them.
tensor part(const std::string &name, const reference_case &c, const std::vector<double> &numbers, int32_t n_heads,
            int32_t n_rows, int32_t dim, int32_t first, int32_t n, bool flat) {
  tensor t = {name, c.type, {c.batch, n_heads, n, dim}, {}};
  if (flat) t.dims = {c.batch, n, n_heads * dim};
  const int32_t outer = flat ? n : n_heads, inner = flat ? n_heads : n;
  for (int32_t b = 0; b < c.batch; ++b)
    for (int32_t o = 0; o < outer; ++o)
      for (int32_t p = 0; p < inner; ++p) {
        const int32_t h = flat ? p : o, i = first + (flat ? o : p);
        const auto row = numbers.begin() + ((std::ptrdiff_t(b) * n_heads + h) * n_rows + i) * dim;
        t.numbers.insert(t.numbers.end(), row, row + dim);
      }
  return t;
}

std::vector<tensor> inputs_of(const reference_case &c) {
  const int32_t n_new = c.n_kv - c.n_past;
  std::vector<tensor> all = {part("Q", c, c.q, c.n_heads, c.n_q, c.head_dim, 0, c.n_q, c.flat),
                             part("K", c, c.k, c.n_kv_heads, c.n_kv, c.head_dim, c.n_past, n_new, c.flat),
                             part("V", c, c.v, c.n_kv_heads, c.n_kv, c.v_dim, c.n_past, n_new, c.flat)};
  if (!c.mask.type.empty()) all.push_back({"attn_mask", c.mask.type, c.mask.dims, c.mask.values});
  if (c.has_past) {
    all.push_back(part("past_key", c, c.k, c.n_kv_heads, c.n_kv, c.head_dim, 0, c.n_past, false));
    all.push_back(part("past_value", c, c.v, c.n_kv_heads, c.n_kv, c.v_dim, 0, c.n_past, false));
  }
  if (!c.lengths.empty())
    all.push_back({"nonpad_kv_seqlen", c.lengths_type, {c.batch}, {c.lengths.begin(), c.lengths.end()}});
  return all;
}

std::vector<tensor> outputs_of(const reference_case &c) {
  std::vector<tensor> all = {part("Y", c, c.y, c.n_heads, c.n_q, c.v_dim, 0, c.n_q, c.flat)};
  if (c.wants_present) {
    all.push_back(part("present_key", c, c.k, c.n_kv_heads, c.n_kv, c.head_dim, 0, c.n_kv, false));
    all.push_back(part("present_value", c, c.v, c.n_kv_heads, c.n_kv, c.v_dim, 0, c.n_kv, false));
  }
  if (c.wants_scores) all.push_back(part("qk_matmul_output", c, c.scores, c.n_heads, c.n_q, c.n_kv, 0, c.n_q, false));
  return all;
}

class writer {
 public:
  void add(const std::string &name, const reference_case &c, const std::vector<tensor> &outputs) {
    text_ << "case " << name << " 25\n";
    if (c.flat) text_ << "attr q_num_heads " << c.n_heads << "\nattr kv_num_heads " << c.n_kv_heads << "\n";
    if (c.causal) text_ << "attr is_causal 1\n";
    if (c.has_scale) text_ << "attr scale " << real(c.scale) << "\n";
    if (c.softcap > 0) text_ << "attr softcap " << real(c.softcap) << "\n";
    if (c.left_window >= 0) text_ << "attr left_window_size " << c.left_window << "\n";
    if (c.right_window >= 0) text_ << "attr right_window_size " << c.right_window << "\n";
    if (c.mode > 0) text_ << "attr qk_matmul_output_mode " << c.mode << "\n";
    for (const tensor &t : inputs_of(c)) add("in", t);
    for (const tensor &t : outputs) add("out", t);
    text_ << "end\n";
  }
  bool write(const std::string &folder) const {
    std::ofstream text(folder + "/cases.txt"), data(folder + "/cases.bin", std::ios::binary);
    text << text_.str();
    data.write(data_.data(), static_cast<std::streamsize>(data_.size()));
    text.close(), data.close();
    return text.good() && data.good();
  }

 private:
  static std::string real(float x) {
    char word[40];
    std::snprintf(word, sizeof word, "%.9e", double(x));
    return word;
  }
  void add(const char *kind, const tensor &t) {
    while (data_.size() % 16) data_.push_back(0);
    text_ << kind << " " << t.name << " " << t.type << " " << t.dims.size();
    for (const int32_t d : t.dims) text_ << " " << d;
    text_ << " " << data_.size() << "\n";
    for (const double x : t.numbers) add(t.type, x);
  }
  void add(const std::string &type, double x) {
    if (type == "bool") return add(static_cast<uint64_t>(x), 1);
    if (type == "i32" || type == "i64") return add(static_cast<uint64_t>(x), type == "i32" ? 4 : 8);
    if (type == "f16") return add(half_bits(x), 2);
    if (type == "f64") return add(bits<uint64_t>(x), 8);
    add(bits<uint32_t>(static_cast<float>(as_type(type, x))), 4);
  }
  template <typename Bits, typename Number>
  static Bits bits(Number x) {
    Bits b;
    std::memcpy(&b, &x, sizeof b);
    return b;
  }
  void add(uint64_t little_endian, int n_bytes) {
    for (int n = 0; n < n_bytes; ++n) data_.push_back(static_cast<char>(little_endian >> 8 * n & 255));
  }

  std::ostringstream text_;
  std::vector<char> data_;
};

// One number moves by a quarter of the largest magnitude of its tensor; where errors may be that large, by far more.
void damage(random_source &r, bool rough, std::vector<tensor> *outputs) {
  tensor &t = (*outputs)[r.next() % outputs->size()];
  double largest = 0;
  for (const double x : t.numbers)
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  double &x = t.numbers[r.next() % t.numbers.size()];
  x = std::isfinite(x) ? as_type(t.type, x + (largest > 0 ? largest * (rough ? 1000 : 0.25) : 1)) : 1;
}

}  // namespace
}  // namespace heed_test

int main(int argc, char **argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: heed_vectors_random FOLDER CASES SEED [damaged]\n");
    return 2;
  }
  const uint64_t seed = std::strtoull(argv[3], nullptr, 10);
  heed_test::writer all;
  for (int32_t i = 0; i < heed_test::repetitions(std::atoi(argv[2])); ++i) {
    const heed_test::reference_case c = heed_test::vector_draw(seed * 1000003u + static_cast<uint64_t>(i)).draw(i);
    std::vector<heed_test::tensor> outputs = heed_test::outputs_of(c);
    heed_test::random_source r(static_cast<uint64_t>(i));
    if (argc > 4) heed_test::damage(r, c.rough, &outputs);
    all.add("random_" + std::to_string(i), c, outputs);
  }
  if (all.write(argv[1])) return 0;
  std::fprintf(stderr, "%s cannot be written\n", argv[1]);
  return 1;
}
