# clang and lld 14 or newer (Debian: clang-19 lld-19). The arithmetic that the processor lacks comes from GCC's libgcc, since
# Debian has no compiler-rt for these cores. -meabi gnu: memcpy is called memcpy, not __aeabi_memcpy.
include(${CMAKE_CURRENT_LIST_DIR}/core.cmake)
find_program(HEED_CLANG NAMES clang-19 clang REQUIRED)
find_program(HEED_CLANGXX NAMES clang++-19 clang++ REQUIRED)
set(CMAKE_C_COMPILER ${HEED_CLANG})
set(CMAKE_CXX_COMPILER ${HEED_CLANGXX})
set(CMAKE_C_COMPILER_TARGET ${core_target})
set(CMAKE_CXX_COMPILER_TARGET ${core_target})
execute_process(COMMAND ${core_gcc}-gcc ${core_flags} -print-libgcc-file-name
                OUTPUT_VARIABLE libgcc OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
get_filename_component(libgcc_folder ${libgcc} DIRECTORY)
set(eabi)
if(core_family STREQUAL "cortex-m")
  set(eabi "-meabi gnu")
endif()
set(CMAKE_C_FLAGS_INIT "${core_flags_text} ${eabi} ${section_flags}")
set(CMAKE_CXX_FLAGS_INIT "${core_flags_text} ${eabi} ${section_flags}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostdlib -fuse-ld=lld -L${libgcc_folder}")
