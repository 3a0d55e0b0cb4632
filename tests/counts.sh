#!/bin/sh
# counts.sh SOURCE: pages, headers and comments of lib do not count the project's own parts ("five tables", "118 lines"): such a number
# is untrue after the next change, and nothing notices. What a page must count, a test makes or checks. SPDX-License-Identifier: MIT
set -eu
cd "$1"
number='([0-9]+|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty)'
part='(rules?|lines|functions|statuses|kernels|rooms|suites|tables|headers|tests)'
# What is meant otherwise: a release's record, what a reader does, a single place in the code.
allowed='in one table|that each condition of the source|stack of three functions|with the two functions|one of 16 functions'
found=$(find README.md include lib ports tests bench \( -name '*.md' ! -name CHANGES.md \) -o -path 'lib/*.[ch]pp' -o -path 'include/*.h' |
  sort | xargs grep -nHEi "(^|[^-.0-9a-z])$number $part([^a-z]|\$)" | grep -vE "$allowed" || true)
[ -z "$found" ] || { echo "FAILED: counts in prose, which nothing keeps true:"; echo "$found"; exit 1; }
echo "no page counts the project's parts"
