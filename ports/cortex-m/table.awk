# Rows of check.sh as a table.
BEGIN {
  format = "%-7s %-9s %-14s %-8s %-9s %7s %10s %7s %10s %12s %12s %12s\n"
  printf format, "core", "compiler", "kernel", "profile", "digest", "text", "stack of", "of any", "workspace", "P1", "P6", "P7"
  printf format, "", "", "", "", "as on PC", "bytes", "attention", "call", "bytes", "instructions", "instructions", "instructions"
}
{ printf format, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12 }
END {
  print "text: of heed in the example, plain self-attention with its texts of errors. stack, workspace: bytes, for any number of"
  print "queries and keys; the workspace is the least for 64 floats to a row. P1: T 98, d 64, 1 head. P6: T 32, d 16, 2 heads."
  print "P7: T 24, d 16, 1 head. - : no room."
}
