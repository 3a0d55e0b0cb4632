#!/bin/sh
# compile_onnx_board.sh CORE SOURCE HEED_COMPILE PUBLISHED_GRAPHS: programs that heed_compile writes of ONNX graphs, on an emulated board with
# GCC: they compute the known answers of every node that this computer has put into their files. Prints the size of each. Exit
# status 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=gcc source=$2 heed_compile=$3 published=$4
. "$source/tests/board.sh"
. "$source/tests/compiled.sh"
need_tools
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
[ "$board" != microbit ] || board=mps2-an385 # QEMU's micro:bit has too little memory
freestanding="$flags -ffreestanding -ffunction-sections -fdata-sections"
# shellcheck disable=SC2086
"$gcc-g++" $freestanding -fno-tree-vectorize -mfp16-format=ieee -O2 -std=c++17 -fno-exceptions -fno-rtti -fno-math-errno -ffp-contract=off \
  -DHEED_FLAGS_ARE_SET "-I$source/include" -c "$source/lib/single.cpp" -o heed.o
"$published" .
support=''
for file in ports/cortex-m/startup ports/cortex-m/fault ports/bare/painted_stack ports/bare/libc ports/bare/semihosting; do
  support="$support $source/$file.c"
done
for name in bert vit gpt conv; do
  case $name in bert) how='--format int8' ;; vit) how='--format f16' ;; *) how='--format f32' ;; esac
  # shellcheck disable=SC2086
  "$heed_compile" ${name}_graph.onnx -o "${name}_graph" $how 2>said || { cat said; fail "$name"; }
  # shellcheck disable=SC2046,SC2086
  "$gcc-gcc" $freestanding -fno-tree-loop-distribute-patterns -O2 -std=c99 -Wall -Wextra -I. $(compiled_graph_flags "${name}_graph") -nostdlib \
    -Wl,--gc-sections -T "$source/ports/bare/link.ld" -L "$source/ports/cortex-m/boards/$board" $compiled_folders "$source/tests/device/compiled_graph.c" \
    "$source/ports/port.c" "$source/ports/import/heed_file.c" "$source/ports/compile/heed_model.c" $support "${name}_graph.c" heed.o -lgcc -o "$name.elf" 2>linker ||
    { cat linker; fail "$name does not link"; }
  found=$(sh "$source/ports/bare/qemu.sh" "$board" "$name.elf") || fail "$core, $name: $found"
  [ "$found" = "compiled_graph: good" ] || fail "$core, $name: $found"
  "$gcc-size" "$name.elf" | awk -v core="$core" -v name="$name" 'NR == 2 { print core ", graph " name ": good; " $1 + $2 " bytes of flash, " $2 + $3 " of RAM" }'
done
