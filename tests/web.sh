#!/bin/sh
# web.sh SOURCE OUT: ports/web/make.sh builds the page in OUT; web.mjs uses it in a headless Chromium. HEED_KWT1 and HEED_DREAMS name folders of
# models, HEED_COMPILE and HEED_REPLAY programs. Exit status 77 without a browser, node or the compiler. SPDX-License-Identifier: MIT
set -eu
source=$1 out=$2
for name in chromium-headless-shell chromium google-chrome; do
  if command -v $name >/dev/null 2>&1; then chromium=$name; break; fi
done
[ -n "${chromium:-}" ] || { echo "SKIPPED: no Chromium (Debian: chromium-headless-shell)"; exit 77; }
command -v node >/dev/null 2>&1 || { echo "SKIPPED: node is not installed (Debian: nodejs)"; exit 77; }
status=0
sh "$source/ports/web/make.sh" "$out" || status=$?
[ $status -ne 77 ] || echo "SKIPPED: no compiler for the page"
[ $status -eq 0 ] || exit $status
case $chromium in *shell) ;; *) export HEED_CHROMIUM_HEADLESS=1 ;; esac
exec node "$source/tests/web.mjs" $chromium "$out/heed.html" "$out/pictures"
