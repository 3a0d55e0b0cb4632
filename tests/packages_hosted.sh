#!/bin/sh
# packages_hosted.sh FORM RELEASE SOURCE WORK: as packages.sh, for the packages of systems with files: npm, debian, vcpkg, conan, yocto,
# buildroot. SPDX-License-Identifier: MIT
set -eu
form=$1
release=$(cd "$2" && pwd)
source=$(cd "$3" && pwd)
rm -rf "$4"
mkdir -p "$4"
work=$(cd "$4" && pwd)
cd "$work"
. "$source/tests/packages/common.sh"
sum=$(sha256sum <"$release/heed-$version.tar.gz" | cut -d' ' -f1)

# All of heed is two minutes of compiling: one kernel and the reference do here, where a package's recipe is tried, not heed.
small=-DHEED_FIXED_ISA=lanes4-no-fma

case $form in
npm)
  needs node npm
  [ -f "$release/heed-$version.tgz" ] || skip "release.sh had no clang for WebAssembly"
  tar -xzf "$release/heed-$version.tgz"
  for name in name version description license type main types exports files; do json "$work/package/package.json" $name >/dev/null; done
  [ "$(json "$work/package/package.json" version)" = $version ] || fail version
  # What npm would publish is what is there.
  (cd package && npm pack --silent --dry-run --json >../pack.json)
  node -e 'for (const f of JSON.parse(require("fs").readFileSync("pack.json"))[0].files) console.log(f.path)' | sort >published
  (cd package && find . -type f | sed 's|^\./||') | sort | diff published - || fail "npm publishes other files"
  mkdir app
  cd app
  quietly npm init -y
  quietly npm install --offline --no-audit --no-fund "$release/heed-$version.tgz"
  answers node node_modules/heed/hello.mjs
  recognises node node_modules/heed/classifier.mjs
  quietly node node_modules/heed/classifier.mjs lfet
  field "$log" '^lfet: left$'
  cat >uses.mts <<'END'
import { load, type AttentionResult } from 'heed';
const heed = await load();
const x = Float32Array.from({ length: 24 }, (_, i) => i % 5);
const r: AttentionResult = heed.attention({ q: x, k: x, v: x, headDim: 4, nHeads: 2, causal: true, weights: true });
if (r.out.length !== 24 || r.weights?.length !== 18) throw new Error('lengths');
const right = { q: x, k: x, v: x, headDim: 4, nHeads: 2 };
const flag: AttentionResult = heed.attention({ ...right, causal: 1, nKvHeads: undefined, scale: undefined });
const plain: AttentionResult = heed.attention({ ...right, causal: true, scale: 0.5 }); // 1 / sqrt(4)
if (flag.out.some((y, i) => y !== plain.out[i])) throw new Error('defaults');
const wrong: [string, object][] = [
  ['Error: heed: nKvHeads: ', { nKvHeads: 3 }], ['Error: heed: scale: zero', { scale: 0 }], ['Error: heed: q: ', { q: x.slice(1) }],
  ['Error: heed: k: ', { k: x.slice(1) }], ['Error: heed: v: ', { v: x.slice(1) }], ['Error: heed: v: ', { v: x.slice(24) }],
  ['TypeError: heed: nHead: no option of attention, which has q, k, v, headDim, nHeads,', { nHead: 2 }]];
for (const [name, flaws] of Object.entries({ q: [undefined, null, [...x], new Float64Array(x), 'abc'], k: [null], v: [x.buffer],
  headDim: [0, undefined, '4', 1.5], nHeads: [null, NaN], nKvHeads: [-1, '2'], causal: ['no', 2, null], weights: ['yes'],
  scale: [NaN, Infinity, '1', null, true] }))
  for (const flaw of flaws) wrong.push([`TypeError: heed: ${name}: `, { [name]: flaw }]);
for (const [named, flaw] of wrong) {
  let said = 'taken';
  try {
    heed.attention({ ...right, ...flaw });
  } catch (error) {
    said = String(error);
  }
  if (!said.startsWith(named)) throw new Error(`${named}${said}: ${JSON.stringify(flaw)}`);
}
console.log('4.99986 2.00002 0.00000');
console.log(`heed ${heed.version}, types: right, as everywhere`);
END
  sed 's/, type AttentionResult//; s/: AttentionResult//; s/: \[string, object\]\[\]//' uses.mts >uses.mjs
  answers node uses.mjs
  if command -v tsc >/dev/null 2>&1; then
    quietly tsc --noEmit --strict --target es2022 --module node16 --moduleResolution node16 uses.mts
    sed 's/headDim: 4/headDim: "4"/' uses.mts >wrong.mts
    if tsc --noEmit --strict --target es2022 --module node16 --moduleResolution node16 wrong.mts >"$log"; then fail "wrong types are taken"; fi
    echo "tsc: passed"
  fi
  ;;
