// Partial results made, merged and finished, wrong in every way. SPDX-License-Identifier: MIT
#include "support/partials.hpp"

namespace heed_test {
namespace {

class bad_merge : public partial_test {
 protected:
  heed_status finish() { return heed_partial_finish(total_, set_.sinks, out(), set_.lse); }
  void finish_refuses(heed_fault fault, heed_argument argument, const std::string &what) {
    memory_.refuses([this] { return finish(); }, fault, argument, what);
    set_.restore();
    make(total_, total_data_, 0, n_kv);
  }
};

TEST_F(bad_merge, init) {
  const auto refuses = [this](heed_fault fault, heed_argument argument, const std::string &what, P *p,
                              heed_memory memory, int32_t first_key) {
    memory_.refuses([&] { return heed_partial_init(p, batch, heads, n_q, v_dim, first_key, memory); }, fault, argument,
                    what);
  };
  const heed_memory good = floats(total_data_);
  refuses(HEED_NULL_POINTER, HEED_ARG_PARTIAL, "null", nullptr, good, 0);
  refuses(HEED_MISALIGNED, HEED_ARG_PARTIAL, "object", misaligned(total_, 2), good, 0);
  refuses(HEED_OVERLAP, HEED_ARG_PARTIAL, "in its memory", reinterpret_cast<P *>(in_ + 16), floats(in_), 0);
  refuses(HEED_NULL_POINTER, HEED_ARG_MEMORY, "null", total_, floats(nullptr), 0);
  refuses(HEED_MISALIGNED, HEED_ARG_MEMORY, "memory", total_, floats(misaligned(total_data_)), 0);
  refuses(HEED_MISALIGNED, HEED_ARG_MEMORY, "memory", total_, floats(misaligned(total_data_, 2)), 0);
  refuses(HEED_TOO_SMALL, HEED_ARG_MEMORY, "one byte short", total_, heed_memory_of(good.data, good.bytes - 1), 0);
  refuses(HEED_TOO_SMALL, HEED_ARG_MEMORY, "empty", total_, heed_memory_of(good.data, 0), 0);
  refuses(HEED_OVERFLOW, HEED_ARG_MEMORY, "at the top of memory", total_, floats(top_of_memory()), 0);
  for (const int32_t wrong : {-1024, -1, INT32_MIN})
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_FIRST_KEY, "negative", total_, good, wrong);
  for (const int32_t wrong : {HEED_MAX_COUNT + 1, HEED_MAX_COUNT + 1024, INT32_MAX})
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_FIRST_KEY, "too many", total_, good, wrong);
  for (const int32_t wrong : {1, 64, 1023, 1025})
    refuses(HEED_BAD_SPLIT, HEED_ARG_FIRST_KEY, "no multiple", total_, good, wrong);
}

TEST_F(bad_merge, init_counts) {
  const heed_memory all = heed_memory_of(total_data_, SIZE_MAX);
  EXPECT_EQ(heed_partial_bytes(batch, heads, n_q, v_dim), floats(nullptr).bytes);
  struct row {
    heed_argument argument;
    int place;
    int32_t most;
  };
  for (const row &r : {row{HEED_ARG_BATCH_SIZE, 0, HEED_MAX_COUNT}, row{HEED_ARG_N_HEADS, 1, HEED_MAX_DIM},
                       row{HEED_ARG_N_Q, 2, HEED_MAX_COUNT}, row{HEED_ARG_V_DIM, 3, HEED_MAX_DIM}})
    for (const int32_t wrong : {0, -1, INT32_MIN, r.most + 1, INT32_MAX}) {
      int32_t n[] = {batch, heads, n_q, v_dim};
      n[r.place] = wrong;
      memory_.refuses([&] { return heed_partial_init(total_, n[0], n[1], n[2], n[3], 0, all); }, HEED_OUT_OF_RANGE,
                      r.argument, "count " + std::to_string(wrong));
      EXPECT_EQ(heed_partial_bytes(n[0], n[1], n[2], n[3]), 0u) << "count " << wrong;
    }
  // More rows than a size_t counts, then more floats, then more bytes than half of memory.
  for (const auto &[of_q, of_v] : {std::pair(HEED_MAX_COUNT, HEED_MAX_DIM), {1 << 17, 1}, {1 << 14, 1}})
    memory_.refuses(
        [&, of_q = of_q, of_v = of_v] {
          return heed_partial_init(total_, HEED_MAX_COUNT, HEED_MAX_DIM, of_q, of_v, 0, all);
        },
        HEED_OVERFLOW, HEED_ARG_MEMORY, "larger than memory");
}

