/* See sensor_weights.h. SPDX-License-Identifier: MIT */
#include "sensor_weights.h"

/* Checked at compile time: a negative size is an error. The files have no gaps. */
typedef char sensor_floats_are_packed[sizeof(sensor_weights) == sizeof(sensor_header) + 4 * (14512 + 32) ? 1 : -1];
typedef char sensor_integers_are_packed[sizeof(sensor_int_weights) == 19540 ? 1 : -1];

uint32_t sensor_checksum(const uint32_t *words, size_t n) {
  uint32_t hash = UINT32_C(0x811c9dc5);
  for (size_t i = 0; i < n; ++i) hash = (hash ^ words[i]) * UINT32_C(0x01000193);
  return hash;
}

sensor_status sensor_check(const void *weights, size_t n_bytes, uint32_t kind, size_t expected_bytes) {
  const sensor_header *header = (const sensor_header *)weights;
  if (n_bytes < sizeof *header) return SENSOR_WEIGHTS_SIZE;
  if (header->magic[0] != SENSOR_MAGIC || header->magic[1] != kind) return SENSOR_WEIGHTS_MAGIC;
  if (n_bytes != expected_bytes || header->n_bytes != expected_bytes) return SENSOR_WEIGHTS_SIZE;
  const uint32_t *words = (const uint32_t *)(const void *)(header + 1);
  const size_t n_words = (n_bytes - sizeof *header) / sizeof *words;
  return sensor_checksum(words, n_words) == header->checksum ? SENSOR_OK : SENSOR_WEIGHTS_DAMAGED;
}

const char *sensor_status_text(sensor_status status) {
  switch (status) {
    case SENSOR_OK:
      return "no error";
    case SENSOR_NULL_POINTER:
      return "a pointer is null";
    case SENSOR_MISALIGNED:
      return "the object is not aligned to 64 bytes, the weights to 4, or a row to its numbers";
    case SENSOR_NOT_READY:
      return "weights were not accepted yet";
    case SENSOR_WEIGHTS_SIZE:
      return "the weights are too short or too long";
    case SENSOR_WEIGHTS_MAGIC:
      return "not weights of this network, of another kind or version, or of the other byte order";
    case SENSOR_WEIGHTS_DAMAGED:
      return "the weights are damaged: their checksum differs";
    case SENSOR_WRONG_COUNT:
      return "a recording has 120 rows";
    case SENSOR_NOT_FINITE:
      return "the result is no number: a row had NaN or infinity";
    case SENSOR_HEED_FAILED:
      return "heed refused a call";
  }
  return "unknown status";
}
