// How many instructions a run of a program takes on a core, before anyone builds it. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_TARGET_COST_HPP
#define HEED_COMPILE_TARGET_COST_HPP

#include <string>
#include <utility>
#include <vector>

#include "integers.hpp"
#include "program.hpp"

namespace heed_compile {

// Adds up the calls of a run on one core. Each has a cost of target_costs.inc for each of its counts.
class cost_sum {
 public:
  explicit cost_sum(const std::string &core);
  double sum() const { return sum_; }

  void add(const std::string &call, std::initializer_list<double> counts);
  // A call on `rows` rows of `dim` numbers.
  void rows(const std::string &call, double n, double dim) { add(call, {n * dim, n, 1}); }

 private:
  std::map<std::string, const double *> costs_;
  double sum_ = 0;
};

// The name of a matrix's format among the costs. in_integers: products of narrow weights are made in integers.
std::string format_of_cost(const tensor &t, bool in_integers);

// Each run that a user waits for, and its instructions: a whole text or picture; of a decoder, a prompt as long as the context, and one
// more token behind it; of speech, a sound as long as the program hears, and one more token. A sum over the calls of the program.
using run_costs = std::vector<std::pair<std::string, double>>;
run_costs instructions_of(const std::string &core, const network &net, const choices &c,
                          const std::vector<tensor> &weights);
run_costs instructions_of_speech(const std::string &core, const network &net, const choices &c,
                                 const std::vector<tensor> &weights);
// The same of a program without a float.
run_costs instructions_in_integers(const std::string &core, const network &net, const choices &c,
                                   const integer_model &m);

}  // namespace heed_compile

#endif
