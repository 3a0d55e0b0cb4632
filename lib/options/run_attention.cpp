// A call of attention with valid arguments: with the engine of its options, or plain.
#include "options.hpp"

#include "../isa_choice/front_door.hpp"
#include "../tasks/attention_plan.hpp"
#include "../tasks/run.hpp"

namespace heed {
namespace {

// All calls are tail calls: no frame is held.
template <class K>
HEED_INLINE void run_with_or_without_options(K k, const heed_attention &call) {
  if (const option_engine *engine = engine_of(call)) return engine->run(address_of(k), call);
  run_streams(k, call, nullptr);
}

}  // namespace

void run_attention(const kernel *k, const heed_attention &call) { run_with_or_without_options(k, call); }
#ifdef HEED_SINGLE
void run_attention(fixed_kernel k, const heed_attention &call) { run_with_or_without_options(k, call); }
#endif

}  // namespace heed
