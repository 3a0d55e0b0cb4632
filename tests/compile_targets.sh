#!/bin/sh
# compile_targets.sh CORE SOURCE HEED_COMPILE PUBLISHED [write]: what heed_compile --target CORE says before anyone builds, beside the
# program that GCC builds for that core: RAM to the byte, and flash within the bound that it states. `write` prints the lines of
# ports/compile/target_code.inc instead. Nothing runs. Exit status 77, with the reason, if something is missing.
# SPDX-License-Identifier: MIT
set -eu
core=$1 source=$2 heed_compile=$3 published=$4 mode=${5:-check}
. "$source/ports/bare/core.sh"
. "$source/tests/compiled.sh"
heed_core "$core"
fail() { echo "failed: $1"; exit 1; }
command -v "$gcc-g++" >/dev/null 2>&1 || { echo "SKIPPED: $gcc-g++ is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
level=-Os
[ "$type" = MinSizeRel ] || level=-O2
common="$flags -ffreestanding -ffunction-sections -fdata-sections"
c="$gcc-gcc $common $level -std=c99 -fno-tree-loop-distribute-patterns"
half=
case $gcc in arm*) half=-mfp16-format=ieee ;; esac
# shellcheck disable=SC2086
"$gcc-g++" $common $half $level -std=c++17 -fno-exceptions -fno-rtti -fno-math-errno -ffp-contract=off -fno-tree-vectorize -DHEED_FLAGS_ARE_SET \
  "-I$source/include" -c "$source/lib/single.cpp" -o heed.o
# shellcheck disable=SC2086
for file in ports/import/heed_file ports/compile/heed_model ports/bare/libc; do $c $compiled_folders -c "$source/$file.c" -o "${file##*/}.o"; done

# All that a user calls, and no board: it is linked, and never runs. The weights lie elsewhere.
cat >start.c <<'END'
#include MODEL_HEADER
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define OF(what) JOIN(MODEL, what)
static MODEL model;
const char *start(const void *file, size_t n_bytes, const float *numbers, float *result, char *text);
const char *start(const void *file, size_t n_bytes, const float *numbers, float *result, char *text) {
  const char *error = OF(_open)(&model, file, n_bytes);
  (void)numbers, (void)result, (void)text;
#if defined(DECODER)
  int32_t token = 0;
  OF(_choice) how = {0.8f, 40, 0.95f, 1};
  if (!error) error = OF(_read)(&model, &token, 1);
#ifdef WORDS
  if (!error) error = OF(_prompt)(&model, text, n_bytes);
  if (!error) error = OF(_next)(&model, &how, &token);
  if (!error) text[OF(_text)(&model, token, text, 64)] = 0;
#else
  if (!error) error = OF(_next)(&model, &how, &token);
#endif
#elif defined(VISION)
  if (!error) error = OF(_picture)(&model, numbers, result);
#elif defined(WORDS)
  if (!error) error = OF(_text)(&model, text, n_bytes, result);
#else
  const int32_t token = 0;
  if (!error) error = OF(_tokens)(&model, &token, 1, result);
#endif
  return error;
}
END

# one MODEL OPTION...: sets code, the bytes of a program's code and constants, and name
n=0
one() {
  model=$1
  shift
  n=$((n + 1)) name=program_$n
  "$heed_compile" "$model" -o $name --target "$core" "$@" >estimate 2>said || { cat said; fail "$model $*"; }
  defines=$(compiled_flags $name | sed 's/-DKIND=\([A-Z]*\)/-D\1/; s/-DMODEL_FILE=[^ ]*//')
  # shellcheck disable=SC2086
  $c $compiled_folders -I. $defines -c start.c -o start.o
  # shellcheck disable=SC2086
  $c $compiled_folders -I. -c $name.c -o program.o
  # shellcheck disable=SC2086
  "$gcc-gcc" $flags -nostdlib -Wl,--gc-sections,-e,start start.o program.o heed_file.o heed_model.o libc.o heed.o -lgcc -o program.elf \
    2>linker || { cat linker; fail "$model $* does not link"; }
  code=$("$gcc-size" program.elf | awk 'NR == 2 { print $1 + $2 }')
}

if [ "$mode" = write ]; then
  "$published" . llama bert vit
  one llama && decoder=$code
  one bert && encoder=$code
  one vit && picture=$code
  echo "$core: code of a decoder $decoder, an encoder $encoder, a model of pictures $picture"
  exit 0
fi

# RAM to the byte: programs of every family, and what changes it. The compiler compares.
"$published" .
exact() { # exact MODEL OPTION...
  model=$1
  shift
  "$heed_compile" "$model" -o exact --target "$core" "$@" >estimate 2>said || { cat said; fail "$model $*"; }
  ram=$(sed -n 's/^RAM *\([0-9]*\) bytes.*/\1/p' estimate)
  stack=$(sed -n 's/^stack *\([0-9]*\) bytes.*/\1/p' estimate)
  printf '#include "exact.h"\ntypedef char ram[sizeof(exact) == %s ? 1 : -1];\ntypedef char stack[HEED_STACK_BYTES + 1024 == %s ? 1 : -1];\n' "$ram" "$stack" >exact_check.c
  # shellcheck disable=SC2086
  $c $compiled_folders -I. -fsyntax-only exact_check.c 2>compiler || { cat estimate compiler; fail "$model $*: RAM or stack"; }
  n_exact=$((n_exact + 1))
}
n_exact=0
for model in *; do
  [ -f "$model/config.json" ] || case $model in *.gguf) ;; *) continue ;; esac
  case $model in moonshine | whisper*) continue ;; esac # --target knows no models of speech
  exact "$model"
done
for cache in f16 int8; do exact llama --cache $cache --context 40 --piece 7; done
exact gemma3_text --context 9 --piece 3
exact qwen2-window --context 200 --cache int8
exact bert --context 12 --unchecked
exact vit-classes --unchecked
exact gpt2 --unchecked

# Flash within the tenth that --target states: also of families and formats that the table was not made with.
flash() {
  one "$@"
  file=$(wc -c <$name.heed)
  said=$(sed -n 's/^flash *\([0-9]*\) bytes.*/\1/p' estimate)
  awk -v what="$core, $*" -v said=$((said - file)) -v code="$code" \
    'BEGIN { error = (said - code) / code; printf "%s: code %d, said %d, %+.1f %%\n", what, code, said, 100 * error; exit error > 0.1 || error < -0.1 }' ||
    fail "the estimate of flash"
}
flash llama --format q8_0 --cache int8
flash gemma3_text
flash gguf-gpt2.gguf
flash bert --format int8
flash roberta-classes --exact
flash vit-classes --format f16
flash deit
if "$heed_compile" moonshine -o other --target "$core" >said 2>&1; then fail "it takes a model of speech"; fi
grep -q "not of a model of speech" said && [ ! -e other.c ] || fail "a model of speech: $(cat said)"
if "$heed_compile" llama -o other --target m99 >said 2>&1; then fail "it knows a core m99"; fi
grep -q "is not one of m0plus, " said && [ ! -e other.c ] || fail "core m99: $(cat said)"
echo "$core: RAM of $n_exact programs to the byte, flash of $n programs within a tenth"
