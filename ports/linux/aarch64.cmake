# 64-bit Arm: g++-aarch64-linux-gnu.
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(cross_triple aarch64-linux-gnu)
set(cross_qemu qemu-aarch64 -cpu max)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
