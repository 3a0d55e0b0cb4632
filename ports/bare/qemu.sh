#!/bin/sh
# qemu.sh BOARD PROGRAM [ARGUMENT...]: runs a program on an emulated board; its exit status is the program's. BOARD is the name of
# a folder in boards/ of a port, or a path to one. One instruction is one tick of 1 ns, so that clocks count instructions and
# repeat to the digit. A program that hangs is ended (status 124).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$1 program=$2
shift 2
[ -d "$folder" ] || folder=$(echo "$here"/../*/boards/"$folder")
setting() { sed -n "s/^set($1 \(.*\))/\1/p" "$folder/board.cmake"; }
emulator=$(sed -n "s/^$(setting HEED_CORE) //p" "$here/cores" | cut -d '|' -f 9)
arguments=arg=heed
for argument; do arguments=$arguments,arg=$argument; done
# shellcheck disable=SC2086
exec timeout -k 5 "${HEED_QEMU_SECONDS:-120}" $emulator -M "$(setting HEED_QEMU_MACHINE)" -icount shift=0 -display none -monitor none \
  -serial none -chardev stdio,id=host -semihosting-config "enable=on,target=native,chardev=host,$arguments" \
  -kernel "$program" </dev/null
