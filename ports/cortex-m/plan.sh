#!/bin/sh
# What a call takes of a chip: flash with libgcc, stack, memory and instructions of attention, a layer of floats and one of integers, in
# three shapes and with three amounts of memory (plan.c), built with GCC and counted under QEMU.
#   sh ports/cortex-m/plan.sh           prints the two tables
#   sh ports/cortex-m/plan.sh update    writes them, with ceilings (../bare/ceilings.awk), into ports/cortex-m/PLAN.md
#   sh ports/cortex-m/plan.sh check     fails if a number is above its ceiling there, or the ceiling a tenth too high
# Exit status 77, with the reason, if a tool is missing. SPDX-License-Identifier: MIT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
document=$here/PLAN.md
cores=${HEED_PLAN_CORES:-m0plus m4f m55}
for program in arm-none-eabi-g++ qemu-system-arm; do
  command -v $program >/dev/null 2>&1 || { echo "SKIPPED: $program is not installed"; exit 77; }
done
compiler="GCC $(arm-none-eabi-g++ -dumpfullversion)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "FAILED: $1" >&2; exit 1; }
. "$source/ports/bare/core.sh"

# one_core CORE: adds lines "CORE KIND flash BYTES", "CORE KIND stack BYTES" and "CORE KIND SHAPE MEMORY BYTES INSTRUCTIONS" to `found`.
one_core() {
  heed_core "$1"
  level=-Os
  [ "$type" = MinSizeRel ] || level=-O2
  [ "$1" != m0plus ] || board=mps2-an385 # QEMU's micro:bit has too little memory; a Cortex-M3 runs the same instructions
  mhz=$(sed -n 's/^set(HEED_QEMU_MHZ \(.*\))/\1/p' "$here/boards/$board/board.cmake")
  common="$flags -ffreestanding -ffunction-sections -fdata-sections -I$source/include -I$source/ports"
  c="arm-none-eabi-gcc $common -Os -std=c99 -fno-tree-loop-distribute-patterns"
  # shellcheck disable=SC2086
  arm-none-eabi-g++ $common $level -std=c++17 -fno-exceptions -fno-rtti -fno-math-errno -ffp-contract=off -fno-tree-vectorize \
    -mfp16-format=ieee -DHEED_FLAGS_ARE_SET -DHEED_NO_STATUS_TEXT -c "$source/lib/single.cpp" -o heed.o
  rm -f libheed.a
  arm-none-eabi-ar rc libheed.a heed.o
  for file in ports/cortex-m/startup ports/cortex-m/fault ports/bare/painted_stack ports/bare/libc ports/bare/semihosting ports/port; do
    # shellcheck disable=SC2086
    $c -c "$source/$file.c" -o "${file##*/}.o"
  done
  # shellcheck disable=SC2086
  $c -DHEED_QEMU_MHZ="$mhz" -c "$here/clock.c" -o clock.o
  for kind in ATTENTION FLOAT_LAYER INT_LAYER; do
    # shellcheck disable=SC2086
    $c -D$kind -DFLASH -c "$here/plan.c" -o flash.o
    # shellcheck disable=SC2086
    arm-none-eabi-gcc $flags -nostdlib -Wl,--gc-sections,-e,start,-Map,map flash.o libc.o libheed.a -lgcc -o flash.elf 2>linker || { cat linker; exit 1; }
    echo "$1 $kind flash $(awk -v ARCHIVES='lib(heed|gcc)' -f "$source/ports/bare/heed_bytes.awk" map)" >>found
    # shellcheck disable=SC2086
    $c -D$kind -c "$here/plan.c" -o plan.o
    # shellcheck disable=SC2086
    arm-none-eabi-gcc $flags -nostdlib -Wl,--gc-sections -T "$source/ports/bare/link.ld" -L "$here/boards/$board" \
      startup.o fault.o painted_stack.o libc.o semihosting.o port.o clock.o plan.o libheed.a -lgcc -o plan.elf 2>linker || { cat linker; exit 1; }
    HEED_QEMU_SECONDS=600 sh "$source/ports/bare/qemu.sh" "$board" plan.elf >answers || { cat answers; fail "$1, $kind"; }
    [ "$(tail -n 1 answers)" = end ] || fail "$1, $kind: ends too early"
    sed -n "s/^plan /$1 $kind /p; s/^stack/$1 $kind stack/p" answers >>found
  done
}

