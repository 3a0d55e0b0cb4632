// A whole graph in double precision. See graph.hpp. SPDX-License-Identifier: MIT
#include "operators.hpp"

namespace heed_compile {
namespace {

// The last node that reads each value; beyond the last node, if it is an output.
std::vector<size_t> last_readers(const graph &net) {
  std::vector<size_t> last(net.values.size(), 0);
  for (size_t i = 0; i < net.nodes.size(); ++i)
    for (const int input : net.nodes[i].inputs)
      if (input != no_value) last[static_cast<size_t>(input)] = i;
  for (const int output : net.outputs) last[static_cast<size_t>(output)] = net.nodes.size();
  return last;
}

}  // namespace

void evaluate_graph(const graph &net, const std::vector<shared_array> &inputs,
                    const std::function<void(int value, const array &)> &see) {
  if (inputs.size() != net.inputs.size())
    throw refusal("the graph has " + std::to_string(net.inputs.size()) + " inputs");
  std::vector<shared_array> live(net.values.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const graph_value &input = net.values[static_cast<size_t>(net.inputs[i])];
    if (inputs[i] == nullptr || inputs[i]->dims != input.dims)
      throw refusal("input " + input.name + " must have the shape " + text_of(input.dims));
    live[static_cast<size_t>(net.inputs[i])] = inputs[i];
    see(net.inputs[i], *inputs[i]);
  }
  const std::vector<size_t> last = last_readers(net);
  for (size_t i = 0; i < net.nodes.size(); ++i) {
    const graph_node &node = net.nodes[i];
    std::vector<shared_array> kept;
    std::vector<const array *> given;
    for (const int input : node.inputs) {
      const size_t place = static_cast<size_t>(input);
      if (input == no_value)
        kept.push_back(nullptr);
      else
        kept.push_back(live[place] != nullptr ? live[place] : numbers_of(net.values[place]));
      given.push_back(kept.back().get());
    }
    results made = evaluate(node, net.opset, given);
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] == no_value) continue;
      const size_t place = static_cast<size_t>(node.outputs[k]);
      if (k >= made.size() || made[k].dims != net.values[place].dims)
        throw refusal("node " + node.name + ": makes another shape than it did before: its shape depends on an input");
      live[place] = std::make_shared<const array>(std::move(made[k]));
      see(node.outputs[k], *live[place]);
    }
    for (const std::vector<int> *const list : {&node.inputs, &node.outputs})
      for (const int value : *list)
        if (value != no_value && last[static_cast<size_t>(value)] <= i) live[static_cast<size_t>(value)] = nullptr;
  }
}

}  // namespace heed_compile
