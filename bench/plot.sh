#!/bin/sh
# Draws what heed_bench measured over lengths: time of a prompt and its share of the FMA peak against its length, time per
# key and the share of the read bandwidth against the context's length, a line for each kernel. Needs gnuplot.
#   build/bench/heed_bench --benchmark_filter='^(prompt|context)/' --benchmark_out=results.json
#   sh bench/plot.sh results.json [svg|png]      writes prompt.svg and context.svg (or .png) beside results.json
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
  /^ *\},?$/ && us != "" && (aggregate == "median" || (iteration && repetitions <= 1)) && split(name, part, "/") == 3 &&
  (part[1] == "prompt" || part[1] == "context") {
    print part[2], us, 1000 * us / part[2], part[1] == "prompt" ? peak : bandwidth > (folder "/" part[1] "." part[3])
  }' "$results"

draw() { # draw GROUP TITLE X LEFT_COLUMN LEFT_LABEL RIGHT_LABEL
  files=$(cd "$work" && ls "$1".* 2>/dev/null || true)
  [ -n "$files" ] || return 0
  left='' right=''
  for file in $files; do
    kernel=${file#"$1".}
    sort -n "$work/$file" -o "$work/$file"
    left="$left${left:+, }'$work/$file' using 1:$4 with linespoints title '$kernel'"
    right="$right${right:+, }'$work/$file' using 1:(100*\$4) with linespoints title '$kernel'"
  done
  gnuplot <<END
set terminal $terminal
set output '$folder/$1.$format'
set multiplot layout 1,2 title "$2"
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
[ $drawn = 1 ] || fail "$results holds no results of prompt/ or context/"
