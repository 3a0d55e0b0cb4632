# Rows of check.sh as a table.
BEGIN {
  format = "%-7s %-9s %-14s %-8s %-9s %7s %10s %10s %7s %10s %12s %12s %12s\n"
  printf format, "core", "compiler", "kernel", "arithmetic", "digest", "text", "stack of", "with", "of any", "workspace", "P1", "P6", "P7"
  printf format, "", "", "", "", "as on PC", "bytes", "attention", "options", "call", "bytes", "instructions", "instructions", "instructions"
}
{ printf format, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 }
END {
  print "text: of heed in the example, plain self-attention with its texts of errors. stack: bytes, of attention with neither weights"
  print "nor options, then with options. stack, workspace: for any number of queries and keys; the workspace is the least for 64 floats"
  print "to a row. P1: T 98, d 64, 1 head. P6: T 32, d 16, 2 heads. P7: T 24, d 16, 1 head. - : no room."
}
