# Sourced by the tests of packages, which have set source (heed's folder), release (what release.sh made) and work (an empty folder).
# SPDX-License-Identifier: MIT
known='right, as everywhere'
version=$(sed -n 's/^#define HEED_VERSION_[A-Z]* //p' "$source/include/heed/types.h" | paste -sd.)
stubs=$source/tests/packages

log=$work/log

fail() { echo "FAILED: $*"; [ ! -f "$log" ] || tail -n 40 "$log"; exit 1; }
skip() { echo "SKIPPED: $*"; exit 77; }
quietly() { "$@" >"$log" 2>&1 || fail "$*"; }
needs() { for program; do command -v "$program" >/dev/null 2>&1 || skip "$program is not installed"; done; }
unpack() { # ARCHIVE FOLDER: as a user does
  mkdir -p "$2"
  [ -f "$release/$1" ] || fail "$1 was not made"
  case $1 in
  *.zip | *.pack) (cd "$2" && cmake -E tar xf "$release/$1") ;;
  *) tar -C "$2" -xzf "$release/$1" ;;
  esac
  if grep -rnE '@[A-Z0-9_]+@' "$2" --include='*.json' --include='*.properties' --include='*.yml' --include='*.pdsc' --include='*.txt' \
    --include='*.cmake' --include='*.py' --include='*.bb' --include='*.mk' --include='*.hash'; then fail "a placeholder is left in $1"; fi
  if find "$2" -type l | grep .; then fail "$1 has symbolic links"; fi
}
answers() { # COMMAND...: it ends with heed's known answers
  quietly "$@"
  tr -d '\r' <"$log" >"$work/said"
  grep -q '^ *4\.99986 2\.00002 0\.00000' "$work/said" && grep -q "^heed $version, .*: $known" "$work/said" || fail "$*: not the known answers"
  tail -n 1 "$work/said"
}
recognises() { # COMMAND...: the classifier's words and its known sum
  quietly "$@"
  tr -d '\r' <"$log" >"$work/said"
  grep -q '^stpo: stop$' "$work/said" && grep -qi "^heed $version, bits c21c1370: $known" "$work/said" || fail "$*: not the known words"
  tail -n 1 "$work/said"
}
field() { grep -qE -- "$2" "$1" || fail "$1 lacks $2"; } # FILE PATTERN
# What lies below a program on an emulated board, in one folder: start, memory, C library, the debugger's input and output.
board() { # FOLDER FAMILY BOARD
  mkdir -p "$1"
  for file in $2/startup.c $2/fault.c $2/boards/$3/memory.ld bare/semihosting.c bare/painted_stack.c bare/libc.c bare/link.ld port.h port.c; do
    cp "$source/ports/$file" "$1/"
  done
  cp "$stubs/printf.c" "$1/"
  sed -i 's|"../port.h"|"port.h"|; s|<port.h>|"port.h"|' "$1"/*.c
}
on_board() { # BOARD PROGRAM [recognises]
  case $1 in virt*) emulator=qemu-system-riscv32 ;; *) emulator=qemu-system-arm ;; esac
  command -v $emulator >/dev/null 2>&1 || skip "it is built; $emulator is not installed"
  ${3:-answers} sh "$source/ports/bare/qemu.sh" "$1" "$2"
}
schema() { # SCHEMA FILE: a JSON schema of the folder HEED_SCHEMAS, if there is one
  if [ ! -f "${HEED_SCHEMAS:-/nowhere}/$1" ]; then echo "$1: not in HEED_SCHEMAS; own checks alone"; return 0; fi
  command -v jsonschema >/dev/null 2>&1 || { echo "$1: python3-jsonschema is not installed; own checks alone"; return 0; }
  mkdir -p schemas # without the address that each schema has for itself: others are looked up beside it, not in the network
  for schema in "$HEED_SCHEMAS"/*.json; do sed '/^ *"\$id": /d' "$schema" >"schemas/$(basename "$schema")"; done
  quietly jsonschema -i "$2" --base-uri "file://$PWD/schemas/" "schemas/$1"
  echo "$1: passed"
}
json() { # FILE FIELD...: a text or number of a JSON file, which must be there; all of the file is parsed
  cat >json.cmake <<'END'
file(READ ${FILE} text)
string(JSON value GET "${text}" ${FIELDS})
message(NOTICE "${value}")
END
  file=$1
  shift
  cmake -DFILE="$file" -DFIELDS="$(echo "$*" | tr ' ' ';')" -P json.cmake 2>&1 || fail "$file has no $*"
}
