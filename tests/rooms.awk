# awk -f tests/rooms.awk FILE...: the rooms of lib and which may include which. A room may include itself, what stands before it
# in its row below, and, where the row says "public", the public headers. Lines "LINK file file symbol" say what an object refers
# to (room_links.sh). Prints what breaks that; exit status 1 if anything does.
BEGIN {
  allow(".", "")                                            # arithmetic.hpp; single.cpp is the sum of all
  allow("kernel_contract", ".")
  allow("reference", ". kernel_contract")
  allow("os", "")
  allow("vector", ". kernel_contract")
  allow("vector/rows", ". kernel_contract vector")
  allow("vector/product", ". kernel_contract vector vector/rows no_vectors")
  allow("vector/attention", ". kernel_contract vector vector/rows vector/product no_vectors")
  allow("no_vectors", ". kernel_contract vector vector/product vector/attention")
  allow("integer_steps", ". kernel_contract vector")
  allow("isa", ". kernel_contract reference vector vector/rows vector/product vector/attention no_vectors integer_steps os")
  allow("checks", ". kernel_contract public")
  allow("tasks", ". kernel_contract checks isa_choice public")
  allow("isa_choice", ". kernel_contract os tasks public")
  allow("options", ". kernel_contract checks isa_choice tasks public")
  allow("weights", ". kernel_contract checks isa_choice tasks public")
  allow("cache", ". kernel_contract checks isa_choice tasks options layers public")
  allow("integers", ". kernel_contract checks isa_choice tasks cache public")
  allow("layers", ". kernel_contract checks isa_choice tasks options weights cache integers public")
  allow("api", ". kernel_contract checks isa_choice tasks options weights cache layers public")
  allow("selftest", ". kernel_contract reference checks isa_choice tasks options weights cache integers api public")
  allow("openmp", "public")
  allow("threads", "public")
}
function allow(room, rooms,   list, n, i) {
  known[room] = 1
  may[room, room] = 1
  n = split(rooms, list, " ")
  for (i = 1; i <= n; i++) may[room, list[i]] = 1
}
# The folder of a path, without lib/ and with ".." taken away.
function room_of(path,   parts, n, i, depth, kept, room) {
  sub(/^.*lib\//, "", path)
  n = split(path, parts, "/")
  depth = 0
  for (i = 1; i < n; i++) {
    if (parts[i] == "..") depth--
    else kept[++depth] = parts[i]
  }
  room = "."
  for (i = 1; i <= depth; i++) room = (i == 1 ? "" : room "/") kept[i]
  return room ~ /^isa\// ? "isa" : room  # its folders are families of processors
}
FILENAME ~ /lib\/single\.cpp$/ { next }
# What is linked has one exception more: lists of kernels name them all, and layers compare the norm and the activation that their
# caller named with the public functions.
$1 == "LINK" {
  from = room_of($2)
  to = room_of($3)
  if ((from, to) in may) next
  if (from == "isa_choice" && to == "isa") next
  if (from == "integers" && $4 ~ /int_plain_rows/) next
  if (from == "layers" && to == "api" && $4 ~ /^heed_(layer_norm|rms_norm|rms_norm_plus_one|l2_norm|gelu|gelu_tanh|silu|relu|tanh|sigmoid)$/) next
  print $2 ": " from " may not refer to " to " (" $4 " of " $3 ")"
  failed = 1
}
/^ *#include "/ {
  split($0, quoted, "\"")
  folder = FILENAME
  sub(/[^\/]*$/, "", folder)
  from = room_of(FILENAME)
  to = quoted[2] ~ /^heed\// ? "public" : room_of(folder quoted[2])
  if (!(from in known)) { print FILENAME ": the room " from " has no row in tests/rooms.awk"; failed = 1 }
  # The one file that gathers all parts of a kernel.
  else if (!((from, to) in may) && FILENAME !~ /make_kernel\.hpp$/) {
    print FILENAME ":" FNR ": " from " may not include " to " (" quoted[2] ")"
    failed = 1
  }
}
# A specialised variable or function is a strong symbol of each kernel's file in some builds (clang's address sanitizer).
/^template <>/ && room_of(FILENAME) ~ /^(kernel_contract|reference|vector|no_vectors|integer_steps|isa)/ {
  print FILENAME ":" FNR ": an explicit specialisation may be a symbol of its own in every kernel: overload instead"
  failed = 1
}
END { exit failed }
