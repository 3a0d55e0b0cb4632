# compiled.sh: how tests build programs that heed_compile has written; they source it with $source set. SPDX-License-Identifier: MIT
compiled_folders="-I$source/include -I$source -I$source/ports/compile -I$source/ports/import"
compiled_sources="$compiled_folders $source/tests/device/compiled_model.c $source/ports/port.c $source/ports/import/heed_file.c $source/ports/compile/heed_model.c"

# compiled_flags NAME: what tests/device/compiled_model.c has to know of NAME.h; $compiled_at: the folder of its file, or this one
compiled_flags() {
  kind=ENCODER
  grep -q "^const char \*$1_next" "$1.h" && kind=DECODER
  grep -q "^const char \*$1_picture" "$1.h" && kind=VISION
  grep -q "^const char \*$1_sound" "$1.h" && kind=SPEECH
  printf '%s' "-DMODEL=$1 -DMODEL_HEADER=\"$1.h\" -DMODEL_FILE=\"${compiled_at:-}$1.heed\" -DKIND=$kind"
  grep -q '^  heed_tokenizer words;' "$1.h" && printf ' -DWORDS'
  [ $kind != VISION ] || printf ' -DPIXELS=%s' "$(awk '/_SIZE = /{ s = $3 + 0 } /_CHANNELS = /{ c = $3 + 0 } END { print s * s * c }' "$1.h")"
}

# compiled_graph_flags NAME: the same for tests/device/compiled_graph.c; a call of NAME_run without places
compiled_graph_flags() {
  n=$(sed -n "s/^const char \*$1_run($1 \*m, \(.*\));/\1/p" "$1.h" | tr ',' '\n' | wc -l)
  printf '%s' "-DMODEL=$1 -DMODEL_HEADER=\"$1.h\" -DMODEL_FILE=\"${compiled_at:-}$1.heed\" -DWITHOUT_PLACES=$1_run(&model"
  while [ "$n" -gt 0 ]; do printf ',NULL'; n=$((n - 1)); done
  printf ')'
}
