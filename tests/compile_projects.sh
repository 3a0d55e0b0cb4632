#!/bin/sh
# compile_projects.sh SYSTEM SOURCE HEED_COMPILE PUBLISHED PUBLISHED_GRAPHS LIBRARY WORK: the project that heed_compile writes around a program for SYSTEM
# (arduino, zephyr, esp_idf), of a language model, a text encoder, models of pictures and speech, programs without floats, and a graph. Each is built as a user does it, with
# the package of that system and what tests/packages has of the system, and run on an emulated board. It says, to the letter, what the
# same program says on this computer. Exit status 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
system=$1 heed_compile=$3 published=$4 published_graphs=$5 library=$6
source=$(cd "$2" && pwd)
rm -rf "$7"
mkdir -p "$7"
work=$(cd "$7" && pwd)
release=$work/release
cd "$work"
. "$source/tests/packages/common.sh"
. "$source/tests/compiled.sh"
case $system in
arduino) needs arduino-builder arduino-ctags arm-none-eabi-g++ qemu-system-arm zip ;;
zephyr) needs arm-none-eabi-g++ qemu-system-arm zip ;;
esp_idf) needs riscv64-unknown-elf-g++ qemu-system-riscv32 zip ;;
esac
cortex_m4f="-mthumb -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16"
rv32imc="-march=rv32imc -mabi=ilp32"
package=$(echo "$system" | tr _ -)
quietly sh "$source/ports/packages/release.sh" "$release" "$package"
case $system in
arduino)
  unpack heed-arduino-$version.zip libraries
  board hardware/heed/mbed/cores/small cortex-m mps2-an386
  cp "$stubs"/arduino/Arduino.h "$stubs"/arduino/core.cpp hardware/heed/mbed/cores/small/
  cp "$stubs"/arduino/platform.txt "$stubs"/arduino/boards.txt hardware/heed/mbed/
  ;;
zephyr)
  unpack heed-zephyr-$version.zip .
  board board cortex-m mps2-an386
  ;;
esp_idf)
  unpack heed-esp-idf-$version.zip .
  board board riscv virt-rv32imc
  printf 'void app_main(void);\nint main(void) {\n  app_main();\n  return 0;\n}\n' >board/main.c
  ;;
esac

build_arduino() {
  mkdir "build_$1"
  quietly arduino-builder -compile -hardware hardware -tools hardware -libraries libraries -fqbn heed:mbed:nano -warnings all \
    -build-path "$PWD/build_$1" "$1/$1.ino"
  program=build_$1/$1.ino.elf machine=mps2-an386 isa=scalar
}
build_zephyr() {
  quietly cmake -S "$1" -B "build_$1" -DZephyr_DIR="$stubs/zephyr" -DEXTRA_ZEPHYR_MODULES="$PWD/heed" \
    -DCMAKE_TOOLCHAIN_FILE="$source/ports/bare/gcc.cmake" -DCMAKE_C_FLAGS="$cortex_m4f -isystem $stubs/include" \
    -DCMAKE_EXE_LINKER_FLAGS="-nostdlib -Wl,--gc-sections -L$PWD/board -T$PWD/board/link.ld" -DCMAKE_C_STANDARD_LIBRARIES=-lgcc -DCMAKE_CXX_STANDARD_LIBRARIES=-lgcc \
    -DHEED_FIRMWARE="$(find "$PWD/board" -name '*.c' | tr '\n' ';')"
  quietly cmake --build "build_$1"
  program=build_$1/app machine=mps2-an386 isa=scalar
}
build_esp_idf() {
  mkdir "$1/components"
  cp -r heed "$1/components/"
  IDF_PATH=$stubs/esp-idf quietly cmake -S "$1" -B "build_$1" -DCMAKE_TOOLCHAIN_FILE="$source/ports/bare/gcc.cmake" \
    -DHEED_BOARD=virt-rv32imc -DHEED_IDF_STANDARD=gnu++2b -DCMAKE_C_FLAGS="$rv32imc -ffreestanding -isystem $stubs/include" \
    -DCMAKE_CXX_FLAGS="$rv32imc -ffreestanding" \
    -DCMAKE_EXE_LINKER_FLAGS="-nostdlib -static -Wl,--gc-sections -L$PWD/board -T$PWD/board/link.ld" \
    -DHEED_FIRMWARE="$(find "$PWD/board" -name '*.c' | tr '\n' ';')"
  quietly cmake --build "build_$1"
  program=build_$1/my_$2.elf machine=virt-rv32imc isa=scalar-no-fma
}