TEST_F(bad_merge, merge) {
  const auto refuses = [this](heed_fault fault, heed_argument argument, const std::string &what, P *total,
                              const P *part) {
    memory_.refuses([&] { return heed_partial_merge(total, part); }, fault, argument, what);
    make(total_, total_data_, 0, 1024);
    make(part_, part_data_, 1024, 1024);
  };
  refuses(HEED_NULL_POINTER, HEED_ARG_TOTAL, "total", nullptr, part_);
  refuses(HEED_NULL_POINTER, HEED_ARG_PARTIAL, "part", total_, nullptr);
  refuses(HEED_MISALIGNED, HEED_ARG_TOTAL, "total", misaligned(total_), part_);
  refuses(HEED_MISALIGNED, HEED_ARG_PARTIAL, "part", total_, misaligned(part_, 2));
  std::vector<flaw<P>> flaws = partial_flaws();
  for (const flaw<P> &f : partial_count_flaws()) flaws.push_back(f);
  for (const flaw<P> &f : flaws) {
    f.apply(*total_);
    refuses(f.fault, HEED_ARG_TOTAL, f.what, total_, part_);
    f.apply(*part_);
    refuses(f.fault, HEED_ARG_PARTIAL, f.what, total_, part_);
  }
  for (int32_t P::*count : {&P::batch_size, &P::n_heads, &P::n_q, &P::v_dim}) {
    --(part_->*count);
    refuses(HEED_SHAPE_MISMATCH, HEED_ARG_PARTIAL, "shape", total_, part_);
  }
  part_->n_keys = 1025;
  refuses(HEED_BAD_SPLIT, HEED_ARG_PARTIAL, "more than a chunk", total_, part_);
  for (const int32_t wrong : {0, 1023, 1025, 2048}) {
    part_->first_key = wrong;
    refuses(HEED_BAD_SPLIT, HEED_ARG_FIRST_KEY, "does not follow", total_, part_);
  }
  total_->n_keys = 1000, part_->first_key = 1000;
  refuses(HEED_BAD_SPLIT, HEED_ARG_FIRST_KEY, "no multiple of 1024", total_, part_);
}

TEST_F(bad_merge, overlap_in_merge) {
  make(total_, total_data_, 0, 1024);
  make(part_, part_data_, 1024, 1024);
  const auto refuses = [this](const std::string &what, P *total, const P *part) {
    memory_.refuses([&] { return heed_partial_merge(total, part); }, HEED_OVERLAP, HEED_ARG_TOTAL, what);
    make(total_, total_data_, 0, 1024);
    make(part_, part_data_, 1024, 1024);
  };
  part_->data = total_data_ + n_floats - 1;
  refuses("one memory", total_, part_);
  total_->data = reinterpret_cast<float *>(&part_->data);
  refuses("the part in the total", total_, part_);
  total_->data = reinterpret_cast<float *>(&total_->data);
  refuses("in itself", total_, part_);
  part_->data = reinterpret_cast<float *>(&total_->n_keys);
  refuses("the total in the part's numbers", total_, part_);
}

TEST_F(bad_merge, finish_arguments) {
  make(total_, total_data_, 0, n_kv);
  memory_.refuses([this] { return heed_partial_finish(nullptr, nullptr, out(), nullptr); }, HEED_NULL_POINTER,
                  HEED_ARG_PARTIAL, "null");
  memory_.refuses([this] { return heed_partial_finish(misaligned(total_, 2), nullptr, out(), nullptr); },
                  HEED_MISALIGNED, HEED_ARG_PARTIAL, "misaligned");
  std::vector<flaw<P>> flaws = partial_flaws();
  for (const flaw<P> &f : partial_count_flaws()) flaws.push_back(f);
  for (const flaw<P> &f : flaws) {
    f.apply(*total_);
    finish_refuses(f.fault, HEED_ARG_PARTIAL, f.what);
  }
  std::vector<flaw<heed_tensor_out>> bad_outs = tensor_flaws<heed_tensor_out>();
  bad_outs.push_back({"null", [](heed_tensor_out &t) { t.data = nullptr; }, HEED_NULL_POINTER});
  bad_outs.push_back({"rows overlap", [](heed_tensor_out &t) { t.row_stride = v_dim - 1; }, HEED_BAD_STRIDE});
  for (const flaw<heed_tensor_out> &f : bad_outs) {
    heed_tensor_out bad = out();
    f.apply(bad);
    memory_.refuses([&] { return heed_partial_finish(total_, nullptr, bad, nullptr); }, f.fault, HEED_ARG_OUT, f.what);
  }
  *set_.options = heed_options_default();
  set_.options->sinks = set_.sinks, set_.options->lse = set_.lse;
  for (const option_flaw &f : flaws_of_options(set_.shape(), *set_.options, true)) {
    if (f.argument == HEED_ARG_OPTIONS) continue;
    heed_options o = *set_.options;
    f.apply(o);
    memory_.refuses([&] { return heed_partial_finish(total_, o.sinks, out(), o.lse); }, f.fault, f.argument, f.what);
    set_.restore();
  }
}

TEST_F(bad_merge, overlap_in_finish) {
  make(total_, total_data_, 0, n_kv);
  const option_set::piece pieces[] = {{"partial", total_, sizeof *total_},
                                      {"numbers", total_data_, n_floats * 4},
                                      {"sinks", set_.sinks, sizeof *set_.sinks},
                                      {"logits", set_.logits, heads * 4},
                                      {"lse", set_.lse, sizeof *set_.lse}};
  for (const option_set::piece &p : pieces) {
    float *first = static_cast<float *>(p.data), *last = first + p.bytes / 4 - 1;
    for (float *to : {first, last}) {
      const heed_tensor_out bad = heed_token_major_out(to, n_q, heads, v_dim);
      memory_.refuses([&] { return heed_partial_finish(total_, set_.sinks, bad, set_.lse); }, HEED_OVERLAP,
                      HEED_ARG_OUT, "out on " + p.name);
      set_.lse->out.data = to;
      finish_refuses(HEED_OVERLAP, HEED_ARG_LSE, "lse on " + p.name);
    }
  }
  set_.lse->out.data = out_ + 1;
  finish_refuses(HEED_OVERLAP, HEED_ARG_OUT, "lse on out");
}

}  // namespace
}  // namespace heed_test
