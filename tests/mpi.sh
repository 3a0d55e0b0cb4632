#!/bin/sh
# mpi.sh MPIRUN PROGRAM RANKS: contexts shared between ranks on this machine, each compared with one process by the program
# itself. Exit status 77 without MPI. SPDX-License-Identifier: MIT
set -eu
mpirun=$1 program=$2 ranks=$3
if [ ! -x "$program" ] || ! command -v "$mpirun" >/dev/null; then
  echo "SKIPPED: MPI was not found when this was configured (Debian: libopenmpi-dev openmpi-bin)"
  exit 77
fi
# Open MPI in a container: as root, more ranks than cores, without reading the memory of other processes.
case $("$mpirun" --version) in *"Open MPI"* | *OpenRTE*) mpirun="$mpirun --allow-run-as-root --oversubscribe" ;; esac
export OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_btl_base_warn_component_unused=0

output=$(mktemp)
trap 'rm -f "$output"' EXIT
fail() { cat "$output"; echo "FAILED: $*"; exit 1; }

# equal N ARGUMENT...: both ways give the bits of one process (or the one way of N = 1).
equal() {
  n=$1
  shift
  echo "$*"
  # shellcheck disable=SC2086
  $mpirun -n "$ranks" "$@" >"$output" 2>&1 || fail "$*"
  [ "$(grep -c '^| [0-9].* | equal | ' "$output")" = "$n" ] || fail "$n lines of the table that say equal: $*"
}
# refused WORDS ARGUMENT...: a message with these words, and not success.
refused() {
  words=$1
  shift
  echo "$*"
  # shellcheck disable=SC2086
  if $mpirun -n "$ranks" "$program" "$@" >"$output" 2>&1; then fail "not refused: $*"; fi
  grep -q "$words" "$output" || fail "no \"$words\": $*"
}

equal 2 "$program"
cat "$output"
equal 2 "$program" --causal 0 --n-kv 8192 --slice 96
equal 2 "$program" --n-q 1 --n-kv 6145 --heads 32 --kv-heads 8
equal 2 "$program" --n-kv 4100 --window 1500 --n-q 50 --slice 7
equal 2 "$program" --n-kv 2300 --n-q 2300 --heads 2 --kv-heads 1 --head-dim 24 --slice 100 # a prompt
equal 2 "$program" --n-kv 2500 --n-q 3 --window 0 # of four ranks one has no keys
equal 2 "$program" --n-kv 1500 --n-q 33
equal 2 "$program" --n-kv 100 --n-q 200 --head-dim 1 # rows that see nothing; all but the root have no keys
equal 1 "$program" --mode chain --n-kv 3000
equal 1 "$program" --mode gather --n-kv 3000
# Ranks whose processors have no fused multiply-add, and one more that has it.
equal 2 env HEED_ISA=no-fma "$program" --n-kv 3000 : -n 1 "$program" --n-kv 3000

# Integers: MPI merges the states in any order, on ranks with other kernels.
integers=$(dirname "$program")/heed_int_mpi
equal 1 "$integers"
equal 1 "$integers" --n-kv 4100 --n-q 50 --heads 3 --kv-heads 1 --head-dim 40
equal 1 "$integers" --n-kv 300 --n-q 400 --head-dim 1 # rows that see nothing; ranks without keys
equal 1 env HEED_INT_ISA=plain "$integers" --n-kv 3000 : -n 1 "$integers" --n-kv 3000

refused 'cannot take --n-k$' --n-k 5
refused 'cannot take --n-kv$' --n-kv 0
refused 'cannot take --n-kv$' --n-kv
refused 'cannot take ring$' --mode ring
refused 'INT_MAX' --n-q 8000000
refused 'INT_MAX' --n-q 4100000 --slice 4100000 # the queries fit, their partial does not
refused 'heed_attention_run: n_kv_heads' --heads 3 --kv-heads 2
program=$integers
refused 'cannot take --n-kv$' --n-kv 0
refused 'heed_int_attention_run: n_kv_heads' --heads 3 --kv-heads 2
echo "all equal, and what MPI cannot send is refused"
