# awk -f statuses.awk HEADER... statuses.seen: does the comment of each function name the statuses that it was seen to return, fault
# and argument? Those of heed.h's list, which hold for every function, need not be there. A comment may refer to another
# function, struct or header. statuses.seen has lines "FUNCTION STATUS" (statuses_audit.c). SPDX-License-Identifier: MIT
FNR == 1 {
  header = FILENAME
  sub(/.*\//, "", header)
  comment = ""
  in_comment = 0
}
/^  HEED_[A-Z0-9_]+ = [0-9]+/ && header == "status.h" {
  if ($1 ~ /^HEED_ARG_/) argument[$3 + 0] = substr($1, 10)
  else fault[$3 + 0] = substr($1, 6)
}
header == "heed.h" && /The statuses of every function/ { general_list = 1 }
header == "heed.h" && /The library promises/ { general_list = 0 }
general_list { general = general " " $0 " " }
/^\/\*/ { comment = ""; in_comment = 1 }
in_comment {
  comment = comment " " $0 " "
  if (/\*\//) {
    in_comment = 0
    of_header[header] = of_header[header] " " statuses_in(comment)
  }
  next
}
match($0, /^HEED_API.* \**heed_[a-z0-9_]+\(|^typedef (struct|enum) heed_[a-z0-9_]+/) {
  name = substr($0, RSTART, RLENGTH)
  sub(/\($/, "", name)
  sub(/.*[ *]/, "", name)
  of_name[name] = comment
}
FILENAME ~ /statuses\.seen$/ {
  if (seen[$1, $2]++) next
  n++
  f = fault[int(-$2 / 1000)]
  a = argument[-$2 % 1000]
  if (has_word(general, f)) next
  split("", visited)
  text = all_of($1)
  if (!has_word(text, f) || !has_word(text, a)) {
    print "the comment of " $1 " does not say: " f " for " a
    wrong++
  }
}
function statuses_in(text,   at) {
  at = match(text, /Status/)
  text = at ? substr(text, at) : (text ~ /statuses/ ? text : "")
  sub(/Source:.*/, "", text)
  return text
}
function has_word(text, word) { return match(text, "(^|[^A-Z_])" word "([^A-Z_]|$)") }
# The statuses of a name, and of all that its comment refers to.
function all_of(name,   text, rest, word) {
  if (name in visited || !(name in of_name)) return ""
  visited[name] = 1
  text = rest = statuses_in(of_name[name])
  while (match(rest, /heed_[a-z0-9_]+|[a-z_]+\.h/)) {
    word = substr(rest, RSTART, RLENGTH)
    rest = substr(rest, RSTART + RLENGTH)
    text = text " " (word in of_header ? of_header[word] : all_of(word))
  }
  return text
}
END {
  if (n < 500) { print "only " n " statuses were seen"; exit 1 }
  if (wrong) exit 1
  print n " statuses were seen, and the comments of their functions name them"
}
