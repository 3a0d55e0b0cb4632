#!/bin/sh
# sysroot.sh ARCH FOLDER: Google Benchmark and GoogleTest for another Debian architecture (arm64, armhf, i386), unpacked into
# FOLDER. The system's own list of architectures stays as it is. Then configure with -DHEED_SYSROOT=FOLDER.
set -eu
[ $# -eq 2 ] || { echo "usage: sysroot.sh ARCH FOLDER: ARCH is arm64, armhf, i386 ..." >&2; exit 1; }
arch=$1
mkdir -p "$2/lists/partial" "$2/packages"
folder=$(cd "$2" && pwd)
apt() { apt-get -qq -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o Dir::State::Lists="$folder/lists" "$@"; }

echo "downloading packages for $arch into $folder"
apt update
benchmark=$(apt-cache -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o Dir::State::Lists="$folder/lists" \
  depends libbenchmark-dev | sed -n 's/.*Depends: \(libbenchmark1[a-z]*\).*/\1/p' | head -n 1)
(cd "$folder/packages" && apt download libbenchmark-dev ${benchmark:+"$benchmark"} libgtest-dev)
for package in "$folder"/packages/*.deb; do dpkg -x "$package" "$folder"; done
rm -rf "$folder/lists" "$folder/packages"
echo "done: cmake --preset aarch64 -DHEED_SYSROOT=$folder, or with the toolchain file of $arch"
