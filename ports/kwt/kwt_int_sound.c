/* From sound to tokens in integers; see kwt_int.h. SPDX-License-Identifier: MIT
 *
 * A frame is shifted up until it has 15 bits, so quiet clips keep their accuracy. The Fourier transform of its 512 real
 * numbers is one of 256 complex ones with 30 bits, halved in each of 8 stages, so that nothing overflows; its rounding
 * errors lie 160 dB below full scale. Right shifts of negative numbers are arithmetic, as with every compiler of heed. */
#include "kwt_int.h"

enum { half_period = KWT_PERIOD / 2, quarter = KWT_PERIOD / 4, stages = 8 };

typedef struct number {
  int32_t re, im;
} number;

/* x * w for w * 2^30 */
static int32_t times(int32_t x, int32_t w) { return (int32_t)(((int64_t)x * w) >> 30); }

static int32_t bits_of(uint32_t x) { return x ? 32 - __builtin_clz(x) : 0; }

/* How far a frame can be shifted up, to 15 bits. */
static int32_t room_above(const int16_t *frame) {
  uint32_t all = 0;
  for (int32_t i = 0; i < KWT_FRAME; ++i) all |= (uint32_t)(frame[i] < 0 ? ~frame[i] : frame[i]);
  return 15 - bits_of(all);
}

/* z (256): pairs of windowed samples as complex numbers, and zeros. A sample's unit becomes 2^(14 + shift). */
static void load(const kwt_int_sound *sound, const int16_t *frame, int32_t shift, number *z) {
  const int16_t *window = sound->window;
  const int32_t factor = (int32_t)1 << shift;
  for (int32_t i = 0; i < KWT_FRAME / 2; ++i) {
    z[i].re = (frame[2 * i] * factor * window[2 * i]) >> 1;
    z[i].im = (frame[2 * i + 1] * factor * window[2 * i + 1]) >> 1;
  }
  for (int32_t i = KWT_FRAME / 2; i < half_period; ++i) z[i].re = z[i].im = 0;
}

/* Decimation in frequency, in place: bins come out in the order of their reversed bits, divided by 256. */
static void transform(const int32_t *sine, number *z) {
  for (int32_t span = half_period / 2; span > 0; span /= 2) {
    const int32_t step = quarter / span * 2; /* of the angle, in 512ths of a turn */
    for (int32_t k = 0; k < span; ++k) {
      const int32_t s = sine[k * step], c = sine[k * step + quarter];
      for (int32_t i = k; i < half_period; i += 2 * span) {
        number *a = z + i, *b = a + span;
        const int32_t re = (a->re - b->re) >> 1, im = (a->im - b->im) >> 1;
        a->re = (a->re + b->re) >> 1;
        a->im = (a->im + b->im) >> 1;
        b->re = times(re, c) + times(im, s);
        b->im = times(im, c) - times(re, s);
      }
    }
  }
}

/* The lower 8 bits, the other way round. */
static uint32_t reversed(uint32_t k) {
  k = (k & 0xf0) >> 4 | (k & 0x0f) << 4;
  k = (k & 0xcc) >> 2 | (k & 0x33) << 2;
  return (k & 0xaa) >> 1 | (k & 0x55) << 1;
}

/* sqrt(x), rounded down */
static uint32_t root_of(uint32_t x) {
  uint32_t root = 0;
  for (uint32_t bit = UINT32_C(1) << 30; bit != 0; bit >>= 2) {
    const uint32_t trial = root + bit;
    root >>= 1;
    if (x >= trial) {
      x -= trial;
      root += bit;
    }
  }
  return root;
}

/* |re + i im|, of which 15 bits at least are right */
static uint32_t magnitude(int32_t re, int32_t im) {
  const uint32_t a = (uint32_t)(re < 0 ? -re : re), b = (uint32_t)(im < 0 ? -im : im);
  const int32_t shift = bits_of(a | b) - 15;
  if (shift < 0) return root_of((a << -shift) * (a << -shift) + (b << -shift) * (b << -shift)) >> -shift;
  return root_of((a >> shift) * (a >> shift) + (b >> shift) * (b >> shift)) << shift;
}