"$published" . llama bert vit vit-classes moonshine bert-classes deit-classes
"$published_graphs" .
n=0
for name in llama bert vit vit-classes moonshine bert-classes deit-classes bert_graph.onnx; do
  [ "$system $name" != "esp_idf moonshine" ] || continue # without an FPU it takes minutes
  case $name in # 512 KB of flash
  llama) how='--context 48 --piece 8' ;;
  bert) how='--format int8' ;;
  moonshine) how='--format int8 --seconds 1' ;;
  bert-classes | deit-classes) how="--integers $name/rows.npy" ;;
  *) how='--format f16' ;;
  esac
  n=$((n + 1))
  short=$(echo ${name%.onnx} | tr - _)
  own=my_$short
  # shellcheck disable=SC2086
  quietly "$heed_compile" $name -o "$own" $how "--$package"
  # The same program on this computer: what all but Arduino take as their main.c.
  mkdir -p here
  # shellcheck disable=SC2086
  quietly "$heed_compile" $name -o "here/$own" $how --zephyr
  # shellcheck disable=SC2086
  quietly cc -std=c99 -O1 -Wall -Wextra -Werror $compiled_folders -DMODEL_FILE="\"here/$own/src/$own.heed\"" "here/$own/src/main.c" \
    "here/$own/src/$own.c" "$source/ports/import/heed_file.c" "$source/ports/compile/heed_model.c" "$library" -lm -o "here/$own.program"
  "build_$system" "$own" "$short"
  HEED_ISA=$isa "here/$own.program" >expected || { cat expected; fail "$own on this computer"; }
  grep -q '^the known answers are right$' expected || fail "$own: the known answers are not right"
  sh "$source/ports/bare/qemu.sh" $machine "$program" >said || { cat said; fail "$own on the board"; }
  tr -d '\r' <said >found
  if [ "$system" = arduino ]; then # it also takes a line that the board's stand-in sends, which a language model goes on from
    lines=$(wc -l <expected)
    [ "$(wc -l <found)" -gt "$lines" ] || { cat found; fail "$own does not take a line"; }
    case $name in llama) tail -n +$((lines + 1)) found | grep -q '^more' || fail "$own does not go on from a line" ;; esac
    head -n "$lines" found >first
    mv first found
  fi
  diff expected found || fail "$own says something else on the board"
  tail -n 1 found
done

# A name that the project has itself, two systems, a file in place of the folder: a sentence, and nothing is written.
refuses() { # STATUS TEXT ARGUMENT...
  wanted=$1 text=$2
  shift 2
  ls >before
  status=0
  "$heed_compile" "$@" >"$log" 2>&1 || status=$?
  [ $status -eq "$wanted" ] && grep -q "$text" "$log" || fail "$*: status $status, not \"$text\""
  ls | diff before - || fail "$*: wrote something"
}
: >before
: >taken
refuses 1 "the project has something else of this name" llama -o result "--$package"
refuses 1 "the project has something else of this name" bert_graph.onnx -o in_input_ids "--$package"
refuses 2 "choose one of them" llama -o two --zephyr --arduino --esp-idf
refuses 1 "this folder cannot be written" llama -o taken "--$package"
(ulimit -f 0; "$heed_compile" llama -o full "--$package" 2>&1) | cat >"$log"
grep -q "cannot be written" "$log" || fail "a full disk: does not say what cannot be written"
[ ! -e full ] || fail "a full disk: leaves $(find full)"
echo "$n projects for $system: good"
