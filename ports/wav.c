/* See wav.h. SPDX-License-Identifier: MIT */
#include "wav.h"

#define WRITTEN_TO_A_PIPE UINT32_C(0x7ff00000) /* lengths from here on, and 0, are not known */
#define TAG(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

enum { chunk_header = 8, short_format = 16, long_format = 40, extensible = 0xfffe };

static uint32_t u16_at(const uint8_t *p) { return (uint32_t)(p[0] | p[1] << 8); }
static uint32_t u32_at(const uint8_t *p) { return u16_at(p) | u16_at(p + 2) << 16; }

/* ----------------------------------------------------------------------------------------------------------- format */

/* What follows the kind in the long form: the rest of a GUID that all kinds have in common. */
static int is_known_guid(const uint8_t *p) {
  static const uint8_t rest[] = {0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71};
  for (size_t i = 0; i < sizeof rest; ++i)
    if (p[i] != rest[i]) return 0;
  return 1;
}

static int is_known_kind(const wav_file *wav) {
  if (wav->format == WAV_FLOAT) return wav->bits == 32;
  return wav->format == WAV_PCM && (wav->bits == 8 || wav->bits == 16 || wav->bits == 24 || wav->bits == 32);
}

static const char *read_format(wav_file *wav, const uint8_t *format, size_t n_bytes) {
  if (n_bytes < short_format) return "its format chunk is too short";
  wav->format = (int32_t)u16_at(format);
  wav->channels = (int32_t)u16_at(format + 2);
  wav->rate = u32_at(format + 4);
  wav->bits = (int32_t)u16_at(format + 14);
  if (wav->format == extensible && n_bytes >= long_format && is_known_guid(format + 26))
    wav->format = (int32_t)u16_at(format + 24);
  if (wav->channels == 0 || wav->rate == 0) return "its format chunk states no channel, or 0 Hz";
  wav->is_convertible = 1;
  if (!is_known_kind(wav)) return "has samples of a kind that is not read here";
  if (u16_at(format + 12) != (uint32_t)(wav->channels * wav->bits / 8))
    return "has samples that fill more, or fewer, bytes than their bits";
  wav->is_convertible = 0;
  return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- samples */

static int is_finite(const uint8_t *p) { return (u32_at(p) >> 23 & 255) != 255; }

static const char *take_samples(wav_file *wav, const uint8_t *data, size_t n_bytes) {
  const size_t frame = (size_t)(wav->channels * wav->bits / 8);
  wav->data = data;
  wav->n_samples = n_bytes / frame;
  if (wav->n_samples == 0) return "holds no samples";
  if (wav->format != WAV_FLOAT) return NULL;
  for (size_t at = 0; at < wav->n_samples * frame; at += 4)
    if (!is_finite(data + at)) return "has a sample that is infinite, or not a number";
  return NULL;
}

/* A chunk that lies in n_bytes, such as the tags that some programs write behind samples. */
static int is_chunk(const uint8_t *p, size_t n_bytes) {
  if (n_bytes < chunk_header || u32_at(p + 4) > n_bytes - chunk_header) return 0;
  for (int i = 0; i < 4; ++i)
    if (p[i] < ' ' || p[i] > '~') return 0;
  return 1;
}

/* Bytes of samples in the rest of the file, of which the header states a length. */
static size_t length_of(const uint8_t *data, uint32_t stated, size_t rest) {
  if (stated >= WRITTEN_TO_A_PIPE) return rest;
  return stated == 0 && !is_chunk(data, rest) ? rest : stated;
}

static const char *check_beginning(wav_file *wav, const uint8_t *file, size_t n_bytes) {
  if (n_bytes == 0) return "is empty";
  if (n_bytes < 12 || u32_at(file + 8) != TAG('W', 'A', 'V', 'E')) return "is not a WAV file";
  const uint32_t kind = u32_at(file);
  wav->is_convertible = 1;
  if (kind == TAG('R', 'I', 'F', 'X')) return "is a WAV file of the other byte order (RIFX)";
  if (kind == TAG('R', 'F', '6', '4') || kind == TAG('B', 'W', '6', '4'))
    return "is a WAV file of the kind for more than 4 GB (RF64)";
  wav->is_convertible = 0;
  return kind == TAG('R', 'I', 'F', 'F') ? NULL : "is not a WAV file";
}

const char *wav_open(wav_file *wav, const void *bytes, size_t n_bytes) {
  static const wav_file none;
  const uint8_t *file = (const uint8_t *)bytes;
  *wav = none;
  const char *error = check_beginning(wav, file, n_bytes);
  for (size_t at = 12; error == NULL && n_bytes - at >= chunk_header;) {
    const uint8_t *data = file + at + chunk_header;
    const uint32_t tag = u32_at(file + at), stated = u32_at(file + at + 4);
    const size_t rest = n_bytes - at - chunk_header;
    const int is_data = tag == TAG('d', 'a', 't', 'a');
    const size_t length = is_data ? length_of(data, stated, rest) : stated;
    if (is_data && wav->format == 0) return "has its data before its format";
    if (length > rest) return "is truncated: it ends in the middle of a chunk";
    if (is_data && length > 0) return take_samples(wav, data, length);
    if (tag == TAG('f', 'm', 't', ' ')) error = read_format(wav, data, length);
    at += chunk_header + length;
    at += length % 2 != 0 && at < n_bytes; /* chunks are padded to even lengths */
  }
  return error != NULL ? error : "holds no samples";
}

/* To the nearest, from the magnitude m * 2^(exponent - 150). */
static int16_t of_float(uint32_t word) {
  const int32_t exponent = (int32_t)(word >> 23 & 255), shift = 135 - exponent;
  const int is_negative = word >> 31 != 0;
  const uint32_t m = (word & UINT32_C(0x7fffff)) | UINT32_C(0x800000);
  int32_t x = 0;
  if (exponent >= 127)
    x = 32768;
  else if (shift < 26)
    x = (int32_t)((m + (UINT32_C(1) << (shift - 1))) >> shift);
  if (is_negative) return (int16_t)-x;
  return (int16_t)(x > INT16_MAX ? INT16_MAX : x);
}

int16_t wav_sample(const wav_file *wav, size_t i) {
  const int32_t n = wav->bits / 8;
  const uint8_t *p = wav->data + (size_t)n * i;
  if (wav->format == WAV_FLOAT) return of_float(u32_at(p));
  uint32_t x = 0; /* 0 is the lowest number, and the highest has 32 bits of 1 */
  for (int32_t b = 0; b < n; ++b) x |= (uint32_t)p[b] << (32 - 8 * n + 8 * b);
  if (n > 1) x ^= UINT32_C(0x80000000);
  const uint32_t half = UINT32_C(0x8000), rounded = x > UINT32_MAX - half ? UINT32_C(0xffff) : (x + half) >> 16;
  return (int16_t)((int32_t)rounded - 32768);
}

int wav_fits(const wav_file *wav, uint32_t rate) { return wav->channels == 1 && wav->rate == rate; }
