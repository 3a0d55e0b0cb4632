# Tables of bytes, whose pages hold ceilings, so that a few bytes more or less stop nobody.
#   awk -v MODE=write -f ceilings.awk FIGURES          each cell "528 / 520 / 544" becomes "570 (528 / 520 / 544)": the ceiling of
#                                                      the largest figure, and the figures of the day when the page was written
#   awk -v MODE=check -f ceilings.awk PAGE FIGURES     prints each figure that is above the page's ceiling, and each ceiling that is
#                                                      more than a tenth and 2 ROOM above its figures; exit status 1 if there is one
# FIGURES may have some of PAGE's columns alone. SPDX-License-Identifier: MIT
# ROOM: units that a ceiling has above its figures at least; 16 unless given.
BEGIN { FS = " *[|] *"; if (ROOM == "") ROOM = 16 }
function largest(cell, parts, n, i, most) {
  n = split(cell, parts, "/")
  for (i = 1; i <= n; i++) if (parts[i] + 0 > most) most = parts[i] + 0
  return most + 0
}
# Three in a hundred more, ROOM at least, rounded up to three digits.
function ceiling(bytes, room, step) {
  room = bytes * 0.03 > ROOM ? bytes * 0.03 : ROOM
  for (step = ROOM ? 10 : 1; bytes + room >= step * 1000; step *= 10);
  return int((bytes + room) / step + 0.999999) * step
}
function complain(text) { print "FAILED: " row ", " columns[i] ": " text; failed = 1 }

/^\|---/ { if (MODE == "write") print; next }
{ row = $2 }
MODE == "write" {
  line = "| " row
  for (i = 3; i < NF; i++) {
    cell = $i
    if (n_rows && cell ~ /[0-9]/) cell = ceiling(largest(cell)) " (" cell ")"
    line = line " | " cell
  }
  print line " |"
  n_rows++
  next
}
FNR == 1 { for (i = 3; i < NF; i++) columns[i] = $i; next }
NR == FNR { for (i = 3; i < NF; i++) if ($i ~ /^[0-9]/) page[row, columns[i]] = $i + 0; gone[row]; next }
{
  delete gone[row]
  for (i = 3; i < NF; i++) {
    figure = largest($i)
    if (!figure) continue
    n_figures++
    limit = page[row, columns[i]]
    if (!limit) complain($i ", and the page has no ceiling")
    else if (figure > limit) complain($i " is above the ceiling " limit)
    else if (limit > figure * 1.1 + 2 * ROOM) complain("the ceiling " limit " is too high for " $i)
  }
}
END {
  if (MODE == "check") for (row in gone) { print "FAILED: " row ": the page has a row without figures"; failed = 1 }
  if (MODE == "check" && !n_figures) { print "FAILED: no figures"; failed = 1 }
  if (MODE == "check" && !failed) print n_figures " figures are below their ceilings, and none is more than a tenth below"
  exit failed
}
