#!/bin/sh
# packages.sh FORM RELEASE SOURCE WORK: a package that ports/packages/release.sh has put into the folder RELEASE, as a new user of its
# ecosystem has it: fields, and a program that is built from the package alone and gives heed's known answers. FORM "release" makes
# RELEASE. Exit status 77, with the reason, where a tool is missing. HEED_SCHEMAS=FOLDER has schemas that Debian lacks:
# arduino-lint's (etc/schemas), PACK.xsd of Open-CMSIS-Pack-Spec, vcpkg-tool's (docs), zephyr-module.yml. SPDX-License-Identifier: MIT
set -eu
form=$1 release=$2
source=$(cd "$3" && pwd)
rm -rf "$4"
mkdir -p "$4"
work=$(cd "$4" && pwd)
cd "$work"
. "$source/tests/packages/common.sh"
cortex_m4f="-mthumb -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16"
rv32imc="-march=rv32imc -mabi=ilp32"

case $form in
release) # twice the same bytes, also from the source archive; every file of every archive has its place in the checksums
  needs zip
  rm -rf "$release"
  quietly sh "$source/ports/packages/release.sh" "$release"
  (cd "$release" && sha256sum --quiet -c SHA256SUMS) || fail "checksums"
  tar -xzf "$release/heed-$version.tar.gz"
  quietly env TZ=Asia/Kolkata sh heed-$version/ports/packages/release.sh again
  cmp "$release/SHA256SUMS" again/SHA256SUMS || fail "another time, other bytes: $(diff "$release/SHA256SUMS" again/SHA256SUMS)"
  field "$release/heed-$version-changes.md" "^## $version"
  for sum in SHA1 SHA256; do
    sed -n "s/^FileChecksum: $sum: //p" heed-$version/heed.spdx >sums
    sed -n 's/^FileName: //p' heed-$version/heed.spdx | paste -d' ' sums - | sed 's/ /  /' >${sum}SUMS
    program=$(echo "${sum}sum" | tr '[:upper:]' '[:lower:]')
    (cd heed-$version && "$program" --quiet -c ../${sum}SUMS) || fail "heed.spdx has other checksums"
  done
  [ "$(wc -l <SHA1SUMS)" -eq "$(find heed-$version -type f ! -name heed.spdx | wc -l)" ] || fail "heed.spdx lacks files"
  # A release without a stored ABI is refused.
  rm -f heed-$version/tests/abi-*.xml
  sed -i "s/^## $version (unreleased)/## $version (2001-02-03)/" heed-$version/ports/CHANGES.md
  if sh heed-$version/ports/packages/release.sh unstored >"$log" 2>&1; then fail "released without a stored ABI"; fi
  field "$log" 'has no stored ABI: sh tests/abidiff.sh'
  echo "$(wc -l <"$release/SHA256SUMS") files, twice the same bytes; $(wc -l <SHA1SUMS) files in the bill of materials"
  ;;
drop_in)
  unpack heed-drop-in-$version.zip .
  cd heed
  quietly c++ -std=c++17 -Wall -Wextra -Werror -fno-exceptions -c heed.cpp
  quietly cc -std=c99 -Wall -Wextra -Wpedantic -Werror hello.c heed.o -o hello
  answers ./hello
  quietly cc -std=c99 -Wall -Wextra -Wpedantic -Werror classifier.c int_model.c heed.o -o classifier
  recognises ./classifier
  quietly c++ -std=c++17 -Wall -Wextra -Werror -x c++ classifier.c int_model.c -x none heed.o -o classifier_cpp
  recognises ./classifier_cpp
  quietly cc -std=c99 -Wall -Wextra -Wpedantic -Werror -c heed_file.c heed_model.c
  cat >threads.cpp <<'END'
#include "executors/executors.h"
#include "executors/std_thread.hpp"
int main() {
  heed::std_threads threads(2);
  return threads.get()->n_workers != 2;
}
END
  quietly c++ -std=c++17 -Wall -Wextra -Werror -I. threads.cpp heed.o -pthread -o threads
  quietly ./threads
  ;;
