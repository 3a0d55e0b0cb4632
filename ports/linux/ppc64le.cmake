# 64-bit POWER, little-endian: g++-powerpc64le-linux-gnu.
set(CMAKE_SYSTEM_PROCESSOR ppc64le)
set(cross_triple powerpc64le-linux-gnu)
set(cross_qemu qemu-ppc64le)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
