# The most stack that a call can take, from GCC's call graph with frames (-fcallgraph-info=su): the deepest chain of calls from
# each function in FUNCTIONS (names with blanks between), as lines "FUNCTION BYTES".
#   awk -f stack.awk DISASSEMBLY RELOCATIONS heed.ci    of the linked program (objdump -d) and of the library's object (objdump -r)
# A call through a pointer counts as the deepest function that the pointer may hold; `holds` below says which, by the name in the
# source, and of these only functions whose address is in the object, or public ones, which a program may name. A pointer that is
# not there is an error, and so is a function whose address is taken and that no pointer holds. A task is one that the function
# which starts it refers to. What has no frame in the graph (libgcc's arithmetic, memcpy) has that of its instructions, all pushes
# added up. A function whose instructions jump to another, instead of calling it, has left its frame by then.
# WITHOUT: patterns of functions that no pointer holds in these calls; each is some function's, or the name has changed.
# With PLAIN=1 the calls have neither executor nor options: what only those reach is left out.
BEGIN {
  # Options and caches: lib/options/call_rule.hpp, options.hpp, cache.hpp.
  holds["engine->run"] = "^run_with_options$"; holds["engine->check"] = "^check_options$"
  option = "(partial|ranges|boolean|additive|softcap|alibi|sinks|scores|attention_weights|lse|column_sums|top_k|narrow)"
  holds["code->check"] = "^check_(in_call|" option ")$"; holds["code->bind"] = "^bind_(cache|" option ")$"
  holds["sinks->code->check"] = "^check_sinks$"; holds["sinks->code->bind"] = "^bind_sinks$"
  holds["lse->code->check"] = "^check_lse$"; holds["lse->code->bind"] = "^bind_lse$"
  holds["rope->code->check"] = "^check_fields$"; holds["rope->code->run"] = "^run_rope$"
  holds["w->code->check"] = "^check_(packed|blocks|bytes|in_integers)$"; holds["w->code->run"] = "^run_(packed|blocks|with_zero_points|in_integers)$"
  holds["append"] = "^append_rows$"; holds["check_tokens"] = "^check_tokens$"; holds["check_options"] = "^check_options_of_tokens$"
  holds["check_numbers"] = "^check_rows_to_append$"; holds["check_lengths"] = "^check_lengths$"; holds["cut_batch"] = "^piece_of_batch$"
  holds["longest"] = "^longest_in_batch$"; holds["shape"] = "^shape_of_batch$"; holds["check_each"] = "^check_each$"
  holds["rotate_each"] = "^rotate_each$"; holds["append_each"] = "^append_each$"; holds["attend_each"] = "^attend_each$"
  holds["place_rows"] = "^place_sequence$"; holds["check_sequence"] = "^check_tokens_of_sequence$"
  holds["check_and_append"] = "^check_and_append_rows$"
  # The hooks of a rule, in the order in which a call comes to them.
  holds["place"] = "^place_stream$"; holds["place_cached"] = "^place_cached$"; holds["place_typed"] = "^place_typed$"
  holds["put_out"] = "^put_out$"; holds["range"] = "^range_of_entry$"; holds["open"] = "^open_narrow$"; holds["resume"] = "^resume_partial$"; holds["sees"] = "^sees_key$"
  holds["score"] = "^score_(stored|narrow)$"; holds["score_keys"] = "^score_stored$"; holds["apply"] = "^apply_rule$"
  holds["keep"] = "^(scalar )?keep$"; holds["softcap"] = "^softcap_block$"; holds["alibi"] = "^alibi_block$"
  holds["mask"] = "^mask_(boolean|additive)$"; holds["values_are_finite"] = "^values_are_finite$"
  holds["weights"] = "^weigh_block$"; holds["look"] = "^inspect_block$"; holds["add"] = "^add_stored$"; holds["hides"] = "^hides_key$"
  holds["add_visible"] = "^add_visible$"; holds["add_not_hidden"] = "^add_visible_values$"
  holds["sinks"] = "^add_sinks$"; holds["log_sum_exp"] = "^write_lse$"; holds["suspend"] = "^suspend$"
  holds["inspect"] = "^inspect_tile$"
  holds["finish_wide"] = "^(scalar )?finish(_one_lane)?$"; holds["finish_rows"] = "^((scalar )?finish(_one_lane)?|finish_narrow)$"
  holds["finish"] = "^((scalar )?finish(_one_lane)?|finish_narrow|finish_tile)$"
  # A kernel's steps.
  holds["attend"] = "^((scalar )?attend|attend_any)$"; holds["merge"] = "^(scalar )?merge(_one_lane)?$"
  holds["softmax"] = "^(scalar )?softmax(_one_lane)?$"; holds["available"] = "^cpu_has"
  holds["linear"] = "^(scalar )?linear(_one_lane)?$"; holds["dot"] = "^(scalar )?dot(_one_lane)?$"
  holds["step of a product"] = "^project(_bytes)?(_one_lane)?$"; holds["step of blocks"] = "^multiply_blocks(_plain)?$"; holds["fill"] = "^copy_(weights|transposed)$"
  holds["step of norms"] = "^norm_of_rows$"; holds["step of elements"] = "^each_element$"
  holds["sum"] = "^sum_values$"
  # Integers.
  holds["project"] = "^(int_)?project$"; holds["project_floats"] = "^int_project_floats$"
  holds["row"] = "^(add_int|multiply_int|rescale|lookup|norm)_row$"; holds["run"] = "^run_(keys|piece)$"
  holds["code->check_call"] = "^check_cached_int_call$"; holds["code->cached"] = "^cached_head_of$"; holds["code->check_tokens"] = "^check_layer_tokens$"
  holds["code->store"] = "^store_tokens$"; holds["code->count"] = "^count_layer_tokens$"; holds["write"] = "^(write_bytes|quantize_row)$"
  # What a caller gives, tasks and self-tests.
  holds["norm"] = holds["qk_norm"] = "^heed_(int_)?(rms|layer|l2)_norm(_plus_one)?$"; holds["activation"] = "^heed_(gelu|gelu_tanh|silu|relu|tanh|sigmoid)$"
  holds["executor->run"] = "^run_guarded$"; holds["task"] = "_task$"
  holds["features[i].run"] = "^run_(all_activations|caches|formats|norms|options|packed_weights|projections|ropes|sums)$"
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
  else if ($2 ~ /^R_ARM_(ABS32|MOVW_ABS_NC|THM_MOVW_ABS_NC)$/) {
    n = $3
    sub(/^\.text\./, "", n)
    if (n != section) { # its own: a jump table
      refers[section] = refers[section] n "\n"
      taken[n] = 1
    }
  }
  next
}
/^node:/ {
  name = $0; sub(/.*title: "/, "", name); sub(/".*/, "", name); sub(/.*:/, "", name)
  text = $0; sub(/.*label: "/, "", text); sub(/\\n.*/, "", text); plain_of[name] = text ~ /PLAIN = true/
  gsub(/\{anonymous\}/, "", text); sub(/<lambda.*/, "", text); sub(/\(.*/, "", text); sub(/.*[: ]/, "", text)
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
function pointer_at(from, at,   part, line, n, left, right) {
  if ((from, at) in named) return named[from, at]
  split(at, part, ":")
  for (n = 1; n <= part[2]; n++) if ((getline line < part[1]) <= 0) break
  close(part[1])
  left = substr(line, 1, part[3] - 1)
  right = substr(line, part[3])
  if (match(right, /^[a-z_]+/)) left = left substr(right, 1, RLENGTH)
  n = "?"
  if (match(left, /((rope|sinks|lse|w)(\.|->))?code->[a-z_]+$/) || match(left, /(engine|executor)(\.|->)[a-z_]+$/) ||
      match(left, /features\[i\]\.run$/) || match(left, /[a-z_0-9]+$/))
    n = substr(left, RSTART, RLENGTH)
  if (n != "features[i].run") gsub(/\./, "->", n)
  if (n == "step") n = n " of " (part[1] ~ /packed\.cpp$/ ? "blocks" : part[1] ~ /project\.cpp$/ ? "a product" : from ~ /norm_rows/ ? "norms" : "elements")
  return named[from, at] = n
}
function may_hold(from, at,   pattern, n, i, most, d, best) {
  n = pointer_at(from, at)
  if (!(n in holds)) { error("stack.awk does not know what the pointer `" n "` holds, " at); return 0 }
  pattern = holds[n]
  if (PLAIN && n !~ /^(attend|merge|finish|softmax)$/) return 0
  if (n == "task") return task_of(from)
  if (n == "attend" && from ~ /inspect_tile/) return second_pass()
  for (i in base) {
    if (base[i] !~ pattern || !(i in taken || i ~ /^heed_/)) continue
    if (PLAIN && (n == "attend" && !plain_of[i] || base[i] ~ /tile|narrow/)) continue
    if ((d = depth(i)) > most) { most = d; best = i }
  }
  chosen = best
  return most
}
# What the second pass over the scores of a tile calls: no softmax, and nothing is added to the output then.
function second_pass(   i, j, n, list, most, d, best, above) {
  for (i in base) if (base[i] == "attend_any" && frame[i] > above) above = frame[i]
  for (i in base) {
    if (base[i] != "attend") continue
    n = split(pointers[i], list, "\n")
    for (j = 1; j < n; j++)
      if (pointer_at(i, list[j]) !~ /^add/ && (d = above + frame[i] + may_hold(i, list[j])) > most) { most = d; best = chosen }
    n = split(calls[i], list, "\n")
    for (j = 1; j < n; j++)
      if (base[list[j]] !~ /^(softmax|hide|add|sum)_/ && (d = above + frame[i] + depth(list[j])) > most) { most = d; best = list[j] }
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
  for (i in base) if (base[i] ~ /^run_(tasks_on|guarded)$/) bytes += frame[i]
  return bytes
}
# A function that ends with a call may leave its frame first and jump.
function own_frame(from, to) { return (from, to) in jumps && !((from, to) in returns) ? 0 : frame_of(from) }
function frame_of(name) { return name in frame ? frame[name] : pushed[name] }
function depth(name,   list, n, i, d, most, task, last) {
  if (name in known) return known[name]
  if (is_left_out(name)) return known[name] = 0
  if (PLAIN && base[name] ~ /^(run_threaded|check(_layer|_transformer)?_with_options|run_ruled|run_ruled_tile)$/) return known[name] = 0
  if (name in busy) { error(name " calls itself"); return 0 }
  busy[name] = 1
  most = frame_of(name)
  n = split(calls[name], list, "\n")
  for (i = 1; i < n; i++) {
    d = depth(list[i])
    last = list[i]
    if (base[last] ~ /^run_tasks(_on)?$/ && (task = task_of(name) + guard() + (base[last] == "run_tasks" ? frame[last] : 0)) > d) {
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
function is_left_out(name,   i) {
  for (i = 1; i <= n_left_out; i++) if (base[name] ~ left_out[i]) return 1
  return 0
}
function check_left_out(pattern,   name) {
  for (name in base) if (base[name] ~ pattern) return
  error("no function is named like " pattern ", which stack.sh leaves out")
}
function check_taken(   i, n, held) { # is every function whose address is taken held by a pointer?
  for (i in taken) {
    if (!(i in base)) continue
    held = 0
    for (n in holds) if (base[i] ~ holds[n]) held = 1
    if (!held) error("stack.awk does not know which pointer holds " base[i] ", " i)
  }
}
END {
  check_taken()
  n_left_out = split(WITHOUT, left_out, " ")
  for (i = 1; i <= n_left_out; i++) check_left_out(left_out[i])
  n = split(FUNCTIONS, list, " ")
  for (i = 1; i <= n; i++) {
    if (!(list[i] in frame)) error("no function " list[i])
    print list[i], depth(list[i])
    if (CHAIN) for (x = list[i]; x != ""; x = next_of[x]) print "   ", (x in frame ? frame[x] : pushed[x]), x
  }
  if (faults) exit 1
}