arduino)
  unpack heed-arduino-$version.zip libraries
  properties=libraries/heed/library.properties
  for name in name version author maintainer sentence paragraph category url architectures; do field $properties "^$name=."; done
  field $properties "^version=$version$"
  field $properties '^maintainer=.* <.*@.*>$'
  field $properties '^category=(Display|Communication|Signal Input/Output|Sensors|Device Control|Timing|Data Storage|Data Processing|Other)$'
  [ -f libraries/heed/src/heed.h ] && [ -f libraries/heed/examples/Hello/Hello.ino ] && [ -f libraries/heed/LICENSE ] || fail "files"
  if grep -E '^architectures=.*(\*|avr|samd)' $properties; then fail "these cores compile as gnu++11"; fi
  { # as JSON, of which the schema speaks
    sed 's/\\/\\\\/g; s/"/\\"/g; s/^\([^=]*\)=\(.*\)$/"\1": "\2",/' $properties | sed '1s/^/{/; $s/,$/}/'
  } >properties.json
  for level in permissive- '' strict-; do schema arduino-library-properties-${level}schema.json properties.json; done
  needs arduino-builder arduino-ctags arm-none-eabi-g++
  board hardware/heed/mbed/cores/small cortex-m mps2-an386
  cp "$stubs"/arduino/Arduino.h "$stubs"/arduino/core.cpp hardware/heed/mbed/cores/small/
  cp "$stubs"/arduino/platform.txt "$stubs"/arduino/boards.txt hardware/heed/mbed/
  mkdir build
  quietly arduino-builder -compile -hardware hardware -tools hardware -libraries libraries -fqbn heed:mbed:nano -warnings all \
    -build-path "$PWD/build" libraries/heed/examples/Hello/Hello.ino
  on_board mps2-an386 build/Hello.ino.elf
  quietly arduino-builder -compile -hardware hardware -tools hardware -libraries libraries -fqbn heed:mbed:nano -warnings all \
    -build-path "$PWD/build" libraries/heed/examples/Classifier/Classifier.ino
  on_board mps2-an386 build/Classifier.ino.elf recognises
  ;;