vcpkg)
  unpack heed-vcpkg-$version.zip .
  [ "$(json "$work/heed/ports/heed/vcpkg.json" version)" = $version ] || fail version
  for name in name description homepage license dependencies; do json "$work/heed/ports/heed/vcpkg.json" $name >/dev/null; done
  schema vcpkg.schema.json heed/ports/heed/vcpkg.json
  mkdir -p installed
  xsimd=$(dirname "$(find /usr/include /usr/local/include -maxdepth 2 -path '*/xsimd/xsimd.hpp' | head -n 1)")
  [ "$xsimd" != . ] || skip "xsimd is not installed"
  mkdir installed/include
  ln -s "$xsimd" installed/include/xsimd
  quietly cmake -DPORT_FOLDER="$work/heed/ports/heed" -DARCHIVE_FILE="$release/heed-$version.tar.gz" -DWORK="$work" -DEXTRA=$small \
    -P "$stubs/vcpkg.cmake"
  field heed/ports/heed/usage 'target_link_libraries(.*heed::heed)'
  quietly cmake -S heed/hello -B consumer -DCMAKE_PREFIX_PATH="$work/packages"
  quietly cmake --build consumer
  answers consumer/hello
  ;;
conan) # Conan itself is not in Debian: its recipe's text, and what its test builds
  unpack heed-conan-$version.zip .
  for name in conanfile test_package/conanfile; do
    quietly /usr/bin/python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' heed/$name.py
  done
  field heed/conanfile.py "^    version = \"$version\"$"
  field heed/conanfile.py "sha256=\"$sum\""
  for name in name license homepage description topics settings; do field heed/conanfile.py "^    $name = "; done
  for name in layout source generate build package package_info; do field heed/conanfile.py "^    def $name\(self\):$"; done
  ;;
yocto)
  unpack heed-yocto-$version.zip .
  recipe=recipes-heed/heed/heed_$version.bb
  field $recipe "^SRC_URI\[sha256sum\] = \"$sum\"$"
  field $recipe "md5=$(md5sum <"$source/LICENSE" | cut -d' ' -f1)\"$"
  for name in SUMMARY HOMEPAGE LICENSE DEPENDS; do field $recipe "^$name = \"[^\"]+\"$"; done
  field $recipe '^inherit cmake$'
  ;;
buildroot)
  unpack heed-buildroot-$version.zip .
  field package/heed/heed.hash "^sha256  $sum  heed-$version.tar.gz$"
  field package/heed/heed.hash "^sha256  $(sha256sum <"$source/LICENSE" | cut -d' ' -f1)  LICENSE$"
  field package/heed/heed.mk "^HEED_VERSION = $version$"
  field package/heed/heed.mk '^\$\(eval \$\(cmake-package\)\)$'
  if grep -n '^        ' package/heed/Config.in; then fail "Config.in has blanks for tabs"; fi
  if /usr/bin/python3 -c 'import olddefconfig' 2>/dev/null; then
    printf 'config BR2_INSTALL_LIBSTDCPP\n\tdef_bool y\nconfig BR2_TOOLCHAIN_GCC_AT_LEAST_7\n\tdef_bool y\nconfig BR2_PACKAGE_XSIMD\n\tbool\nsource "package/heed/Config.in"\n' >Config.in
    echo BR2_PACKAGE_HEED=y >.config
    CONFIG_='' quietly /usr/bin/python3 -m olddefconfig Config.in
    field .config '^BR2_PACKAGE_HEED=y$'
    field .config '^BR2_PACKAGE_XSIMD=y$'
  fi
  ;;
debian) # for real: built, checked, unpacked and used; its sources are the release's
  needs dpkg-buildpackage dh lintian
  dpkg-query -W -f='${Status}' libxsimd-dev 2>/dev/null | grep -q 'ok installed' || skip "libxsimd-dev is not installed"
  cp "$release/heed_$version.orig.tar.gz" "$release/heed_$version-1.debian.tar.gz" .
  tar -xzf heed_$version.orig.tar.gz
  cd heed-$version
  tar -xzf ../heed_$version-1.debian.tar.gz
  quietly dpkg-buildpackage -us -uc --build=full
  grep -q 'equal to the scalar reference' "$log" || fail "the kernels were not compared"
  if command -v blhc >/dev/null 2>&1; then blhc --all --debian "$log" >../hardening || fail "hardening: $(cat ../hardening)"; fi
  cd ..
  lintian --allow-root --suppress-tags initial-upload-closes-no-bugs --fail-on error,warning heed_$version-1_*.changes >"$log" 2>&1 || fail lintian
  cat "$log"
  mkdir root
  for deb in ./*.deb; do dpkg-deb -x "$deb" root; done
  LD_LIBRARY_PATH=$(dirname "$(find "$PWD/root" -name 'libheed.so.*' | head -n 1)")
  PKG_CONFIG_PATH=$LD_LIBRARY_PATH/pkgconfig AUTOPKGTEST_TMP=$PWD
  export LD_LIBRARY_PATH PKG_CONFIG_PATH AUTOPKGTEST_TMP
  cd heed-$version
  answers sh debian/tests/hello
  cd ..
  # HEED_AUTOPKGTEST=1 installs the packages on this machine; HEED_LAST_RELEASE=FOLDER has the libraries of an earlier 0.3.
  if [ -n "${HEED_AUTOPKGTEST-}" ]; then
    needs autopkgtest
    (unset LD_LIBRARY_PATH PKG_CONFIG_PATH AUTOPKGTEST_TMP && quietly autopkgtest ./*.deb ./*.dsc -- null)
    echo "autopkgtest: passed"
  fi
  if [ -n "${HEED_LAST_RELEASE-}" ]; then
    needs abidiff
    for library in libheed libheed_threads libheed_openmp; do
      quietly abidiff "$HEED_LAST_RELEASE/$library.so.${version%.*}" "$LD_LIBRARY_PATH/$library.so.${version%.*}"
    done
    echo "abidiff: passed"
  fi
  ;;
*) fail "no such form: $form" ;;
esac
