#!/bin/sh
# The same bits on every target: builds library, heed_digest, heed_int_digest, heed_flushed, heed_selftest and, on Linux,
# heed_stack for each row of the list below, runs them there (emulated, if need be) and prints a table of the digests. SPDX-License-Identifier: MIT
#   sh tests/targets.sh FOLDER [FILTER...]          builds in FOLDER
#   sh tests/targets.sh FOLDER update              and writes the table into ports/targets.md, between its markers
#   sh tests/targets.sh FOLDER check [FILTER...]    and fails if ports/targets.md has other digests, or lacks a row
# FILTER is a shell pattern of row names, such as 'armv7-*' or '*-clang-MinSizeRel'. A row that passed is not built again while
# sources and compiler stay as they are, so an interrupted run goes on where it was. Exit status 1 if a row fails, 77 if no row
# could run; rows whose compiler or emulators are missing are left out, and say so.
#   HEED_JOBS=N                    rows at a time; without it, as many as there are processors
#   HEED_DIGEST_REFERENCE=FILE     from digest_write.sh; without it, the scalar kernels of this PC's own Release build
# What a row has passed: every kernel's digest equals the reference's, under each of its runs; the self-test likewise; in Release
# every function has the same bits where subnormal numbers are flushed; symbols.sh, where objects are machine code (no -flto) of
# Linux; no call needs more than HEED_STACK_BYTES.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(dirname "$here")
document=$source/ports/targets.md

# target | toolchain file | GCC | arithmetics | runs, separated by ; (Linux programs are static, so they need no -L)
targets='
x86-64   | -                   | g++                        | fma no-fma | native; qemu-x86_64 -cpu max; qemu-x86_64 -cpu qemu64
i686     | linux/i686.cmake    | i686-linux-gnu-g++         | fma no-fma | native; qemu-i386 -cpu max; qemu-i386 -cpu qemu32
aarch64  | linux/aarch64.cmake | aarch64-linux-gnu-g++      | fma no-fma | qemu-aarch64 -cpu max; qemu-aarch64 -cpu cortex-a53
armv7    | linux/armv7.cmake   | arm-linux-gnueabihf-g++    | fma no-fma | qemu-arm -cpu max; qemu-arm -cpu cortex-a9
riscv64  | linux/riscv64.cmake | riscv64-linux-gnu-g++      | fma no-fma | qemu-riscv64
riscv64v | linux/riscv64.cmake | riscv64-linux-gnu-g++      | fma no-fma | qemu-riscv64 -cpu rv64,v=true,vext_spec=v1.0,vlen=128; qemu-riscv64 -cpu rv64,v=true,vext_spec=v1.0,vlen=256
s390x    | linux/s390x.cmake   | s390x-linux-gnu-g++        | fma no-fma | qemu-s390x
ppc64le  | linux/ppc64le.cmake | powerpc64le-linux-gnu-g++  | fma no-fma | qemu-ppc64le
powerpc  | linux/powerpc.cmake | powerpc-linux-gnu-g++      | fma no-fma | qemu-ppc
mips64el | linux/mips64el.cmake | mips64el-linux-gnuabi64-g++ | no-fma     | qemu-mips64el
windows  | windows/mingw.cmake | x86_64-w64-mingw32-g++     | fma no-fma | wine
wasm32   | wasm/wasi.cmake     | -                          | no-fma       | node --no-warnings ports/wasm/run.mjs
wasm32-simd | wasm/wasi.cmake  | -                          | no-fma       | node --no-warnings ports/wasm/run.mjs
'
# target, compiler, build types. None is a build type without flags, which distributions use; lto is Release with -flto. Kernels
# are compiled alike in every type. So each type is built natively, and all but None, whose code is that of Debug, for other
# processors of 32 and of 64 bits.
rows='
x86-64   gcc    None Debug RelWithDebInfo MinSizeRel Release lto
x86-64   clang  None Debug RelWithDebInfo MinSizeRel Release lto
i686     gcc    Debug RelWithDebInfo Release
i686     clang  MinSizeRel Release lto
aarch64  gcc    Debug MinSizeRel Release lto
aarch64  clang  RelWithDebInfo Release
armv7    gcc    Debug RelWithDebInfo Release lto
armv7    clang  MinSizeRel Release
riscv64  gcc    Debug MinSizeRel Release
riscv64  clang  Release
riscv64v clang  Release
s390x    gcc    Release
s390x    clang  Release
ppc64le  gcc    Release
ppc64le  clang  Release
powerpc  gcc    Debug MinSizeRel Release
mips64el gcc    Release
windows  gcc    Release
wasm32   clang  Release
wasm32-simd clang Release
'

