// Rows that a mask keeps. A model of texts may gather the rows of real tokens, compute with them alone, and scatter them back: as many
// rows as the mask has ones, which depends on numbers, and memory of a program is a constant. If all nodes between work on each row by
// itself, the same comes of computing with all rows, and leaving those out in the end that the mask does not keep. SPDX-License-Identifier: MIT
//
// The proof is made of shapes and of a list of operators. Every such value has all rows here, N of them, and its axis of rows is known. A
// node is computed a second time with another number of rows, N': its output must have N' of them, where it had N, and be the same
// otherwise. So nothing adds rows up, mixes them, or counts them; the list has what else an operator must not do.
#ifndef HEED_COMPILE_KEPT_ROWS_HPP
#define HEED_COMPILE_KEPT_ROWS_HPP

#include <optional>

#include "operators.hpp"

namespace heed_compile {

class kept_rows {
 public:
  explicit kept_rows(const graph &net) : net_(net) {}

  struct rows {
    int mask;         // a value of booleans or numbers: rows lie where it is not 0
    size_t axis;      // of the rows
    bool are_places;  // the places of the mask themselves, (rows, rank of the mask) or turned
  };

  const rows *of(int value) const;
  void set(int value, const rows &what) { rows_[value] = what; }
  // Whether a value has such rows, or its numbers depend on how many there are.
  bool has(int value) const { return of(value) != nullptr || counts_.count(value) != 0; }
  // Whether this node reads such a value, or makes the places of a mask that depends on an input.
  bool concerns(const graph_node &node) const;

  // The places of all numbers of a shape: what NonZero makes of a mask that keeps all.
  static array all_places(const shape &mask);

  // After a node was computed with all rows: what is known of its outputs. Throws refusal if it does not work on each row by itself.
  void follow(const graph_node &node, int64_t opset);
  // The mask that such a value comes of; no_value, if it has constant shape and numbers.
  int mask_of(int value) const;

 private:
  const graph_value &value(int v) const { return net_.values.at(static_cast<size_t>(v)); }
  [[noreturn]] void refuse(const graph_node &node, const std::string &why) const;
  int64_t some_rows(int64_t n) const;
  shape other_dims(int v) const;
  void expect_each_row(const graph_node &node, int64_t opset) const;
  void expect_only_counts(const graph_node &node) const;
  void follow_output(const graph_node &node, int output, const array &other);

  const graph &net_;
  std::map<int, rows> rows_;
  struct count {
    array numbers;
    int mask;
  };
  std::map<int, count> counts_;  // constants as they would be with N' rows
};

}  // namespace heed_compile

#endif
