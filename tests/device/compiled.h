/* What tests of a program of heed_compile's know of it by macros: MODEL is its name, MODEL_HEADER its header, KIND what it does.
 * SPDX-License-Identifier: MIT */
#ifndef HEED_TESTS_COMPILED_H
#define HEED_TESTS_COMPILED_H

#include MODEL_HEADER

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define OF(what) JOIN(MODEL, what)
#define DECODER 1
#define ENCODER 2
#define VISION 3
#define SPEECH 4
#define GRAPH 5

#endif
