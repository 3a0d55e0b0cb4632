#!/bin/sh
# row_counts.sh CC SOURCE BUILD: on an emulated AArch64 with NEON, heed_linear of n rows takes at most 1.06 times the instructions
# of any more rows, and a row of n at most 1.3 times one of n - 1, in all formats and layouts. BUILD holds heed for AArch64. Exit
# status 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
cc=$1 source=$2 build=$3
for program in aarch64-linux-gnu-gcc qemu-aarch64; do
  command -v $program >/dev/null 2>&1 || { echo "SKIPPED: $program is not installed"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$cc" -O1 -shared -fPIC "$source/tests/instruction_count.c" -o "$folder/count.so"
aarch64-linux-gnu-gcc -std=c11 -O1 -static -I"$source/include" "$source/tests/row_counts.c" "$build/libheed.a" -lm -o "$folder/row_counts"
run() { qemu-aarch64 -cpu max -plugin "$folder/count.so" "$folder/row_counts" "$@" 2>&1; }
case $(run f32:packed 1 0) in
  '' | *[!0-9]*) echo "SKIPPED: this qemu-aarch64 does not run the plugin"; exit 77 ;;
esac
for kind in f32:in_out f32:out_in f32:packed f16:in_out f16:out_in f16:packed bf16:in_out bf16:out_in bf16:packed \
  int8:in_out int8:out_in int8:packed int8:integers q8_0:blocks q8_0:packed q8_0:integers q4_0:blocks q4_0:packed q4_0:integers; do
  { run $kind 1 0; for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do run $kind $n 1; done; } |
    awk -v kind=$kind '
      NR == 1 { start = $1; next }
      { count[NR - 1] = $1 - start }
      END {
        if (NR != 21 || start == 0) { print kind ": not counted"; exit 1 }
        printf "%s, instructions a multiply-add:", kind
        for (n = 1; n < NR; n++) printf " %.2f", count[n] / n / 51200
        print ""
        for (n = 1; n < NR; n++) for (m = n + 1; m < NR; m++)
          if (count[n] > 1.06 * count[m]) { printf "%s: %d rows take %.2f times %d rows\n", kind, n, count[n] / count[m], m; bad = 1 }
        for (n = 2; n < NR; n++) if (count[n] / n > 1.3 * count[n - 1] / (n - 1)) {
          printf "%s: a row of %d takes %.2f times one of %d\n", kind, n, count[n] / n / count[n - 1] * (n - 1), n - 1; bad = 1 }
        exit bad
      }' || touch "$folder/failed"
done
[ ! -e "$folder/failed" ] || exit 1
