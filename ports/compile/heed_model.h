/* What programs of heed_compile need beside heed: weights in a file, texts to tokens, known answers, functions of graphs. C99 and C++.
 * SPDX-License-Identifier: MIT */
#ifndef HEED_MODEL_H
#define HEED_MODEL_H

#include "heed_file.h"
#ifndef HEED_INTEGERS_H /* heed.h of the two files has it */
#include "heed/integers.h"
#endif
#include "../receipt/golden.h"
#include "../tokenizer/tokenizer.h"
#include "graph_math.h"
#include "graph_recurrent.h"

#endif
