/* Several tokens a call, and the same text: what followed when the newest two tokens came before is read along with the newest
 * one, and stays as far as the logits choose it. Tokens and logits keep their bits, because a row of logits depends on the
 * tokens before it alone, not on those that are read with it. C99 and C++, in memory of the caller. SPDX-License-Identifier: MIT
 *
 *   dreams_draft draft = dreams_draft_default();
 *   draft.clock = ticks;                                           // drafts are given up while they cost time
 *   dreams_read(&net, tokens, n - 1, NULL, 0);                     // the prompt without its last token
 *   while (n < capacity && dreams_draft_next(&net, &draft, &choice, tokens, &n, capacity, logits, sampling) == DREAMS_OK) ...
 *
 * Source: Leviathan et al. 2023 (drafts that change nothing); Saxena 2023, prompt lookup decoding (drafts from the text). */
#ifndef HEED_DREAMS_DRAFT_H
#define HEED_DREAMS_DRAFT_H

#include "dreams.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DREAMS_DRAFT_MOST = 7 };

/* Fields but clock, clock_user and most are private. */
typedef struct dreams_draft {
  uint64_t (*clock)(void *clock_user); /* null: drafts wherever a text repeats; ticks of any unit */
  void *clock_user;
  int32_t most;  /* tokens of a draft: 0 to DREAMS_DRAFT_MOST */
  int32_t pause; /* calls without a draft that are left */
  int32_t next_pause;
  float plain, drafted;               /* ticks a token, of late; 0: unknown */
  int64_t n_calls, n_drafted, n_kept; /* so far: calls of dreams_read, tokens of drafts, and those that stayed */
} dreams_draft;
static inline dreams_draft dreams_draft_default(void) {
  const dreams_draft d = {NULL, NULL, DREAMS_DRAFT_MOST, 0, 1, 0, 0, 0, 0, 0};
  return d;
}

/* tokens (capacity), of which *n are there and all but the last are read: reads the last, and appends 1 to 1 + most chosen
 * tokens, as many as there is room for. Behind a token 1, which begins another text, none is appended. logits (1 + most,
 * n_tokens): of the tokens that were read, in their order; rows behind those that stayed are of no use. net.see sees the
 * logits of tokens that stay, and no other rows. sampling: as dreams_choose.
 * Status: as dreams_read; WRONG_COUNT if not all but the last token are read, or there is no room for one. */
dreams_status dreams_draft_next(dreams *net, dreams_draft *draft, dreams_choice *choice, int32_t *tokens, int32_t *n,
                                int32_t capacity, float *logits, heed_memory sampling);

#ifdef __cplusplus
}
#endif

#endif
