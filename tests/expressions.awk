# awk -f tests/expressions.awk FILE...: no statement of lib has two conditional operators, and none stands in an argument list.
# Files of lib have at most MAX of them in 100 lines of code, all together. lib/kernel_contract/counts.hpp has names for the
# usual ones. A comment stands above a template's first line, not behind it. Prints what breaks that; exit status 1 if
# anything does. Comments and strings are taken away first. SPDX-License-Identifier: MIT
BEGIN { if (!MAX) MAX = 4 }
FNR == 1 { statement = ""; line_of_statement = 1; in_comment = after_template = 0 }
/^\/\// && after_template { print FILENAME ":" FNR ": a comment between a template's lines"; wrong++ }
{ after_template = /^template <.*>$/ }
{
  line = $0
  sub(/\r$/, "", line)
  if (in_comment) {
    if (!match(line, /\*\//)) next
    line = substr(line, RSTART + 2)
    in_comment = 0
  }
  gsub(/"(\\.|[^"\\])*"/, "s", line)
  gsub(/'(\\.|[^'\\])+'/, "c", line)
  while (match(line, /\/\*/)) {
    start = RSTART
    rest = substr(line, start + 2)
    if (match(rest, /\*\//)) line = substr(line, 1, start - 1) " " substr(rest, RSTART + 2)
    else { line = substr(line, 1, start - 1); in_comment = 1 }
  }
  sub(/\/\/.*/, "", line)
  if (line ~ /^[ \t]*#[ \t]*include/ || line ~ /^[ \t{};]*$/) { if (line !~ /[{};]/) next } else n_code++
  if (statement ~ /^[ \t]*$/) { statement = ""; line_of_statement = FNR }
  statement = statement line "\n"
  if (line ~ /^[ \t]*#/ && line !~ /\\$/) finish()
  else while (match(statement, /[;]|[{}][ \t]*\n$/)) {
    tail = substr(statement, RSTART + RLENGTH)
    statement = substr(statement, 1, RSTART)
    finish()
    statement = tail
    line_of_statement = FNR
  }
}
# Judges the text of one statement.
function finish(   n, i, c, depth, before, in_call) {
  if (index(statement, "?") == 0) { statement = ""; return }
  depth = 0
  n = length(statement)
  found = 0
  for (i = 1; i <= n; i++) {
    c = substr(statement, i, 1)
    if (c == "(" || c == "[" || c == "{") {
      before = substr(statement, 1, i - 1)
      sub(/[ \t\n]+$/, "", before)
      in_call = c == "{" ? before !~ /\)$/ && before !~ /(else|do|const|noexcept)$/ : c == "(" && before ~ /[A-Za-z0-9_>]$/ && before !~ /(^|[^A-Za-z0-9_])(if|while|for|switch|return|sizeof|static_assert|case)$/
      kind[++depth] = in_call
    } else if (c == ")" || c == "]" || c == "}") { if (depth > 0) depth-- }
    else if (c == "?") {
      found++
      n_conditional++
      in_call = 0
      for (before = 1; before <= depth; before++) if (kind[before]) in_call = 1
      if (in_call) { print FILENAME ":" line_of_statement ": a conditional operator in an argument list"; wrong++ }
    }
  }
  if (found > 1) { print FILENAME ":" line_of_statement ": " found " conditional operators in one statement"; wrong++ }
  statement = ""
}
END {
  density = 100 * n_conditional / (n_code ? n_code : 1)
  printf "%d lines of code, %d conditional operators (%.1f in 100 lines, %.1f at most), %d wrong\n", n_code, n_conditional, density, MAX, wrong
  exit wrong || density > MAX
}
