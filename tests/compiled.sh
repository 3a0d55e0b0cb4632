# compiled.sh: how tests build programs that heed_compile has written; they source it with $source set. SPDX-License-Identifier: MIT
compiled_folders="-I$source/include -I$source -I$source/ports/compile -I$source/ports/import"
compiled_parts="$compiled_folders $source/ports/port.c $source/ports/import/heed_file.c $source/ports/compile/heed_model.c"
compiled_sources="$compiled_parts $source/tests/device/compiled_model.c"
compiled_graph_sources="$compiled_parts $source/tests/device/compiled_graph.c"
integers_sources="$compiled_parts $source/tests/device/compiled_integers.c"

# model_flags NAME KIND: what a test of NAME.h has to know, whatever its numbers; $compiled_at: the folder of its file, or this one
model_flags() {
  printf '%s' "-DMODEL=$1 -DMODEL_HEADER=\"$1.h\" -DMODEL_FILE=\"${compiled_at:-}$1.heed\""
  [ -z "$2" ] || printf ' -DKIND=%s' "$2"
  if grep -q '^  heed_tokenizer words;' "$1.h"; then printf ' -DWORDS'; fi
  [ "$2" != VISION ] || printf ' -DPIXELS=%s' "$(awk '/_SIZE = /{ s = $3 + 0 } /_CHANNELS = /{ c = $3 + 0 } END { print s * s * c }' "$1.h")"
}

# compiled_flags NAME: of tests/device/compiled_model.c
compiled_flags() {
  kind=ENCODER
  grep -q "^const char \*$1_next" "$1.h" && kind=DECODER
  grep -q "^const char \*$1_picture" "$1.h" && kind=VISION
  grep -q "^const char \*$1_sound" "$1.h" && kind=SPEECH
  model_flags "$1" $kind
}

# integers_number NAME: the type of its result
integers_number() { if grep -q -e "int16_t \*result);" -e "int16_t logits\[" "$1.h"; then echo int16_t; else echo int8_t; fi; }

# integers_flags NAME: of tests/device/compiled_integers.c
integers_flags() {
  kind=ENCODER
  if grep -q "^const char \*$1_next" "$1.h"; then kind=DECODER; fi
  if grep -q "^const char \*$1_picture" "$1.h"; then kind=VISION; fi
  model_flags "$1" $kind
  printf ' -DNUMBER=%s' "$(integers_number "$1")"
}

# compiled_graph_flags NAME: of tests/device/compiled_graph.c: also a call of NAME_run without places
compiled_graph_flags() {
  n=$(sed -n "s/^const char \*$1_run($1 \*m, \(.*\));/\1/p" "$1.h" | tr ',' '\n' | wc -l)
  model_flags "$1" ''
  printf '%s' " -DWITHOUT_PLACES=$1_run(&model"
  while [ "$n" -gt 0 ]; do printf ',NULL'; n=$((n - 1)); done
  printf ')'
}

# has_floats FILE: lines of C outside of comments that name a type of floats
has_floats() { sed 's:/\*.*::' "$1" | grep -nE '(^|[^A-Za-z_])(float|double)([^A-Za-z_]|$)' | grep -v '^[0-9]*: \*'; }
