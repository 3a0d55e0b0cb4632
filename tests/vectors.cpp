// Runs a folder of vectors of the ONNX operator Attention (support/vectors.hpp states the format) through heed:
//   heed_vectors FOLDER
// on the kernel that heed chooses or HEED_ISA names. Prints each failure with its greatest error and ends with
// "N passed, M failed". Exit status 1 if a case failed, if there is none, or if the folder is damaged.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "support/vector_judge.hpp"

namespace heed_test {
namespace {

// Greatest errors of what passed, by type and output.
struct greatest_error {
  double usual = 0, share = 0;
};
using greatest_errors = std::map<std::string, greatest_error>;

bool passes(const vector_case &c, greatest_errors *greatest) {
  std::string why = c.damage;
  try {
    if (!why.empty()) throw vector_error(why);
    for (const vector_verdict &v : vector_judge(c).run()) {
      if (!v.passed()) why += (why.empty() ? "" : "; ") + v.text();
      if (!v.passed()) continue;
      greatest_error &g = (*greatest)[v.type + " " + v.output];
      g.usual = std::max(g.usual, v.usual_error);
      g.share = std::max(g.share, v.share);
    }
  } catch (const vector_error &e) {
    why = e.what();
  }
  if (!why.empty()) std::printf("FAILED %s: %s\n", c.name.c_str(), why.c_str());
  return why.empty();
}

int run(const std::string &path) {
  const std::string kernel = heed_isa_current();
  std::printf("kernel %s, %s\n", kernel.c_str(),
              heed_isa_arithmetic(kernel.c_str()) == HEED_ARITHMETIC_FMA ? "fma" : "no-fma");
  const vector_folder folder(path);
  for (const std::string &complaint : folder.complaints) std::printf("%s\n", complaint.c_str());
  size_t n_passed = 0;
  greatest_errors greatest;
  for (const vector_case &c : folder.cases) n_passed += passes(c, &greatest);
  for (const auto &[what, g] : greatest) {
    if (g.usual > 0) std::printf("%s: errors up to %.2g of the largest magnitude\n", what.c_str(), g.usual);
    if (g.share > 0) std::printf("%s: errors up to %.2g of their row's bound, beyond that\n", what.c_str(), g.share);
  }
  const size_t n_failed = folder.cases.size() - n_passed;
  std::printf("%zu passed, %zu failed\n", n_passed, n_failed);
  return n_failed > 0 || !folder.complaints.empty();
}

}  // namespace
}  // namespace heed_test

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: heed_vectors FOLDER\n");
    return 1;
  }
  return heed_test::run(argv[1]);
}
