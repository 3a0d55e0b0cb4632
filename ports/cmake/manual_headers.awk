# manual_headers.awk: a filter of Doxygen for the public headers, which have plain comments. SPDX-License-Identifier: MIT
# - The comment at the top of a file documents the file.
# - A comment directly above a declaration documents it, and those that follow without an empty line or another comment.
# - A comment behind a field, an enumerator or a macro documents it. Some that have none explain themselves.
# - "Status: ..." at the beginning of a line is a paragraph with a title. Indented lines behind an empty one are code.

function is_code(line) { return line ~ /^   +[^ ]/ && line !~ /^ +(- |[0-9]+\. )/ }

# Text without the marks of the comment, as lines of a comment of Doxygen.
function documentation(text, first,   lines, n, i, out, line, inside, before) {
  n = split(text, lines, "\n")
  out = "/**" first
  before = 1
  for (i = 1; i <= n + 1; i++) {
    line = i > n ? "" : lines[i]
    sub(/ *SPDX-License-Identifier: MIT */, "", line)
    if (!inside && before && is_code(line)) { inside = code_of(lines, i, n); out = out "\n * @" inside }
    if (inside && line == "") { out = out "\n * @endcode"; inside = "" }
    if (i > n) break
    before = line == ""
    if (!inside && match(line, /^ [A-Z][A-Za-z ]*: /) && line ~ titles) {
      out = out "\n * @par " substr(line, 2, RLENGTH - 3) "\n *" substr(line, RLENGTH)
    } else {
      out = out "\n *" line
    }
  }
  return out "\n */"
}
# Statements are code, whose names become links; anything else is shown as it is.
function code_of(lines, i, n) {
  for (; i <= n && lines[i] != ""; i++) if (lines[i] ~ /;( *\/\/.*)?$/) return "code{.c}"
  return "code{.unparsed}"
}

function end_of_comment() {
  if (at_top) { print documentation(text, " @file"); at_top = 0; text = ""; return }
  pending = text; text = ""; comment = 0
}
function document() { if (pending != "") print documentation(pending, "") }

BEGIN {
  titles = "^ (Aliasing|Error|Errors|In place|Mask|Memory|NaN|Order|Range|Rings|Shapes|Source|Speed|Status|Threads|Words|Workspace|Your own functions): "
}
FNR == 1 { at_top = 1; depth = 0; pending = ""; inside_body = 0 }

# ------------------------------------------------------------------------------------------------------------ comments
!inside_body && !comment && /^ *\/\/ -----/ { pending = ""; print; next }
!inside_body && !comment && /^ *\/\/ / || !inside_body && !comment && slashes && /^ *\/\/$/ {
  line = $0
  sub(/^ *\/\//, "", line)
  text = slashes ? text "\n" line : line
  slashes = 1
  next
}
slashes { slashes = 0; end_of_comment() }
!inside_body && !comment && /^\/\* -----/ { pending = ""; print; next }
!inside_body && !comment && /^\/\* / { comment = 1; text = "" }
comment {
  line = $0
  sub(/^(\/| )\*/, "", line)
  last = sub(/ *\*\/$/, "", line) || line == "/"
  if (line != "/") text = text == "" ? line : text "\n" line
  if (last) { comment = 0; end_of_comment() }
  next
}

# -------------------------------------------------------------------------------------------------------- declarations
/^$/ { pending = ""; print; next }
!inside_body && /^#define/ {
  document()
  inside_body = /\\$/ ? "macro" : ""
  sub(/ \/\* /, " /**< ")
  print
  next
}
inside_body == "macro" { if (!/\\$/) inside_body = ""; print; next }
!inside_body && /^#/ { print; next }

# Fields and enumerators. Of a line with several names, each has its share of the comment, or all of it.
function member(words, field,   names, shares, n, i, type, whole) {
  if (field ~ /\(|^  HEED_/ || (n = split(field, names, ", ")) < 2) { print words "\n" field; return }
  match(names[1], /\**[a-z0-9_]+$/)
  type = substr(names[1], 1, RSTART - 1)
  names[1] = substr(names[1], RSTART)
  sub(/;$/, "", names[n])
  gsub(/^\/\*\* | \*\/$/, "", words)
  whole = split(words, shares, ", ") != n
  for (i = 1; i <= n; i++) {
    sub(/^and /, "", shares[i])
    print "/** " (whole ? words : shares[i]) " */\n" type names[i] ";"
  }
}
in_struct && behind != "" {
  behind = behind "\n" $0
  if (/\*\/$/) { member(behind, field); behind = "" }
  next
}
in_struct && /^}/ { in_struct = 0; print; next }
in_struct && /^ *\/\* .*\*\/$/ { above = $0; next }
in_struct {
  field = $0
  words = ""
  if (/^  uint32_t struct_size;$/) words = "/** the sizeof of this struct */"
  else if (/^  const heed_[a-z_]* \*code;$/) words = "/** set by the init function */"
  else if (/^  HEED_ARG_[A-Z0-9_]* = [0-9]+,?$/) words = "/** the argument of this name */"
  else if (above != "" && !/^  HEED_/) { words = above; sub(/\/\*/, "/**", words) }
  above = ""
  if ((i = index($0, " /* ")) > 0) {
    words = "/** " substr($0, i + 4)
    field = substr($0, 1, i - 1)
    sub(/ +$/, "", field)
    if (!/\*\/$/) { behind = words; next }
  }
  member(words, field)
  next
}
!inside_body && /^typedef (struct|enum) .*\{$/ { document(); in_struct = 1; print; next }

# A class or a namespace is no body: its members are declarations.
!inside_body && /^(namespace|extern) .*\{$/ { print; next }
!inside_body && /^ *(class|struct) .*\{$/ { if (!templated) document(); templated = 0; pending = ""; print; next }
!inside_body && (/^ (public|private):/ || /^} *$/ || /^};$/ || /^ *}/) { print; next }
!inside_body {
  if (/^ *template </) { document(); templated = 1; open = 1 }
  if (open) { open = !/>$/; print; next }
  if (!templated) document()
  templated = 0
  inside_body = "declaration"
  depth = 0
}
inside_body == "declaration" {
  line = $0
  depth += gsub(/[{(]/, "&", line) - gsub(/[})]/, "&", line)
  sub(/ *\/\/.*$/, "", line)
  if (depth == 0 && line ~ /[;}]$/) {
    inside_body = ""
    sub(/ +\/\/ /, "  ///< ")
    sub(/; +\/\* /, "; /**< ")
  }
  print
}
