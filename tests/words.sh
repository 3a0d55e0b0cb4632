#!/bin/sh
# words.sh SOURCE: no file has a name that 0.3 replaced (the tables of ports/CHANGES.md, which alone may have it): neither compiler
# nor CMake complains of a macro that nothing reads, so a test or a page with an old one does something else. SPDX-License-Identifier: MIT
set -eu
cd "$1"
old='HEED_FIXED_KERNEL|HEED_KERNEL($|[^_A-Z0-9])|HEED_INT_KERNEL($|[^_A-Z0-9])|HEED_PROFILE|heed_(int_)?kernel_(use|current|name|count|profile)|unfused|[a-z0-9]_fused'
old="$old|(in|agree_on|both|one)[ _](both )?profiles?|heed_(narrow|widen)|HEED_FORMAT_|heed_format($|[^_a-z])|HEED_HIDDEN_|hidden_order|norm_after|after[12]_(weight|bias)"
old="$old|heed_project($|[^_a-z])|heed_int_project($|[^_a-z])|layer_remember|heed_largest|heed_top_k($|[^_a-z])|HEED_CACHE_SEAL|heed_(int_)?cache_(seal|open)|weights_seal"
old="$old|HEED_(MISFIT|GIVEN_TWICE|NOT_HERE|GONE|FOREIGN|DAMAGED|UNKNOWN_STRUCT|BAD_FORMAT|UNKNOWN_KERNEL|UNAVAILABLE_KERNEL)($|[^_A-Z])"
refused='HEED_FIXED_KERNEL(\)|"?$)| is HEED_FIXED_ISA since 0\.3"' # who still gives it is told
found=$(find CMakeLists.txt CMakePresets.json README.md .ci bench include lib ports tests -type f ! -name '*.png' \
  ! -path ports/CHANGES.md ! -path tests/words.sh -exec grep -nHIE "$old" {} + | grep -vE "$refused" || true)
[ -z "$found" ] || { echo "FAILED: names that 0.3 replaced (ports/CHANGES.md says by which):"; echo "$found"; exit 1; }
echo "no file has a name that 0.3 replaced"
