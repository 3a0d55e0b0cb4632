/* heed: models in integers, for processors with an FPU or without. heed.h does not include this header.
 *
 * Rows are int8 or int16 with scales and zero points, as in TensorFlow Lite and CMSIS-NN. The functions need no FPU.
 * Only heed_weights_in_integers and heed_int_cache_append_f32 are for floats. All sums are exact, so their order does
 * not matter. There is one arithmetic: the same bits on every processor, for every compiler, tile, thread count and
 * split of the keys.
 *
 *   HEED_MEMORY(workspace, HEED_INT_WORKSPACE_BYTES(64, 64));
 *   heed_int_attention call = heed_int_attention_of(q, k, v, n, n, 8, 8, 64, out, workspace);
 *   call.score = heed_multiplier_of(q_scale * k_scale * 0.125f * 1.44269504f);    // 1/sqrt(64) * log2(e)
 *   call.value = heed_multiplier_of(v_scale / out_scale);
 *   heed_status status = heed_int_attention_run(&call);
 *
 * int_types.h      multipliers, matrices, the choice of kernel
 * int_attention.h  attention: prompts, tokens, partial results
 * int_cache.h      caches of keys and values
 * int_products.h   projections; products of floats with rows of int8 (W8A8)
 * int_rows.h       sums, products, norms, activations and rotary embedding of rows
 * int_layers.h     whole transformer layers
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEED_INTEGERS_H
#define HEED_INTEGERS_H

#include "int_attention.h"
#include "int_cache.h"
#include "int_layers.h"
#include "int_products.h"
#include "int_rows.h"
#include "int_types.h"

#endif
