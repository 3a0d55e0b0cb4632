# board.sh: what tests on an emulated board of ports/cortex-m share; they source it with $core, $compiler, $source (heed's
# folder) and $build set. SPDX-License-Identifier: MIT
skip() { echo "SKIPPED: $1"; exit 77; }
fail() { echo "failed: $1"; exit 1; }

need_tools() {
  [ "$compiler" != clang ] || command -v clang-19 >/dev/null 2>&1 || skip "clang-19 is not installed"
  for program in arm-none-eabi-gcc qemu-system-arm; do # clang takes libgcc from the former
    command -v "$program" >/dev/null 2>&1 || skip "$program is not installed"
  done
}

# model_folder NAME VALUE: the folder of the model that the environment variable NAME names
model_folder() {
  [ -n "$2" ] && [ -d "$2" ] || skip "$1 does not name the folder of the model"
  model=$(cd "$2" && pwd)
}

# build_board FOLDER PROGRAM...: builds on the preset's board, or on the one of FOLDER; $board is then its name
build_board() {
  preset=cortex-$core
  [ "$compiler" = gcc ] || preset=$preset-clang
  (cd "$source" && cmake --preset "$preset" -B "$build" ${1:+"-DHEED_BOARD=$1"} >/dev/null)
  shift
  cmake --build "$build" --parallel 2 --target "$@"
  board=$(basename "$(sed -n 's/^HEED_BOARD:[A-Z]*=//p' "$build/CMakeCache.txt")")
}

# run_board PROGRAM ARGUMENT...
run_board() {
  program=$1
  shift
  sh "$source/ports/cortex-m/qemu.sh" "${board%-m0plus}" "$build/ports/cortex-m/$program.elf" "$@"
}
