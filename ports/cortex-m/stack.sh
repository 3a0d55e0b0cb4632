#!/bin/sh
# Stack of every public function on each core, GCC and clang: measured under QEMU (tests/device/stack.c), and with GCC also added
# up along the call graph (stack.awk).
#   sh ports/cortex-m/stack.sh [CORE...]  prints the table of these cores, or all
#   sh ports/cortex-m/stack.sh update    writes it, with ceilings (../bare/ceilings.awk), into ports/cortex-m/STACK.md, between its markers
#   sh ports/cortex-m/stack.sh check [CORE...]    fails if a stack of these cores, or all, is above its ceiling there, or the ceiling a
#                                                 tenth too high; leaves Debug builds out
# Fails in any case if a call takes more than HEED_STACK_BYTES. Exit status 77, with the reason, if a tool is missing.
set -eu
export CCACHE_DISABLE=1 # it keeps no call graphs
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
document=$here/STACK.md
for program in arm-none-eabi-g++ qemu-system-arm clang++-19; do
  command -v $program >/dev/null 2>&1 || { echo "SKIPPED: $program is not installed"; exit 77; }
done
compilers="GCC $(arm-none-eabi-g++ -dumpfullversion), clang $(clang-19 -dumpversion)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAILED: $1" >&2; exit 1; } # not into the table
. "$source/ports/bare/core.sh"
setting() { (heed_core "$2" && eval "echo \"\$$1\""); } # setting flags|target|type|board CORE

# build CORE COMPILER LEVEL BOARD: heed as the preset builds it, but that small calls use threads, too; and the program.
build() {
  sections='-ffreestanding -ffunction-sections -fdata-sections'
  library="-std=c++17 -fno-exceptions -fno-rtti -fno-math-errno -ffp-contract=off -DHEED_FLAGS_ARE_SET \
    -DHEED_LEAST_THREADED_WORK=0.0f -I$source/include"
  program="-Os -std=c99 -I$source/include -I$source/ports -I$source/tests"
  if [ "$2" = gcc ]; then
    flags="$(setting flags "$1") $sections"
    c="arm-none-eabi-gcc -fno-tree-loop-distribute-patterns"
    cxx="arm-none-eabi-g++ -fno-tree-vectorize -mfp16-format=ieee -fcallgraph-info=su"
  else
    flags="--target=$(setting target "$1") -meabi gnu $(setting flags "$1") $sections"
    c=clang-19
    cxx="clang++-19 -fno-vectorize -fno-slp-vectorize"
  fi
  # shellcheck disable=SC2086
  $cxx $flags $3 $library -c "$source/lib/single.cpp" -o heed.o
  for file in ports/cortex-m/startup ports/cortex-m/fault ports/bare/painted_stack ports/bare/libc ports/bare/semihosting ports/port tests/device/stack; do
    # shellcheck disable=SC2086
    $c $flags $program -c "$source/$file.c" -o "${file##*/}.o"
  done
  # shellcheck disable=SC2046
  arm-none-eabi-gcc $(setting flags "$1") -nostdlib -Wl,--gc-sections -T "$source/ports/bare/link.ld" -L "$here/boards/$4" \
    startup.o fault.o painted_stack.o libc.o semihosting.o port.o stack.o heed.o -lgcc -o stack.elf 2>linker || { cat linker; fail "$1, $2 does not link"; } # warnings: clang's enums, libgcc's sections
}

# measure CORE COMPILER LEVEL BOARD: adds "CORE|COMPILER|CALL|FUNCTION|BYTES" to the file `measured`.
measure() {
  build "$@"
  status=0
  HEED_QEMU_SECONDS=900 sh "$source/ports/bare/qemu.sh" "$4" stack.elf >answers || status=$?
  [ "$(tail -n 1 answers)" = end ] || fail "$1, $2, $3: ends too early, exit status $status: $(tail -n 3 answers)"
  name=$2
  [ "$3" != -O0 ] || name=debug
  sed -n "s/^stack \(.*\): \([a-z_0-9]*\) \([0-9]*\).*/$1|$name|\1|\2|\3/p" answers >>measured
  [ $status -eq 0 ] || [ "$3" = -O0 ] || { echo "$1, $2:" >&2; grep -v '^stack .*[0-9]$' answers | grep -v '^end' >&2; : >../exceeded; }
}

