# 32-bit PowerPC, big-endian: g++-powerpc-linux-gnu.
set(CMAKE_SYSTEM_PROCESSOR ppc)
set(cross_triple powerpc-linux-gnu)
set(cross_qemu qemu-ppc)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
