// What rounding to integers costs, layer by layer. For the host. SPDX-License-Identifier: MIT
#ifndef HEED_CALIBRATE_REPORT_HPP
#define HEED_CALIBRATE_REPORT_HPP

#include <vector>

#include "calibrate.hpp"

namespace calibrate {

// Rows of one recorded sequence: (n, model_dim).
using sequence = std::vector<float>;

// Runs all layers over the sequences, in floats and in integers, and prints for each layer: the error of what comes out, if
// exact rows go in, and if those of the integers before it go in; the two places whose rounding alone hurts most. Errors are
// root mean squares in percent of the rows'. every_place: all places of all layers instead of two.
void print_report(const std::vector<layer> &floats, const std::vector<int_layer> &integers,
                  const std::vector<sequence> &sequences, bool every_place);

}  // namespace calibrate

#endif
