/* Labels and statuses as texts; see kwt.h. SPDX-License-Identifier: MIT */
#include "kwt.h"

const char *kwt_label(int32_t label) {
  static const char *const labels[KWT_N_LABELS] = {"_silence_", "_unknown_", "yes", "no",  "up",   "down",
                                                   "left",      "right",     "on",  "off", "stop", "go"};
  return label >= 0 && label < KWT_N_LABELS ? labels[label] : "?";
}

const char *kwt_status_text(kwt_status status) {
  switch (status) {
    case KWT_OK:
      return "no error";
    case KWT_NULL_POINTER:
      return "a pointer is null";
    case KWT_NOT_READY:
      return "kwt_init has not succeeded on this object";
    case KWT_MISALIGNED:
      return "object or weights are not aligned to 64 bytes, or samples not to their type";
    case KWT_WRONG_LENGTH:
      return "the clip does not have 16000 samples";
    case KWT_BAD_SAMPLE:
      return "a sample is not a number or far beyond full scale (+-1)";
    case KWT_WEIGHTS_SIZE:
      return "the weights are too short or too long";
    case KWT_WEIGHTS_MAGIC:
      return "not a KWT-1 weights file, or of the other byte order";
    case KWT_WEIGHTS_VERSION:
      return "weights of another version or network";
    case KWT_WEIGHTS_DAMAGED:
      return "the weights are damaged: their checksum differs";
    case KWT_HEED_FAILED:
      return "heed refused a call";
    case KWT_BAD_THRESHOLD:
      return "the threshold is not 0 to 1";
  }
  return "unknown status";
}
