// The greatest of a row, the k largest, and a token drawn from logits (rule 28). Plain loops, the same on every kernel;
// only the probabilities come from the kernel's softmax.
#include "../isa_choice/front_door.hpp"
#include "../checks/validate.hpp"

namespace heed {
namespace {

constexpr int32_t looked_at_once = 16;

// Whether there is a greater one among 16: four maxima, without a branch for each number.
HEED_INLINE bool one_is_greater(const float *x, float than) {
  float most[4] = {than, than, than, than};
  for (int32_t i = 0; i < looked_at_once; i += 4)
    for (int32_t k = 0; k < 4; k++) most[k] = maximum_over_nan(most[k], x[i + k]);
  return most[0] > than || most[1] > than || most[2] > than || most[3] > than;
}

// f(i) where x[i] is greater than limit(), i ascending. f may raise the limit. NaN is greater than nothing.
template <class Limit, class F>
HEED_INLINE void for_greater(const float *x, int32_t begin, int32_t n, Limit limit, F f) {
  int32_t i = begin;
  for (; i + looked_at_once <= n; i += looked_at_once) {
    if (!one_is_greater(x + i, limit())) continue;
    for (int32_t j = i; j < i + looked_at_once; j++)
      if (x[j] > limit()) f(j);
  }
  for (; i < n; i++)
    if (x[i] > limit()) f(i);
}

int32_t greatest_of(const float *x, int32_t n) {
  int32_t best = 0;
  while (best < n && x[best] != x[best]) best++;
  if (best == n) return -1;
  for_greater(
      x, best + 1, n, [&]() HEED_INLINED { return x[best]; }, [&](int32_t i) HEED_INLINED { best = i; });
  return best;
}

// ----------------------------------------------------------------------------------------------------- the k largest

// Whether a comes behind b, where the greatest number comes first, and of equal ones the lowest index.
HEED_INLINE bool is_behind(const float *x, int32_t a, int32_t b) { return x[a] < x[b] || (x[a] == x[b] && a > b); }

// A heap of indices, the last of all on top: what is at `at` sinks.
void sink_down(const float *x, int32_t *heap, int32_t size, int32_t at) {
  const int32_t moved = heap[at];
  for (int32_t child; (child = 2 * at + 1) < size; at = child) {
    if (child + 1 < size && is_behind(x, heap[child + 1], heap[child])) child++;
    if (!is_behind(x, heap[child], moved)) break;
    heap[at] = heap[child];
  }
  heap[at] = moved;
}

// Writes the indices of the k largest, the greatest first. Returns how many there are that are numbers.
int32_t find_largest(const float *x, int32_t n, int32_t k, int32_t *indices) {
  int32_t size = 0, i = 0;
  for (; i < n && size < k; i++)
    if (x[i] == x[i]) indices[size++] = i;
  for (int32_t at = size / 2 - 1; at >= 0; at--) sink_down(x, indices, size, at);
  if (size == k)
    for_greater(
        x, i, n, [&]() HEED_INLINED { return x[indices[0]]; },
        [&](int32_t j) HEED_INLINED { indices[0] = j, sink_down(x, indices, size, 0); });
  for (int32_t left = size - 1; left > 0; left--) {
    const int32_t last = indices[0];
    indices[0] = indices[left];
    indices[left] = last;
    sink_down(x, indices, left, 0);
  }
  return size;
}

// ----------------------------------------------------------------------------------------------------- sampling

// Sums of 64 at a time: a long sum of small numbers keeps their bits.
struct running_sum {
  float before = 0.0f, block = 0.0f;
  int32_t n = 0;
  float add(float p) {
    block += p;
    const float sum = before + block;
    if (++n % 64 == 0) before = sum, block = 0.0f;
    return sum;
  }
};

// The tokens that count: the first n in `order`, or in their own order if that is null.
struct chosen_tokens {
  const int32_t *order;
  int32_t n;
  float total;
};

// The first ones that have at least the share top_p of the total.
chosen_tokens first_with(const float *p, const int32_t *order, int32_t n, float least) {
  running_sum sum;
  float total = 0.0f;
  for (int32_t i = 0; i < n; i++) {
    total = sum.add(p[order[i]]);
    if (total >= least) return {order, i + 1, total};
  }
  return {order, n, total};
}

float sum_of_tokens(const float *p, const int32_t *order, int32_t n) {
  running_sum sum;
  float total = 0.0f;
  for (int32_t i = 0; i < n; i++) {
    const int32_t token = order ? order[i] : i;
    total = sum.add(p[token]);
  }
  return total;
}

// Numbers in ascending order of which x is in descending order. Zeros of both signs are equal.
uint32_t rank_of(float x) {
  const uint32_t bits = bits_of_float(x + 0.0f);
  return bits >> 31 ? bits : ~bits & 0x7fffffff;
}

// All indices in `order`, the greatest number first, of equal ones the lowest index: by six digits of 6 bits, the last first,
// from one array to the other and back. `other` has room for as many. Another order of x takes no longer.
HEED_NOINLINE void sort_all(const float *x, int32_t n, int32_t *order, int32_t *other) {
  for (int32_t i = 0; i < n; i++) order[i] = i;
  for (int32_t shift = 0; shift < 32; shift += 6) {
    int32_t begin[64] = {};
    const auto digit = [=](int32_t i) HEED_INLINED { return rank_of(x[i]) >> shift & 63; };
    for (int32_t i = 0; i < n; i++) begin[digit(i)]++;
    for (int32_t d = 0, sum = 0; d < 64; d++) {
      const int32_t count = begin[d];
      begin[d] = sum;
      sum += count;
    }
    for (int32_t i = 0; i < n; i++) other[begin[digit(order[i])]++] = order[i];
    int32_t *const from = order;
    order = other;
    other = from;
  }
}

// softmax() writes p, whose memory sorting takes for a while.
template <class Softmax>
chosen_tokens choose_tokens(const float *x, float *p, int32_t n, int32_t top_k, float top_p, int32_t *order,
                            Softmax softmax) {
  constexpr int32_t few = 64, most = 8 * few;  // a few are enough, as a rule; beyond these sorting is faster
  const bool all = top_k >= n;
  softmax();
  float total = all ? sum_of_tokens(p, nullptr, n) : 0.0f;
  if (all && top_p == 1.0f) return {nullptr, n, total};
  for (int32_t k = all ? few : top_k; k <= most; k *= 8) {
    const int32_t found = find_largest(x, n, smaller_of(k, n), order);
    if (!all) total = sum_of_tokens(p, order, found);
    const chosen_tokens first = first_with(p, order, found, top_p * total);
    if (!all || found == n || first.total >= top_p * total) return first;
  }
  sort_all(x, n, order, reinterpret_cast<int32_t *>(p));
  softmax();
  const int32_t k = all ? n : top_k;
  if (!all) total = sum_of_tokens(p, order, k);
  return first_with(p, order, k, top_p * total);
}

int32_t draw_token(const float *p, const chosen_tokens &from, float random) {
  const float target = random * from.total;
  running_sum sum;
  int32_t token = 0;
  for (int32_t i = 0; i < from.n; i++) {
    const int32_t here = from.order ? from.order[i] : i;
    if (p[here] > 0.0f) token = here;
    if (sum.add(p[here]) > target) break;
  }
  return token;
}

// Whether a softmax of x * c is made of numbers: no NaN, no +infinity, not -infinity alone.
bool has_probabilities(const float *x, int32_t n, float c) {
  int32_t n_bad = 0, n_seen = 0;
  for (int32_t i = 0; i < n; i++) {
    const float logit = x[i] * c;
    n_bad += !(logit <= -least_finite);
    n_seen += logit > negative_infinity;
  }
  return n_bad == 0 && n_seen > 0;
}

// ----------------------------------------------------------------------------------------------------- checks

HEED_NOINLINE heed_status check_argmax(const heed_matrix &x, const int32_t *indices) {
  checker_of<2> check;
  check.matrix(x, HEED_ARG_X);
  if (check.ok()) check.array(indices, static_cast<size_t>(x.n_rows), access::write, HEED_ARG_INDICES);
  return check.finish();
}

HEED_NOINLINE heed_status check_largest(const heed_matrix &x, int32_t k, const int32_t *indices, const float *values) {
  checker_of<3> check;
  check.matrix(x, HEED_ARG_X);
  check.count(k, x.dim, HEED_ARG_K);
  size_t n = 0;
  const bool overflow = check.ok() && __builtin_mul_overflow(static_cast<size_t>(x.n_rows), static_cast<size_t>(k), &n);
  check.require(!overflow, HEED_OVERFLOW, HEED_ARG_INDICES);
  if (check.ok()) check.array(indices, n, access::write, HEED_ARG_INDICES);
  if (check.ok() && values) check.array(values, n, access::write, HEED_ARG_VALUES);
  return check.finish();
}

HEED_NOINLINE heed_status check_sample(const float *x, int32_t n, float temperature, int32_t top_k, float top_p,
                                       float random, const int32_t *result, const heed_memory &workspace) {
  checker_of<3> check;
  check.count(n, HEED_MAX_COUNT, HEED_ARG_N);
  check.floats(x, n, access::read, HEED_ARG_X);
  check.require(is_finite(temperature), HEED_NOT_FINITE, HEED_ARG_TEMPERATURE);
  check.require(temperature > 0.0f && !is_subnormal(temperature) && !is_subnormal(1.0f / temperature),
                HEED_OUT_OF_RANGE, HEED_ARG_TEMPERATURE);
  check.count(top_k, HEED_MAX_COUNT, HEED_ARG_TOP_K);
  check.require(is_finite(top_p), HEED_NOT_FINITE, HEED_ARG_TOP_P);
  check.require(top_p > 0.0f && top_p <= 1.0f, HEED_OUT_OF_RANGE, HEED_ARG_TOP_P);
  check.require(is_finite(random), HEED_NOT_FINITE, HEED_ARG_RANDOM);
  check.require(random >= 0.0f && random < 1.0f, HEED_OUT_OF_RANGE, HEED_ARG_RANDOM);
  if (check.ok()) check.array(result, 1, access::write, HEED_ARG_RESULT);
  const size_t bytes = heed_sample_bytes(n);
  check.require(bytes != 0, HEED_OVERFLOW, HEED_ARG_WORKSPACE);
  if (check.ok()) check.room(workspace, bytes, HEED_ALIGNMENT, HEED_ARG_WORKSPACE);
  if (check.finish() == HEED_OK)
    check.require(has_probabilities(x, n, 1.0f / temperature * log2e), HEED_NOT_FINITE, HEED_ARG_X);
  return check.status;
}

}  // namespace
}  // namespace heed

