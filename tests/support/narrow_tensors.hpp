// Narrow tensors of a call in fenced memory: the numbers of a problem, rounded to what the formats hold.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_NARROW_TENSORS_HPP
#define HEED_TESTS_SUPPORT_NARROW_TENSORS_HPP

#include <string>
#include <vector>

#include "settings.hpp"

namespace heed_test {

constexpr int32_t own = -1;  // the call's tensor
struct narrow_formats {
  int32_t q = own, k = own, v = own, out = own;
  std::string text() const {
    return " narrow q " + std::to_string(q) + " k " + std::to_string(k) + " v " + std::to_string(v) + " out " +
           std::to_string(out);
  }
};
inline narrow_formats random_formats(random_source &r, const problem &p) {
  const int32_t percent = r.chance(30) ? 100 : 50;
  const auto any = [&](int32_t most) { return r.chance(percent) ? r.between(HEED_F32, most) : own; };
  return {any(HEED_INT8), any(HEED_INT8), any(HEED_INT8), p.options.partial ? own : any(HEED_BF16)};
}

// Rows of narrow numbers, contiguous.
struct narrow_numbers {
  int32_t dtype, dim;
  std::vector<unsigned char> bytes;
  std::vector<float> scales;
};

// Rounds the rows of x to the format, and keeps what they then are. int8 cannot hold NaN and infinity: the scale does.
inline narrow_numbers round_rows(int32_t dtype, int32_t dim, std::vector<float> *x) {
  const size_t n = x->size() / size_t(dim), row_bytes = size_t(dim) * HEED_DTYPE_BYTES(dtype);
  narrow_numbers all = {dtype, dim, std::vector<unsigned char>(n * row_bytes), std::vector<float>(n)};
  for (size_t r = 0; r < n; ++r) {
    float *const row = x->data() + r * size_t(dim);
    float poison = 0;
    for (int32_t i = 0; i < dim && dtype == HEED_INT8; ++i) {
      if (std::isfinite(row[i])) continue;
      poison = row[i], row[i] = 1;
    }
    unsigned char *const to = &all.bytes[r * row_bytes];
    float *const scale = &all.scales[r];
    EXPECT_EQ(heed_convert_from_f32(heed_matrix_of(row, 1, dim), heed_typed_matrix_out_of(to, scale, dtype, 1, dim)),
              HEED_OK);
    if (poison != 0) *scale = poison;
    EXPECT_EQ(heed_convert_to_f32(heed_typed_matrix_of(to, scale, dtype, 1, dim), heed_matrix_out_of(row, 1, dim)),
              HEED_OK);
  }
  return all;
}

// What the call reads, and what it makes of out: a problem whose numbers the formats hold.
struct narrow_problem {
  narrow_problem(problem *p, const narrow_formats &f) : formats(f) {
    if (f.q != own) q = round_rows(f.q, p->head_dim, &p->q);
    if (f.k != own) k = round_rows(f.k, p->head_dim, &p->k);
    if (f.v != own) v = round_rows(f.v, p->v_dim, &p->v);
  }
  attention_result rounded(attention_result r, int32_t v_dim) const {
    if (formats.out != own && !r.out.empty()) round_rows(formats.out, v_dim, &r.out);
    return r;
  }
  narrow_formats formats;
  narrow_numbers q, k, v;
};

class placed_narrow : public narrow_part {
 public:
  placed_narrow(const problem &p, const setting &s, const narrow_problem &numbers, placed_call *placed)
      : out_place_(place(s.out, s.padding, p.batch, p.n_heads, p.n_q, p.v_dim)), format_(numbers.formats.out) {
    EXPECT_EQ(heed_typed_tensors_init(&narrow_), HEED_OK);
    const layout in = s.in == layout::packed ? layout::token_major : s.in;
    const layout of_scales = s.padding % 2 ? layout::token_major_padded : layout::padded;
    const auto put = [&](const narrow_numbers &from, int32_t dtype, int32_t n_heads, int32_t n_rows, slot which,
                         slot scales, heed_typed_tensor *to, heed_tensor *plain) {
      if (dtype == own) return;
      *plain = {nullptr, PTRDIFF_MAX, PTRDIFF_MIN, 3};  // strides do not count
      *to = put_input(from, place(in, s.padding, p.batch, n_heads, n_rows, from.dim),
                      place(of_scales, s.padding, p.batch, n_heads, n_rows, 1), which, scales);
    };
    const narrow_formats &f = numbers.formats;
    put(numbers.q, f.q, p.n_heads, p.n_q, slot_narrow_q, slot_q_scales, &narrow_.q, &placed->call.q);
    put(numbers.k, f.k, p.n_kv_heads, p.n_kv, slot_narrow_k, slot_k_scales, &narrow_.k, &placed->call.k);
    put(numbers.v, f.v, p.n_kv_heads, p.n_kv, slot_narrow_v, slot_v_scales, &narrow_.v, &placed->call.v);
    if (f.out != own) {
      placed->call.out.data = nullptr;
      bytes_ = HEED_DTYPE_BYTES(f.out);
      out_ = fence_of(slot_narrow_out) - out_place_.extent() * bytes_;
      std::memset(out_ - guard, fill, guard + out_place_.extent() * bytes_);
      narrow_.out = {out_, f.out, out_place_.batch_stride, out_place_.head_stride, out_place_.row_stride};
    }
    placed->narrow = this;
    placed->options.put_narrow(&narrow_);
    placed->call.options = placed->options.get();
  }
  placed_narrow(const placed_narrow &) = delete;
  placed_narrow &operator=(const placed_narrow &) = delete;

