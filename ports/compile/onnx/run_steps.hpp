// Makes the calls of a program in the tool: for the known answers in its file, and for --check. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_RUN_STEPS_HPP
#define HEED_COMPILE_RUN_STEPS_HPP

#include <map>
#include <memory>

#include "../../import/tensor.hpp"
#include "steps.hpp"

namespace heed_compile {

// Steps that are shown, in their order: the program's layers. Outputs follow as rows of one layer more.
struct shown_step {
  int step;
  int64_t offset, count;  // numbers of the storage, which lie without gaps
};
std::vector<shown_step> shown_steps(const steps &p);

class step_runner {
 public:
  // file: what flat_file has written, aligned to 64, with the constants under their names. Throws refusal.
  step_runner(const steps &p, heed_import::span file, bool exact);

  // Numbers of input i, which may be written before run(); of output i after it.
  void *input(size_t i) { return storage_at(p_.inputs[i]); }
  const void *output(size_t i) { return storage_at(p_.outputs[i]); }
  // Gets each step that has been made.
  void run(const std::function<void(int step)> &see);
  const float *floats(const view &v) { return static_cast<const float *>(storage_at(v.at)) + v.offset; }
  const void *storage_at(int at) const;
  void *storage_at(int at);

 private:
  struct free_aligned {
    void operator()(uint8_t *p) const { ::operator delete(p, std::align_val_t(HEED_ALIGNMENT)); }
  };
  heed_status call(const step &s);

  const steps &p_;
  heed_file file_;
  std::unique_ptr<uint8_t, free_aligned> memory_;
  std::vector<heed_weights> weights_;    // of each constant that is a matrix
  std::vector<const void *> constants_;  // of each other one
  std::map<int, std::vector<float>> own_;
};

// Whether a matrix is read in integers, if the user does not forbid it.
bool is_in_integers(const tensor &t);

// What is known of a number of an input, for the known answers: those from `least` on, `count` of them.
struct input_range {
  int64_t least = 0, count = 2;
};
input_range range_of_input(const steps &p, int input);
void fill_input(const steps &p, int input, void *to);

}  // namespace heed_compile

#endif