# graph CORE: adds "CORE|KIND|FUNCTION|BYTES" to the file `graph`, KIND being plain or all.
graph() {
  arm-none-eabi-objdump -d stack.elf >instructions
  arm-none-eabi-objdump -r heed.o >relocations
  # bounds KIND PLAIN WITHOUT FUNCTION...: narrow tensors, caches and the second pass are not in every call, and layers rotate keys
  # before a cache gets them
  bounds() {
    kind=$1 plain=$2 without=$3
    shift 3
    awk -v PLAIN="$plain" -v WITHOUT="$without" -v FUNCTIONS="$*" -f "$here/stack.awk" instructions relocations heed.ci >bounds
    sed "s/^\([^ ]*\) /$core|$kind|\1|/" bounds >>graph
  }
  core=$1
  # shellcheck disable=SC2046
  promise=$(printf '#include "heed/types.h"\nHEED_STACK_BYTES\n' | arm-none-eabi-gcc $(setting flags "$1") -I"$source/include" -E -P - | tail -n 1)
  echo "$core|promise|HEED_STACK_BYTES|$promise" >>graph
  narrow='^scalar ^score_narrow$ ^open_narrow$ ^finish_narrow$ ^place_typed$'
  bounds plain 1 '' heed_attention_run heed_self_attention
  bounds all '' "$narrow ^score_stored$ ^add_stored$" heed_sequence_attention
  bounds all '' "$narrow ^rotated_are_finite$ ^keep_rotated_keys$" heed_attention_layer_run heed_transformer_layer_run
  bounds all '' "$narrow ^inspect_tile$" heed_partial_finish
  bounds all '' '^run_threaded$' heed_selftest heed_selftest_boot heed_selftest_features
  # shellcheck disable=SC2046
  bounds all '' '^scalar' $(awk -F '|' -v done=" $(cut -d '|' -f 3 graph | tr '\n' ' ')" -v core="$1" '
    $1 == core && $2 == "gcc" && !($4 in seen) && (index(done, " " $4 " ") == 0 || $4 ~ /^heed_(attention_run|self_attention)$/) {
      seen[$4]; print $4 }' measured)
}

one_core() { # in a folder of its own
  core=$1
  : >measured
  : >graph
  level=-Os
  [ "$(setting type $core)" = MinSizeRel ] || level=-O2
  board=$(setting board $core)
  [ $core != m0plus ] || board=$(setting board m3) # QEMU's micro:bit has too little memory
  measure $core clang $level $board
  measure $core gcc $level $board
  graph $core
  [ $mode = check ] || [ $core = m55 ] || measure $core gcc -O0 $board # of the M55 it has more code than the board has memory
  : >done
}

# table MODE CORE...: of these cores; without Debug builds if MODE is check.
table() {
  mode=$1
  shift
  for core; do
    mkdir $core
    (cd $core && one_core $core) &
  done
  wait
  for core; do [ -f $core/done ] || fail "$core: see above"; done
  echo "| $compilers$(for core; do name=${core%plus}; [ $core != m0plus ] || name=m0+; printf ' | %s' "$name" | tr mf MF; done) |"
  echo "|---$(for core; do printf '|---'; done)|"
  awk -v CORES="$*" -f "$here/stack_table.awk" $(for core; do echo $core/graph $core/measured; done)
}

begin='<!-- stack table: sh ports\/cortex-m\/stack.sh update -->' end='<!-- end of stack table -->'
all=$(heed_cores cortex-m | tr '\n' ' ')
case ${1-} in
update)
  table all $all >figures
  awk -v MODE=write -f "$source/ports/bare/ceilings.awk" figures >table
  awk -v begin="$(echo "$begin" | tr -d '\\')" -v end="$end" '
    $0 == begin { print; while ((getline line < "table") > 0) print line; inside = 1 }
    $0 == end { inside = 0 }
    !inside' "$document" >document
  cp document "$document"
  ;;
check)
  shift
  [ $# -gt 0 ] || set -- $all
  sed -n "/^$begin\$/,/^$end\$/p" "$document" | sed '1d;$d' | grep -v '^| any, Debug' >recorded
  [ -s recorded ] || fail "STACK.md has no table"
  grep -q "^| $compilers |" recorded || { echo "SKIPPED: the table was made with other compilers than $compilers"; exit 77; }
  table check "$@" >table
  awk -v MODE=check -f "$source/ports/bare/ceilings.awk" recorded table ||
    fail "stacks and STACK.md differ; if on purpose: sh ports/cortex-m/stack.sh update"
  ;;
*)
  [ $# -gt 0 ] || set -- $all
  table all "$@" >table
  cat table
  ;;
esac
[ ! -f exceeded ] || fail "a call takes more than HEED_STACK_BYTES"
