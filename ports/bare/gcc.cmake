# GCC for a core without an operating system (Debian: gcc-arm-none-eabi, gcc-riscv64-unknown-elf). No C library is used, not even
# its headers beyond the compiler's own.
include(${CMAKE_CURRENT_LIST_DIR}/core.cmake)
set(CMAKE_C_COMPILER ${core_gcc}-gcc)
set(CMAKE_CXX_COMPILER ${core_gcc}-g++)
set(CMAKE_C_FLAGS_INIT "${core_flags_text} ${section_flags}")
set(CMAKE_CXX_FLAGS_INIT "${core_flags_text} ${section_flags}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostdlib")
