#!/bin/sh
# presets.sh SOURCE: the presets of Linux build what the pages promise: programs for each board, tests for x86-64, and bundle.sh
# refuses to bundle nothing. Nothing is compiled. Exit status 77, with the reason, if cmake is too old. SPDX-License-Identifier: MIT
set -eu
source=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source"
cmake --list-presets >/dev/null 2>&1 || { echo "SKIPPED: this cmake knows no presets"; exit 77; }
fail() { echo "FAILED: $*"; exit 1; }
presets=$(sed -n '/"configurePresets"/,/^  \]/p' CMakePresets.json | tr -d '\n' | sed 's/    {/\n/g' | grep -E '"inherits": "(programs|board|x86-64|aarch64)"' |
  grep -v '"hidden"' | sed 's/.*"name": "\([^"]*\)".*/\1/')
checked=0
for preset in $presets; do
  build=$work/$preset
  cmake --preset "$preset" -B "$build" >"$work/log" 2>&1 || {
    if grep -q 'not able to find\|is not a full path\|not found in the PATH' "$work/log"; then echo "$preset: its compiler is not installed"; continue; fi
    cat "$work/log"
    fail "$preset cannot be configured"
  }
  cmake --build "$build" --target help >"$work/targets"
  for program in heed_selftest heed_demo heed_device_bench heed_kwt; do
    grep -q " $program\$" "$work/targets" || fail "$preset builds no $program"
  done
  if sh ports/linux/bundle.sh "$build" "$work/folder" >"$work/log"; then fail "bundle.sh makes an empty bundle of $preset"; fi
  grep -q '^FAILED: .* has no programs' "$work/log" || fail "bundle.sh does not say what is missing"
  [ ! -e "$work/folder" ] || fail "bundle.sh leaves an empty folder"
  case $preset in x86-64*)
    tests=$(ctest --test-dir "$build" -N | sed -n 's/^Total Tests: //p')
    [ "$tests" -ge 20 ] || fail "$preset has $tests tests"
    ;;
  esac
  checked=$((checked + 1))
done

refuses() { # refuses TEXT COMMAND...
  text=$1
  shift
  if "$@" >"$work/log" 2>&1; then fail "$* is not refused"; fi
  grep -q "$text" "$work/log" && [ "$(wc -l <"$work/log")" -eq 1 ] || { cat "$work/log"; fail "$*: not one line with \"$text\""; }
}
refuses "^usage: bundle.sh BUILD FOLDER" sh ports/linux/bundle.sh
refuses "^usage: bundle.sh BUILD FOLDER" sh ports/linux/bundle.sh "$work"
refuses "none has no programs to bundle" sh ports/linux/bundle.sh "$work/none" "$work/folder"
for variable in HEED_KWT1 HEED_DREAMS HEED_MOONSHINE; do
  for script in demo test; do refuses "^$variable is no folder: $work/none" env "$variable=$work/none" sh ports/linux/$script.sh; done
done
refuses "^FOLDER is no folder: $work/none" sh ports/linux/demo.sh "$work/none"
[ $checked -ge 1 ] || fail "no preset was found"
echo "$checked presets build programs"
