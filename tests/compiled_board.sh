# compiled_board.sh: how tests build programs that heed_compile has written for an emulated board, with GCC, and run them. They source it
# with $core, $source, $compiler and $heed set (compiled_board_heed.sh has built that), and are in an empty folder then, which goes at
# the end. SPDX-License-Identifier: MIT
. "$source/tests/board.sh"
. "$source/tests/compiled.sh"
need_tools
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
[ "$board" != microbit ] || board=mps2-an385 # QEMU's micro:bit has too little memory
freestanding="$flags -ffreestanding -ffunction-sections -fdata-sections"
support=''
for file in ports/cortex-m/startup ports/cortex-m/fault ports/bare/painted_stack ports/bare/libc ports/bare/semihosting; do
  support="$support $source/$file.c"
done

# compile_model NAME ARGUMENT...: what heed_compile writes
compile_model() {
  program=$1
  shift
  "$heed_compile" "$@" -o "$program" 2>said || { cat said; fail "$program"; }
}

# link_board NAME ARGUMENT...: NAME.elf of NAME.c and of the sources among the arguments
link_board() {
  program=$1
  shift
  # shellcheck disable=SC2086
  "$gcc-gcc" $freestanding -fno-tree-loop-distribute-patterns -O2 -std=c99 -Wall -Wextra -I. -nostdlib -Wl,--gc-sections \
    -T "$source/ports/bare/link.ld" -L "$source/ports/cortex-m/boards/$board" "$@" $support "$program.c" "$heed" -lgcc -o "$program.elf" 2>linker ||
    { cat linker; fail "$program does not link"; }
}

# run_board NAME EXPECTED: NAME.elf says that, and what it takes is printed
run_board() {
  found=$(sh "$source/ports/bare/qemu.sh" "$board" "$1.elf") || fail "$core, $1: $found"
  [ "$found" = "$2" ] || fail "$core, $1: $found, and not $2"
  "$gcc-size" "$1.elf" | awk -v core="$core" -v name="$1" 'NR == 2 { print core ", " name ": good; " $1 + $2 " bytes of flash, " $2 + $3 " of RAM" }'
}
