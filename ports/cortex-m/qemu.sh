#!/bin/sh
# qemu.sh MACHINE PROGRAM [ARGUMENT...]: runs a program on an emulated board; its exit status is the program's. One instruction
# is one tick of 1 ns, so that clocks count instructions and repeat to the digit. A program that hangs is ended (status 124).
set -eu
machine=$1 program=$2
shift 2
arguments=arg=heed
for argument; do arguments=$arguments,arg=$argument; done
exec timeout -k 5 "${HEED_QEMU_SECONDS:-120}" qemu-system-arm -M "$machine" -icount shift=0 -display none -monitor none \
  -serial none -chardev stdio,id=host -semihosting-config "enable=on,target=native,chardev=host,$arguments" \
  -kernel "$program" </dev/null
