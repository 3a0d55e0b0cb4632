// What a status says in words.
#include "heed/heed.h"

#ifdef HEED_NO_STATUS_TEXT
const char *heed_status_text(heed_status) { return ""; }
const char *heed_status_argument(heed_status) { return ""; }
#else

namespace heed {
namespace {

struct numbered_text {
  int32_t number;
  const char *text;
};
constexpr numbered_text faults[] = {
    {HEED_NULL_POINTER, "a required pointer is null"},
    {HEED_MISALIGNED, "not aligned (floats: 4 bytes, memory: 64 bytes)"},
    {HEED_OUT_OF_RANGE, "zero, negative, subnormal or above its limit"},
    {HEED_NOT_FINITE, "NaN or infinite"},
    {HEED_BAD_STRIDE, "the stride is negative or lets output rows overlap each other"},
    {HEED_OVERFLOW, "the extent exceeds the address space"},
    {HEED_TOO_SMALL, "smaller than these dimensions need"},
    {HEED_OVERLAP, "written, but shares memory with another argument"},
    {HEED_BAD_FORMAT, "not a format that is possible here"},
    {HEED_BAD_LAYOUT, "not a layout of weights"},
    {HEED_BAD_SCALES, "its int8 scales are null, misaligned or have wrong strides"},
    {HEED_MISFIT, "the shape does not fit the other arguments"},
    {HEED_GIVEN_TWICE, "given in two places"},
    {HEED_NOT_HERE, "this call cannot do that"},
    {HEED_NOT_CAUSAL, "a cache needs causal = 1 here"},
    {HEED_BAD_SPLIT, "keys are split neither at a multiple of 1024 nor where the last part ended"},
    {HEED_TOO_MANY_ROWS, "more new rows than the ring keeps"},
    {HEED_GONE, "the ring no longer has all keys that are needed"},
    {HEED_FULL, "no room for the rows"},
    {HEED_NOT_INITIALIZED, "not made by its init, default or of function"},
    {HEED_UNKNOWN_STRUCT, "struct_size is not one that this version knows"},
    {HEED_DAMAGED, "not what it should hold"},
    {HEED_RUNNING, "the threads run already"},
    {HEED_UNKNOWN_KERNEL, "no kernel of that name in this build"},
    {HEED_UNAVAILABLE_KERNEL, "this processor lacks the kernel's instructions"},
    {HEED_MISMATCH, "the self-test found bits that differ from the reference"},
};

// The names of a group, one after another, for the numbers from `first` on.
struct argument_group {
  int32_t first;
  const char *names;  // each ends with a zero, the last with two
};
constexpr argument_group arguments[] = {
    {HEED_ARG_CALL,
     "call\0q\0k\0v\0out\0batch\0n_heads\0n_kv_heads\0n_q\0n_kv\0head_dim\0v_dim\0scale\0causal\0position\0"
     "workspace\0executor\0memory\0kernel\0report\0threads\0n_threads\0"},
    {HEED_ARG_X, "x\0y\0w\0bias\0a\0b\0n\0result\0rows\0weight\0eps\0up\0layout\0"},
    {HEED_ARG_ROPE, "rope\0style\0rotary_dim\0base\0frequencies\0positions\0"},
    {HEED_ARG_OPTIONS,
     "options\0ranges\0mask\0softcap\0alibi\0sinks\0scores\0weights\0lse\0column_sums\0top_k\0partial\0narrow\0"},
    {HEED_ARG_LEFT_WINDOW, "left_window\0right_window\0kv_lengths\0total\0first_key\0"},
    {HEED_ARG_CACHE, "cache\0shape\0kind\0capacity\0pinned\0spare\0n_sequences\0format\0sequence\0length\0dim\0"},
    {HEED_ARG_LAYER,
     "layer\0attention\0model_dim\0out_dim\0hidden_dim\0wq\0wk\0wv\0wo\0bq\0bk\0bv\0bo\0norm_first\0norm\0"
     "norm1_weight\0norm1_bias\0norm2_weight\0norm2_bias\0activation\0w_up\0w_gate\0w_down\0b_up\0b_gate\0b_down\0"},
};

const char *name_of(int32_t argument) {
  for (const argument_group &group : arguments) {
    int32_t number = group.first;
    for (const char *name = group.names; *name && number <= argument; number++) {
      if (number == argument) return name;
      while (*name) name++;
      name++;
    }
  }
  return "?";
}

}  // namespace
}  // namespace heed

const char *heed_status_text(heed_status status) {
  if (status == HEED_OK) return "ok";
  for (const heed::numbered_text &fault : heed::faults)
    if (status < 0 && fault.number == HEED_STATUS_FAULT(status)) return fault.text;
  return "unknown status";
}

const char *heed_status_argument(heed_status status) {
  return heed::name_of(status < 0 ? HEED_STATUS_ARGUMENT(status) : 0);
}

#endif

#define HEED_TEXT_OF(x) #x
#define HEED_TEXT(x) HEED_TEXT_OF(x)
const char *heed_version() {
  return HEED_TEXT(HEED_VERSION_MAJOR) "." HEED_TEXT(HEED_VERSION_MINOR) "." HEED_TEXT(HEED_VERSION_PATCH);
}
