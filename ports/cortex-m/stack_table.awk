# Rows of stack.sh's table from its files graph (CORE|KIND|FUNCTION|BYTES) and measured (CORE|COMPILER|CALL|FUNCTION|BYTES). A cell is
# "measured with GCC / by the call graph / measured with clang".
BEGIN { FS = "|"; n_cores = split(CORES, cores, " ") }
function note(row, kind, core, bytes) {
  if (!(row in order)) { order[row] = ++n_rows; rows[n_rows] = row }
  if (bytes + 0 > most[row, kind, core]) most[row, kind, core] = bytes + 0
}
NF == 4 && $2 == "promise" { promise[$1] = $4; next }
NF == 4 { bound[$1, $2, $3] = $4; next }
$2 == "debug" { if ($5 > most["any, Debug", "gcc", $1]) most["any, Debug", "gcc", $1] = $5; debug = 1; next }
{
  row = $4
  if ($4 ~ /_init|_clear$|_reset$|_truncate$|_save$|_load$|_open$|isa_use$|_checksum$|weights_check$/) row = "all init, cache reset, save, load, weights open, checksum, truncate, sequence clear, isa_use"
  b = bound[$1, "all", $4]
  if ($4 == "heed_attention_run" && $3 == "attention, plain") { note("heed_attention_run, plain", $2, $1, $5); note("heed_attention_run, plain", "graph", $1, bound[$1, "plain", $4]) }
  if ($4 == "heed_self_attention") b = bound[$1, "plain", $4]
  if ($4 == "heed_transformer_layer_run" && $3 == "decoder layer") note("heed_transformer_layer_run, rope and cache alone", $2, $1, $5)
  note(row, $2, $1, $5)
  note(row, "graph", $1, b)
  if ($2 == "gcc" && $5 > b + 48) { print "measured more than the call graph says: " $0 ", " b > "/dev/stderr"; wrong = 1 }
  if (b > promise[$1] + 0) { print "the call graph says more than HEED_STACK_BYTES, " promise[$1] ": " $0 ", " b > "/dev/stderr"; wrong = 1 }
  if ($4 !~ /selftest/) { note("any but self-tests", $2, $1, $5); note("any but self-tests", "graph", $1, b) }
}
END {
  for (pass = 1; pass <= 2; pass++)
    for (i = 1; i <= n_rows; i++) {
      if ((rows[i] ~ /^any/) != (pass == 2)) continue
      line = "| `" rows[i] "`"
      if (rows[i] !~ /^heed_[a-z_0-9]*$/) { line = "| " rows[i]; if (line ~ /heed_/) { sub(/heed_[a-z_0-9]*/, "`&`", line) } }
      for (c = 1; c <= n_cores; c++) {
        g = most[rows[i], "graph", cores[c]]
        line = line " | " most[rows[i], "gcc", cores[c]] " / " (g ? g : "-") " / " most[rows[i], "clang", cores[c]]
      }
      print line " |"
    }
  if (debug) {
    line = "| any, Debug (-O0, GCC)"
    for (c = 1; c <= n_cores; c++) line = line " | " most["any, Debug", "gcc", cores[c]]
    print line " |"
  }
  if (wrong) exit 1
}
