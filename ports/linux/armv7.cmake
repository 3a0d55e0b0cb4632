# 32-bit Arm with hardware floats: g++-arm-linux-gnueabihf.
set(CMAKE_SYSTEM_PROCESSOR armv7)
set(cross_triple arm-linux-gnueabihf)
set(cross_qemu qemu-arm -cpu max)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
