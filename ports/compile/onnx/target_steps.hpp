// How many instructions a run of a graph's program takes on a core, before anyone builds it. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_TARGET_STEPS_HPP
#define HEED_COMPILE_TARGET_STEPS_HPP

#include "../target_cost.hpp"
#include "steps.hpp"

namespace heed_compile {

// A sum over the steps. weights: the tensors of the program's file; in_integers: of which constants products are made in integers.
run_costs instructions_of_steps(const std::string &core, const steps &p, const std::vector<tensor> &weights,
                                const std::vector<bool> &in_integers);

}  // namespace heed_compile

#endif
