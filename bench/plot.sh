#!/bin/sh
# Draws what heed_bench measured over lengths: time of a prompt and its share of the FMA peak against its length, time per
# key and the share of the read bandwidth against the context's length, a line for each kernel; and the time of 1 to 64 rows
# of a projection, a line for each format and layout. Needs gnuplot.
#   build/bench/heed_bench --benchmark_filter='^(prompt|context|rows/512x1376)/' --benchmark_out=results.json
#   sh bench/plot.sh results.json [svg|png]      writes prompt.svg, context.svg, rows-512x1376-near-avx512.svg, ... (or
#                                                .png) beside results.json
# SPDX-License-Identifier: MIT
set -eu
fail() { echo "$*" >&2; exit 2; }
[ $# -ge 1 ] && [ $# -le 2 ] || fail "usage: plot.sh results.json [svg|png]"
results=$1 format=${2:-svg}
[ -r "$results" ] || fail "cannot read $results"
case $format in svg) terminal='svg size 1000,420 dynamic' ;; png) terminal='pngcairo size 1000,420' ;; *) fail "neither svg nor png: $format" ;; esac
command -v gnuplot >/dev/null 2>&1 || { echo "SKIPPED: gnuplot is not installed"; exit 77; }
folder=$(dirname "$results")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Google Benchmark writes one member a line. A file for each group and kernel: length, us, us per row or key, share.
awk -v folder="$work" '
  function value(line) { sub(/^[^:]*: */, "", line); sub(/,? *$/, "", line); gsub(/"/, "", line); return line }
  /^ *\{/ { name = aggregate = us = peak = bandwidth = "" ; repetitions = 1 }
  /"run_name":/ { name = value($0) }
  /"aggregate_name":/ { aggregate = value($0) }
  /"run_type": "iteration"/ { iteration = 1 }
  /"run_type": "aggregate"/ { iteration = 0 }
  /"repetitions":/ { repetitions = value($0) }
  /"us":/ { us = value($0) }
  /"of_peak":/ { peak = value($0) }
  /"of_bandwidth":/ { bandwidth = value($0) }
  /"us_[0-9]+":/ && split(name, part, "/") >= 6 && part[1] == "rows" {
    n = $0
    gsub(/^[^_]*_|".*$/, "", n)
    print n, value($0), value($0) / n > (folder "/rows-" part[2] "-" part[5] "-" part[6] "." part[3] " " part[4])
  }
  /^ *\},?$/ && us != "" && (aggregate == "median" || (iteration && repetitions <= 1)) && split(name, part, "/") == 3 &&
  (part[1] == "prompt" || part[1] == "context") {
    print part[2], us, 1000 * us / part[2], part[1] == "prompt" ? peak : bandwidth > (folder "/" part[1] "." part[3])
  }' "$results"

draw() { # draw GROUP TITLE X LEFT_COLUMN LEFT_LABEL RIGHT_LABEL
  left='' right='' share='(100*$4)'
  case $1 in rows-*) share=3 ;; esac
  for file in "$work/$1".*; do
    [ -f "$file" ] || return 0
    line=${file#"$work/$1."}
    sort -n "$file" -o "$file"
    left="$left${left:+, }'$file' using 1:$4 with linespoints title '$line' noenhanced"
    right="$right${right:+, }'$file' using 1:$share with linespoints title '$line' noenhanced"
  done
  gnuplot <<END
set terminal $terminal
set output '$folder/$1.$format'
set multiplot layout 1,2 title "$2" noenhanced
set logscale x 2
set xlabel '$3'
set grid
set key top left
set logscale y
set ylabel '$5'
plot $left
unset logscale y
set yrange [0:*]
set key bottom right
set ylabel '$6'
plot $right
unset multiplot
END
  echo "$folder/$1.$format"
  drawn=1
}
drawn=0
draw prompt 'self-attention of a prompt, one head, d 64' 'rows' 2 'us' '% of the FMA peak'
draw context 'one query against a context, one head, d 128' 'keys' 3 'ns per key' '% of the read bandwidth'
for name in $(cd "$work" && ls | sed -n 's/^\(rows-[^.]*\).*/\1/p' | sort -u); do
  draw "$name" "a projection, $name" 'rows' 2 'us' 'us a row'
done
[ $drawn = 1 ] || fail "$results holds no results of prompt/, context/ or rows/"
