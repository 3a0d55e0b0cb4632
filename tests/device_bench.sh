#!/bin/sh
# device_bench.sh KERNELS COMMAND...: runs the device benchmark (COMMAND) on each of KERNELS (separated by commas) that this
# processor can run. Every line must be JSON of the form that ports/measure/device_bench.h states, with a digest that depends on
# the shape and the arithmetic alone. Nothing is said about counts. SPDX-License-Identifier: MIT
set -eu
kernels=$1
shift
found=$(mktemp)
trap 'rm -f "$found"' EXIT
status=0
"$@" P99 >"$found" 2>&1 || status=$?
[ $status -eq 2 ] && grep -q 'no shape P99; shapes are: P1 P2 .* D3$' "$found" || { cat "$found"; echo "P99: status $status, or no names"; exit 1; }
: >"$found"
for kernel in $(echo "$kernels" | tr , ' '); do
  HEED_ISA=$kernel "$@" P1 P2 P6 D1 >>"$found"
done
awk -F'"' '
  !/^\{"shape":"[PD][0-9]","kernel":"[a-z0-9-]+","arithmetic":"(no-)?fma","clock":"[a-z_-]+","unit":"[a-z]+","count":[0-9]+,"per_multiply_add":[0-9]+\.[0-9][0-9][0-9][0-9],"workspace_bytes":[0-9]+,"digest":"[0-9a-f]+","emulated":(true|false)\}$/ {
    print "malformed: " $0
    wrong++
    next
  }
  {
    shape = $4; kernel = $8; arithmetic = $12; digest = $(NF - 3)
    if (length(digest) != 16) { print "malformed digest: " $0; wrong++ }
    key = shape " " arithmetic
    if (!(key in first)) { first[key] = digest; of[key] = kernel }
    if (first[key] != digest) { print key ": " kernel " gives " digest ", " of[key] " " first[key]; wrong++ }
    if (!(kernel in seen)) { seen[kernel]; n_kernels++ }
    shapes[shape]
  }
  END {
    for (shape in shapes) n_shapes++
    print NR " lines, " n_kernels + 0 " kernels, " n_shapes + 0 " shapes, " wrong + 0 " wrong"
    exit wrong || n_shapes != 4 || n_kernels < 1
  }' "$found"
