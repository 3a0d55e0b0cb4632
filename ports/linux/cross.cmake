# Included by the toolchain files beside it, which set CMAKE_SYSTEM_PROCESSOR, cross_triple (Debian's cross compiler of that
# name) and cross_qemu (the emulator that runs its programs, if it is installed).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${cross_triple}-gcc)
set(CMAKE_CXX_COMPILER ${cross_triple}-g++)
set(CMAKE_FIND_ROOT_PATH /usr/${cross_triple} ${HEED_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HEED_SYSROOT)

if(cross_qemu)
  find_program(HEED_QEMU_USER NAMES ${cross_qemu} ${cross_qemu}-static)
  if(HEED_QEMU_USER)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${HEED_QEMU_USER} -L /usr/${cross_triple} -cpu max)
  endif()
endif()
