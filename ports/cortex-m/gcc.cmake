# GCC for Cortex-M (Debian: gcc-arm-none-eabi). No C library is used, not even its headers beyond the compiler's own.
include(${CMAKE_CURRENT_LIST_DIR}/core.cmake)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_C_FLAGS_INIT "${core_flags_text} ${section_flags}")
set(CMAKE_CXX_FLAGS_INIT "${core_flags_text} ${section_flags}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostdlib")
