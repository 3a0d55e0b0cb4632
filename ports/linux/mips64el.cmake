# 64-bit MIPS, little-endian: g++-mips64el-linux-gnuabi64.
set(CMAKE_SYSTEM_PROCESSOR mips64)
set(cross_triple mips64el-linux-gnuabi64)
set(cross_qemu qemu-mips64el)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
