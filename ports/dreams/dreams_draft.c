/* See dreams_draft.h. SPDX-License-Identifier: MIT */
#include "dreams_draft.h"

enum { text_begin = 1, longest_pause = 64 };

/* What followed the newest two tokens when they came last: how many tokens, from *at on. */
static int32_t find(const int32_t *tokens, int32_t n, int32_t most, int32_t *at) {
  for (int32_t i = n - 2; i >= 1; --i) {
    if (tokens[i] != tokens[n - 1] || tokens[i - 1] != tokens[n - 2]) continue;
    *at = i + 1;
    return n - 1 - i < most ? n - 1 - i : most;
  }
  return 0;
}

/* Tokens that are read beyond the newest one: they fit the memory, the context, and what a ring can take back. */
static int32_t room_for(const dreams *net, const dreams_draft *d, int32_t n, int32_t capacity) {
  const heed_cache_shape *shape = &net->layers[0].cache.shape;
  int32_t most = d->most < DREAMS_DRAFT_MOST ? d->most : DREAMS_DRAFT_MOST;
  if (most > capacity - n - 1) most = capacity - n - 1;
  if (shape->kind == HEED_CACHE_RING && most > shape->spare) most = shape->spare;
  if (shape->kind != HEED_CACHE_RING && most > shape->capacity - n) most = shape->capacity - n;
  return most > 0 ? most : 0;
}

static float blend(float old, float now) { return old == 0 ? now : old + (now - old) / 8; }

/* Drafts that cost time are given up, each time for longer. */
static void judge(dreams_draft *d, int32_t n_drafted, int32_t n_new, uint64_t ticks) {
  const float each = (float)ticks / (float)n_new;
  if (n_drafted == 0) {
    d->plain = blend(d->plain, each);
    return;
  }
  d->drafted = blend(d->drafted, each);
  if (d->plain == 0 || d->drafted <= d->plain) {
    d->next_pause = 1;
    return;
  }
  d->pause = d->next_pause;
  d->drafted = 0; /* after the pause it is looked at anew */
  if (d->next_pause < longest_pause) d->next_pause *= 2;
}

/* Chooses after each row as long as the choice is the token that was read next. Returns how many tokens are new. */
static int32_t choose(const dreams *net, dreams_choice *choice, const int32_t *read, int32_t n_read, int32_t *to,
                      const float *logits, heed_memory sampling) {
  int32_t n = 0;
  while (n < n_read) {
    to[n] = dreams_choose(choice, logits + (ptrdiff_t)n * net->model.n_tokens, net->model.n_tokens, sampling);
    ++n;
    if (to[n - 1] == text_begin || n == n_read || to[n - 1] != read[n]) break;
  }
  return n;
}

static dreams_status take_back(dreams *net, int64_t length) {
  for (int32_t l = 0; l < net->model.n_layers; ++l) {
    const heed_status status = heed_cache_truncate(&net->layers[l].cache, 0, length);
    if (status == HEED_OK) continue;
    net->failure = status;
    return DREAMS_HEED_FAILED;
  }
  return DREAMS_OK;
}

dreams_status dreams_draft_next(dreams *net, dreams_draft *d, dreams_choice *choice, int32_t *tokens, int32_t *n,
                                int32_t capacity, float *logits, heed_memory sampling) {
  if (net == NULL || d == NULL || choice == NULL || tokens == NULL || n == NULL) return DREAMS_NULL_POINTER;
  if (net->model.n_layers == 0) return DREAMS_NOT_READY;
  const int64_t position = dreams_position(net);
  if (*n < 1 || *n >= capacity || position != *n - 1) return DREAMS_WRONG_COUNT;
  int32_t read[1 + DREAMS_DRAFT_MOST], at = 0, n_drafted = 0;
  if (d->pause > 0)
    d->pause--;
  else
    n_drafted = find(tokens, *n, room_for(net, d, *n, capacity), &at);
  read[0] = tokens[*n - 1];
  for (int32_t i = 0; i < n_drafted; ++i) read[1 + i] = tokens[at + i];

  const uint64_t start = d->clock != NULL ? d->clock(d->clock_user) : 0;
  dreams_see *const see = net->see;
  net->see = NULL; /* rows of a draft may not stay */
  dreams_status status = dreams_read(net, read, 1 + n_drafted, logits, 1 + n_drafted);
  net->see = see;
  if (status != DREAMS_OK) return status;
  const int32_t n_new = choose(net, choice, read, 1 + n_drafted, tokens + *n, logits, sampling);
  if (n_new <= n_drafted) status = take_back(net, position + n_new);
  if (d->clock != NULL) judge(d, n_drafted, n_new, d->clock(d->clock_user) - start);
  if (see != NULL)
    see(net->see_user, net->model.n_layers, position, heed_matrix_of(logits, n_new, net->model.n_tokens));
  d->n_calls++;
  d->n_drafted += n_drafted;
  d->n_kept += n_new - 1;
  *n += n_new;
  return status;
}
