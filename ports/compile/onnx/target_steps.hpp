// How many instructions a run of a graph's program takes on a core, before anyone builds it. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_TARGET_STEPS_HPP
#define HEED_COMPILE_TARGET_STEPS_HPP

#include "../target_cost.hpp"
#include "run_steps.hpp"

namespace heed_compile {

// How many of the numbers that a convolution by plain C reads are 0, by its step: behind a ReLU, or where it is padded. Where
// doubles are computed without an FPU, products with them take less. They are counted in a run with the known answers' inputs.
std::map<const step *, double> shares_of_zeros(const steps &p, heed_import::span file, bool exact);

// A sum over the steps. weights: the tensors of the program's file; in_integers: of which constants products are made in integers.
run_costs instructions_of_steps(const std::string &core, const steps &p, const std::vector<tensor> &weights,
                                const std::vector<bool> &in_integers, const std::map<const step *, double> &zeros);

}  // namespace heed_compile

#endif
