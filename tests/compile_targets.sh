#!/bin/sh
# compile_targets.sh CORE SOURCE HEED_COMPILE PUBLISHED PUBLISHED_GRAPHS [write]: what heed_compile --target CORE says before anyone builds, beside the
# program that GCC builds for that core: RAM and stack to the byte, flash and instructions within what it states. An emulated
# board counts the instructions. `write` puts the lines of CORE into the lists ports/compile/target_*.inc instead. Exit
# status 77, with the reason, if something is missing. SPDX-License-Identifier: MIT
set -eu
core=$1 compiler=gcc heed_compile=$3 published=$4 published_graphs=$5 mode=${6:-check}
source=$(cd "$2" && pwd)
. "$source/tests/board.sh"
. "$source/tests/compiled.sh"
need_tools
command -v "$gcc-g++" >/dev/null 2>&1 || skip "$gcc-g++ is not installed"
[ "$board" != microbit ] || board=mps2-an385 # QEMU's micro:bit has too little memory
board_folder=$source/ports/$family/boards/$board
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
level=-Os
[ "$type" = MinSizeRel ] || level=-O2
mhz=$(sed -n 's/^set(HEED_QEMU_MHZ \(.*\))/\1/p' "$board_folder/board.cmake")
common="$flags -ffreestanding -ffunction-sections -fdata-sections"
c="$gcc-gcc $common $level -std=c99 -fno-tree-loop-distribute-patterns $compiled_folders -I$source/ports -I. -DHEED_QEMU_MHZ=$mhz"
half=
case $gcc in arm*) half=-mfp16-format=ieee ;; esac
# shellcheck disable=SC2086
"$gcc-g++" $common $half $level -std=c++17 -fno-exceptions -fno-rtti -fno-math-errno -ffp-contract=off -fno-tree-vectorize -DHEED_FLAGS_ARE_SET \
  "-I$source/include" -c "$source/lib/single.cpp" -o heed.o
shared='import/heed_file compile/heed_model bare/libc'
for file in $shared "$family/startup" "$family/fault" "$family/clock" bare/painted_stack bare/semihosting port; do
  # shellcheck disable=SC2086
  $c -c "$source/ports/$file.c" -o "${file##*/}.o"
done
shared='heed_file.o heed_model.o libc.o heed.o'

# run_counted SOURCE OBJECT...: builds a program for the board, and runs it; it writes to the file "found"
run_counted() {
  # shellcheck disable=SC2086
  $c $defines "$@" -nostdlib -Wl,--gc-sections -T "$source/ports/bare/link.ld" "-L$board_folder" \
    $shared startup.o fault.o clock.o painted_stack.o semihosting.o port.o -lgcc -o counted.elf 2>linker || { cat linker; fail "$1 does not link"; }
  sh "$source/ports/bare/qemu.sh" "$board" counted.elf >found || { cat found; fail "$1 on the board"; }
}

# All that a user calls, and no board: it is linked, and never runs. The weights lie elsewhere.
cat >start.c <<'END'
#include MODEL_HEADER
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define OF(what) JOIN(MODEL, what)
static MODEL model;
const char *start(const void *file, size_t n_bytes, const void *numbers, void *result, char *text);
const char *start(const void *file, size_t n_bytes, const void *numbers, void *result, char *text) {
  const char *error = OF(_open)(&model, file, n_bytes);
  (void)numbers, (void)result, (void)text;
#if defined(WITHOUT_PLACES)
  if (!error) error = WITHOUT_PLACES;
#elif defined(SPEECH)
  int32_t token = 0;
  if (!error) error = OF(_sound)(&model, numbers, (int32_t)n_bytes);
  if (!error) error = OF(_next)(&model, &token);
#ifdef WORDS
  if (!error) text[OF(_text)(&model, token, text, 64)] = 0;
#endif
#elif defined(DECODER)
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

# one MODEL OPTION...: a program, as program.o; sets code, the bytes of its code and constants, and name
n=0 target="--target $core"
one() {
  model=$1
  shift
  n=$((n + 1)) name=program_$n
  # shellcheck disable=SC2086
  "$heed_compile" "$model" -o $name $target "$@" >estimate 2>said || { cat said; fail "$model $*"; }
  defines="$(compiled_flags $name) $(awk '$1 ~ /_(ROWS|OUT|TOKENS|SAMPLES)$/ && $2 == "=" { sub(/.*_/, "", $1); printf " -D%s=%d", $1, $3 }' $name.h)"
  case $model in *_graph.*) defines=$(compiled_graph_flags $name) ;; esac
  case $* in *--integers*) defines="$defines -DNUMBER=$(integers_number $name)" ;; esac
  # shellcheck disable=SC2086
  $c -c $name.c -o program.o
  # shellcheck disable=SC2086
  $c $(echo "$defines" | sed 's/-DKIND=\([A-Z]*\)/-D\1/; s/-DMODEL_FILE=[^ ]*//') -c start.c -o start.o
  # shellcheck disable=SC2086
  "$gcc-gcc" $flags -nostdlib -Wl,--gc-sections,-e,start start.o program.o $shared -lgcc -o program.elf \
    2>linker || { cat linker; fail "$model $* does not link"; }
  code=$("$gcc-size" program.elf | awk 'NR == 2 { print $1 + $2 }')
}