  heed_typed_tensors *get() { return &narrow_; }

  // Widened, where the rows of out were.
  void copy_out(const fenced_floats &to) const override {
    if (format_ == own) return;
    std::vector<bool> is_row(out_place_.extent() * bytes_);
    each_row(out_place_, [&](size_t at, size_t) {
      EXPECT_EQ(heed_convert_to_f32(heed_typed_matrix_of(out_ + at * bytes_, nullptr, format_, 1, out_place_.dim),
                                    heed_matrix_out_of(to.data() + at, 1, out_place_.dim)),
                HEED_OK);
      std::fill_n(is_row.begin() + std::ptrdiff_t(at * bytes_), size_t(out_place_.dim) * bytes_, true);
    });
    size_t n_written = 0;
    for (size_t i = 0; i < is_row.size(); ++i) n_written += !is_row[i] && out_[i] != fill;
    for (size_t i = 1; i <= guard; ++i) n_written += *(out_ - i) != fill;
    EXPECT_EQ(n_written, 0u) << "bytes around the rows of out were written";
  }

 private:
  static constexpr size_t guard = 64;
  static constexpr unsigned char fill = 0xff;  // NaN
  static heed_typed_tensor put_input(const narrow_numbers &from, const placement &at, const placement &scales_at,
                                     slot which, slot of_scales) {
    const size_t bytes = HEED_DTYPE_BYTES(from.dtype), row = size_t(from.dim) * bytes;
    unsigned char *const data = fence_of(which) - at.extent() * bytes;
    std::memset(data, fill, at.extent() * bytes);
    each_row(at, [&](size_t to, size_t index) { std::memcpy(data + to * bytes, &from.bytes[index * bytes], row); });
    heed_tensor scales = {nullptr, -1, -1, -1};
    if (from.dtype == HEED_INT8) {
      const fenced_floats memory(of_scales, scales_at.extent(), unread_bits);
      scatter(scales_at, from.scales, memory.data());
      scales = input_view(scales_at, memory.data());
    }
    return {data, scales, from.dtype, at.batch_stride, at.head_stride, at.row_stride};
  }

  const placement out_place_;
  const int32_t format_;
  heed_typed_tensors narrow_;
  unsigned char *out_ = nullptr;
  size_t bytes_ = 0;
};

inline attention_result run_narrow(const problem &p, const setting &s, const narrow_problem &numbers,
                                   const heed_cache *cache = nullptr) {
  placed_call placed(p, s);
  if (cache) placed.read(cache);
  const placed_narrow narrow(p, s, numbers, &placed);
  return run(&placed, p, s);
}

}  // namespace heed_test

#endif