/* Bins of the real frame from those of its pairs: the even samples' plus the odd ones' turned by k / 512. */
static void magnitudes(const int32_t *sine, const number *z, uint32_t *bins) {
  for (int32_t k = 0; k < KWT_N_BINS; ++k) {
    const number a = z[reversed((uint32_t)k)], b = z[reversed((uint32_t)(half_period - k))];
    const int32_t even_re = (a.re >> 1) + (b.re >> 1), even_im = (a.im >> 1) - (b.im >> 1);
    const int32_t odd_re = (a.re >> 1) - (b.re >> 1), odd_im = (a.im >> 1) + (b.im >> 1);
    const int32_t s = sine[k], c = sine[k + quarter];
    bins[k] = magnitude(even_re + times(odd_im, c) - times(odd_re, s), even_im - times(odd_re, c) - times(odd_im, s));
  }
}

/* log2(x) * 2^9, rounded; x > 0. A square has twice the logarithm: one bit of it each. */
static int32_t log_of(uint64_t x) {
  const uint32_t high = (uint32_t)(x >> 32);
  int32_t log = (high ? 32 + bits_of(high) : bits_of((uint32_t)x)) - 1;
  uint32_t y = log > 15 ? (uint32_t)(x >> (log - 15)) : (uint32_t)x << (15 - log); /* 1 to 2, * 2^15 */
  for (int32_t i = 0; i <= KWT_INT_LOG_BITS; ++i) {
    y = y * y >> 15;
    log = 2 * log + (int32_t)(y >> 16);
    y >>= y >> 16;
  }
  return (log + 1) >> 1;
}

static int16_t clamped(int32_t x) { return (int16_t)(x < -32767 ? -32767 : x > 32767 ? 32767 : x); }

void kwt_int_logs(const kwt_int_sound *sound, const uint16_t *mel, const int16_t *frame, void *room, int16_t *logs) {
  number *const z = (number *)room;
  uint32_t *const bins = (uint32_t *)(z + half_period);
  const int32_t shift = room_above(frame);
  load(sound, frame, shift, z);
  transform(sound->sine, z);
  magnitudes(sound->sine, z, bins);
  /* A band of full scale: 15 bits of the samples, 14 and shift of the load less 8 of the stages, 15 of the mel weights. */
  const int32_t unit = (15 + 14 + shift - stages + 15) << KWT_INT_LOG_BITS;
  for (int32_t m = 0; m < KWT_N_MEL; ++m) {
    const uint32_t *from = bins + sound->mel_first[m];
    uint64_t sum = 0;
    for (int32_t i = 0; i < sound->mel_n[m]; ++i) sum += (uint64_t)from[i] * *mel++;
    const int32_t log = sum > 0 ? log_of(sum) - unit : sound->log_floor;
    logs[m] = clamped(log > sound->log_floor ? log : sound->log_floor);
  }
}

int32_t kwt_int_scaled(int32_t x, heed_multiplier m) {
  const int32_t shift = 31 - m.e;
  return (int32_t)(((int64_t)x * m.m + ((int64_t)1 << (shift - 1))) >> shift);
}

void kwt_int_embed(const kwt_int_sound *sound, const int16_t *logs, const int16_t *start, int16_t *token) {
  for (int32_t d = 0; d < KWT_DIM; ++d) {
    const int16_t *w = sound->embedding[d];
    int32_t sum = 0;
    for (int32_t m = 0; m < KWT_N_MEL; ++m) sum += logs[m] * w[m];
    token[d] = clamped((int32_t)((uint32_t)start[d] + (uint32_t)kwt_int_scaled(sum, sound->embedding_unit[d])));
  }
}
