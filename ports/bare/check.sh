#!/bin/sh
# check.sh CORE COMPILER REFERENCES BUILD: builds heed for a core of the list `cores` with gcc or clang into the folder BUILD, runs
# it under QEMU and compares: what heed answers with the same program's answers on the PC (REFERENCES, made by references.sh),
# what the library needs with memcpy and memset, what the fault handler says with where it failed. Writes a row of run.sh's table to BUILD/row. Exit status 77, with the reason, if a tool is missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=$2 references=$3
mkdir -p "$4"
build=$(cd "$4" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
rm -f "$build/row"

. "$source/ports/bare/core.sh"
heed_core "$core"
expected_kernel=$kernel
case $core in # registers of 8 bytes, more of them to save
m*) most_stack=600 most_int_stack=900 ;; rv32* | lx106) most_stack=800 most_int_stack=900 ;; *) most_stack=1200 most_int_stack=1500 ;;
esac

skip() { echo "SKIPPED: $1"; exit 77; }
fail() { echo "FAILED: $core, $compiler: $1"; exit 1; }
command -v "$gcc-gcc" >/dev/null || skip "$gcc-gcc is not installed"
command -v "${emulator%% *}" >/dev/null || skip "${emulator%% *} is not installed"
if [ "$compiler" = clang ]; then
  [ "$target" != - ] || skip "Debian's clang does not know this core"
  preset=$preset-clang
  command -v clang-19 >/dev/null || skip "clang-19 is not installed"
  [ -x "$(clang-19 -print-prog-name=ld.lld)" ] || command -v ld.lld >/dev/null || skip "lld-19 is not installed"
fi

# The build. A warning of the linker is a fault, too.
(cd "$source" && cmake --preset "$preset" -B "$build") >"$build/log" 2>&1 || { cat "$build/log"; fail "cannot be configured"; }
cmake --build "$build" --parallel 2 >"$build/log" 2>&1 || { cat "$build/log"; fail "does not build"; }
programs=$build/ports/$family
run() { # run PROGRAM ARGUMENT...: prints what it prints; its exit status
  program=$1
  shift
  sh "$here/qemu.sh" "$board" "$programs/$program.elf" "$@"
}

# The library: nothing undefined, nothing in .data and .bss.
undefined=$("$gcc-nm" "$build/libheed.a" 2>&1 | awk '
  NF == 2 && $1 ~ /^[Uwv]$/ { needed[$2] = 1 }
  NF == 3 && $2 ~ /[A-Z]/ { defined[$3] = 1; n++ }
  END {
    if (n < 20) print "no symbols at all"
    for (name in needed) if (!(name in defined) && name !~ /^(memcpy|memmove|memset|__aeabi_.*|__gnu_thumb1_case_.*|__[a-z]+[dsgt][fi]([dsgt][fi])?[23]?)$/) print name
  }')
[ -z "$undefined" ] || fail "libheed.a needs $(echo $undefined)"
variables=$("$gcc-size" -A "$build/libheed.a" | awk '$1 ~ /^\.(data|bss)/ && $1 !~ /^\.data\.rel\.ro/ { n += $2 } END { print n + 0 }')
[ "$variables" -le 4 ] || fail "libheed.a has $variables bytes of variables"

# What a program links: no code of options where it makes none. heed_device, which makes all, shows that they are so called.
functions() { # functions PROGRAM: their names without arguments, one a line
  "$gcc-nm" -C "$programs/$1.elf" | sed 's/(anonymous namespace):://g; s/[<(].*//; s/.*[ :]//' | sort -u
}
functions heed_device >"$build/functions"
functions heed_no_options >"$build/functions_without"
for name in softcap_block alibi_block mask_boolean mask_additive add_visible add_visible_values values_are_finite add_sinks weigh_block range_of_entry \
  write_lse inspect_tile resume_partial suspend apply_rule finish_kept score_narrow place_typed finish_narrow \
  place_cached check_tokens append_rows run_rope; do
  grep -qx $name "$build/functions" || fail "heed_device has no function $name: what is it called now?"
  ! grep -qx $name "$build/functions_without" || fail "a program without options, caches and rope links $name"
done

# The answers.
status=0
run heed_device >"$build/answers" || status=$?
[ "$status" -ne 124 ] || fail "hangs; the last lines: $(tail -n 2 "$build/answers")"
[ "$(tail -n 1 "$build/answers")" = end ] || { cat "$build/answers"; fail "ends too early, exit status $status"; }
[ "$status" -eq 0 ] || { cat "$build/answers"; fail "exit status $status"; }
arithmetic=$(sed -n 's/^arithmetic //p' "$build/answers")
kernel=$(sed -n 's/^# kernel //p' "$build/answers")
stack_of() { # stack_of PATTERN: of the functions whose names match
  awk -v functions="$1" '$2 == "stack" && $3 ~ functions && $4 > most { most = $4 } END { print most + 0 }' "$build/answers"
}
stack=$(stack_of "^(self_)?attention$") options_stack=$(stack_of "^options$") any_stack=$(stack_of "^[^s]|_|softmax")
[ "$kernel" = "$expected_kernel" ] || fail "kernel $kernel, not $expected_kernel"
[ -s "$references/$arithmetic.txt" ] || skip "this machine cannot run the arithmetic $arithmetic to compare with"
sed '/^#/d' "$build/answers" >"$build/comparable"
if ! diff "$references/$arithmetic.txt" "$build/comparable"; then
  printf '%s|%s|%s|%s|NO\n' "$core" "$compiler" "$kernel" "$arithmetic" >"$build/row"
  fail "answers differ from the PC's (<)"
fi
[ "$stack" -gt 0 ] || fail "the stack was not measured"
[ "$stack" -le "$most_stack" ] || [ "$kernel" = mve ] || fail "plain attention takes $stack bytes of stack"

# Integers: one kernel's answers are all kernels'.
run heed_integers >"$build/integers" || { cat "$build/integers"; fail "integers, exit status $?"; }
sed '/^#/d' "$build/integers" | diff "$references/integers.txt" - || fail "integers differ from the PC's (<)"
int_stack=$(sed -n 's/^# stack attention //p' "$build/integers")
[ "$int_stack" -le "$most_int_stack" ] || [ "$kernel" = mve ] || fail "attention in integers takes $int_stack bytes of stack"

# The example, and the fault handler on purpose.
[ "$(run heed_example)" = "$(cat "$references/example.txt")" ] || fail "the example prints: $(run heed_example)"
expect_fault() { # expect_fault HOW FAULT PATTERN, in which PC is where it was going to fail
  status=0
  said=$(run heed_fault "$1") || status=$?
  place=$(echo "$said" | sed -n 's/^at pc //p')
  echo "$said" | grep -q "^fault: $2$(echo "$3" | sed "s/PC/$place/")" || fail "fault \"$1\": $said"
  [ "$status" -eq 2 ] || fail "fault \"$1\": exit status $status"
}
if [ "$family" = cortex-m ]; then
  for how in undefined wild misaligned; do expect_fault $how HardFault " at pc PC, lr "; done
  # QEMU lets the other boards write below their RAM.
  case $board in microbit | mps2-an505 | mps3-an547) expect_fault overflow HardFault ", stack overflow" ;; esac
