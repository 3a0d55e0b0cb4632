/* heed: attention and transformer layers for edge devices. C99 and C++. SPDX-License-Identifier: MIT
 *
 * The grammar of this API:
 *  1. A struct is heed_noun; a function is heed_noun_verb, or heed_verb where it computes on plain rows.
 *  2. heed_noun_of(...) makes a view or a call from what it is about. heed_noun_default(...) makes a plain struct with
 *     every default set. heed_noun_init(&object, ...) makes what carries code or holds memory. There is no fourth way.
 *  3. Views (matrix, tensor, memory, weights) are passed by value, everything else by pointer.
 *  4. Arguments come in this order: the object, what is read, how, what is written, memory, executor.
 *  5. Memory is one heed_memory. Sizes count bytes, strides count elements. HEED_NOUN_BYTES(...) is a constant
 *     expression, and heed_noun_bytes(...) is the same number as a function.
 *  6. A number that means "the usual" has a name: HEED_SCALE_DEFAULT. A scale of 0 is an error.
 *  7. A feature is asked for in one place. What an object knows is not asked again.
 *  8. A null pointer to an optional thing means: without it.
 *  9. A call returns heed_status: the fault, and the argument as the caller wrote it. Its numbers never change.
 * 10. A call that does not return HEED_OK has changed nothing.
 *
 * What the library promises, for every function:
 *  - Same bits everywhere. A result depends on its inputs and parameters alone: not on the instruction set, compiler,
 *    thread count, tile, workspace size or memory layout. There are two arithmetic profiles (heed_profile); within one,
 *    all kernels agree bit for bit. The promise ends at NaN payloads and signs, and at subnormal inputs or products on
 *    units that flush them (32-bit Arm NEON, Helium, or a process in flush-to-zero mode). lib/arithmetic.hpp states the
 *    rules. The processor rounds to nearest (the mode that programs start in), and floating-point exceptions do not
 *    trap: ordinary input raises the flags of inexact, underflowing and invalid results (-inf - -inf for masked keys).
 *  - No allocation, no locks, no I/O. The only variable of the library is the choice of kernel (heed_kernel_use).
 *  - Errors are found before anything is written.
 *  - Every function may be called from several threads at once, provided that outputs and memory are not shared.
 *  - Stack: at most HEED_STACK_BYTES for a call (the greatest value over all kernels; the tests check it).
 *  - Structs with struct_size grow only at their end. A caller sets struct_size to sizeof the struct that it was
 *    compiled with (the default, of and init functions do it).
 *
 * Words: n_q queries and n_kv keys are rows of head_dim floats, values are rows of v_dim floats. Rows are contiguous;
 * everything else may be strided.
 *
 * Range: numbers as large as any intermediate result may be. A logit is a float, so |scale * log2(e)| * sum |q k| (in
 * softmax |scale * log2(e) * x|) below 2^127 is safe, and larger ones become infinite scores, or NaN (in the unfused
 * profile, of products of both signs). Values are added before they are divided by the sum of the weights, so in each
 * column the visible |v| must sum to less than 2^127.
 *
 * NaN and infinity are the same on every kernel. A NaN in a query, or in a key that it sees, makes all of that query's
 * outputs NaN (but for such a row heed_top_k gives weights +0 and keys -1, since none is the largest). A NaN or an
 * infinity in a column of a visible value reaches that column of the output. A score of +infinity makes the row NaN. A
 * score of -infinity has weight 0 (but 0 times an infinite value is NaN). A row with no visible key, or whose visible
 * scores are all -infinity, has weights and outputs +0, whatever the query holds. Keys and values that a query does not
 * see never reach its result. */
#ifndef HEED_HEED_H
#define HEED_HEED_H

#include "attention.h"
#include "cache.h"
#include "formats.h"
#include "kernels.h"
#include "layers.h"
#include "options.h"
#include "rope.h"
#include "rows.h"
#include "sequence.h"
#include "status.h"
#include "types.h"

#endif
