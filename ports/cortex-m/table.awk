# Rows of check.sh as a table.
BEGIN {
  format = "%-7s %-9s %-15s %-8s %-9s %7s %7s %10s %12s %12s\n"
  printf format, "core", "compiler", "kernel", "profile", "digest", "text", "stack", "workspace", "P1", "P6"
  printf format, "", "", "", "", "as on PC", "bytes", "bytes", "bytes", "instructions", "instructions"
}
{ printf format, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 }
