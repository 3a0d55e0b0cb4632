/* The parts of the demo. Each prints what it does. SPDX-License-Identifier: MIT */
#ifndef HEED_DEMO_H
#define HEED_DEMO_H

/* Worked examples with known answers, as tables. map: null, or a file for heed_map. Returns how many answers are wrong. */
int demo_sentence(const char *map);
/* Every kernel of this processor against the scalar reference, bit by bit. Returns 0 if all are equal. */
int demo_selftest(void);
/* Time and share of this machine's peak for every named shape. Returns 0, or 1 if a call failed. */
int demo_speed(void);

#endif
