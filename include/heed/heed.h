/* heed: attention and transformer layers for edge devices, in C99 and C++. SPDX-License-Identifier: MIT
 *
 * Most programs need these functions:
 *
 *   attention   heed_attention_of, heed_attention_of_cache, heed_attention_run, heed_self_attention,
 *               heed_workspace_bytes                                                              attention.h
 *   cache       heed_cache_shape_default, heed_cache_bytes, heed_cache_init, heed_cache_append, heed_cache_reset,
 *               heed_cache_length                                                                 cache.h
 *   rope        heed_rope_init                                                                    rope.h
 *   layer       heed_attention_layer_default, heed_attention_layer_bytes, heed_attention_layer_run,
 *               heed_transformer_layer_default, heed_transformer_layer_bytes, heed_transformer_layer_run   layers.h
 *   weights     heed_weights_of, heed_weights_of_blocks, heed_weights_pack, heed_weights_open, heed_linear
 *                                                                                                 weights.h
 *   status      heed_status_text, heed_status_argument                                            status.h
 *
 * The other functions and types:
 *
 *   options.h   masks, windows, lengths, ALiBi, softcap, sinks, scores, weights, partial results
 *   rows.h      dot products, softmax, norms, activations, sums, argmax, top-k, sampling
 *   dtypes.h    f16, bf16 and int8 tensors, and conversion
 *   sequence.h  a window of rows for sensors
 *   isa.h       which kernel runs, and self-tests
 *   types.h     matrices, tensors, memory, executors
 *   Not included here: integers.h (int8 throughout), threads.h and openmp.h (executors)
 *
 * The grammar of this API:
 *
 *  1. A struct is heed_noun. A function is heed_noun_verb, or heed_verb if it computes on plain rows.
 *  2. heed_noun_of(...) makes a view or a call from its parts. heed_noun_default(...) makes a plain struct with every
 *     default set. heed_noun_init(&object, ...) makes an object that carries code or holds memory.
 *  3. Views (matrix, tensor, memory, weights) are passed by value, other structs by pointer. integers.h passes
 *     multipliers and norms by value, too.
 *  4. Arguments come in this order: the object, what is read, how, what is written, memory, executor.
 *  5. Memory is one heed_memory. Sizes count bytes. Strides count elements. HEED_NOUN_BYTES(...) is a constant
 *     expression, and heed_noun_bytes(...) is the same number as a function.
 *  6. A default number has a name: HEED_SCALE_DEFAULT. A scale of 0 is an error.
 *  7. You ask for a feature in one place. You do not state again what an object knows already.
 *  8. A null pointer to an optional thing means: without it. A null executor means: one thread.
 *  9. A call returns heed_status: what is wrong, and which argument of the call. The numbers never change.
 *  10. A call that does not return HEED_OK has changed nothing, unless its comment says otherwise.
 *
 * The statuses of every function. The comment of a function lists only its other statuses. The argument of a status is
 * the parameter or the field of that name. A function that takes an object also checks the fields of that object.
 *
 *  - NULL_POINTER: a pointer that is needed is null. MISALIGNED: a pointer is not aligned.
 *  - OVERFLOW: an argument would extend beyond the address space.
 *  - OUT_OF_RANGE: a count, dimension, flag, index or enum is outside its range. So is a float parameter, such as a
 *    scale or eps, that is subnormal, zero or negative where its comment does not allow it.
 *  - NOT_FINITE: a float parameter is NaN or infinite. Rows, weights and biases are not checked.
 *  - BAD_STRIDE, BAD_DTYPE, BAD_LAYOUT, BAD_SCALES: a stride, dtype, layout or scales of a view are not valid.
 *  - SHAPE_MISMATCH: the shape of a matrix or tensor does not fit the other arguments.
 *  - TOO_SMALL: memory has fewer bytes than the call needs.
 *  - OVERLAP: something that is written shares memory with another argument.
 *  - NOT_INITIALIZED, BAD_STRUCT_SIZE: a struct was not made by its default, of or init function.
 *  - CORRUPT: the memory of a cache, or of packed weights, does not hold what it should hold.
 *
 * The library promises, for every function:
 *
 *  - Same bits everywhere. A result depends only on its inputs and parameters. It does not depend on the instruction
 *    set, compiler, thread count, tile, workspace size or memory layout. There are two arithmetics
 *    (heed_arithmetic): within one, all kernels agree bit for bit. lib/arithmetic.hpp states the rules. The promise
 *    does not cover the payloads and signs of NaN. It does not cover subnormal inputs or products on units that flush
 *    them (32-bit Arm NEON, Helium, or a process in flush-to-zero mode). The processor must round to nearest, which is
 *    the mode that programs start in. Floating-point exceptions must not trap: ordinary input raises the flags of
 *    inexact, underflowing and invalid results (-inf - -inf for masked keys).
 *  - No allocation, no locks, no I/O. The only variables of the library are the chosen kernels: one for floats
 *    (heed_isa_use) and one for integers. A build for firmware has none.
 *  - Several threads may call any function at once, if they share neither outputs nor memory.
 *  - A call takes at most HEED_STACK_BYTES of stack on every kernel, and in a Debug build at most twice as many. The
 *    tests check both.
 *  - Structs with struct_size grow only at their end. A caller sets struct_size to the sizeof of the struct that it was
 *    compiled with. The default, of and init functions do this.
 *
 * Words: n_q queries and n_kv keys are rows of head_dim floats. Values are rows of v_dim floats. The numbers of a row
 * are contiguous. Everything else may be strided.
 *
 * Range: Inputs may be as large as all intermediate results permit. A logit is a float, so it is safe while
 * |scale * log2(e)| * sum |q k| is below 2^127 (in softmax |scale * log2(e) * x|). A larger one becomes an infinite
 * score. Without fma it may become NaN, if products have both signs. Values are added before their sum is divided by
 * the sum of the weights. So in each column the visible |v| must sum to less than 2^127.
 *
 * NaN and infinity are the same on every kernel:
 *
 *  - A NaN in a query, or in a key that the query sees, makes all outputs of that query NaN. For such a row
 *    heed_topk_weights gives weights +0 and keys -1, since no weight is the largest.
 *  - A NaN or an infinity in a column of a value that a query sees reaches that column of the output.
 *  - A score of +infinity makes the row NaN.
 *  - A score of -infinity has weight 0. But 0 times an infinite value is NaN.
 *  - A row that sees no key has weights and outputs +0, whatever the query holds. So has a row whose visible scores are
 *    all -infinity.
 *  - Keys and values that a query does not see never reach its result. */
#ifndef HEED_HEED_H
#define HEED_HEED_H

#include "attention.h"
#include "cache.h"
#include "dtypes.h"
#include "isa.h"
#include "layers.h"
#include "options.h"
#include "rope.h"
#include "rows.h"
#include "sequence.h"
#include "status.h"
#include "types.h"
#include "weights.h"

#endif
