# The most stack that a call can take, from GCC's call graph with frames (-fcallgraph-info=su): the deepest chain of calls from
# each function in FUNCTIONS (names with blanks between), as lines "FUNCTION BYTES".
#   awk -f stack.awk DISASSEMBLY RELOCATIONS heed.ci    of the linked program (objdump -d) and of the library's object (objdump -r)
# A call through a pointer counts as the deepest function that the pointer may hold; `holds` below says which, by the name in the
# source, and a name that is not there is an error. A task is one that the function which starts it refers to. What has no
# frame in the graph (libgcc's arithmetic, memcpy) has that of its instructions, all pushes added up.
# A function whose instructions jump to another, instead of calling it, has left its frame by then.
# WITHOUT: a pattern of functions that no pointer holds in these calls.
# With PLAIN=1 the calls have neither executor, weights nor options: what only those reach is left out.
BEGIN {
  holds["engine->run"] = "^run_with_options$"
  holds["engine->check"] = "^check_options$"
  holds["code->check"] = "^check_(in_call|fields|partial|ranges|boolean|additive|softcap|alibi|sinks|scores|lse|column_sums|top_k|narrow)$"
  holds["code->bind"] = "^bind_(partial|ranges|boolean|additive|softcap|alibi|sinks|scores|lse|column_sums|top_k|narrow|cache)$"
  holds["code->run"] = "^run_rope$"
  holds["features[i].run"] = "^run_(caches|formats|options|projections|ropes|sums|elements|norms)$"
  holds["append"] = "^append_rows$"; holds["check_room"] = "^check_room$"
  holds["norm"] = "^heed_(rms|layer)_norm$"; holds["activation"] = "^heed_(gelu|gelu_tanh|silu|relu)$"
  holds["attend"] = "^(scalar )?attend$"; holds["merge"] = "^(scalar )?merge(_one_lane|_lanes|_rows)?$"
  holds["finish"] = "^(scalar )?finish(_one_lane|_lanes|_rows|_tile|_narrow|_rows_and_weights)?$"
  holds["finish_rows"] = holds["finish_wide"] = "^(scalar )?finish(_one_lane|_lanes|_rows)?$"
  holds["keep"] = "^(scalar )?keep$"; holds["softmax"] = "^(scalar )?softmax(_one_lane|_row)?$"
  holds["sees"] = "^sees$"; holds["score"] = "^score_(stored|narrow)$"; holds["score_keys"] = "^score_stored$"
  holds["apply"] = "^(apply_rule|keep_logits)$"
  holds["add_visible"] = "add_visible of a mask"; holds["add_not_hidden"] = "add_visible of a kernel"
  holds["add"] = "^add_stored$"; holds["hides"] = "^hides$"; holds["values_are_finite"] = "^values_are_finite$"
  holds["softcap"] = "^softcap_block$"; holds["alibi"] = "^alibi_block$"; holds["mask"] = "^mask_"
  holds["weights"] = holds["look"] = "^(weigh_block|look)$"; holds["sinks"] = "^add_sinks$"
  holds["log_sum_exp"] = "^write_lse$"; holds["suspend"] = "^suspend$"; holds["resume"] = "^resume$"
  holds["inspect"] = "^inspect_tile$"; holds["open"] = "^open_narrow$"; holds["range"] = "^range_of_entry$"
  holds["length"] = "^length_of$"; holds["place"] = "^place$"; holds["place_narrow"] = "^place_narrow$"
  holds["available"] = "^cpu_has"; holds["linear"] = "^(scalar )?linear"; holds["dot"] = "^(scalar )?dot"
  holds["step"] = "of rows_task"; holds["step of project.cpp"] = "^project(_one_lane)?$"
  holds["fill"] = "^copy_(weights|transposed)$"
  holds["run"] = "^run_guarded$"; holds["task"] = "TASK"
}
FILENAME == ARGV[1] { # instructions: 0000abcd <name>: and then "address: bytes mnemonic operands"
  if ($0 ~ /^[0-9a-f]+ <.*>:$/) { current = $2; gsub(/[<>:]/, "", current); next }
  if (current ~ /^(heed_|_Z)/) { # how it calls; its frame is in the graph
    if ($0 ~ /\tblx\t/) calls_pointer[current] = 1
    else if (match($0, /\t(bl|b|b\.n|b\.w)\t.*</)) {
      n = substr($0, RSTART + RLENGTH)
      sub(/>.*/, "", n)
      if ($0 ~ /\tbl\t/) returns[current, n] = 1
      else jumps[current, n] = 1
    }
    seen[current] = 1
    next
  }
  if (match($0, /(push|stmdb[ \t]+sp!,|vpush)[^{]*\{.*\}/)) pushed[current] += bytes_of(substr($0, RSTART, RLENGTH))
  else if (match($0, /sub(\.w|s)?[ \t]+sp, (sp, )?#[0-9]+/)) { n = substr($0, RSTART, RLENGTH); sub(/.*#/, "", n); pushed[current] += n }
  else if (match($0, /str(\.w|d)?[ \t].*\[sp, #-[0-9]+\]!/)) { n = substr($0, RSTART, RLENGTH); sub(/.*#-/, "", n); pushed[current] += n + 0 }
  else if ($0 ~ /\t(bl|b|b\.n|b\.w|blx)\t.*<[^+>]*>/) { n = $0; sub(/.*</, "", n); sub(/>.*/, "", n); if (n != current) calls[current] = calls[current] n "\n" }
  next
}
FILENAME == ARGV[2] { # OFFSET TYPE SYMBOL, below the name of a section
  if (/^RELOCATION RECORDS FOR/) { section = $4; gsub(/^\[\.text\.|\]:$/, "", section) }
  else if ($2 ~ /^R_ARM_(ABS32|MOVW_ABS_NC|THM_MOVW_ABS_NC)$/) { n = $3; sub(/^\.text\./, "", n); refers[section] = refers[section] n "\n" }
  next
}
/^node:/ {
  name = $0; sub(/.*title: "/, "", name); sub(/".*/, "", name); sub(/.*:/, "", name)
  text = $0; sub(/.*label: "/, "", text); sub(/\\n.*/, "", text); plain_of[name] = text ~ /PLAIN = true/
  gsub(/\{anonymous\}/, "", text); sub(/<lambda.*/, "", text); sub(/\(.*/, "", text); sub(/.*[: ]/, "", text)
  if (text == "add_visible") text = text (name ~ /add_visibleI[hf]E/ ? " of a mask" : " of a kernel")
  if (name ~ /_16scalar/) text = "scalar " text
  if (match($0, /[0-9]+ bytes/)) { frame[name] = substr($0, RSTART, RLENGTH - 6) + 0; base[name] = text }
  if ($0 ~ /dynamic/) error(name " has a frame whose size is not known")
}
/^edge:/ {
  from = to = at = $0
  sub(/.*sourcename: "/, "", from); sub(/".*/, "", from); sub(/.*:/, "", from)
  sub(/.*targetname: "/, "", to); sub(/".*/, "", to); sub(/.*:/, "", to)
  sub(/.*label: "/, "", at); sub(/".*/, "", at)
  if (to == "__indirect_call") pointers[from] = pointers[from] at "\n"
  else calls[from] = calls[from] to "\n"
}
function error(text) { print text > "/dev/stderr"; faults++ }
function bytes_of(list,   part, n, i, first, last, bytes) { # of {r4, r5, r8-r11, lr} or {d8-d15}
  sub(/.*\{/, "", list); sub(/\}.*/, "", list)
  n = split(list, part, ",")
  for (i = 1; i <= n; i++) {
    first = last = part[i]
    if (!sub(/.*-[a-z]/, "", last)) first = last = 0
    sub(/-.*/, "", first); sub(/^ *[a-z]/, "", first)
    bytes += (last - first + 1) * (part[i] ~ /d/ ? 8 : 4)
  }
  return bytes
}
# The source's name of the pointer that is called at FILE:LINE:COLUMN.
function pointer_at(at,   part, line, n, left, right) {
  if (at in named) return named[at]
  split(at, part, ":")
  for (n = 1; n <= part[2]; n++) if ((getline line < part[1]) <= 0) break
  close(part[1])
  left = substr(line, 1, part[3] - 1)
  right = substr(line, part[3])
  if (match(right, /^[a-z_]+/)) left = left substr(right, 1, RLENGTH)
  if (match(left, /(engine|code|executor)->[a-z_]+$/) || match(left, /features\[i\]\.run$/) || match(left, /[a-z_0-9]+$/))
    return named[at] = substr(left, RSTART, RLENGTH) (part[1] ~ /lib\/project.cpp$/ ? " of project.cpp" : "")
  return named[at] = "?"
}
function may_hold(from, at,   pattern, n, i, most, d, best) {
  n = pointer_at(at)
  if (!(n in holds)) { error("stack.awk does not know what the pointer `" n "` holds, " at); return 0 }
  pattern = holds[n]
  if (n == "step") pattern = from ~ /norm_rows/ ? "^norm_of_rows$" : "^each_element$"
  if (PLAIN && pattern !~ /attend|merge|finish|softmax|TASK/) return 0
  if (pattern == "TASK") return PLAIN ? 0 : task_of(from)
  if (n == "attend" && from ~ /inspect_tile/) return second_pass()
  for (i in base) {
    if (base[i] !~ pattern) continue
    if (PLAIN && (pattern ~ /attend/ && !plain_of[i] || base[i] ~ /tile|narrow|and_weights/)) continue
    if ((d = depth(i)) > most) { most = d; best = i }
  }
  chosen = best
  return most
}
# What the second pass over the scores of a tile calls: nothing is added to the output then.
function second_pass(   i, j, n, list, most, d, best) {
  for (i in base) {
    if (base[i] != "attend") continue
    n = split(pointers[i], list, "\n")
    for (j = 1; j < n; j++)
      if (pointer_at(list[j]) !~ /^add/ && (d = frame[i] + may_hold(i, list[j])) > most) { most = d; best = chosen }
    n = split(calls[i], list, "\n")
    for (j = 1; j < n; j++) if (base[list[j]] ~ /^score/ && (d = frame[i] + depth(list[j])) > most) { most = d; best = list[j] }
  }
  chosen = best
  return most
}
function task_of(from,   n, i, list, most, d, best) {
  n = split(refers[from], list, "\n")
  for (i = 1; i < n; i++) if (base[list[i]] ~ /_task$/ && (d = depth(list[i])) > most) { most = d; best = list[i] }
  chosen = best
  return most
}
function guard(   i, bytes) { # frames between a call's executor and its tasks
  for (i in base) if (base[i] ~ /^run_(on|guarded)$/) bytes += frame[i]
  return bytes
}
# A function that ends with a call may leave its frame first and jump.
function own_frame(from, to) { return (from, to) in jumps && !((from, to) in returns) ? 0 : frame_of(from) }
function frame_of(name) { return name in frame ? frame[name] : pushed[name] }
function depth(name,   list, n, i, d, most, task, last) {
  if (name in known) return known[name]
  if (WITHOUT != "" && base[name] ~ WITHOUT) return known[name] = 0
  if (PLAIN && base[name] ~ /^(run_threaded|run_with_weights|check_with_options|run_ruled|run_ruled_tile|check_sequence_options)$/) return known[name] = 0
  if (name in busy) { error(name " calls itself"); return 0 }
  busy[name] = 1
  most = frame_of(name)
  n = split(calls[name], list, "\n")
  for (i = 1; i < n; i++) {
    d = depth(list[i])
    last = list[i]
    if (base[last] ~ /^run_(tasks|on)$/ && (task = task_of(name) + guard() + (base[last] == "run_tasks" ? frame[last] : 0)) > d) {
      d = task
      last = chosen
    }
    d += own_frame(name, list[i])
    if (d > most) { most = d; next_of[name] = last }
  }
  n = split(pointers[name], list, "\n")
  for (i = 1; i < n; i++) {
    d = may_hold(name, list[i])
    if (!(name in seen) || name in calls_pointer) d += frame_of(name)
    if (d > most) { most = d; next_of[name] = chosen }
  }
  delete busy[name]
  return known[name] = most
}
END {
  n = split(FUNCTIONS, list, " ")
  for (i = 1; i <= n; i++) {
    if (!(list[i] in frame)) error("no function " list[i])
    print list[i], depth(list[i])
    if (CHAIN) for (x = list[i]; x != ""; x = next_of[x]) print "   ", (x in frame ? frame[x] : pushed[x]), x
  }
  if (faults) exit 1
}
