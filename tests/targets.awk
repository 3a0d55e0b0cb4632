# Lines of targets.sh (row, status, compiler's version, kernels, fma, no-fma, runs, seconds, stamp, reason) as a table: build
# types with the same results share a line. With CHECK=1 compares the digests with those of `document` instead.
BEGIN {
  FS = "\t"
  if (CHECK) {
    while ((getline line < document) > 0) {
      if (split(line, cell, / *\| */) < 8) continue
      compiler = tolower(cell[3]); sub(/ .*/, "", compiler)
      gsub(/,/, "", cell[4]); gsub(/-flto/, "lto", cell[4]); gsub(/none/, "None", cell[4])
      for (i = split(cell[4], type_of, " "); i > 0; i--)
        known[cell[2] "-" compiler "-" type_of[i]] = cell[6] " " cell[7]
    }
  } else {
    print "| target | compiler | build types | kernels | digest, fma | digest, no-fma | run |"
    print "|---|---|---|---|---|---|---|"
  }
}
{
  target = $1; sub(/-[^-]*-[^-]*$/, "", target)
  compiler = substr($1, length(target) + 2); sub(/-.*/, "", compiler)
  type = $1; sub(/.*-/, "", type)
  type = type == "lto" ? "-flto" : type == "None" ? "none" : type
}
$2 == "skipped" { skipped = skipped "skipped: " $1 ": " $10 "\n"; next }
$2 == "failed" { failed = failed "failed: " $1 ": " $10 "\n" }
CHECK {
  if (!($1 in known)) { print "ports/targets.md has no row " $1; different = 1 }
  else if (known[$1] != $5 " " $6) { print "ports/targets.md has other digests for " $1 ": " known[$1] ", not " $5 " " $6; different = 1 }
  next
}
{
  native = emulated = ""
  for (i = split($7, run, /; */); i > 0; i--)
    if (run[i] == "native") native = "native"; else emulated = run[i] (emulated == "" ? "" : ", ") emulated
  how = native (native != "" && emulated != "" ? "; " : "") (emulated == "" ? "" : "emulated: " emulated)
  key = "| " target " | " (compiler == "gcc" ? "GCC " : "clang ") $3 " | @ | " $4 " | " $5 " | " $6 " | " how ($2 == "failed" ? "; **FAILED**" : "") " |"
  if (!(key in types)) keys[++n_keys] = key
  types[key] = types[key] (types[key] == "" ? "" : ", ") type
}
END {
  if (CHECK) {
    if (different) { print "if on purpose: sh tests/targets.sh FOLDER update"; exit 1 }
    print "the digests of ports/targets.md are right"
    exit
  }
  for (i = 1; i <= n_keys; i++) { line = keys[i]; sub(/@/, types[keys[i]], line); print line }
  printf "%s%s", skipped, failed
}
