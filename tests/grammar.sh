#!/bin/sh
# grammar.sh SOURCE: what can be checked of the grammar at the top of heed.h. SPDX-License-Identifier: MIT
set -eu
cd "$1"
failed=0
complain() { echo "FAILED: $*"; failed=1; }

headers=$(ls include/heed/*.h)
awk 'length > 120 { print FILENAME ":" FNR; wrong = 1 } END { exit wrong }' include/heed/*.h include/heed/*.hpp || complain "a line has more than 120 columns"
# 2: each struct that has a struct_size has its maker.
for name in $(cat $headers | tr '\n' ' ' | grep -o 'typedef struct heed_[a-z_]* { *uint32_t struct_size' | sed 's/typedef struct \(heed_[a-z_]*\).*/\1/'); do
  grep -q "${name}_\(default\|of\|init\|init_[a-z]*\|start\)(" $headers || complain "$name has no maker"
  case $name in heed_threads) continue ;; esac # started, not made
done
# 3: matrix, tensor, memory and weights go by value; scales, biases and other plain arrays are no views.
grep -n 'const heed_\(matrix\|matrix_out\|tensor\|tensor_out\|memory\|weights\|typed_matrix\|typed_matrix_out\) \*' $headers && complain "a view by pointer"
# 4: memory, then executor, come last.
cat $headers | tr '\n' ' ' | grep -o 'HEED_API [^;]*;' | grep 'heed_memory [a-z]*,' | grep -v 'heed_memory [a-z]*, *\(const heed_executor\|heed_selftest_report\|heed_memory [a-z]*)\)' && complain "something other than an executor behind the memory"
# 5: each HEED_NOUN_BYTES has its function.
for macro in $(cat $headers | sed -n 's/^#define HEED_\([A-Z_]*\)_BYTES(.*/\1/p' | grep -v 'DTYPE\|RING\|SEQUENCE'); do
  name=heed_$(echo "$macro" | tr '[:upper:]' '[:lower:]')_bytes
  grep -q "size_t $name(" $headers || complain "HEED_${macro}_BYTES has no $name"
done
# 9: each fault and each argument of a status stands in a test.
for name in $(sed -n 's/^ *\(HEED_[A-Z0-9_]*\) = [0-9]*,\{0,1\}.*/\1/p' include/heed/status.h); do
  grep -qrw "$name" tests/*.cpp tests/support tests/*.c || complain "no test knows $name"
done
# The words in capitals of each "Status:" are faults and arguments of status.h, and heed.h names no function that is not there.
known=" $(sed -n 's/^ *HEED_\(ARG_\)\{0,1\}\([A-Z0-9_]*\) = [0-9].*/\2/p' include/heed/status.h | tr '\n' ' ')"
for word in $(awk '/^[ \/]\*/ && /Status[a-z ]*:/ { inside = 1; sub(/.*Status[a-z ]*:/, "") }
                   inside { line = $0; if (line ~ /\*\// || line ~ /^ \*$/ || line ~ /^ \* (Source|Error|NaN|Aliasing)/) inside = 0
                            if (line !~ /^ \* (Source|Error|NaN|Aliasing)/) print line }' include/heed/*.h |
              grep -oE '(^|[^A-Za-z0-9_])[A-Z][A-Z0-9_]*[A-Z0-9]?($|[^A-Za-z0-9_(])' | tr -dc 'A-Z0-9_\n' | sort -u); do
  case $word in HEED_*|INT32_MIN) continue ;; esac
  case $known in *" $word "*) ;; *) complain "a Status list has $word, which status.h has not" ;; esac
done
for name in $(sed '/^#ifndef/q' include/heed/heed.h | grep -o 'heed_[a-z_0-9]*[a-z0-9]' | sort -u); do
  case $name in heed_noun*|heed_verb) continue ;; esac
  grep -qw "$name" include/heed/[a-gi-z]*.h || complain "heed.h names $name, which no header declares"
done
[ $failed -eq 0 ] && echo "the headers keep to the grammar"
exit $failed
