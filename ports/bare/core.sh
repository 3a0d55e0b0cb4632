# Sourced by the other scripts, with $source set to heed's folder. SPDX-License-Identifier: MIT
# heed_core CORE: sets preset, title, family, kernel, board, type, gcc, emulator, target and flags from the list `cores`.
heed_core() {
  core_line=$(sed -n "s/^$1 *| *//p" "$source/ports/bare/cores" | sed 's/ *| */|/g')
  [ -n "$core_line" ] || { echo "ports/bare/cores has no core $1"; exit 1; }
  # shellcheck disable=SC2034
  IFS='|' read -r preset title family kernel board type gcc emulator target flags <<END
$core_line
END
  flags=${flags%|}
}

heed_cores() { # heed_cores [FAMILY]: their names
  awk -F ' *[|] *' -v family="${1-}" '!/^#/ && (family == "" || $4 == family) { print $1 }' "$source/ports/bare/cores"
}
