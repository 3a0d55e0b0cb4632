# commands.awk LIST PAGE: writes the commands of a page as a script, and complains of what the list does not settle or no longer
# needs. commands.txt says what its lines mean. SPDX-License-Identifier: MIT
BEGIN { name = ARGV[2]; sub(/^\.\//, "", name) }
function trim(text) { gsub(/^ +| +$/, "", text); return text }
function complain(text) { print "FAILED: " name ": " text >"/dev/stderr"; bad = 1 }

# The list: of this page alone.
FNR == NR {
  if (/^\[/) { ours = $0 == "[" name "]"; next }
  if (!ours || /^#/ || /^$/) next
  n++
  kind[n] = $1
  text = trim(substr($0, length($1) + 1))
  at = index(text, " :: ")
  begin[n] = at ? trim(substr(text, 1, at - 1)) : text
  rest[n] = at ? trim(substr(text, at + 4)) : ""
  if (kind[n] !~ /^(output|not|wants|before|after|with)$/) complain("the list has a line of no kind: " $0)
  if (kind[n] != "output" && rest[n] == "") complain("the list gives no reason, command or text: " $0)
  next
}

# The page.
/^ *```/ {
  fenced = !fenced
  foreign = fenced && $0 !~ /^ *```(sh|bash|shell)?$/
  fresh = 1
  next
}
/^ *$/ { if (!fenced) inside = 0; empty = 1; next }
{
  block = fenced ? !foreign : /^    / && (inside || empty)
  if (!fenced && block && !inside) fresh = 1
  if (!fenced) inside = block
  empty = 0
  if (block) take(trim($0))
}

function take(line) {
  if (fresh) { is_output = known("output", line); fresh = 0 }
  if (is_output) return
  if (line ~ /\\$/) { sub(/\\$/, "", line); joined = joined line; return }
  command(joined line)
  joined = ""
}
function known(what, line,  i, found) {
  for (i = 1; i <= n; i++)
    if (kind[i] == what && index(line, begin[i]) == 1) { used[i] = 1; found = i }
  return found
}
function replaced(line, i,  at, done) {
  while (at = index(line, begin[i])) {
    used[i] = 1
    done = done substr(line, 1, at - 1) rest[i]
    line = substr(line, at + length(begin[i]))
  }
  return done line
}
function emit(text) { script = script text "\n" }
# What a command needs of the environment, and does not get from the page, is asked for first.
function ask(text,  variable) {
  while (match(text, /\$\{?HEED_[A-Z0-9_]+/)) {
    variable = substr(text, RSTART, RLENGTH)
    text = substr(text, RSTART + RLENGTH)
    gsub(/[${]/, "", variable)
    emit("need " variable)
  }
}
function step(text,  shown) {
  ask(text)
  shown = text
  gsub(/'/, "'\\''", shown)
  emit("say '" shown "'")
  emit(text)
  emit("passed $?")
}
function command(line,  i, shown) {
  if (i = known("not", line)) { emit("echo 'not run, " rest[i] ": " substr(line, 1, index(line " ", " ") - 1) "'"); return }
  if (i = known("wants", line)) emit("if wants " rest[i] "; then")
  for (i = 1; i <= n; i++) if (kind[i] == "before" && index(line, begin[i]) == 1) { used[i] = 1; step(rest[i]) }
  shown = line
  for (i = 1; i <= n; i++)
    if (kind[i] == "with") line = replaced(line, i)
  step(line)
  for (i = 1; i <= n; i++) if (kind[i] == "after" && index(shown, begin[i]) == 1) { used[i] = 1; step(rest[i]) }
  if (known("wants", shown)) emit("fi")
}
END {
  for (i = 1; i <= n; i++) if (!used[i]) complain("nothing on the page begins with, or has: " begin[i] " (" kind[i] ")")
  printf "%s", script
  exit bad
}