heed_status heed_argmax(heed_matrix x, int32_t *indices) {
  const heed_status status = heed::check_argmax(x, indices);
  if (status != HEED_OK) return status;
  for (int32_t r = 0; r < x.n_rows; r++) indices[r] = heed::greatest_of(x.data + r * x.row_stride, x.dim);
  return HEED_OK;
}

heed_status heed_topk(heed_matrix x, int32_t k, int32_t *indices, float *values) {
  const heed_status status = heed::check_largest(x, k, indices, values);
  if (status != HEED_OK) return status;
  for (int32_t r = 0; r < x.n_rows; r++, indices += k) {
    const float *const row = x.data + r * x.row_stride;
    for (int32_t i = heed::find_largest(row, x.dim, k, indices); i < k; i++) indices[i] = -1;
    for (int32_t i = 0; values && i < k; i++) *values++ = indices[i] < 0 ? heed::negative_infinity : row[indices[i]];
  }
  return HEED_OK;
}

size_t heed_sample_bytes(int32_t n) {
  const bool fits = n >= 1 && n <= HEED_MAX_COUNT && HEED_SAMPLE_BYTES(n) != SIZE_MAX;
  return fits ? HEED_SAMPLE_BYTES(n) : 0;
}

heed_status heed_sample(const float *x, int32_t n, float temperature, int32_t top_k, float top_p, float random,
                        int32_t *result, heed_memory workspace) {
  const heed_status status = heed::check_sample(x, n, temperature, top_k, top_p, random, result, workspace);
  if (status != HEED_OK) return status;
  auto *const p = static_cast<float *>(workspace.data);
  const auto k = heed_front_door::kernel();
  auto *const order = reinterpret_cast<int32_t *>(p + n);
  const auto softmax = [=]() HEED_INLINED {
    k->softmax({x, n, p, n, 1, n, 1.0f / temperature * heed::log2e, heed::negative_infinity});
  };
  *result = heed::draw_token(p, heed::choose_tokens(x, p, n, top_k, top_p, order, softmax), random);
  return HEED_OK;
}
