# heed as one translation unit (lib/single.cpp) with one kernel, which the compiler's target or HEED_FIXED_ISA chooses.
# Each function and each table has a section of its own: link with -Wl,--gc-sections, and only what the program calls is left.
heed_library(heed heed lib/single.cpp)
target_compile_options(heed PRIVATE -ffreestanding)
target_compile_definitions(heed PRIVATE HEED_FLAGS_ARE_SET)
if(HEED_FIXED_ISA)
  string(REPLACE "-" "_" kernel ${HEED_FIXED_ISA})
  target_compile_definitions(heed PRIVATE HEED_FIXED_ISA=${kernel})
endif()
if(firmware)
  set_target_properties(heed PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(heed PRIVATE $<$<CONFIG:Release>:-O2>)  # -O3 is larger, not faster
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND core_family STREQUAL "cortex-m")  # else half floats are converted without the FPU's instruction
    target_compile_options(heed PRIVATE -mfp16-format=ieee)
  endif()
  # Kernels say themselves what is a vector; the reference may not be one, since Helium flushes subnormals.
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(heed PRIVATE -fno-vectorize -fno-slp-vectorize)
  else()
    target_compile_options(heed PRIVATE -fno-tree-vectorize)
  endif()
endif()
