#!/bin/sh
# release.sh OUT [ARCHIVE...]: makes every package of heed in the folder OUT: the source archive, the drop-in pair, and an archive
# for each ecosystem, as the file `list` says; checksums and the change log's entry. The same source and tools give the same bytes.
# Words behind OUT choose archives, by a part of their name: release.sh out arduino.
# It needs cmake, GNU tar, gzip, zip; for npm clang-19 and lld-19, else that package is left out.
#   HEED_URL=...          the project's home, which packages name; archives of a release lie in HEED_URL/releases/
#   HEED_MAINTAINER=...   a name and <an address>
#   SOURCE_DATE_EPOCH=N   the date inside; without it that of the last commit
# What a release needs besides is in tests/README.md.
# SPDX-License-Identifier: MIT
set -eu
[ $# -gt 0 ] || { sed -n '2,/^# SPDX/s/^# \{0,1\}//p' "$0"; exit 1; }
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
wanted=$*
for program in cmake tar gzip zip; do
  command -v $program >/dev/null 2>&1 || { echo "$program is not installed"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C TZ=UTC
umask 022

# types.h alone states the version.
version=$(sed -n 's/^#define HEED_VERSION_[A-Z]* //p' "$source/include/heed/types.h" | paste -sd.)
series=${version%.*}
url=${HEED_URL:-https://heed.example}
maintainer=${HEED_MAINTAINER:-The heed authors <heed@heed.example>}
if [ -e "$source/.git" ]; then
  epoch=${SOURCE_DATE_EPOCH:-$(git -C "$source" log -1 --format=%ct)}
else # an unpacked source archive: all of its files have the date
  epoch=${SOURCE_DATE_EPOCH:-$(date -r "$source/include/heed/types.h" +%s)}
fi
sha256='' sha512=''

# The change log's entry. A version that it does not call unreleased has a stored ABI, to which later ones of its series are held.
mkdir "$work/made"
awk -v heading="## $version" 'index($0, heading) == 1 { inside = 1; print; next } /^## / { inside = 0 } inside' \
  "$source/ports/CHANGES.md" >"$work/made/changes.md"
[ -s "$work/made/changes.md" ] || { echo "ports/CHANGES.md has no entry for $version"; exit 1; }
if ! head -n 1 "$work/made/changes.md" | grep -q '(unreleased)' && [ ! -f "$source/tests/abi-$series.xml" ]; then
  echo "heed $series has no stored ABI: sh tests/abidiff.sh . c++ build/abidiff write, and commit tests/abi-$series.xml"
  exit 1
fi

# fill FROM TO: copies a template.
fill() {
  mkdir -p "$(dirname "$2")"
  sed -e "s|@VERSION@|$version|g; s|@SERIES@|$series|g; s|@URL@|$url|g; s|@MAINTAINER@|$maintainer|g" \
    -e "s|@DATE@|$(date -d "@$epoch" +%Y-%m-%d)|g; s|@MAIL_DATE@|$(date -R -d "@$epoch")|g" \
    -e "s|@SHA256@|$sha256|g; s|@SHA512@|$sha512|g; s|@LICENSE_SHA256@|$(sha256sum <"$source/LICENSE" | cut -d' ' -f1)|g" \
    -e "s|@LICENSE_MD5@|$(md5sum <"$source/LICENSE" | cut -d' ' -f1)|g" "$1" >"$2"
  [ ! -x "$1" ] || chmod +x "$2"
}
# pack ARCHIVE FOLDER: all of FOLDER, sorted, with one date and without owners. FOLDER is a path, or a path/. for what is in it.
pack() {
  rm -f "$out/$1"
  chmod -R u=rwX,go=rX "$2"
  find "$2" -exec touch -h -d "@$epoch" {} +
  case $1 in
  *.zip | *.pack) (cd "$(dirname "$2")" && find "$(basename "$2")" -type f | sed 's|^\./||' | sort | zip -q -X -D "$out/$1" -@) ;;
  *) tar -C "$(dirname "$2")" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mode=go=u-w --mtime="@$epoch" \
    -cf - "$(basename "$2")" | gzip -9n >"$out/$1" ;;
  esac
  echo "$1"
}

# The source archive: all files of the repository, and a bill of materials.
tree=$work/source/heed-$version
mkdir -p "$tree"
(
  cd "$source"
  if [ -e .git ]; then git ls-files; else find . -type f ! -path './build*/*' ! -name heed.spdx | sed 's|^\./||'; fi
) | sort >"$work/files"
tar -C "$source" -cf - -T "$work/files" | tar -C "$tree" -xf -
(cd "$tree" && xargs sha1sum <"$work/files") | cut -d' ' -f1 >"$work/sha1"
(cd "$tree" && xargs sha256sum <"$work/files") | sed 's/  */ /' | paste -d' ' "$work/sha1" - >"$work/sums"
awk -v version="$version" -v url="$url" -v date="$(date -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)" \
  -v code="$(sort "$work/sha1" | tr -d '\n' | sha1sum | cut -d' ' -f1)" \
  -f "$here/spdx.awk" "$work/sums" >"$work/heed.spdx"
mv "$work/heed.spdx" "$tree/"
pack "heed-$version.tar.gz" "$tree"
sha256=$(sha256sum <"$out/heed-$version.tar.gz" | cut -d' ' -f1)
sha512=$(sha512sum <"$out/heed-$version.tar.gz" | cut -d' ' -f1)

# What is made: the drop-in files, the symbols of the shared libraries, and the WebAssembly module.
cmake -DSOURCE="$source" -DOUTPUT="$work/made" -P "$source/ports/cmake/drop_in.cmake"
cp "$work/made/changes.md" "$out/heed-$version-changes.md"

# archive NAME FOLDER: what the list's lines put into $work/stage.
archive() {
  [ -n "$1" ] || return 0
  case $2 in .) pack "$1" "$work/stage/." ;; *) pack "$1" "$work/stage/$2" ;; esac
}
name='' folder=''
sed "s|@VERSION@|$version|g; s|@SERIES@|$series|g" "$here/list" >"$work/list"
while read -r to from; do
  case $to in
  '' | \#*) continue ;;
  \[*) # [NAME FOLDER]
    archive "$name" "$folder"
    rm -rf "$work/stage"
    name=${to#\[} folder=${from%\]} chosen=''
    for word in ${wanted:-"$name"}; do case $name in *"$word"*) chosen=1 ;; esac; done
    [ -n "$chosen" ] || name=''
    continue
    ;;
  esac
  [ -n "$name" ] || continue
  if [ "$to" = ! ]; then # a script that makes files; where it cannot, the package is left out
    sh "$here/$from" "$work/made" || name=''
    continue
  fi
  to=$work/stage/$folder/$to
  mkdir -p "$(dirname "$to")"
  case $from in
  +*) cp "$work/made/${from#+}" "$to" ;;
  /*) cp "$source$from" "$to" ;;
  '~'*) fill "$here/${from#\~}" "$to" && sed -i 's|"heed.h"|<heed/heed.h>|' "$to" ;;
  *) fill "$here/$from" "$to" ;;
  esac
done <"$work/list"
archive "$name" "$folder"
# Debian wants the source archive under another name, too.
[ ! -f "$out/heed_$version-1.debian.tar.gz" ] || cp "$out/heed-$version.tar.gz" "$out/heed_$version.orig.tar.gz"
(cd "$out" && find . -type f ! -name SHA256SUMS | sed 's|^\./||' | sort | xargs sha256sum >SHA256SUMS)
