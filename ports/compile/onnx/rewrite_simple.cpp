// Operators that are a formula of others: activations, means, pixels and channels, and what ONNX Runtime fuses. See rewrite.hpp.
// SPDX-License-Identifier: MIT
#include "rewrite.hpp"

namespace heed_compile {
namespace {

int scaled(rewriter &r, int x, double factor) { return factor == 1 ? x : r.both("Mul", x, r.number(factor)); }

// x, or alpha * (exp(x / width) - 1) where x is negative.
int elu_of(rewriter &r, int x, double alpha, double width) {
  const int inner = width == 1 ? x : r.both("Div", x, r.number(width));
  const int below = scaled(r, r.both("Sub", r.mapped("Exp", inner), r.number(1)), alpha);
  return r.chosen(r.compared("Less", x, r.number(0)), below, x);
}

void elu(rewriter &r) { r.finish(elu_of(r, r.in(0), r.real("alpha", 1), 1)); }
void celu(rewriter &r) {
  const double alpha = r.real("alpha", 1);
  r.expect(alpha != 0, "has an alpha of 0");
  r.finish(elu_of(r, r.in(0), alpha, alpha));
}
void selu(rewriter &r) {
  const int inner = elu_of(r, r.in(0), r.real("alpha", 1.67326319217681884765625), 1);
  r.finish(scaled(r, inner, r.real("gamma", 1.05070102214813232421875)));
}
void softsign(rewriter &r) {
  const int x = r.in(0), by = r.both("Add", r.mapped("Abs", x), r.number(1));
  r.finish(r.both("Div", x, by));
}
void mish(rewriter &r) {
  const int x = r.in(0), factor = r.mapped("Tanh", r.mapped("Softplus", x));
  r.finish(r.both("Mul", x, factor));
}
void thresholded_relu(rewriter &r) {
  const int x = r.in(0), is_more = r.compared("Greater", x, r.number(r.real("alpha", 1)));
  r.finish(r.chosen(is_more, x, r.number(0)));
}
void shrink(rewriter &r) {
  const int x = r.in(0);
  const double edge = r.real("lambd", 0.5), bias = r.real("bias", 0);
  const int is_below = r.compared("Less", x, r.number(-edge)), is_above = r.compared("Greater", x, r.number(edge));
  const int below = r.both("Add", x, r.number(bias)), above = r.both("Sub", x, r.number(bias));
  const int rest = r.chosen(is_above, above, r.number(0));
  r.finish(r.chosen(is_below, below, rest));
}
void tangent(rewriter &r) {
  const int sine = r.mapped("Sin", r.in(0)), cosine = r.mapped("Cos", r.in(0));
  r.finish(r.both("Div", sine, cosine));
}

void mean(rewriter &r) {
  const size_t n = r.node().inputs.size();
  int sum = r.in(0);
  for (size_t i = 1; i < n; ++i) sum = r.both("Add", sum, r.in(i));
  r.finish(n == 1 ? sum : r.both("Div", sum, r.number(static_cast<double>(n))));
}
void reduce_log_sum(rewriter &r) {
  r.finish(r.mapped("Log", r.made("ReduceSum", r.node().inputs, r.out_dims(), r.node().attributes)));
}

// An exponent of another type than its base.
void power(rewriter &r) {
  std::vector<int> inputs = r.node().inputs;
  const element kind = r.value(r.in(0)).kind, other = r.value(r.in(1)).kind;
  if (kind == element::floats && other == element::integers)
    inputs[1] = r.made("Cast", {inputs[1]}, r.dims(inputs[1]), {{"to", rewriter::of(int64_t{type_float})}});
  r.keep(inputs);
}

// ------------------------------------------------------------------------------------------------- pixels and channels

void depth_to_space(rewriter &r) {
  const shape x = r.dims(r.in(0));
  const int64_t side = r.integer("blocksize", 0);
  r.expect(x.size() == 4 && side > 0 && x[1] % (side * side) == 0, "has channels that its blocks do not divide");
  const int64_t depth = x[1] / (side * side);
  const bool is_columns_first = r.text("mode", "DCR") == std::string("CRD");
  const shape parts =
      is_columns_first ? shape{x[0], depth, side, side, x[2], x[3]} : shape{x[0], side, side, depth, x[2], x[3]};
  const std::vector<size_t> perm =
      is_columns_first ? std::vector<size_t>{0, 1, 4, 2, 5, 3} : std::vector<size_t>{0, 3, 4, 1, 5, 2};
  r.finish(r.reshaped(r.transposed(r.reshaped(r.in(0), parts), perm), r.out_dims()));
}
void space_to_depth(rewriter &r) {
  const shape x = r.dims(r.in(0));
  const int64_t side = r.integer("blocksize", 0);
  r.expect(x.size() == 4 && side > 0 && x[2] % side == 0 && x[3] % side == 0,
           "has sides that its blocks do not divide");
  const int parts = r.reshaped(r.in(0), {x[0], x[1], x[2] / side, side, x[3] / side, side});
  r.finish(r.reshaped(r.transposed(parts, {0, 3, 5, 1, 2, 4}), r.out_dims()));
}

// ------------------------------------------------------------------------------------------------------------- products

int turned(rewriter &r, int v) {
  std::vector<size_t> perm;
  for (size_t d = 0; d < r.dims(v).size(); ++d) perm.push_back(d);
  if (perm.size() >= 2) std::swap(perm[perm.size() - 2], perm.back());
  return r.transposed(v, perm);
}

// alpha * a b + beta * c. What is one linear layer stays as it is.
int gemm_of(rewriter &r) {
  const double alpha = r.real("alpha", 1), beta = r.real("beta", 1);
  int a = r.in(0), b = r.in(1);
  if (r.integer("transA", 0) != 0) a = turned(r, a);
  if (r.integer("transB", 0) != 0) b = turned(r, b);
  const int y = scaled(r, r.product(a, b), alpha);
  return r.has(2) ? r.both("Add", y, scaled(r, r.in(2), beta)) : y;
}
void gemm(rewriter &r) {
  const bool is_linear = r.is_constant(r.in(1)) && r.real("alpha", 1) == 1 && r.real("beta", 1) == 1;
  is_linear ? r.keep(r.node().inputs) : r.finish(gemm_of(r));
}

// The first dimension behind all but the last one.
int batch_turned(rewriter &r, int v) {
  std::vector<size_t> perm;
  const size_t rank = r.dims(v).size();
  for (size_t d = 1; d + 1 < rank; ++d) perm.push_back(d);
  perm.push_back(0), perm.push_back(rank - 1);
  return rank > 2 ? r.transposed(v, perm) : v;
}
void fused_matmul(rewriter &r) {
  int a = r.in(0), b = r.in(1);
  if (r.integer("transBatchA", 0) != 0) a = batch_turned(r, a);
  if (r.integer("transBatchB", 0) != 0) b = batch_turned(r, b);
  if (r.integer("transA", 0) != 0) a = turned(r, a);
  if (r.integer("transB", 0) != 0) b = turned(r, b);
  r.finish(scaled(r, r.product(a, b), r.real("alpha", 1)));
}

// The activation that another operator ends with.
int activated(rewriter &r, int x) {
  const std::string name = r.text("activation", "");
  std::vector<float> given;
  const auto found = r.node().attributes.find("activation_params");
  if (found != r.node().attributes.end()) given = found->second.floats;
  const auto setting = [&](size_t i, const char *own, double otherwise) {
    return rewriter::of_real(i < given.size() ? static_cast<double>(given[i]) : r.real(own, otherwise));
  };
  const shape dims = r.dims(x);
  if (name.empty()) return x;
  if (name == "Relu" || name == "Tanh" || name == "Sigmoid") return r.mapped(name.c_str(), x);
  if (name == "LeakyRelu") return r.made(name, {x}, dims, {{"alpha", setting(0, "activation_alpha", 0.01)}});
  if (name == "HardSigmoid")
    return r.made(name, {x}, dims,
                  {{"alpha", setting(0, "activation_alpha", 0.2)}, {"beta", setting(1, "activation_beta", 0.5)}});
  if (name == "Clip") {
    const auto edge = [&](size_t i, double otherwise) {
      return r.number(i < given.size() ? static_cast<double>(given[i]) : otherwise);
    };
    const int least = edge(0, 0.01), most = edge(1, 0.5);
    return r.made(name, {x, least, most}, dims);
  }
  r.refuse("ends with the activation " + name + ", which is not known");
}
void fused_gemm(rewriter &r) { r.finish(activated(r, gemm_of(r))); }
void fused_conv(rewriter &r) {
  std::vector<int> inputs = r.node().inputs;
  const int more = r.has(3) ? inputs[3] : int{no_value};
  if (inputs.size() > 3) inputs.resize(3);
  int y = r.made("Conv", inputs, r.out_dims(), r.node().attributes);
  if (more != no_value) y = r.both("Add", y, more);
  r.finish(activated(r, y));
}
void bias_add(rewriter &r) {
  const int x = r.both("Add", r.in(0), r.in(1));
  r.finish(r.both("Add", x, r.in(2)));
}

}  // namespace

void add_simple(rewritings &all) {
  all["Elu"] = elu, all["Celu"] = celu, all["Selu"] = selu, all["Softsign"] = softsign, all["Mish"] = mish;
  all["ThresholdedRelu"] = thresholded_relu, all["Shrink"] = shrink, all["Tan"] = tangent;
  all["Mean"] = mean, all["ReduceLogSum"] = reduce_log_sum, all["Pow"] = power;
  all["DepthToSpace"] = depth_to_space, all["SpaceToDepth"] = space_to_depth;
  all["Gemm"] = gemm, all["com.microsoft.FusedGemm"] = fused_gemm, all["com.microsoft.FusedConv"] = fused_conv;
  all["com.microsoft.FusedMatMul"] = all["com.microsoft.TransposeMatMul"] = fused_matmul;
  all["com.microsoft.BiasAdd"] = bias_add;
}

}  // namespace heed_compile
