# board.sh: what tests on an emulated board of ports/bare share; they source it with $core, $compiler, $source (heed's folder) and
# $build set. SPDX-License-Identifier: MIT
. "$source/ports/bare/core.sh"
heed_core "$core"
skip() { echo "SKIPPED: $1"; exit 77; }
fail() { echo "failed: $1"; exit 1; }

need_tools() {
  [ "$compiler" != clang ] || command -v clang-19 >/dev/null 2>&1 || skip "clang-19 is not installed"
  for program in "$gcc-gcc" "${emulator%% *}"; do # clang takes libgcc from the former
    command -v "$program" >/dev/null 2>&1 || skip "$program is not installed"
  done
}

# model_folder NAME VALUE: the folder of the model that the environment variable NAME names
model_folder() {
  [ -n "$2" ] && [ -d "$2" ] || skip "$1 does not name the folder of the model"
  model=$(cd "$2" && pwd)
}

# build_board FOLDER PROGRAM...: builds on the preset's board, or on the one of FOLDER; $board is then its name or folder
build_board() {
  [ "$compiler" = gcc ] || preset=$preset-clang
  (cd "$source" && cmake --preset "$preset" -B "$build" ${1:+"-DHEED_BOARD=$1"} >/dev/null)
  shift
  cmake --build "$build" --parallel 2 --target "$@"
  board=$(sed -n 's/^HEED_BOARD:[A-Z]*=//p' "$build/CMakeCache.txt")
}

# large_board: code for a Cortex-M0+ runs on the board of the M3, for QEMU's micro:bit has 16 KB of RAM. $board is its folder,
# or empty: the preset's board.
large_board() {
  board=''
  [ "$core" = m0plus ] || return 0
  board=$build/mps2-an385-m0plus
  mkdir -p "$board"
  sed 's/HEED_CORE m3/HEED_CORE m0plus/' "$source/ports/cortex-m/boards/mps2-an385/board.cmake" >"$board/board.cmake"
  cp "$source/ports/cortex-m/boards/mps2-an385/memory.ld" "$board"
}

# run_board PROGRAM ARGUMENT...
run_board() {
  program=$1
  shift
  sh "$source/ports/bare/qemu.sh" "$board" "$build/ports/$family/$program.elf" "$@"
}

# refuse TEXT PROGRAM ARGUMENT...: the program fails and says TEXT
refuse() {
  text=$1
  shift
  ! run_board "$@" >found || fail "took $*"
  grep -q "$text" found || { cat found; fail "did not say \"$text\""; }
}

# arithmetic_in FILE: what a program printed, as $arithmetic, and this computer's scalar kernel of it, as $kernel
arithmetic_in() {
  arithmetic=$(sed -n 's/.*"arithmetic":"\([^"]*\)".*/\1/p' "$1" | head -n 1)
  case $arithmetic in
  fma) kernel=scalar ;;
  no-fma) kernel=scalar-no-fma ;;
  integers) kernel='' ;;
  *) cat "$1" && fail "the program names no arithmetic" ;;
  esac
}

# most_stack FILE: of the lines that programs have printed
most_stack() { sed -n 's/.*"stack_bytes":\([0-9]*\).*/\1/p' "$1" | sort -n | tail -n 1; }

# keeps_to_task_stack PROGRAM BYTES: what a program took is within the table "Stack of an RTOS task" of ports/cortex-m/README.md.
keeps_to_task_stack() {
  [ "$family" = cortex-m ] || return 0
  sh "$source/tests/task_stack.sh" "$source/ports/cortex-m/README.md" "$1" "$core" "$2" || fail "the table of task stacks"
}
