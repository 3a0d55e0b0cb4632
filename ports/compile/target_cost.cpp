// See target_cost.hpp. tests/compile_targets.sh compares these sums with what an emulator counts. SPDX-License-Identifier: MIT
#include "target_cost.hpp"

#include <stdexcept>

#include "target_calls.hpp"

namespace heed_compile {
namespace {

enum { most_counts = 6 };

// Instructions that each count of a call takes. target_costs.inc has them from tests/device/call_costs.c.
struct call_cost {
  const char *core, *call;
  double of[most_counts];
};
const call_cost costs[] = {
#include "target_costs.inc"
};

}  // namespace

cost_sum::cost_sum(const std::string &core) {
  for (const call_cost &cost : costs)
    if (core == cost.core) costs_[cost.call] = cost.of;
}

void cost_sum::add(const std::string &call, std::initializer_list<double> counts) {
  const auto found = costs_.find(call);
  if (found == costs_.end()) throw std::logic_error("target_costs.inc has no cost of " + call);
  const double *of = found->second;
  for (const double n : counts) sum_ += n * *of++;
}

std::string format_of_cost(const tensor &t, bool in_integers) {
  static const std::map<int32_t, std::string> names = {{HEED_F32, "f32"},   {HEED_F16, "f16"},    {HEED_BF16, "bf16"},
                                                       {HEED_INT8, "int8"}, {HEED_UINT8, "int8"}, {HEED_Q8_0, "q8_0"},
                                                       {HEED_Q4_0, "int4"}};
  const bool is_narrow = t.dtype == HEED_INT8 || t.dtype == HEED_UINT8 || t.dtype == HEED_Q8_0 || t.dtype == HEED_Q4_0;
  return names.at(t.dtype) + (in_integers && is_narrow ? ".i" : "");
}

namespace {

// Tokens behind `before` others pass through the layers in one piece.
void add_piece(calls &to, const network &net, bool has_positions, double rows, double before) {
  to.gather(rows);
  if (net.embedding_scale != 1) to.plus(rows);
  if (has_positions) to.plus(rows);
  for (int32_t l = 0; l < net.n_layers; ++l) to.layer(l, rows, rows, before);
}

void add_logits(calls &to, const network &net) {
  to.norm(net.norm, 1, net.dim);
  to.linear(net.is_tied ? "embedding" : "classifier", 1);
  if (net.logits_softcap > 0) to.numbers("activation ", "heed_tanh", 1, net.n_tokens);
}

void add_encoder(calls &to, const network &net, int32_t rows) {
  if (net.what == task::encoder) {
    to.gather(rows), to.plus(rows);
    if (net.has_token_types) to.plus(rows);
  } else {
    const int32_t n_patches = rows - net.n_special_rows, n_pixels = net.patch_size * net.patch_size * net.n_channels;
    for (int32_t i = 0; i < n_patches; ++i) to.linear("patches", 1);
    to.pixels(static_cast<double>(n_patches) * n_pixels);
    to.plus(rows);
  }
  if (net.has_embedding_norm) to.norm(net.norm, rows, net.dim);
  const bool is_cut = net.pool == network::pooling::first;
  for (int32_t l = 0; l < net.n_layers; ++l)
    to.layer(l, rows, is_cut && l == net.n_layers - 1 ? net.n_class_rows : rows, 0);
  const int32_t left = is_cut ? net.n_class_rows : rows;
  if (net.has_final_norm) to.norm(net.norm, left, net.dim);
  if (net.pool == network::pooling::mean) to.plus(rows);
  if (net.has_pooler) to.linear("pooler", 1), to.numbers("activation ", net.pooler_activation, 1, net.dim);
  to.linear("classes", 1);
}

}  // namespace

run_costs instructions_of(const std::string &core, const network &net, const choices &c,
                          const std::vector<tensor> &weights) {
  if (net.what == task::speech) return instructions_of_speech(core, net, c, weights);
  const int32_t context = context_of(net, c);
  calls all(core, net, c, weights);
  if (net.what != task::decoder) {
    add_encoder(all, net, context);
    const std::string text = "a text of " + std::to_string(context) + " tokens";
    return {{net.what == task::vision ? "a picture" : text, all.sum()}};
  }
  calls token = all;
  const bool has_positions = has(weights, "positions");
  const int32_t piece = std::min(c.piece, context);
  for (int32_t done = 0; done < context; done += piece)
    add_piece(all, net, has_positions, std::min(piece, context - done), done);
  add_logits(all, net);
  add_piece(token, net, has_positions, 1, context - 1), add_logits(token, net);
  return {{"a prompt of " + std::to_string(context) + " tokens", all.sum()},
          {"a token behind " + std::to_string(context - 1) + " others", token.sum()}};
}

}  // namespace heed_compile
