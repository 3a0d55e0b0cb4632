SUMMARY = "Attention and transformer layers for edge devices, with the same bits on every processor"
HOMEPAGE = "@URL@"
LICENSE = "MIT"
LIC_FILES_CHKSUM = "file://LICENSE;md5=@LICENSE_MD5@"

SRC_URI = "@URL@/releases/heed-${PV}.tar.gz"
SRC_URI[sha256sum] = "@SHA256@"

# xsimd is headers alone (meta-oe). Without it heed is built with its generic kernels, which are about half as fast.
DEPENDS = "xsimd"

inherit cmake

EXTRA_OECMAKE = "-DBUILD_SHARED_LIBS=ON -DHEED_XSIMD_INCLUDE_DIR=${STAGING_INCDIR}"

do_install:append() {
    rm -rf ${D}${datadir}/doc
}
