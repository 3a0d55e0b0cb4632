#!/bin/sh
# Measures the tables of bench/README.md on this machine and writes them there, between their markers.
#   sh bench/tables.sh measure build/bench/heed_bench results.json     runs what the tables need: some 15 minutes, nothing else running
#   sh bench/tables.sh print results.json                              prints the tables
#   sh bench/tables.sh update results.json 'AMD Zen 4, GCC 12'         writes them, with the machine's name
# The tables have columns for AVX-512, AVX2 and SSE2: another machine's results are refused, and the missing ones named.
# SPDX-License-Identifier: MIT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
document=$here/README.md
usage() { sed -n '2,/^# SPDX/s/^# \{0,1\}//p' "$0"; exit 1; }
case ${1-} in
measure)
  [ $# -ge 3 ] || usage
  # Of each group what the tables show: the reference and the generic kernels would take an hour.
  filter='^(attention/[^/]*/(avx512|avx2|sse2)/|(linear/(98|512)x(64|512|768)x[^/]*|linear/1x1024x1024|softmax/[^/]*)/(avx512|avx2|sse2)$'
  filter="$filter|(first_call|cold_heads)/[^/]*/(avx512|avx2|sse2)/|feature/[^/]*/[^/]*/(avx512|avx2)\$"
  filter="$filter|(window/(1024|16384)/256|hidden_blocks/(2048x2048/diagonal|1x8192/padding))/avx512\$"
  filter="$filter|(rms_norm|layer_norm|add|relu|gelu|gelu_tanh|silu|silu_gated|tanh|sigmoid)/[0-9]*/(avx512|avx2)\$"
  filter="$filter|(cache/D[123]|append/D2)/[^/]*/(avx512|avx2)\$|integers/[^/]*/(avx512vnni|avx2)/"
  filter="$filter|model/[^/]*/((f32|f16|int8|q4_0)/packed|(int8|q4_0)/integers)/"
  forms='(f32/(in_out|out_in|packed)|f16/(in_out|packed)|int8/(in_out|packed|integers|int_packed)|q8_0/(out_in|packed|integers)|q4_0/(packed|integers))'
  filter="$filter|rows/(512x1376/$forms/near|4096x4096/$forms/memory)/(avx512|avx512vnni|avx2)/)"
  shift
  program=$1 results=$2
  shift 2
  exec "$program" --benchmark_filter="$filter" --benchmark_out="$results" "$@"
  ;;
print)
  [ $# -eq 2 ] || usage
  exec awk -f "$here/tables.awk" "$2"
  ;;
update) [ $# -eq 3 ] || usage ;;
*) usage ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk -f "$here/tables.awk" "$2" >"$work/tables"
version=$(sed -n 's/^#define HEED_VERSION_[A-Z]* //p' "$here/../include/heed/types.h" | paste -sd.)
{
  sed '/^<!-- tables/q' "$document"
  echo "Measured: heed $version, $3."
  cat "$work/tables"
  sed -n '/^<!-- end of tables/,$p' "$document"
} >"$work/page"
cp "$work/page" "$document"
