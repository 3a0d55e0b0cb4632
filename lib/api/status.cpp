// What a status says in words.
#include "heed/heed.h"

#ifdef HEED_NO_STATUS_TEXT
const char *heed_status_text(heed_status) { return ""; }
const char *heed_status_argument(heed_status) { return ""; }
#else

namespace heed {
namespace {

// Texts one after another, for the numbers from `first` on. After the last group comes one of 0.
struct text_group {
  int32_t first;
  const char *texts;  // each ends with a zero, the last with two
};
constexpr text_group faults[] = {
    {HEED_NULL_POINTER,
     "a required pointer is null\0"
     "not aligned (floats: 4 bytes, memory: 64 bytes)\0"
     "zero, negative, subnormal or above its limit\0"
     "NaN or infinite\0"
     "the stride is negative or lets output rows overlap each other\0"
     "the extent exceeds the address space\0"
     "smaller than these dimensions need\0"
     "written, but shares memory with another argument\0"
     "not a dtype that is possible here\0"
     "not a layout of weights\0"
     "its int8 scales are null, misaligned or have wrong strides\0"},
    {HEED_SHAPE_MISMATCH,
     "the shape does not fit the other arguments\0"
     "given in two places\0"
     "this call cannot do that\0"
     "a cache needs causal = 1 here\0"
     "keys are split neither at a multiple of 1024 nor where the last part ended\0"
     "more new rows than the ring keeps\0"
     "the ring no longer has all keys that are needed\0"
     "no room for the rows\0"},
    {HEED_NOT_INITIALIZED,
     "not made by its init, default or of function\0"
     "struct_size is not one that this version knows\0"
     "not what it should hold\0"
     "the threads run already\0"
     "something else: it begins with another mark\0"
     "written by a version that this one does not know\0"},
    {HEED_UNKNOWN_ISA,
     "no kernel of that name in this build\0"
     "this processor lacks the kernel's instructions\0"
     "the self-test found bits that differ from the reference\0"},
    {0, nullptr},
};
constexpr text_group arguments[] = {
    {HEED_ARG_CALL,
     "call\0q\0k\0v\0out\0batch_size\0n_heads\0n_kv_heads\0n_q\0n_kv\0head_dim\0v_dim\0scale\0causal\0position\0"
     "workspace\0executor\0memory\0isa\0report\0threads\0n_threads\0"},
    {HEED_ARG_X,
     "x\0y\0w\0bias\0a\0b\0n\0result\0rows\0weight\0eps\0up\0layout\0packed\0n_groups\0indices\0temperature\0"
     "top_p\0random\0top_k\0"},
    {HEED_ARG_ROPE, "rope\0style\0rotary_dim\0base\0frequencies\0positions\0factor\0n_axes\0axes\0"},
    {HEED_ARG_OPTIONS,
     "options\0ranges\0mask\0softcap\0alibi\0sinks\0scores\0weights\0lse\0column_sums\0topk_weights\0partial\0typed\0"},
    {HEED_ARG_LEFT_WINDOW, "left_window\0right_window\0kv_lengths\0total\0first_key\0"},
    {HEED_ARG_CACHE,
     "cache\0shape\0kind\0capacity\0pinned\0spare\0n_sequences\0dtype\0sequence\0length\0dim\0lengths\0"},
    {HEED_ARG_LAYER,
     "layer\0attention\0model_dim\0out_dim\0ffn_dim\0wq\0wk\0wv\0wo\0bq\0bk\0bv\0bo\0norm_first\0norm\0"
     "norm1_weight\0norm1_bias\0norm2_weight\0norm2_bias\0activation\0w_up\0w_gate\0w_down\0b_up\0b_gate\0b_down\0"
     "cross\0qk_eps\0qk_norm_whole\0q_norm_weight\0q_norm_bias\0k_norm_weight\0k_norm_bias\0norm_cross_weight\0"
     "norm_cross_bias\0post_norm\0parallel\0ffn_order\0"},
    {HEED_ARG_SCORE, "score\0value\0values\0multipliers\0"},
    {HEED_ARG_POST_NORM1_WEIGHT,
     "post_norm1_weight\0post_norm1_bias\0post_norm2_weight\0post_norm2_bias\0post_norm_cross_weight\0post_norm_cross_"
     "bias\0"
     "out_rows\0"},
    {HEED_ARG_BATCH, "batch\0"},
    {0, nullptr},
};

const char *text_of(const text_group *group, int32_t wanted, const char *unknown) {
  for (; group->first != 0; group++) {
    int32_t number = group->first;
    for (const char *text = group->texts; *text && number <= wanted; number++) {
      if (number == wanted) return text;
      while (*text) text++;
      text++;
    }
  }
  return unknown;
}

}  // namespace
}  // namespace heed

const char *heed_status_text(heed_status status) {
  if (status == HEED_OK) return "ok";
  const int32_t fault = status < 0 ? HEED_STATUS_FAULT(status) : 0;
  return heed::text_of(heed::faults, fault, "unknown status");
}

const char *heed_status_argument(heed_status status) {
  const int32_t argument = status < 0 ? HEED_STATUS_ARGUMENT(status) : 0;
  return heed::text_of(heed::arguments, argument, "?");
}

#endif

#define HEED_TEXT_OF(x) #x
#define HEED_TEXT(x) HEED_TEXT_OF(x)
const char *heed_version() {
  return HEED_TEXT(HEED_VERSION_MAJOR) "." HEED_TEXT(HEED_VERSION_MINOR) "." HEED_TEXT(HEED_VERSION_PATCH);
}