# Functions that a graph may call.
functions=$({ grep -oh '"heed_[a-z0-9_]*"' "$source"/ports/compile/onnx/*.cpp; echo '"heed_file_packed" "heed_weights_in_integers"'; } | tr -d '"' | tr ' ' '\n' | sort -u)

# map_of FUNCTION...: how a linker maps a program that calls all that a graph calls, and these
map_of() {
  {
    printf '#include "heed_model.h"\ntypedef void (*function)(void);\nconst void *start(void);\nstatic const function all[] = {\n'
    for f in heed_file_open heed_file_check heed_file_text heed_file_floats heed_golden_begin heed_golden_end heed_golden_write \
      heed_receipt_begin heed_receipt_end heed_receipt_see heed_isa_arithmetic heed_isa_current "$@"; do printf '(function)%s,\n' "$f"; done
    printf '};\nconst void *start(void) { return heed_receipt_sha256.begin ? all : 0; }\n'
  } >calls.c
  # shellcheck disable=SC2086
  $c -c calls.c -o calls.o
  # shellcheck disable=SC2086
  "$gcc-gcc" $flags -nostdlib -Wl,--gc-sections,-e,start,-Map=map calls.o $shared -lgcc -o calls.elf 2>linker || { cat linker >&2; fail "$* do not link" >&2; }
  echo "== ${1:-base}"
  cat map
}

# own_code: what the program of a graph has itself: "graph code", its steps, weights and 1, and its bytes without tables
own_code() {
  "$gcc-nm" -S program.o | awk -v code="$("$gcc-size" program.o | awk 'NR == 2 { print $1 + $2 }')" -v steps="$(grep -c '^  TRY(' $name.c)" \
    -v weights="$(grep -c 'error = .*m->file, "' $name.c)" '
    $4 ~ /^(loop|attention|products|convolution)_/ { for (i = 1; i <= 8; i++) size += (index("0123456789abcdef", substr($2, i, 1)) - 1) * 16 ^ (8 - i) }
    END { print "graph code " steps, weights, 1 ": " code - size }'
}

if [ "$mode" = write ]; then
  replace() { # replace LIST: the lines of this core, by those in the file "lines"
    { grep -v "^{\"$core\"," "$source/ports/compile/$1"; cat lines; } >list
    { grep '^//' list; for known in $(heed_cores); do sed -n "/^{\"$known\",/p" list; done; } >"$source/ports/compile/$1"
  }
  defines='' target='' # the tool need not know the core yet
  for costs in call_costs int_costs graph_costs; do run_counted "$source/tests/device/$costs.c" && cat found >>all_costs; done
  awk -v core="$core" -f "$source/tests/target_costs.awk" all_costs >lines
  replace target_costs.inc
  stack=$(printf '#include "heed/heed.h"\nHEED_STACK_BYTES\n' | $c -E -P - | tail -n 1)
  "$published" . llama bert vit whisper moonshine
  one llama && decoder=$code
  one bert && encoder=$code
  one vit && picture=$code
  one vit --format int8 && in_integers=$((code - picture))
  one whisper && whisper=$code
  one moonshine && moonshine=$code
  one vit --unchecked && unchecked=$((picture - code))
  one bert --integers bert/rows.npy && integer_encoder=$code
  one vit --integers vit/rows.npy && integer_picture=$code
  one llama --integers llama/rows.npy && integer_decoder=$code
  "$published_graphs" .
  for model in *_graph.onnx; do
    for format in f32 int8; do one "$model" --format $format && own_code; done
  done >counts
  graph=$(awk -f "$source/tests/target_costs.awk" counts | sed 's/.*, {/{/; s/}},/}/')
  { map_of; for f in $functions; do map_of "$f"; done; } >maps
  awk -v core="$core" -f "$source/tests/target_parts.awk" maps >lines
  replace target_parts.inc
  echo "$functions" | sed 's/.*/"&",/' >"$source/ports/compile/target_functions.inc"
  echo "{\"$core\", \"$title\", \"GCC $("$gcc-gcc" -dumpversion | cut -d . -f 1), $level\", {$decoder, $encoder, $picture, $whisper, $moonshine, $integer_encoder, $integer_picture, $integer_decoder}, $in_integers, $unchecked, $graph, $((stack))}," >lines
  replace target_code.inc
  cat lines
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
  $c -fsyntax-only exact_check.c 2>compiler || { cat estimate compiler; fail "$model $*: RAM or stack"; }
  n_exact=$((n_exact + 1))
}
n_exact=0
all='llama bert vit gguf-gpt2.gguf whisper moonshine'
[ "$core" != m4f ] || all=$(ls) # pointers have 4 bytes on all cores
for model in $all; do
  [ -f "$model/config.json" ] || case $model in *.gguf) ;; *) continue ;; esac
  exact "$model"