within() { sed -n "/^<!-- plan $1:/,/^<!-- end of plan $1 -->/p" "$document" | sed '1d;$d'; }
if [ "${1-}" = check ]; then
  within bytes >recorded
  [ -s recorded ] || fail "PLAN.md has no table"
  grep -q "^| $compiler, " recorded || { echo "SKIPPED: the tables were made with another compiler than $compiler"; exit 77; }
fi
: >found
for core in $cores; do one_core $core; done
# More memory never takes more instructions.
awk 'NF == 6 { key = $1 " " $2 " " $3; if ($4 != "least" && $6 > before[key] * 1.02) { print key ", " $4 ": " $6 " instructions, with less memory " before[key]; wrong = 1 }; before[key] = $6 }
  END { exit wrong }' found >&2 || fail "more memory takes more instructions"
names='| M0+ | M4F | M55 |' line='|---|---|---|---|'
table() { # table bytes|instructions
  awk -v what="$1" '
    BEGIN { split("m0plus m4f m55", cores); title["ATTENTION"] = "attention"; title["FLOAT_LAYER"] = "float layer"; title["INT_LAYER"] = "int8 layer" }
    function note(row, value) { if (!(row in known)) { known[row]; rows[++n] = row } cell[row, $1] = value }
    NF == 4 && what == "bytes" { note(title[$2] ", " $3, $4) }
    NF == 6 && what == "bytes" { memory[title[$2] ", memory for " $3 ", " $4, $1] = $5; if (!((title[$2] $3 $4) in seen)) { seen[title[$2] $3 $4]; later[++n_later] = title[$2] ", memory for " $3 ", " $4 } }
    NF == 6 && what == "instructions" { note(title[$2] " " $3 ", " $4, int($6 / 1000 + 0.5)) }
    END { for (i = 1; i <= n_later; i++) for (c = 1; c <= 3; c++) { $1 = cores[c]; note(later[i], memory[later[i], cores[c]]) } }
    END { for (i = 1; i <= n; i++) { line = "| " rows[i]; for (c = 1; c <= 3; c++) line = line " | " cell[rows[i], cores[c]]; print line " |" } }' found
}
{ echo "| $compiler, bytes $names" && echo "$line" && table bytes; } >bytes
{ echo "| $compiler, thousands of instructions $names" && echo "$line" && table instructions; } >instructions
case ${1-} in
update)
  for name in bytes instructions; do
    room=16
    [ $name = bytes ] || room=0
    awk -v MODE=write -v ROOM=$room -f "$source/ports/bare/ceilings.awk" $name >table
    awk -v name="$name" 'index($0, "<!-- plan " name ":") == 1 { print; while ((getline line < "table") > 0) print line; inside = 1 }
      $0 == "<!-- end of plan " name " -->" { inside = 0 } !inside' "$document" >document
    cp document "$document"
  done
  ;;
check)
  awk -v MODE=check -f "$source/ports/bare/ceilings.awk" recorded bytes || fail "bytes and PLAN.md differ; if on purpose: sh ports/cortex-m/plan.sh update"
  within instructions >recorded
  awk -v MODE=check -v ROOM=0 -f "$source/ports/bare/ceilings.awk" recorded instructions ||
    fail "instructions and PLAN.md differ; if on purpose: sh ports/cortex-m/plan.sh update"
  ;;
*) cat bytes instructions ;;
esac
