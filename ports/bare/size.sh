#!/bin/sh
# What heed costs on each core, as linked with --gc-sections at -Os with GCC: code and constants. Stacks: cortex-m/stack.sh.
#   sh ports/bare/size.sh           prints the tables
#   sh ports/bare/size.sh update    writes them, with ceilings (ceilings.awk), into README.md of ports/cortex-m, riscv and xtensa,
#                                   between their markers
#   sh ports/bare/size.sh check     fails if a size is above its ceiling there, or the ceiling a tenth too high; exit status 77 if
#                                   that cannot be told
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
. "$here/core.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

row() { # row CORE
  heed_core "$1"
  common="$flags -Os -ffreestanding -ffunction-sections -fdata-sections -I$source/include"
  # shellcheck disable=SC2086
  "$gcc"-g++ $common -std=c++17 -fno-exceptions -fno-rtti -fno-math-errno -ffp-contract=off -fno-tree-vectorize \
    -DHEED_FLAGS_ARE_SET -c "$source/lib/single.cpp" -o heed.o
  rm -f libheed.a
  "$gcc"-ar rc libheed.a heed.o
  line="| ${title##*[- ]}, $kernel"
  rom= # arithmetic that chips have in their ROM: linked, not counted
  if [ -f "$source/ports/$family/rom.c" ]; then
    # shellcheck disable=SC2086
    "$gcc"-gcc $common -c "$source/ports/$family/rom.c" -o rom.o
    rom=rom.o
  fi
  for calls in PLAIN ATTENTION ALL OPTIONS; do
    # shellcheck disable=SC2086
    "$gcc"-gcc $common -D$calls -c "$here/size.c" -o size.o
    # shellcheck disable=SC2086
    "$gcc"-gcc $common -fno-tree-loop-distribute-patterns -c "$here/libc.c" -o libc.o
    # shellcheck disable=SC2086
    "$gcc"-gcc $flags -nostdlib -Wl,--gc-sections -Wl,-e,start -Wl,-Map,map size.o libc.o $rom libheed.a -lgcc -o program 2>linker || { cat linker; exit 1; } # warnings: no linker script
    line="$line | $(awk -f "$here/heed_bytes.awk" map)"
  done
  echo "$line |"
}

table() { # table FAMILY
  echo "| $compiler, -Os, bytes | code: plain self-attention | attention | everything but options | everything |"
  echo "|---|---|---|---|---|"
  for core in $(heed_cores "$1"); do row "$core"; done
}

begin='<!-- size table: sh ports/bare/size.sh update -->' end='<!-- end of size table -->'
missing='' status=0
for family in cortex-m riscv xtensa; do
  readme=$source/ports/$family/README.md
  heed_core "$(heed_cores $family | head -n 1)"
  command -v "$gcc-g++" >/dev/null 2>&1 || { missing="$gcc-g++ is not installed"; continue; }
  compiler="GCC $("$gcc-g++" -dumpfullversion)"
  case ${1-} in
  '') table $family ;;
  update)
    table $family >figures
    awk -v MODE=write -f "$here/ceilings.awk" figures >table
    awk -v begin="$begin" -v end="$end" '
      $0 == begin { print; while ((getline line < "table") > 0) print line; inside = 1 }
      $0 == end { inside = 0 }
      !inside' "$readme" >readme
    cp readme "$readme"
    ;;
  check)
    awk -v begin="$begin" -v end="$end" '$0 == end { inside = 0 } inside { print } $0 == begin { inside = 1 }' "$readme" >recorded
    [ -s recorded ] || { echo "FAILED: $readme has no size table"; exit 1; }
    grep -q "^| $compiler, " recorded || { missing="the size table was made with another compiler than $compiler"; continue; }
    table $family >figures
    awk -v MODE=check -f "$here/ceilings.awk" recorded figures || {
      echo "in ports/$family/README.md; if on purpose: sh ports/bare/size.sh update"
      status=1
    }
    ;;
  esac
done
[ -z "$missing" ] || { echo "SKIPPED: $missing"; [ $status -ne 0 ] || status=77; }
exit $status
