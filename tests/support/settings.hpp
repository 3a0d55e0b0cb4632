// Random layouts, workspace sizes and executors. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_SETTINGS_HPP
#define HEED_TESTS_SUPPORT_SETTINGS_HPP

#include <memory>
#include <vector>

#include "executors.hpp"
#include "run.hpp"

namespace heed_test {

inline int64_t work_of(const problem &p) {
  return int64_t{p.batch} * p.n_heads * p.n_q * p.n_kv * (p.head_dim + p.v_dim);
}

// Makes a random shape smaller until the slow scalar reference takes about a millisecond.
inline void limit_work(int64_t most, problem *p) {
  if (work_of(*p) > most) p->batch = 1;
  if (work_of(*p) > most) p->n_heads = p->n_kv_heads;
  if (work_of(*p) > most) p->n_heads = p->n_kv_heads = 1;
  while (work_of(*p) > most && p->n_q > 1) p->n_q -= (p->n_q + 3) / 4;
  while (work_of(*p) > most && p->v_dim > 1) p->v_dim /= 2;
}

// Makes a random shape larger until a call is worth threads, which small ones are not.
inline void grow_work(random_source &r, int64_t least, problem *p) {
  if (p->causal_offset < 0) p->causal_offset = 0;
  for (int32_t tries = 0; work_of(*p) < least * (p->causal ? 2 : 1) && tries < 40; ++tries) {
    const int32_t kind = r.between(0, 3);
    if (kind < 2 && p->n_kv < 6000) p->n_kv = 2 * p->n_kv + 1;
    if (kind == 2 && p->n_q < 150) p->n_q = 2 * p->n_q + 1;
    if (kind == 3 && p->head_dim + p->v_dim < 200) p->head_dim = 2 * p->head_dim + 1, ++p->v_dim;
  }
}

inline std::unique_ptr<test_executor> random_executor(random_source &r) {
  const int32_t n_workers = r.chance(90) ? r.between(1, 8) : r.between(9, 1024);
  if (r.chance(45)) return std::make_unique<reverse_executor>(n_workers);
  if (r.chance(85)) return std::make_unique<interleaved_executor>(n_workers);
  return std::make_unique<thread_executor>(r.between(1, 8));
}

// Sizes at which the tiles change, and any between.
inline size_t random_workspace_bytes(random_source &r, const problem &p, int32_t n_workers) {
  const size_t least = heed_workspace_min_bytes(p.head_dim, p.v_dim);
  const size_t recommended = heed_workspace_bytes(p.head_dim, p.v_dim) * static_cast<size_t>(n_workers);
  switch (r.between(0, 5)) {
    case 0:
      return least;
    case 1:
      return recommended;
    case 2:
      return 2 * recommended;
    case 3:
      return least + static_cast<size_t>(r.between(0, 63));
    default:
      return least + r.next() % (recommended - least + 1);
  }
}

inline setting random_setting(random_source &r, const problem &p, const test_executor *executor) {
  setting s;
  s.in = all_layouts[r.between(0, 4)];
  s.out = all_layouts[r.between(0, 4)];
  s.padding = r.between(1, 17);
  s.weights = r.chance(40);
  s.executor = executor ? executor->get() : nullptr;
  s.workspace_bytes = random_workspace_bytes(r, p, executor ? executor->get()->n_workers : 1);
  if (s.workspace_bytes > size_t{16} << 20) s.workspace_bytes = size_t{16} << 20;
  if (!p.options.any()) return s;
  s.weights = false;  // as the options say
  if (!p.options.partial) return s;
  s.keys = r.chance(50) ? keys_in::calls : keys_in::merged_chunks;
  for (int32_t first = 1024; first < p.n_kv; first += 1024)
    if (r.chance(50)) s.splits.push_back(first);
  return s;
}

// What the reference runs with: the smallest workspace, one thread, contiguous.
inline setting plain_setting(const problem &p, bool weights) {
  setting s;
  s.workspace_bytes = heed_workspace_min_bytes(p.head_dim, p.v_dim);
  s.weights = weights;
  return s;
}

}  // namespace heed_test

#endif