done
for cache in f16 int8; do exact llama --cache $cache --context 40 --piece 7; done
exact gemma3_text --context 9 --piece 3
exact qwen2-window --context 200 --cache int8
exact bert --context 12 --unchecked
exact vit-classes --unchecked
exact gpt2 --unchecked
exact llama --draft 7
exact whisper --seconds 2 --cache f16 --unchecked
exact moonshine --seconds 3 --context 12 --piece 5
for model in bert roberta-classes deit-classes; do exact $model --integers $model/rows.npy; done
exact vit --integers vit/rows.npy --piece 7 --unchecked
exact llama --integers llama/rows.npy --context 20 --piece 7
exact gpt2 --integers gpt2/rows.npy --unchecked

"$published_graphs" .
for model in *_graph.onnx; do exact $model; done
exact bert_graph.onnx --format int8 --unchecked

# Flash and instructions within what --target states: also of families and formats that the tables were not made with.
within() { # within WHAT FOUND SAID [MOST]
  awk -v what="$core, $1" -v found="$2" -v said="$3" -v most="${4:-0.1}" \
    'BEGIN { error = (said - found) / found; printf "%s: %.0f, said %.0f, %+.1f %%\n", what, found, said, 100 * error; exit error > most || error < -most }' ||
    fail "the estimate of $1"
}
flash() {
  one "$@"
  file=$(wc -c <$name.heed)
  within "$*: code" "$code" $(($(sed -n 's/^flash *\([0-9]*\) bytes.*/\1/p' estimate) - file))
}
# places NAME: arrays for what NAME_run takes, and a call with them, in places.h
places() {
  sed -n "s/^const char \*$1_run($1 \*m, \(.*\));/\1/p" "$1.h" | tr ',' '\n' | awk -v name="$1" '
    { type = $0; sub(/ \*.*/, "", type); sub(/^ /, "", type); own = $0; sub(/.*\*/, "", own) }
    { is_input = sub(/const /, "", type); given = given ", " own; n = toupper(name "_" own); print "static " type " " own "[" n "];" }
    is_input { fill = fill " fill_" (type == "float" ? "floats" : type == "int32_t" ? "integers" : "booleans") "(" own ", " n ");" }
    END { print "static void fill_places(void) {" fill " }\nstatic const char *run_places(void) { return " name "_run(&model" given "); }" }' >places.h
}
estimated() {
  flash "$@"
  case $1 in *_graph.*) places $name && defines="$defines -DKIND=GRAPH" ;; esac
  run_counted "$source/tests/device/compiled_count.c" program.o
  sed -n 's/^instructions \([0-9]*\): a \([a-z]*\).*/\2 \1/p' estimate >said
  sed '$d' found | while read -r run counted; do
    most=0.1
    if grep -q 'may differ by a third' estimate; then most=0.33; fi
    within "$*: instructions of a $run" "$counted" "$(sed -n "s/^$run //p" said)" $most || exit 1
  done
}
estimated llama --format q8_0 --format 'f32=layers.*.w_*' --context 32 --piece 8 # the M55's board has 512 KB of flash
estimated llama --format q8_0 --cache int8 --context 24
estimated gemma2 --format 'int8=layers.*.w_*' --context 20 --cache f16
estimated gguf-gpt2.gguf --format int8 --context 30
estimated bert --format int8 --context 40
estimated roberta-classes --format int8 --exact --context 20
estimated vit-classes --format f16
estimated deit --format int4
estimated bert --integers bert/rows.npy
estimated roberta-classes --integers roberta-classes/rows.npy --context 20 --piece 8
estimated vit --integers vit/rows.npy
estimated gpt2 --integers gpt2/rows.npy --context 24
estimated llama --integers llama/rows.npy --context 30 --piece 6
flash llama --draft 5
heard=estimated
[ "$core" != m55 ] || heard=flash # its board has too little of it for a window's cosines
$heard whisper-english --format int8 --seconds 1 --unchecked
estimated moonshine --format int8 --cache int8 --seconds 1
for model in distilbert-classes deit gpt2 qwen2; do flash $model --integers $model/rows.npy; done
for model in *_graph.*; do estimated $model; done
estimated bert_graph.onnx --format int8
flash gpt_graph.onnx --format q8_0 --unchecked
flash bert --unchecked --context 9
echo "$functions" | sed 's/.*/"&",/' | diff - "$source/ports/compile/target_functions.inc" || fail "target_functions.inc: write the lists of all cores again"
if "$heed_compile" llama -o other --target m99 >said 2>&1; then fail "it takes a core m99"; fi
cores=$(sed -n 's/^{"\([a-z0-9]*\)".*/\1/p' "$source/ports/compile/target_code.inc" | paste -s -d , - | sed 's/,/, /g')
grep -q "is not one of $cores\$" said && [ ! -e other.c ] || fail "core m99: $(cat said)"
grep -q "CORE is one of $cores\." "$source/ports/compile/README.md" || fail "README.md does not list $cores"
"$heed_compile" --help | grep -q " $cores\$" || fail "--help does not list $cores"
echo "$core: RAM of $n_exact programs to the byte, flash and instructions of $n programs within what it states"
