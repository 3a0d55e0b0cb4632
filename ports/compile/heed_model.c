/* See heed_model.h: the tokenizer, receipts and the functions of graphs as one file, for a program that does not link the library
 * heed_model. Compile heed_file.c beside it. SPDX-License-Identifier: MIT */
#include "heed_model.h"

#include "../receipt/golden.c"
#include "../receipt/receipt.c"
#include "../receipt/sha256.c"
#include "../tokenizer/bpe.c"
#include "../tokenizer/normalize.c"
#include "../tokenizer/split.c"
#include "../tokenizer/tokenizer.c"
#include "../tokenizer/unigram.c"
#include "../tokenizer/wordpiece.c"

#include "graph_math.c"
#include "graph_rows.c"
#include "graph_recurrent.c"
