// Rows in pages of their own, of which those that nobody may read are inaccessible. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_PAGED_ROWS_HPP
#define HEED_TESTS_SUPPORT_PAGED_ROWS_HPP

#include <functional>
#include <vector>

#include "layout.hpp"

namespace heed_test {

class paged_rows {
 public:
  // Rows lie at the end of their pages or at the start. hidden(b, h, t): no access.
  paged_rows(slot which, const placement &shape, const std::vector<float> &numbers, bool at_the_end,
             const std::function<bool(int32_t, int32_t, int32_t)> &hidden)
      : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))), begin_(region_of(which).begin), rows_(shape) {
    const ptrdiff_t row = static_cast<ptrdiff_t>(page_ / sizeof(float));
    rows_.row_stride = row, rows_.head_stride = shape.n_rows * row,
    rows_.batch_stride = shape.n_heads * shape.n_rows * row;
    bytes_ = size_t(shape.n_batch) * shape.n_heads * shape.n_rows * page_;
    data_ = reinterpret_cast<float *>(begin_) + (at_the_end ? row - shape.dim : 0);
    std::fill_n(reinterpret_cast<float *>(begin_), bytes_ / sizeof(float), float_of(unread_bits));
    scatter(rows_, numbers, data_);
    for (int32_t b = 0; b < shape.n_batch; ++b)
      for (int32_t h = 0; h < shape.n_heads; ++h)
        for (int32_t t = 0; t < shape.n_rows; ++t)
          if (hidden(b, h, t)) protect(rows_.at(b, h, t) * sizeof(float), page_, PROT_NONE), ++n_hidden_;
  }
  ~paged_rows() { protect(0, bytes_, PROT_READ | PROT_WRITE); }
  paged_rows(const paged_rows &) = delete;
  paged_rows &operator=(const paged_rows &) = delete;

  heed_tensor view() const { return input_view(rows_, data_); }
  int32_t n_hidden() const { return n_hidden_; }
  static int32_t most_rows() {
    const region &all = region_of(slot_k);
    return static_cast<int32_t>(std::min<ptrdiff_t>(3000, (all.end - all.begin) / sysconf(_SC_PAGESIZE)));
  }

 private:
  void protect(size_t at, size_t bytes, int how) const {
    if (mprotect(begin_ + at, bytes, how) == 0) return;
    std::perror("pages");
    std::abort();
  }
  const size_t page_;
  unsigned char *const begin_;
  placement rows_;
  size_t bytes_;
  float *data_;
  int32_t n_hidden_ = 0;
};

}  // namespace heed_test

#endif
