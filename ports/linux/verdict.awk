# Reads ctest's JUnit report: counts tests and gives the reason of every skipped one.
/<testcase / {
  name = $0; sub(/.*<testcase name="/, "", name); sub(/".*/, "", name); sub(/ *# GetParam.*/, "", name)
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
  if (status == "run") n_passed++
  else if (status == "notrun" && message ~ /^SKIP_/ || status == "disabled") {
    gsub(/&lt;/, "<", reason); gsub(/&gt;/, ">", reason); gsub(/&quot;/, "\"", reason); gsub(/&amp;/, "\\&", reason)
    sub(/^([Ss]kipped|SKIPPED):? */, "", reason)
    if (!(reason in skipped)) reasons[++n_reasons] = reason
    skipped[reason] = skipped[reason] " " name
    of_reason[reason]++
    n_skipped++
  } else failed[++n_failed] = name
}
END {
  for (i = 1; i <= n_reasons; i++) {
    reason = reasons[i]
    names = length(skipped[reason]) > 300 ? substr(skipped[reason], 1, 300) " ..." : skipped[reason]
    printf "skipped, %s (%d):%s\n", reason == "" ? "no reason given" : reason, of_reason[reason], names
  }
  for (i = 1; i <= n_failed; i++) printf "failed: %s\n", failed[i]
  printf "VERDICT: %s: %d passed, %d failed, %d skipped\n", n_failed || !n_passed ? "FAILED" : "passed", n_passed, n_failed, n_skipped
  exit n_failed || !n_passed
}