has() { command -v "$1" >/dev/null 2>&1; }
clang=clang
! has clang++-19 || clang='clang-19'

# ---------------------------------------------------------------------------------------------------------- one row
# finish STATUS REASON: the row's line in results/. It names what it was made from, so that a later run may believe it.
finish() {
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$row" "$1" "${version:--}" "${found:-	-	-}" "${runs_done:--}" \
    "$(($(date +%s) - began))" "${stamp:--}" "${2:--}" >"$build/results/$row"
  case $1 in
  passed) echo "[$progress] $row passed, $(($(date +%s) - began)) s" ;;
  skipped) echo "[$progress] $row SKIPPED: $2" ;;
  failed) echo "[$progress] $row FAILED: $2 ($build/$row.log)" ;;
  esac
  exit 0
}

# fault TEXT: goes on, and the row fails in the end.
fault() {
  faults="${faults:+$faults; }$1"
}

run_row() { # run_row PROGRESS/N:TARGET/COMPILER/TYPE
  progress=${1%%:*} words=$(echo "${1#*:}" | tr / ' ')
  # shellcheck disable=SC2086
  set -- $words
  target=$1 compiler=$2 type=$3 row=$1-$2-$3
  set --
  began=$(date +%s) faults='' runs_done='' found='' version=''
  line=$(echo "$targets" | sed -n "s/^$target *| *//p" | sed 's/ *| */|/g')
  IFS='|' read -r toolchain gcc arithmetics runs <<END
$line
END
  folder=$build/$row log=$build/$row.log
  : >"$log"
  case $target in
  x86-64 | i686)
    case $(uname -s)-$(uname -m) in Linux-x86_64 | Linux-amd64) ;; *) finish skipped "this PC is not an x86-64 with Linux" ;; esac ;;
  esac

  # The compiler, and what -flto wants besides. Cross clang takes headers and libraries from the cross GCC.
  if [ "$compiler" = gcc ]; then
    cxx=$gcc
    ar=${gcc%g++}gcc-ar
  else
    cxx=$(echo "$clang" | sed 's/clang/clang++/')
    ar=$(echo "$clang" | sed 's/clang/llvm-ar/')
    [ "$gcc" = - ] || has "$gcc" || finish skipped "$gcc is not installed"
    case $target in x86-64) ;; wasm32*) set -- "-DHEED_WASM_CLANG=$clang" ;; *) set -- "-DHEED_CROSS_COMPILER=$clang" ;; esac
  fi
  has "$cxx" || finish skipped "$cxx is not installed"
  version=$("$cxx" --version | sed -n '1s/.* \([0-9][0-9]*\)\.[0-9].*/\1/p;1s/.* \([0-9][0-9]*\)-win32.*/\1/p' | head -n 1)
  if [ "$target" = x86-64 ]; then
    set -- -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_C_COMPILER="$(echo "$cxx" | sed 's/clang++/clang/;s/g++/gcc/')"
  else
    set -- "$@" -DCMAKE_TOOLCHAIN_FILE="$source/ports/$toolchain"
  fi
  [ "$target" != wasm32-simd ] || set -- "$@" -DHEED_WASM_SIMD=ON
  linker=''
  if [ "$type" = lto ]; then
    has "$ar" || finish skipped "$ar is not installed"
    flags=-flto
    # A border of SSE and x87 inside of what is optimised as a whole: GCC says "calling with SSE calling convention without
    # SSE enabled", clang 19 passes a float where the other side does not look for it.
    [ $target != i686 ] || flags="-flto -msse2 -mfpmath=sse"
    set -- "$@" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_AR="$(command -v "$ar")" \
      -DCMAKE_RANLIB="$(command -v "$(echo "$ar" | sed 's/\(.*\)ar/\1ranlib/')")"
    if [ "$compiler" = clang ]; then
      [ -x "$("$cxx" -print-prog-name=ld.lld)" ] || finish skipped "ld.lld of $clang is not installed"
      linker=-fuse-ld=lld
    fi
  else
    set -- "$@" -DCMAKE_BUILD_TYPE="$type"
  fi
  case $toolchain in linux/*) linker="-static $linker" ;; esac

  # Emulators that are missing are named; one run is enough for a row.
  missing='' runs_here=0
  IFS=';'
  for run in $runs; do
    emulator=$(echo "$run" | awk '{ print $1 }')
    if [ "$emulator" = native ] || has "$emulator"; then runs_here=$((runs_here + 1)); else missing="$missing $emulator"; fi
  done
  unset IFS
  [ $runs_here -gt 0 ] || finish skipped "not installed:$missing"

  stamp=$( (cat "$HEED_TARGETS_WORK/stamp"; echo "$line $*"; "$cxx" --version) | cksum | tr ' ' -)
  if [ -f "$build/results/$row" ] && awk -F '\t' -v stamp="$stamp" '$2 != "passed" || $9 != stamp { exit 1 }' "$build/results/$row"; then
    echo "[$progress] $row passed before"
    exit 0
  fi

  aims='heed_digest heed_int_digest heed_selftest'
  [ "$type" != Release ] || aims="$aims heed_flushed"
  case $toolchain in - | linux/*) aims="$aims heed_stack" ;; esac
  {
    rm -rf "$folder"
    # shellcheck disable=SC2086
    cmake -S "$source" -B "$folder" -DHEED_BUILD_BENCH=OFF -DHEED_BUILD_DEMO=ON -DHEED_BUILD_TESTS=ON \
      -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON -DCMAKE_DISABLE_FIND_PACKAGE_OpenMP=ON -DCMAKE_EXE_LINKER_FLAGS="$linker" "$@" &&
      cmake --build "$folder" --target $aims
  } >>"$log" 2>&1 || finish failed "does not build"
  cache() { sed -n "s/^$1:[A-Z]*=//p" "$folder/CMakeCache.txt"; }
  program() { if [ -f "$folder/$1.exe" ]; then echo "$folder/$1.exe"; else echo "$folder/$1"; fi; }

  : >"$folder/digests"
  first_run=''
  cd "$source"
  echo "$runs" | tr ';' '\n' | sed 's/^ *//' >"$folder/runs"
  while read -r run <&3; do
    emulator=${run#native}
    [ -z "$emulator" ] || has "${emulator%% *}" || continue
    echo "== $run" >>"$log"
    # shellcheck disable=SC2086
    sh "$here/digest_compare.sh" "$reference" $emulator "$(program tests/heed_digest)" >"$folder/digest" 2>>"$log" || {
      [ $? -eq 77 ] || fault "digest, $run: $(awk '$4 == "DIFFERENT" { printf "%s ", $2 } /exit status/ { print $5, $6, $7 }' "$folder/digest")"
    }
    cat "$folder/digest" >>"$log"
    cat "$folder/digest" >>"$folder/digests"
    # shellcheck disable=SC2086
    $emulator "$(program tests/heed_int_digest)" >>"$log" 2>&1 || fault "digest of integers, $run"
    # QEMU 7.2 flushes half floats that vcvtph2ps reads, too, which no x86 does: kernels with F16C are compared natively.
    case $type-$emulator in
    Release-qemu-x86_64*max | Release-qemu-i386*max) ;;
    # shellcheck disable=SC2086
    Release-*) $emulator "$(program tests/heed_flushed)" >>"$log" 2>&1 || fault "where subnormals are flushed, $run" ;;
    esac
    # shellcheck disable=SC2086
    $emulator "$(program bench/heed_selftest)" >>"$log" 2>&1 || fault "self-test, $run"
    runs_done="$runs_done${runs_done:+; }$run"
    [ -n "$first_run" ] || first_run=$run
  done 3<"$folder/runs"

  case $toolchain in
  - | linux/*)
    # shellcheck disable=SC2086
    ${first_run#native} "$(program tests/heed_stack)" >"$folder/stack" 2>&1 || fault "stack: $(tail -n 1 "$folder/stack")"
    cat "$folder/stack" >>"$log"
    if [ "$type" != lto ]; then sh "$here/symbols.sh" "$(cache CMAKE_NM)" "$folder/libheed.a" >>"$log" 2>&1 || fault symbols; fi
    ;;
  esac

  # Kernels, fma digest, no-fma digest; every digest of an arithmetic is the same here, or there is a fault.
  found=$(awk -v arithmetics="$arithmetics" '
    ($1 == "fma" || $1 == "no-fma") && NF >= 4 {
      name = $2; sub(/-no-fma$/, "", name)
      if (!(($1, name) in seen)) kernels[$1] = kernels[$1] " " name
      seen[$1, name] = 1
      if ($1 in digest && digest[$1] != $3) digest[$1] = "DIFFERENT"; else digest[$1] = $3
    }
    END {
      for (p in kernels) if (index(" " arithmetics " ", " " p " ") == 0) digest[p] = digest[p] " UNEXPECTED"
      n = split(arithmetics, expected, " ")
      for (i = 1; i <= n; i++) if (!(expected[i] in digest)) digest[expected[i]] = "MISSING"
      text = ("fma" in kernels ? "fma:" kernels["fma"] : "")
      if ("no-fma" in kernels) text = text (text == "" ? "" : "; ") "no-fma:" kernels["no-fma"]
      print text "\t" (("fma" in digest) ? digest["fma"] : "-") "\t" (("no-fma" in digest) ? digest["no-fma"] : "-")
    }' "$folder/digests")
  case $found in *MISSING* | *UNEXPECTED*) fault "arithmetics are not: $arithmetics" ;; esac
  [ -z "$faults" ] || finish failed "$faults"
  rm -rf "$folder"
  finish passed "${missing:+not installed:$missing}"
}

# -------------------------------------------------------------------------------------------------------- all rows
names() { # TARGET/COMPILER/TYPE of each row that a filter takes
  echo "$rows" | while read -r target compiler types; do
    for type in $types; do
      [ $# -gt 0 ] || echo "$target/$compiler/$type"
      for filter; do
        # shellcheck disable=SC2254
        case $target-$compiler-$type in $filter) echo "$target/$compiler/$type"; break ;; esac
      done
    done
  done
}

[ $# -gt 0 ] || { sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0"; exit 1; }
mkdir -p "$1/results"
build=$(cd "$1" && pwd)
shift
reference=${HEED_DIGEST_REFERENCE:-$build/reference.txt}
export WINEPREFIX="$build/wine" WINEDEBUG=-all
if [ "${1-}" = row ]; then run_row "$2"; fi
HEED_TARGETS_WORK=$(mktemp -d) # others may be building other rows in FOLDER
export HEED_TARGETS_WORK
trap 'rm -rf "$HEED_TARGETS_WORK"' EXIT
cd "$HEED_TARGETS_WORK"
mode=print whole=0
case ${1-} in update | check) mode=$1; shift ;; esac
if [ $mode = update ] && [ $# -gt 0 ]; then echo "update takes no filter: the table is whole"; exit 1; fi

(cd "$source" && find CMakeLists.txt include lib ports/cmake ports/linux ports/wasm ports/windows tests/support tests/digest.c tests/int_digest.c tests/flushed.c \
  tests/stack.c tests/symbols.sh -type f | sort | xargs cat | cksum) >stamp
if [ -z "${HEED_DIGEST_REFERENCE-}" ]; then
  if ! cmp -s stamp "$build/reference.stamp" || [ ! -s "$reference" ]; then
    echo "building the reference: this PC's scalar kernels"
    sh "$here/scratch_build.sh" c++ "$source" "$build/reference" heed_digest -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON \
      >"$build/reference.log" 2>&1 || { echo "FAILED: see $build/reference.log"; exit 1; }
    sh "$here/digest_write.sh" "$reference" "$build/reference/tests/heed_digest" >/dev/null
    cp stamp "$build/reference.stamp"
  fi
fi
cat "$reference" >>stamp

[ $# -gt 0 ] || whole=1
names "$@" >names
count=$(wc -l <names)
[ "$count" -gt 0 ] || { echo "no row is called $*"; exit 1; }
echo "$count rows, ${HEED_JOBS:-$(nproc)} at a time"
awk -v count="$count" '{ print NR "/" count ":" $0 }' names | xargs -P "${HEED_JOBS:-$(nproc)}" -n 1 sh "$here/targets.sh" "$build" row

tr / - <names | sed "s,^,$build/results/," | xargs cat >found
awk -f "$here/targets.awk" found >table
echo
cat table
[ $whole -eq 0 ] || cp table "$build/table.md"
status=0
case $mode in
update)
  awk -v table=table '
    /^<!-- end of table/ { inside = 0 }
    !inside
    /^<!-- table of targets/ { inside = 1; while ((getline line < table) > 0) if (line ~ /^\|/) print line }' "$document" >document
  cp document "$document"
  ;;
check) awk -v document="$document" -v CHECK=1 -f "$here/targets.awk" found || status=1 ;;
esac
n() { awk -F '\t' -v status="$1" '$2 == status { n++ } END { print n + 0 }' found; }
echo "$(n passed) rows passed, $(n failed) failed, $(n skipped) skipped; $(awk -F '\t' '{ s += $8 } END { print int(s / 60 + 0.5) }' found) minutes of work"
[ "$(n failed)" -eq 0 ] || exit 1
[ $status -eq 0 ] || exit 1
[ "$(n passed)" -gt 0 ] || { awk -F '\t' '{ print "SKIPPED: " $10 }' found | tail -n 1; exit 77; }
