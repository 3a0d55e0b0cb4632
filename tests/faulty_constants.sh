#!/bin/sh
# faulty_constants.sh SOURCE CXX ARITHMETIC: what the self-test sees of a faulty build. ARITHMETIC is fma or no-fma. In one build after
# another of the drop-in one constant of lib/arithmetic.hpp is greater by its last bit: heed_selftest must refuse it. A constant
# whose last bit changes no result is named below. (compiler_modes.sh tries flags of the compiler.)
# SPDX-License-Identifier: MIT
set -eu
source=$1 cxx=$2 arithmetic=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# No result of a million numbers changes with their last bit: tanh corrects its quotient, the others round it away.
same_in_fma='tanh_r0.1 tanh_r1.1 tanh_r2.1 tanh_least.1 cos_c8.1 gelu_grid.1 sigmoid_unit.1'
same_in_no_fma='tanh_least.1 exp2_c6.1 exp_c6.1 ln2_low.1 gelu_grid.1'
case $arithmetic in
fma) isa=lane1 same=$same_in_fma ;;
*) isa=lane1_no_fma same=$same_in_no_fma ;;
esac
fma=''
! echo 'int main() {}' | "$cxx" -mfma -x c++ - -o "$work/try" 2>/dev/null || fma=-mfma
cp -r "$source/lib" "$source/include" "$work/"
for program in selftest report; do
  cc -c -I"$source/include" "$source/ports/linux/$program.c" -o "$work/$program.o"
done

# Whether the compiler or the self-test says no.
refused() {
  "$cxx" -std=c++17 -O0 -ffp-contract=off $fma -DHEED_FIXED_ISA=$isa -I"$work/include" -c "$work/lib/single.cpp" \
    -o "$work/heed.o" 2>"$work/errors" || return 0
  "$cxx" "$work/selftest.o" "$work/report.o" "$work/heed.o" -o "$work/selftest"
  ! "$work/selftest" >"$work/found"
}
# Line and number of each float of a constant.
constants() {
  awk '/^constexpr float [a-z0-9_]+(\[[0-9]+\])? = / && !/infinity|least_finite/ {
    text = $0; sub(/;.*/, "", text); n = split(text, part, ","); for (i = 1; i <= n; i++) print NR, i }' "$source/lib/arithmetic.hpp"
}
n_refused=0 n_same=0 faults=0
! refused || { head -n 20 "$work/errors" "$work/found"; echo "FAILED: the build without a fault is refused"; exit 1; }
constants >"$work/constants"
while read -r line at; do
  awk -v line="$line" -v at="$at" '
    NR != line { print; next }
    {
      end = index($0, ";"); open = index($0, "{"); n = split(substr($0, 1, end - 1), part, ",")
      first = open ? open : index($0, "= ") + 1 # the number begins behind it
      head = substr(part[1], 1, first); part[1] = substr(part[1], first + 1)
      if (open) sub(/\}$/, "", part[n])
      for (i = 1; i <= n; i++) head = head (i > 1 ? ", " : "") (i == at ? "0x1.000002p+0f * (" part[i] ")" : part[i])
      print head (open ? "}" : "") ";"
    }' "$source/lib/arithmetic.hpp" >"$work/lib/arithmetic.hpp"
  name=$(sed -n "${line}s/constexpr float \([a-z0-9_]*\).*/\1/p" "$source/lib/arithmetic.hpp").$at
  if refused; then
    [ ! -s "$work/errors" ] || { head -n 5 "$work/errors"; echo "FAILED: $name does not compile"; faults=1; }
    case " $same " in *" $name "*) echo "FAILED: the self-test sees $name, which is said to change nothing"; faults=1 ;; esac
    n_refused=$((n_refused + 1))
  else
    case " $same " in *" $name "*) ;; *) echo "FAILED: another last bit of $name is not seen"; faults=1 ;; esac
    n_same=$((n_same + 1))
  fi
done <"$work/constants"
[ $faults = 0 ] || exit 1
echo "$arithmetic: $n_refused constants with another last bit are refused, $n_same change no result"
