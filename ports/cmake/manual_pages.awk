# manual_pages.awk -v pages="FILE FILE...": a filter of Doxygen for the pages of the manual. They link as GitHub does: a heading is
# named after its words, and a link leads to a file. Links to files that are no pages become plain text.
# SPDX-License-Identifier: MIT

function name_of(page, heading,   name) {
  if (page == "include/README.md" && heading == "") return "index"
  name = tolower(page "_" heading)
  sub(/\.md_/, "_", name)
  gsub(/[^a-z0-9_-]/, "_", name)
  return "page_" name
}
function slug(heading) {
  heading = tolower(heading)
  gsub(/[^a-z0-9 _-]/, "", heading)
  gsub(/ /, "-", heading)
  return heading
}
# A path that is relative to the folder of this page, as one that is relative to the root.
function path_of(target,   path) {
  path = page
  sub(/[^\/]*$/, "", path)
  path = path target
  while (match(path, /[^\/]+\/\.\.\//)) path = substr(path, 1, RSTART - 1) substr(path, RSTART + RLENGTH)
  return path
}
function reference(target,   parts, path) {
  if (target ~ /^[a-z]+:/) return target
  split(target, parts, "#")
  path = parts[1] == "" ? page : path_of(parts[1])
  if (index(" " pages " ", " " path " ")) return "@ref " name_of(path, parts[2])
  if (path == "include/heed") return "files.html"
  if (path ~ /^include\/heed\/[a-z]+\.hp*$/) { sub(/.*\//, "", path); return "@ref " path }
  return ""
}
# Doxygen wants the words of a link on one line.
function with_links(text,   out, label, target, to, i) {
  while (match(text, /\]\([^)]*\)/)) {
    target = substr(text, RSTART + 2, RLENGTH - 3)
    out = out substr(text, 1, RSTART - 1)
    text = substr(text, RSTART + RLENGTH)
    for (i = length(out); i > 0 && substr(out, i, 1) != "["; i--);
    label = substr(out, i + 1)
    gsub(/\n/, " ", label)
    to = reference(target)
    out = substr(out, 1, i - 1) (to == "" ? label : "[" label "](" to ")")
  }
  return out text
}
function flush() { if (prose != "") printf "%s", with_links(prose); prose = "" }

# Doxygen gives the whole path of a file: the longest page that it ends with is this one.
FNR == 1 {
  n = split(pages, names, " ")
  page = ""
  for (i = 1; i <= n; i++)
    if (length(names[i]) > length(page) && index(FILENAME "\n", "/" names[i] "\n")) page = names[i]
}
/^```/ { flush(); print; code = !code; next }
code { print; next }
/^#+ / {
  heading = $0
  sub(/^#+ /, "", heading)
  heading = /^# / ? "" : slug(heading)
  if (seen[heading]++) heading = heading "-" seen[heading] - 1
  name = name_of(page, heading)
  prose = prose $0 (name == "index" ? "" : " {#" name "}") "\n"
  next
}
{
  gsub(/&/, "\\&amp;")  # "&w;" is code, not a character of HTML
  prose = prose $0 "\n"
}
END { flush() }
