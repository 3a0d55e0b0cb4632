#!/bin/sh
# vectors.sh conformance|random KERNELS PROGRAMS [EMULATOR...]: heed_vectors, which lies with heed_vectors_random in the folder
# PROGRAMS, on each of KERNELS (separated by commas) that this processor can run.
#   conformance: the folder that HEED_ONNX_ATTENTION names; exit status 77, with the reason, if it names none
#   random: 300 random cases (HEED_TEST_PERCENT of them), which pass; then cases with a wrong number each and damaged folders,
#           which do not
# SPDX-License-Identifier: MIT
set -eu
mode=$1 kernels=$2 programs=$3
shift 3
[ -x "$programs/heed_vectors" ] || { echo "SKIPPED: $programs/heed_vectors was not built"; exit 77; }
if [ "$mode" = conformance ] && ! [ -d "${HEED_ONNX_ATTENTION:-}" ]; then
  echo "SKIPPED: HEED_ONNX_ATTENTION does not name a folder of vectors"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

on_every_kernel() {
  folder=$1
  shift
  n_run=0
  for kernel in $(echo "$kernels" | tr , ' '); do
    status=0
    HEED_ISA=$kernel "$@" "$programs/heed_vectors" "$folder" >"$work/out" || status=$?
    case $(head -n 1 "$work/out") in
    "kernel $kernel, "*) n_run=$((n_run + 1)) ;;
    *) echo "$kernel cannot run here"; continue ;;
    esac
    [ $status = 0 ] || { failed=1; grep -v '^kernel' "$work/out" | head -n 20; }
    echo "$kernel: $(tail -n 1 "$work/out")"
  done
  [ $n_run -gt 0 ] || { echo "FAILED: no kernel ran"; failed=1; }
  grep '^f[0-9]* .*: errors up to' "$work/out" || true  # of the last one
}

# fails FOLDER TEXT [EMULATOR...]: exit status 1, and a line that holds TEXT.
fails() {
  folder=$1 text=$2
  shift 2
  status=0
  "$@" "$programs/heed_vectors" "$folder" >"$work/out" || status=$?
  if [ $status = 1 ] && grep -q "$text" "$work/out"; then
    echo "$(basename "$folder"): $(grep -m 1 "$text" "$work/out" | cut -c -200)"
  else
    echo "FAILED: $(basename "$folder") has exit status $status and should say \"$text\", but it says:"
    head -n 5 "$work/out"
    failed=1
  fi
}

# copy NAME: a folder to be damaged.
copy() {
  mkdir "$work/$1"
  cp "$work/few/cases.txt" "$work/few/cases.bin" "$work/$1"
}

if [ "$mode" = conformance ]; then
  on_every_kernel "$HEED_ONNX_ATTENTION" "$@"
  exit $failed
fi

mkdir "$work/all" "$work/wrong" "$work/few"
"$@" "$programs/heed_vectors_random" "$work/all" 300 1
on_every_kernel "$work/all" "$@"
rm -r "$work/all"

"$@" "$programs/heed_vectors_random" "$work/wrong" 300 2 damaged
fails "$work/wrong" '^0 passed, [1-9]' "$@"

export HEED_TEST_PERCENT=100
"$@" "$programs/heed_vectors_random" "$work/few" 4 3
copy short_data
head -c 1000 "$work/few/cases.bin" >"$work/short_data/cases.bin"
fails "$work/short_data" 'lies beyond the 1000 bytes of cases.bin' "$@"
copy short_text
sed '$d' "$work/few/cases.txt" >"$work/short_text/cases.txt"
fails "$work/short_text" 'the file ends before the case does' "$@"
copy other_output
sed 's/^out Y /out Z /' "$work/few/cases.txt" >"$work/other_output/cases.txt"
fails "$work/other_output" 'no output is called Z' "$@"
copy other_shape
sed 's/^\(in V [^ ]* [^ ]*\) [^ ]* /\1 0 /' "$work/few/cases.txt" >"$work/other_shape/cases.txt"
fails "$work/other_shape" 'K and V do not fit' "$@"
copy stray
echo stray >>"$work/stray/cases.txt"
fails "$work/stray" 'belongs to no case' "$@"
copy empty
: >"$work/empty/cases.txt"
fails "$work/empty" 'holds no cases' "$@"
fails "$work/missing" 'cannot be read' "$@"
exit $failed
