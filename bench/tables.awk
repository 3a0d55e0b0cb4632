# Markdown tables of bench/README.md from heed_bench's JSON, for tables.sh. Google Benchmark writes one member a line.
# Each figure is a median of repetitions, or of what a benchmark chose itself (README). SPDX-License-Identifier: MIT
function value_of(line) { sub(/^[^:]*: */, "", line); sub(/,? *$/, "", line); gsub(/"/, "", line); return line }
/^ *\{/ { name = aggregate = "" }
/"run_name":/ { name = value_of($0) }
/"run_type": "iteration"/ { alone = 1 }
/"run_type": "aggregate"/ { alone = 0 }
/"repetitions":/ { repetitions = value_of($0) }
/"aggregate_name":/ { aggregate = value_of($0) }
/"[a-zA-Z_0-9]+": [-+0-9.e]+,?$/ && name != "" && (aggregate == "median" || (alone && repetitions <= 1)) {
  key = $1
  gsub(/[":]/, "", key)
  figure[name, key] = value_of($0) + 0
}

function has(name, key) { return (name, key) in figure }
function three(x) { return x >= 1000 ? sprintf("%.0f", x / 10) * 10 : x >= 100 ? sprintf("%.0f", x) : x >= 10 ? sprintf("%.1f", x) : sprintf("%.2f", x) }
function time(us) { return us >= 10000 ? three(us / 1000) " ms" : three(us) " us" }
function us(name, key) { if (!has(name, key)) missing = missing "\n  " name " " key; return has(name, key) ? three(figure[name, key]) : "-" }
function share(name, key) { if (!has(name, key)) missing = missing "\n  " name " " key; return has(name, key) ? sprintf("%.0f %%", 100 * figure[name, key]) : "-" }
function ratio(name, key) { if (!has(name, key)) missing = missing "\n  " name " " key; return has(name, key) ? sprintf("%.2f", figure[name, key]) : "-" }
function times(slow, fast) { return has(slow, "us") && has(fast, "us") ? sprintf("%.2f", figure[slow, "us"] / figure[fast, "us"]) : "-" }
function timed(name, of) { return has(name, "us") ? time(figure[name, "us"]) ", " share(name, of) : us(name, "us") }
function head(cells,   i, n, cell, line) {
  n = split(cells, cell, "|")
  line = "|"
  for (i = 1; i <= n; i++) line = line "---|"
  print "\n| " cells_text(cells) " |\n" line
}
function cells_text(cells) { gsub(/\|/, " | ", cells); return cells }

function one_thread(label, name, of, end,   line, i) {
  line = "| " label
  for (i = 1; i <= n_isas; i++) line = line " | " timed(name "/" isa[i] end, of)
  print line " |"
}
function both(name, end, key, f,   a, b) {
  a = name "/avx512" end
  b = name "/avx2" end
  return f == "us" ? us(a, key) " / " us(b, key) : f == "share" ? share(a, key) " / " share(b, key) : ratio(a, key) " / " ratio(b, key)
}

END {
  n_isas = split("avx512 avx2 sse2", isa, " ")
  n_shapes = split("P1 P2 P3 P4 P5 P6 P7 D1 D2 D3", shape, " ")

  print "\nOne thread: time of a call and its share of the FMA peak (of the read bandwidth for D2, D3 and the single row; of its operations at the FMA peak for softmax)."
  head("|AVX-512|AVX2|SSE2")
  for (i = 1; i <= n_shapes; i++)
    one_thread(shape[i], "attention/" shape[i], shape[i] ~ /^D[23]/ ? "of_bandwidth" : "of_peak", "/threads:1")
  split("98x64x64 512x512x512 512x768x3072", list, " ")
  for (i = 1; i <= 3; i++) { text = list[i]; gsub(/x/, " x ", text); one_thread("product " text, "linear/" list[i], "of_peak", "") }
  one_thread("one row of 1024 x 1024", "linear/1x1024x1024", "of_bandwidth", "")
  one_thread("softmax 98 x 98", "softmax/98x98", "of_peak", "")
  one_thread("softmax 1500 x 1500", "softmax/1500x1500", "of_peak", "")
  for (i = split("P1 P6", list, " "); i; i--) {
    line = "| " list[3 - i] ", first call after other work / each of 64 heads with cold tensors, us"
    for (j = 1; j <= n_isas; j++) line = line " | " us("first_call/" list[3 - i] "/" isa[j] "/iterations:21/manual_time", "us") " / " us("cold_heads/" list[3 - i] "/" isa[j] "/iterations:21/manual_time", "us")
    print line " |"
  }

  print "\nTwo threads, AVX-512: how many times as fast as one."
  line = "executor"
  for (i = 1; i <= n_shapes; i++) line = line "|" shape[i]
  head(line)
  for (e = split("heed openmp", executor, " "); e; e--) {
    who = executor[3 - e]
    line = "| " (who == "heed" ? "`heed_threads`" : "`heed_openmp`")
    for (i = 1; i <= n_shapes; i++) line = line " | " times("attention/" shape[i] "/avx512/threads:1", "attention/" shape[i] "/avx512/threads:2/" who)
    print line " |"
  }

  print "\nOptions: the speed of a call with the option as a share of the plain call of the same visible work, AVX-512 / AVX2."
  head("|P3|P4|P5|D2|D3")
  n = split("causal:causal|window:sliding window|boolean_mask:boolean mask, half of it random|additive_mask:additive mask|softcap:softcap|alibi:ALiBi|sinks:sinks|lse:log-sum-exp|all:causal window, additive mask, softcap, ALiBi, sinks and log-sum-exp", list, "|")
  for (i = 1; i <= n; i++) {
    split(list[i], pair, ":")
    line = "| " pair[2]
    for (j = split("P3 P4 P5 D2 D3", s, " "); j; j--) line = line " | " both("feature/" s[6 - j] "/" pair[1], "", "ratio", "ratio")
    print line " |"
  }
  print "\nA window of 256 keys, AVX-512: " us("window/1024/256/avx512", "us_per_query") " us a query at 1024 rows, " us("window/16384/256/avx512", "us_per_query") " at 16384."
  print "A mask that hides 7/8 of all blocks leaves " ratio("hidden_blocks/2048x2048/diagonal/avx512", "cost") " of the time of a prompt of 2048 rows, and " ratio("hidden_blocks/1x8192/padding/avx512", "cost") " of a new token's over 8192 keys."

  print "\nRows of a layer, AVX-512 / AVX2, in the first-level cache: norms and sums as a share of the copy bandwidth there, activations as a share of their operations at the FMA peak."
  head("|rows of 64|of 768|of 2048")
  n = split("rms_norm layer_norm add relu gelu gelu_tanh silu silu_gated tanh sigmoid", list, " ")
  for (i = 1; i <= n; i++) {
    key = list[i] ~ /norm|add/ ? "of_bandwidth" : "of_peak"
    line = "| `heed_" (list[i] == "silu_gated" ? "silu`, gated" : list[i] "`")
    for (j = split("64 768 2048", s, " "); j; j--) line = line " | " (s[4 - j] == 64 && list[i] !~ /norm/ ? "" : both(list[i] "/" s[4 - j], "", key, "share"))
    print line " |"
  }

  print "\nCaches: a new token, and one token appended with rotated keys, us, AVX-512 / AVX2."
  head("|f32|f16|bf16|int8")
  for (i = 8; i <= 10; i++) {
    line = "| " shape[i] ", new token"
    for (j = split("f32 f16 bf16 int8", s, " "); j; j--) line = line " | " both("cache/" shape[i] "/" s[5 - j], "", "us", "us")
    print line " |"
  }
  line = "| D2, append"
  for (j = 4; j; j--) line = line " | " both("append/D2/" s[5 - j], "", "us", "us")
  print line " |"

  print "\nIntegers: attention in int8, and how many times as fast as f32 on vectors of the same width it is."
  line = ""
  for (i = 1; i <= n_shapes; i++) line = line "|" shape[i]
  head(line)
  for (k = split("avx512vnni avx2", kernel, " "); k; k--) {
    line = "| " (kernel[3 - k] == "avx2" ? "AVX2" : "AVX-512 VNNI") ", us"
    for (i = 1; i <= n_shapes; i++) line = line " | " us("integers/" shape[i] "/" kernel[3 - k] "/manual_time", "us")
    print line " |"
    line = "| times f32"
    for (i = 1; i <= n_shapes; i++) line = line " | " ratio("integers/" shape[i] "/" kernel[3 - k] "/manual_time", "times_f32")
    print line " |"
  }

  n_forms = split("f32/in_out f32/out_in f32/packed f16/in_out f16/packed int8/in_out int8/packed q8_0/out_in q8_0/packed q4_0/packed int8/integers q8_0/integers q4_0/integers int8/int_packed", form, " ")
  for (w = 1; w <= 2; w++) {
    where = w == 1 ? "512x1376|near" : "4096x4096|memory"
    split(where, s, "|")
    print "\nProducts of 1 to 64 rows, weights of " (w == 1 ? "512 x 1376 in the nearest cache that holds them" : "4096 x 4096 from memory") ", us, best of turns, AVX-512 / AVX2 (integers: VNNI / AVX2)."
    head("rows|1|2|4|6|8|16|32|64")
    for (i = 1; i <= n_forms; i++) {
      split(form[i], part, "/")
      of_integers = part[2] ~ /int/
      label = part[2] == "integers" ? part[1] ", `heed_weights_in_integers`" : part[2] == "int_packed" ? "int8 to int8, `heed_int_linear`, packed" : part[1] ", " (part[1] == "q8_0" && part[2] == "out_in" ? "as in a GGUF file" : part[2])
      line = "| " label
      for (j = split("1 2 4 6 8 16 32 64", r, " "); j; j--) {
        name = "rows/" s[1] "/" form[i] "/" s[2]
        first = name (of_integers ? "/avx512vnni" : "/avx512")
        line = line " | " us(first "/iterations:1/repeats:1", "us_" r[9 - j]) " / " us(name "/avx2/iterations:1/repeats:1", "us_" r[9 - j])
      }
      print line " |"
    }
  }

  print "\nWhole models of random weights: one thread, and how many times as fast two with `heed_threads` are."
  head("|f32|f16|int8|Q4_0|int8 in integers|Q4_0 in integers")
  n = split("bert:encoder of 6 layers of 384, 128 rows|kwt:encoder of 12 layers of 64, 99 rows|token_15m:decoder of 15 M weights, a token|prompt_15m:its prompt of 128|token_110m:decoder of 110 M weights, a token|prompt_110m:its prompt of 128", list, "|")
  for (i = 1; i <= n; i++) {
    split(list[i], pair, ":")
    line = "| " pair[2]
    for (j = split("f32/packed f16/packed int8/packed q4_0/packed int8/integers q4_0/integers", s, " "); j; j--) {
      name = "model/" pair[1] "/" s[7 - j] "/threads:"
      line = line " | " (has(name "1", "us") ? time(figure[name "1", "us"]) ", " times(name "1", name "2") : "-")
    }
    print line " |"
  }
  if (missing != "") { print "missing:" missing >"/dev/stderr"; exit 1 }
}
