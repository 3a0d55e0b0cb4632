# IBM Z, big-endian: g++-s390x-linux-gnu.
set(CMAKE_SYSTEM_PROCESSOR s390x)
set(cross_triple s390x-linux-gnu)
set(cross_qemu qemu-s390x -cpu max)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
