// Attention in integers against exact attention of the same int8 numbers, in double precision and by nothing that the
// library has. SPDX-License-Identifier: MIT
#include "support/integers.hpp"

namespace heed_test {
namespace {

using matrix = std::vector<double>;  // rows of `dim`

struct int_matrix {
  std::vector<int8_t> x;
  double scale;
};
int_matrix quantised(const matrix &x) {
  double most = 0;
  for (double each : x) most = std::max(most, std::fabs(each));
  int_matrix result = {{}, most / 127};
  for (double each : x) result.x.push_back(static_cast<int8_t>(std::lrint(each / result.scale)));
  return result;
}

struct kind {
  const char *name;
  int32_t n_q, n_kv;
  double scale;  // of logits: their standard deviation
  bool sink;     // one key takes half of each row, the others are alike
  double rms, most;
};
// What the study of these rules has measured, and half as much again.
const kind kinds[] = {
    {"gauss", 98, 98, 1, false, 4.2e-5, 2.9e-4},         {"peaked", 98, 98, 4, false, 1.7e-4, 1.3e-3},
    {"sink and sea", 98, 98, 0.5, true, 1.5e-4, 8.4e-4}, {"gauss", 64, 1500, 1, false, 1.8e-5, 8e-5},
    {"sink and sea", 64, 1500, 0.5, true, 2.1e-4, 1e-3}, {"sink and sea", 16, 16384, 0.5, true, 2.7e-4, 1.3e-3}};
constexpr int32_t dim = 64;

class int_accuracy : public int_kernel_test {
 protected:
  static matrix normal(random_source &random, int32_t n) {
    matrix x(static_cast<size_t>(n) * dim);
    for (double &each : x) {
      double sum = 0;
      for (int i = 0; i < 4; ++i) sum += static_cast<double>(random.bell());
      each = sum / (2 * 1.1547);
    }
    return x;
  }
};

void add_sink(random_source &random, const kind &k, matrix &q, matrix &keys) {
  std::vector<double> u(dim);
  double length = 0;
  for (double &each : u) each = static_cast<double>(random.bell()), length += each * each;
  for (double &each : u) each /= std::sqrt(length);
  for (size_t i = 0; i < q.size(); ++i) q[i] = q[i] * 0.5 + u[i % dim] * 3 * std::sqrt(dim) / 2;
  for (size_t j = dim; j < keys.size(); j += dim) {
    double along = 0;
    for (size_t d = 0; d < dim; ++d) along += keys[j + d] * u[d];
    for (size_t d = 0; d < dim; ++d) keys[j + d] -= 0.9 * along * u[d];
  }
  for (size_t d = 0; d < dim; ++d) keys[d] = u[d] * std::log(k.n_kv) * 2 / 3 / k.scale;
}

TEST_P(int_accuracy, is_what_the_study_says) {
  for (const kind &a : kinds) {
    random_source random(static_cast<uint64_t>(a.n_kv));
    matrix q_real = normal(random, a.n_q), k_real = normal(random, a.n_kv), v_real = normal(random, a.n_kv);
    if (a.sink) add_sink(random, a, q_real, k_real);
    const int_matrix q = quantised(q_real), k = quantised(k_real), v = quantised(v_real);
    const double octaves = q.scale * k.scale * a.scale / std::sqrt(dim) / std::log(2.0);
    matrix exact(static_cast<size_t>(a.n_q) * dim), lse(static_cast<size_t>(a.n_q));
    double most = 0;
    for (size_t i = 0; i < lse.size(); ++i) {
      matrix x(static_cast<size_t>(a.n_kv));
      for (size_t j = 0; j < x.size(); ++j) {
        for (size_t d = 0; d < dim; ++d) x[j] += q.x[i * dim + d] * k.x[j * dim + d];
        x[j] *= octaves;
      }
      const double top = *std::max_element(x.begin(), x.end());
      double sum = 0;
      for (double &each : x) sum += each = std::exp2(each - top);
      lse[i] = top + std::log2(sum);
      for (size_t j = 0; j < x.size(); ++j)
        for (size_t d = 0; d < dim; ++d) exact[i * dim + d] += x[j] / sum * v.x[j * dim + d] * v.scale;
      for (size_t d = 0; d < dim; ++d) most = std::max(most, std::fabs(exact[i * dim + d]));
    }
    const double out_scale = most * 1.01 / 32767;
    std::vector<int16_t> out(exact.size());
    std::vector<int32_t> int_lse(lse.size());
    aligned_bytes workspace(HEED_INT_WORKSPACE_BYTES(dim, dim));
    heed_int_attention call = heed_int_attention_of(q.x.data(), k.x.data(), v.x.data(), a.n_q, a.n_kv, 1, 1, dim,
                                                    reinterpret_cast<int8_t *>(out.data()), workspace.get());
    call.out.dtype = HEED_INT16;
    call.score = heed_multiplier_of(static_cast<float>(octaves));
    call.value = heed_multiplier_of(static_cast<float>(v.scale / out_scale));
    call.lse = int_lse.data();
    ASSERT_EQ(heed_int_attention_run(&call), HEED_OK);
    double squares = 0, greatest = 0, of_lse = 0, bias = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      const double error = out[i] * out_scale - exact[i];
      squares += error * error;
      greatest = std::max(greatest, std::fabs(error));
    }
    for (size_t i = 0; i < lse.size(); ++i) {
      of_lse = std::max(of_lse, std::fabs(int_lse[i] - lse[i] * 2048));
      bias += (int_lse[i] - lse[i] * 2048) / static_cast<double>(lse.size());
    }
    const double rms = std::sqrt(squares / static_cast<double>(out.size()));
    std::printf("%-12s %5d keys: rms %.2e, greatest %.2e; log-sum-exp within %.2f, on average %.2f\n", a.name, a.n_kv,
                rms, greatest, of_lse, bias);
    EXPECT_LE(rms, a.rms) << a.name << a.n_kv;
    EXPECT_LE(greatest, a.most) << a.name << a.n_kv;
    EXPECT_LE(of_lse, 3) << a.name << a.n_kv;
  }
}

HEED_TEST_EVERY_INT_KERNEL(int_accuracy);

}  // namespace
}  // namespace heed_test
