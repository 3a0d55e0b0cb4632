#include "heed/heed.h"

static const char *fault_text(int32_t fault) {
  switch (fault) {
    case HEED_NULL_POINTER:
      return "a required pointer is null";
    case HEED_MISALIGNED:
      return "not aligned (floats: 4 bytes, workspaces and buffers: 64 bytes)";
    case HEED_OUT_OF_RANGE:
      return "zero, negative, subnormal or above its limit";
    case HEED_BAD_STRIDE:
      return "the stride is negative or lets output rows overlap each other";
    case HEED_OVERFLOW:
      return "the extent exceeds the address space";
    case HEED_TOO_SMALL:
      return "shorter than the minimum for these dimensions";
    case HEED_OVERLAP:
      return "written, but shares memory with another argument";
    case HEED_MISFIT:
      return "the shape does not fit the other arguments";
    case HEED_NOT_FINITE:
      return "NaN or infinite";
    case HEED_UNKNOWN_STRUCT:
      return "struct_size is not one that this version knows";
    case HEED_FULL:
      return "no room for the rows";
    case HEED_UNKNOWN_KERNEL:
      return "no kernel of that name in this build";
    case HEED_UNAVAILABLE_KERNEL:
      return "this processor lacks the kernel's instructions";
    case HEED_MISMATCH:
      return "the self-test found bits that differ from the reference";
    case HEED_NOT_INITIALIZED:
      return "not made by its init function";
    case HEED_DAMAGED:
      return "not what it should hold";
    case HEED_RUNNING:
      return "the threads run already";
    default:
      return "unknown status";
  }
}

static const char *const argument_names[] = {
    "?",           "call",         "q",          "k",           "v",           "out",       "weights",
    "batch",       "n_heads",      "n_kv_heads", "n_q",         "n_kv",        "head_dim",  "v_dim",
    "scale",       "causal",       "workspace",  "executor",    "n_threads",   "x",         "y",
    "w",           "bias",         "a",          "b",           "n",           "result",    "layer",
    "model_dim",   "out_dim",      "wq",         "wk",          "wv",          "wo",        "bq",
    "bk",          "bv",           "bo",         "activations", "sequence",    "rows",      "capacity",
    "kernel",      "buffer",       "report",     "options",     "ranges",      "mask",      "softcap",
    "alibi",       "sinks",        "scores",     "lse",         "column_sums", "top_k",     "partial",
    "left_window", "right_window", "offsets",    "kv_lengths",  "total",       "first_key", "weight",
    "eps",         "up",           "rope",       "style",       "rotary_dim",  "base",      "frequencies",
    "position",    "positions",    "format",     "layout",      "scales",      "cache",     "shape",
    "kind",        "pinned",       "spare",      "n_sequences", "length",      "block",     "hidden_dim",
    "norm_first",  "norm",         "activation", "w_up",        "w_gate",      "w_down",    "b_up",
    "b_gate",      "b_down",       "narrow",     "threads"};
static_assert(sizeof argument_names / sizeof *argument_names == HEED_ARG_THREADS + 1, "one name per heed_argument");

const char *heed_status_text(heed_status status) {
  return status == HEED_OK ? "ok" : status > 0 ? fault_text(0) : fault_text(HEED_STATUS_FAULT(status));
}

const char *heed_status_argument(heed_status status) {
  const int32_t argument = status < 0 ? HEED_STATUS_ARGUMENT(status) : 0;
  return argument_names[argument <= HEED_ARG_THREADS ? argument : 0];
}

#define HEED_TEXT_OF(x) #x
#define HEED_TEXT(x) HEED_TEXT_OF(x)
const char *heed_version() {
  return HEED_TEXT(HEED_VERSION_MAJOR) "." HEED_TEXT(HEED_VERSION_MINOR) "." HEED_TEXT(HEED_VERSION_PATCH);
}
