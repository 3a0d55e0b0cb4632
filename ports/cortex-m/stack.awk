# From GCC's call graph with frames (-fcallgraph-info=su): the deepest chain of calls from FUNCTION, in bytes. A call through
# a pointer counts as the deepest of the tasks that an executor runs, unless functions are skipped whose names match SKIP: then
# what is left are the hooks of options, which a plain call does not have. libgcc's arithmetic is not counted.
/^node:/ {
  name = $0; sub(/.*title: "/, "", name); sub(/".*/, "", name)
  if (match($0, /[0-9]+ bytes/)) frame[name] = substr($0, RSTART, RLENGTH - 6) + 0
}
/^edge:/ {
  from = to = $0
  sub(/.*sourcename: "/, "", from); sub(/".*/, "", from)
  sub(/.*targetname: "/, "", to); sub(/".*/, "", to)
  calls[from] = calls[from] to "\n"
}
function depth(name,   list, n, i, d, most) {
  if (name in known) return known[name]
  if (SKIP != "" && name ~ SKIP) return known[name] = 0
  if (name == "__indirect_call") {
    known[name] = 0
    if (SKIP != "") return 0
    for (i in frame) if (i ~ /_taskI/ && (d = depth(i)) > most) most = d
    return known[name] = most
  }
  known[name] = 0
  n = split(calls[name], list, "\n")
  for (i = 1; i < n; i++) if ((d = depth(list[i])) > most) most = d
  return known[name] = frame[name] + most
}
END {
  if (!(FUNCTION in frame)) { print "no function " FUNCTION > "/dev/stderr"; exit 1 }
  print depth(FUNCTION)
}
