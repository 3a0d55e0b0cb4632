# Reads ctest's JUnit reports: counts tests and gives the reason of every skipped one. Several reports have a line each, named by
# the file; slow.xml has one for each label. A test that is in two reports, as what others need, counts once.
function label_of(file, name) {
  sub(/.*\//, "", file); sub(/\.xml$/, "", file)
  if (file != "slow") return file
  sub(/^digest.*|^targets?_.*/, "targets", name); sub(/^windows.*/, "windows", name); sub(/^activations.*/, "sweep", name)
  sub(/^differential.*/, "differential", name); sub(/^package_.*/, "packages", name)
  return name
}
/<testcase / {
  name = $0; sub(/.*<testcase name="/, "", name); sub(/".*/, "", name); whole = name; sub(/ *# GetParam.*/, "", name)
  status = $0; sub(/.*status="/, "", status); sub(/".*/, "", status)
  message = reason = ""
  said_skipped = 0
}
/<skipped message=/ { message = $0; sub(/.*message="/, "", message); sub(/".*/, "", message) }
{ line = $0; sub(/.*<system-out>/, "", line); sub(/<\/system-out>.*/, "", line) }
# GoogleTest gives the reason after a line that ends in "Skipped"; other tests say it last.
said_skipped == 1 { reason = line; said_skipped = 2 }
line ~ /: Skipped$/ && said_skipped == 0 { said_skipped = 1 }
said_skipped == 0 && line !~ /^[ \t]*$/ && line !~ /^\[|^[ \t]*</ { reason = line }
/<\/testcase>/ {
  if (status == "run" && (whole in seen)) next
  seen[whole] = 1
  label = label_of(FILENAME, name)
  if (!(label in n_label)) labels[++n_labels] = label
  n_label[label]++
  if (status == "run") { n_passed++; passed_of[label]++ } else if (status == "notrun" && message ~ /^SKIP_/ || status == "disabled") {
    gsub(/&lt;/, "<", reason); gsub(/&gt;/, ">", reason); gsub(/&quot;/, "\"", reason); gsub(/&amp;/, "\\&", reason)
    sub(/^([Ss]kipped|SKIPPED):? */, "", reason)
    if (!(reason in skipped)) reasons[++n_reasons] = reason
    skipped[reason] = skipped[reason] " " name
    of_reason[reason]++
    n_skipped++
    skipped_of[label]++
  } else { failed[++n_failed] = name; failed_of[label]++ }
}
END {
  for (i = 1; i <= n_reasons; i++) {
    reason = reasons[i]
    names = length(skipped[reason]) > 300 ? substr(skipped[reason], 1, 300) " ..." : skipped[reason]
    printf "skipped, %s (%d):%s\n", reason == "" ? "no reason given" : reason, of_reason[reason], names
  }
  for (i = 1; i <= n_labels && n_labels > 1; i++) {
    label = labels[i]
    printf "%-12s %s: %d passed, %d failed, %d skipped\n", label, failed_of[label] ? "FAILED" : passed_of[label] ? "passed" : "skipped",
      passed_of[label], failed_of[label], skipped_of[label]
  }
  for (i = 1; i <= n_failed; i++) printf "failed: %s\n", failed[i]
  printf "VERDICT: %s: %d passed, %d failed, %d skipped\n", n_failed || !n_passed ? "FAILED" : "passed", n_passed, n_failed, n_skipped
  exit n_failed || !n_passed
}
