// KWT-1's numbers in its published file, by the names that it gives them. See kwt_network.hpp. SPDX-License-Identifier: MIT
#include <cmath>
#include <string>

#include "../import/readers.hpp"
#include "kwt_network.hpp"

namespace network {
namespace {

using heed_import::refuse;
using heed_import::tensor;

class published {
 public:
  published(const uint8_t *file, size_t n_bytes) : tensors_(heed_import::read_tflite({file, n_bytes})) {}

  // The one tensor whose name ends so: a converter may put the name of a model in front.
  const tensor &find(const std::string &end) const {
    const tensor *found = nullptr;
    for (const tensor &t : tensors_) {
      if (t.name.size() < end.size() || t.name.compare(t.name.size() - end.size(), end.size(), end) != 0) continue;
      if (found != nullptr) refuse(end, "stands for two tensors, and in KWT-1 for one");
      found = &t;
    }
    if (found == nullptr) refuse(end, "is not in the file, which is not that of KWT-1");
    return *found;
  }

  void vector(const std::string &name, float *out, size_t n) const {
    const tensor &t = find(name);
    if (!is_usable(t) || t.dtype != HEED_F32) refuse(t.name, "is not of f32");
    if (t.count() != n) refuse(t.name, "has " + std::to_string(t.count()) + " numbers, expected " + std::to_string(n));
    for (size_t i = 0; i < n; ++i) {
      out[i] = heed_import::f32_at(t.numbers().data + 4 * i);
      if (!std::isfinite(out[i])) refuse(t.name, "holds a NaN or an infinity");
    }
  }

  // (out, in) in the file, and (in, out) here, with rows of `stride` numbers.
  void matrix(const std::string &name, uint32_t n_in, uint32_t n_out, float *out, size_t stride) const {
    const tensor &t = find(name);
    if (t.dims != std::vector<uint32_t>{n_out, n_in}) refuse(t.name, "has another shape than in KWT-1");
    std::vector<float> numbers(t.count());
    vector(name, numbers.data(), numbers.size());
    for (size_t i = 0; i < n_in; ++i)
      for (size_t o = 0; o < n_out; ++o) out[i * stride + o] = numbers[o * n_in + i];
  }

  float number(const std::string &name) const {
    float found = 0;
    vector(name, &found, 1);
    return found;
  }

  // To two units in the last place: converters compute constants in float or in double.
  void expect(const std::string &name, float value) const {
    const float found = number(name);
    if (std::fabs(found - value) > 2.4e-7f * std::fabs(value))
      refuse(find(name).name, "is " + std::to_string(found) + ", expected " + std::to_string(value));
  }

 private:
  std::vector<tensor> tensors_;
};

// "/dense" and "/dense_7", as the file numbers them.
std::string numbered(const char *name, int number) {
  return std::string("/") + name + (number == 0 ? "" : "_" + std::to_string(number));
}

void read_dense(const published &file, int number, uint32_t n_in, uint32_t n_out, float *w, float *bias) {
  const std::string name = numbered("dense", number);
  file.matrix(name + "/Tensordot/MatMul", n_in, n_out, w, n_out);
  if (bias != nullptr) file.vector(name + "/bias", bias, n_out);
}

void read_norm(const published &file, int number, float *gamma, float *beta) {
  const std::string name = numbered("layer_normalization", number);
  file.vector(name + "/gamma", gamma, KWT_DIM);
  file.vector(name + "/beta", beta, KWT_DIM);
}

void read_block(const published &file, int b, block &into) {
  const int dense = 6 * b + 1, norm = 2 * b;
  read_dense(file, dense, KWT_DIM, KWT_DIM, into.wq[0], nullptr);
  read_dense(file, dense + 1, KWT_DIM, KWT_DIM, into.wk[0], nullptr);
  read_dense(file, dense + 2, KWT_DIM, KWT_DIM, into.wv[0], nullptr);
  read_dense(file, dense + 3, KWT_DIM, KWT_DIM, into.wo[0], into.bo);
  read_norm(file, norm, into.gamma_1, into.beta_1);
  read_dense(file, dense + 4, KWT_DIM, KWT_HIDDEN, into.w1[0], into.b1);
  read_dense(file, dense + 5, KWT_HIDDEN, KWT_DIM, into.w2[0], into.b2);
  read_norm(file, norm + 1, into.gamma_2, into.beta_2);
}

// What kwt.c computes with and has not from the file: softmax(q k^T / 8), and the tanh form of GELU.
void expect_constants(const published &file) {
  file.expect("/Sqrt", 0.125f);
  file.expect("/Pow/y", 3.0f);
  file.expect("/mul/x", 0.5f);
  file.expect("/Cast/x", 0.044715f);
  file.expect("/mul_2/x", 0.797884561f);
  file.expect("/add_1/x", 1.0f);
}

void read_sound(const published &file, kwt1 &net) {
  const std::string transform = "/magnitude_rdf_tmel/MatMul", normalizer = "speech_features/normalizer";
  file.vector("/windowing/mul/y", net.window, KWT_FRAME);
  file.matrix(transform, KWT_FRAME, KWT_N_BINS, net.dft[0], 2 * KWT_N_BINS);
  file.matrix(transform + "_1", KWT_FRAME, KWT_N_BINS, net.dft[0] + KWT_N_BINS, 2 * KWT_N_BINS);
  file.matrix(transform + "_2", KWT_N_BINS, KWT_N_MEL, net.mel[0], KWT_N_MEL);
  net.log_floor = file.number("/Maximum/y");
  // kwt_magnitude relies on it: 244 magnitudes of 1e-15 stay below.
  if (!(net.log_floor >= 9e-13f)) refuse("/Maximum/y", "is a floor below 9e-13");
  file.matrix("/dct/MatMul", KWT_N_MEL, n_features, net.dct[0], n_features);
  for (float &mean : net.mean) mean = file.number(normalizer + "/sub/y");
  file.vector(normalizer + "/truediv/y", net.factor, n_features);
}

}  // namespace

std::unique_ptr<kwt1> read_kwt(const uint8_t *file, size_t n_bytes) {
  const published from(file, n_bytes);
  auto net = std::make_unique<kwt1>();
  read_sound(from, *net);
  read_dense(from, 0, n_features, KWT_DIM, net->w_embedding[0], net->b_embedding);
  from.vector("class_emb", net->class_token, KWT_DIM);
  from.vector("pos_emb", net->position[0], size_t{KWT_N_TOKENS} * KWT_DIM);
  expect_constants(from);
  for (int b = 0; b < KWT_N_BLOCKS; ++b) read_block(from, b, net->blocks[b]);
  net->norm_epsilon = from.number("/batchnorm/add/y");
  if (!(net->norm_epsilon > 0)) refuse("/batchnorm/add/y", "is an epsilon that is not above 0");
  const std::string label = numbered("dense", 6 * KWT_N_BLOCKS + 1);
  from.matrix(label + "/MatMul", KWT_DIM, KWT_N_LABELS, net->w_label[0], KWT_N_LABELS);
  from.vector(label + "/bias", net->b_label, KWT_N_LABELS);
  return net;
}

}  // namespace network