platformio)
  unpack heed-platformio-$version.tar.gz .
  json=heed/library.json
  for name in name version description keywords authors license frameworks platforms headers; do json $json $name >/dev/null; done
  [ "$(json $json version)" = $version ] || fail version
  json $json keywords | tr -d '[]," \n' | grep -qE '^[a-z0-9-]+$' || fail "keywords have other characters"
  field heed/examples/hello/platformio.ini '^lib_deps = file://../..$'
  # What its builder does with it: the library's own flags, minus those that it does not want.
  flags="$(json $json build flags | tr -d '[]",\n') -O0" # -O0: sooner
  folder=heed/$(json $json build srcDir) include=heed/$(json $json build includeDir)
  # shellcheck disable=SC2086
  quietly c++ $flags -I"$include" -c "$folder/heed.cpp" -o heed.o
  quietly cc -I"$include" heed/examples/hello/src/main.c heed.o -o hello
  answers ./hello
  quietly cc -I"$include" heed/examples/classifier/src/classifier.c "$folder"/*.c heed.o -o classifier
  recognises ./classifier
  ;;
esp_idf) # with a stand-in for ESP-IDF: RISC-V as ESP32-C3 and C6 have it, and the newest standard
  unpack heed-esp-idf-$version.zip .
  for name in version description url license; do field heed/idf_component.yml "^$name: \"[^\"]+\"$"; done
  field heed/idf_component.yml "^version: \"$version\"$"
  field heed/idf_component.yml '^  idf: ">=5.0"$'
  if command -v clang++-19 >/dev/null 2>&1; then
    quietly clang++-19 -std=gnu++26 --target=riscv32 -march=rv32imc -mabi=ilp32 -ffreestanding -Wall -Wextra -Werror -Iheed/include -fsyntax-only heed/src/heed.cpp
  fi
  needs riscv64-unknown-elf-g++
  board board riscv virt-rv32imc
  printf 'void app_main(void);\nint main(void) {\n  app_main();\n  return 0;\n}\n' >board/main.c
  IDF_PATH=$stubs/esp-idf quietly cmake -S heed/examples/hello -B build -DCMAKE_TOOLCHAIN_FILE="$source/ports/bare/gcc.cmake" \
    -DHEED_BOARD=virt-rv32imc -DHEED_IDF_STANDARD=gnu++2b -DCMAKE_C_FLAGS="$rv32imc -ffreestanding -isystem $stubs/include" \
    -DCMAKE_CXX_FLAGS="$rv32imc -ffreestanding" \
    -DCMAKE_EXE_LINKER_FLAGS="-nostdlib -static -Wl,--gc-sections -L$PWD/board -T$PWD/board/link.ld" \
    -DHEED_FIRMWARE="$(find "$PWD/board" -name '*.c' | tr '\n' ';')"
  quietly cmake --build build
  on_board virt-rv32imc build/hello.elf
  ;;
zephyr) # with a stand-in for Zephyr, whose own default is C++11
  unpack heed-zephyr-$version.zip .
  field heed/zephyr/module.yml '^name: heed$'
  for key in cmake kconfig; do field heed/zephyr/module.yml "^  $key: "; done
  [ -f "heed/$(sed -n 's/^  kconfig: //p' heed/zephyr/module.yml)" ] || fail "Kconfig is elsewhere"
  if [ -f "${HEED_SCHEMAS:-/nowhere}/zephyr-module.yml" ] && /usr/bin/python3 -c 'import pykwalify.core' 2>/dev/null; then
    quietly /usr/bin/python3 -c 'import sys, pykwalify.core as p; p.Core(sys.argv[1], [sys.argv[2]]).validate()' \
      heed/zephyr/module.yml "$HEED_SCHEMAS/zephyr-module.yml"
    echo "zephyr-module.yml: passed"
  fi
  if /usr/bin/python3 -c 'import olddefconfig' 2>/dev/null; then # kconfiglib's
    printf 'config CPP\n\tbool "C++"\nsource "%s"\n' "$PWD/heed/zephyr/Kconfig" >Kconfig
    cp heed/samples/hello/prj.conf .config
    quietly /usr/bin/python3 -m olddefconfig
    field .config '^CONFIG_HEED=y$'
    sed 's/^CONFIG_CPP=y/# CONFIG_CPP is not set/' heed/samples/hello/prj.conf >.config
    quietly /usr/bin/python3 -m olddefconfig
    if grep -q '^CONFIG_HEED=y' .config; then fail "CONFIG_HEED without CONFIG_CPP"; fi
    echo "Kconfig: passed"
  fi
  needs arm-none-eabi-g++
  board board cortex-m mps2-an386
  quietly cmake -S heed/samples/hello -B build -DZephyr_DIR="$stubs/zephyr" -DEXTRA_ZEPHYR_MODULES="$PWD/heed" \
    -DCMAKE_TOOLCHAIN_FILE="$source/ports/bare/gcc.cmake" -DCMAKE_C_FLAGS="$cortex_m4f -isystem $stubs/include" \
    -DCMAKE_EXE_LINKER_FLAGS="-nostdlib -Wl,--gc-sections -L$PWD/board -T$PWD/board/link.ld -lgcc" \
    -DHEED_FIRMWARE="$(find "$PWD/board" -name '*.c' | tr '\n' ';')"
  quietly cmake --build build
  on_board mps2-an386 build/app
  ;;
cmsis_pack)
  unpack heed.heed.$version.pack pack
  cd pack
  field heed.heed.pdsc "<release version=\"$version\" date=\"20[0-9-]*\">"
  field heed.heed.pdsc "Cversion=\"$version\""
  # All files of the list are there, and all that is there is in the list.
  sed -n 's/.*<file .*name="\([^"]*[^\/]\)".*/\1/p; s/.*<license name="\([^"]*\)".*/\1/p' heed.heed.pdsc | sort -u >../listed
  find . -type f ! -name heed.heed.pdsc | sed 's|^\./||' | sort | diff ../listed - || fail "list and archive differ"
  if [ -f "${HEED_SCHEMAS:-/nowhere}/PACK.xsd" ] && command -v xmllint >/dev/null 2>&1; then
    quietly xmllint --noout --schema "$HEED_SCHEMAS/PACK.xsd" heed.heed.pdsc
    echo "PACK.xsd: passed"
  fi
  needs arm-none-eabi-g++
  board ../board cortex-m mps2-an386
  list() { sed -n "s/.*<file category=\"$1\" name=\"\([^\"]*\)\".*/\1/p" heed.heed.pdsc; }
  # shellcheck disable=SC2046,SC2086
  quietly arm-none-eabi-g++ $cortex_m4f -std=gnu++17 -Os -ffreestanding -fno-exceptions -fno-rtti -ffunction-sections -fdata-sections \
    -Wall -Wextra -Werror $(list include | sed 's/^/-I/') -c $(list sourceCpp) -o ../heed.o
  # shellcheck disable=SC2046,SC2086
  for program in hello classifier; do # the component's own sources, and one of its templates
    quietly arm-none-eabi-gcc $cortex_m4f -Os -ffreestanding -nostdlib -Wl,--gc-sections $(list include | sed 's/^/-I/') -isystem "$stubs/include" \
      $(list sourceC | grep -v templates) templates/$program.c ../heed.o ../board/*.c -L../board -T../board/link.ld -lgcc -o ../$program
  done
  cd ..
  on_board mps2-an386 hello
  on_board mps2-an386 classifier recognises
  ;;
*) fail "no such form: $form" ;;
esac