else
  expect_fault undefined "illegal instruction" " at pc PC, "
  expect_fault wild "load access" " at pc PC, "
fi

# The benchmark: the shapes that fit give the PC's digests, by a clock that counts instructions.
[ "$compiler" != gcc ] || clock=$(run heed_clock) || fail "the clock: $clock"
run heed_device_bench P1 P6 P7 >"$build/benchmark.json" || { cat "$build/benchmark.json"; fail "the benchmark fails"; }
digests() { sed -n 's/.*"shape":"\([A-Z0-9]*\)".*"digest":"\([0-9a-f]*\)","emulated":.*/\1 \2/p' "$1"; }
digests "$references/$arithmetic.json" >"$build/digests_expected"
digests "$build/benchmark.json" >"$build/digests"
[ -s "$build/digests" ] || fail "no shape of the benchmark fits"
other=$(grep -vxF -f "$build/digests_expected" "$build/digests" || true)
[ -z "$other" ] || fail "digests that differ from the PC's: $(echo $other)"
count() { # count SHAPE: millions of instructions
  sed -n "s/.*\"shape\":\"$1\".*\"unit\":\"instructions\",\"count\":\([0-9]*\).*/\1/p" "$build/benchmark.json" |
    awk '{ printf "%.2f M", $1 / 1e6 }'
}
workspace=$(sed -n 's/^# workspace //p' "$build/answers")
text=$(awk -f "$here/heed_bytes.awk" "$programs/heed_example.map")
[ "$text" -gt 0 ] || fail "the linker's map names no section of libheed.a"
p1=$(count P1) p6=$(count P6) p7=$(count P7)
printf '%s|%s|%s|%s|yes|%s|%s|%s|%s|%s|%s|%s|%s\n' "$core" "$compiler" "$kernel" "$arithmetic" "$text" "$stack" "$options_stack" "$any_stack" "$workspace" "${p1:--}" "${p6:--}" "${p7:--}" >"$build/row"
echo "$core, $compiler, emulated: kernel $kernel, $(wc -l <"$build/comparable") answers equal to the PC's, stack $stack bytes, P1 ${p1:-does not fit}"
sed -n 's/^# /  integers: /p' "$build/integers"
