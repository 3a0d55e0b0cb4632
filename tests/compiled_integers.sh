# compiled_integers.sh: how tests build programs of heed_compile --integers; they source it with $source set. SPDX-License-Identifier: MIT
integers_folders="-I$source/include -I$source -I$source/ports/compile -I$source/ports/import"
integers_sources="$integers_folders $source/tests/device/compiled_integers.c $source/ports/port.c $source/ports/import/heed_file.c $source/ports/compile/heed_model.c"

# integers_flags NAME: what tests/device/compiled_integers.c has to know of NAME.h
integers_flags() {
  kind=ENCODER number=int8_t
  if grep -q "^const char \*$1_picture" "$1.h"; then kind=VISION; fi
  if grep -q "int16_t \*result);" "$1.h"; then number=int16_t; fi
  printf '%s' "-DMODEL=$1 -DMODEL_HEADER=\"$1.h\" -DMODEL_FILE=\"$1.heed\" -DKIND=$kind -DNUMBER=$number"
  if grep -q '^  heed_tokenizer words;' "$1.h"; then printf ' -DWORDS'; fi
  [ $kind != VISION ] || printf ' -DPIXELS=%s' "$(awk '/_SIZE = /{ s = $3 + 0 } /_CHANNELS = /{ c = $3 + 0 } END { print s * s * c }' "$1.h")"
}

# has_floats FILE: lines of C outside of comments that name a type of floats
has_floats() { sed 's:/\*.*::' "$1" | grep -nE '(^|[^A-Za-z_])(float|double)([^A-Za-z_]|$)' | grep -v '^[0-9]*: \*'; }
