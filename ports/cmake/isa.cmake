# One row per file of lib/isa: its name, the kernels it holds, its flags. A file is compiled for processors that the rest
# of the program may not run on; lib/dispatch.cpp learns from HEED_HAS_<FILE> which ones there are.

# What the compiler targets, not what CMAKE_SYSTEM_PROCESSOR says: that ignores -m32 and --target.
function(heed_defined macro result)
  check_cxx_source_compiles("#ifndef ${macro}\n#error\n#endif\nint main() { return 0; }" ${result})
endfunction()
heed_defined(__x86_64__ heed_x86_64)
heed_defined(__i386__ heed_i686)
heed_defined(__aarch64__ heed_aarch64)
heed_defined(__ARM_ARCH_7A__ heed_armv7)
check_cxx_source_compiles("#include \"${PROJECT_SOURCE_DIR}/lib/isa/target.hpp\"
#ifndef HEED_TARGET_FMA\n#error\n#endif\nint main() { return 0; }" heed_target_fma)

# Kernel files are optimised in every build: in unoptimised code, and xsimd's for NEON at -Os, inline functions become weak
# symbols, compiled for AVX-512 and shared with files that must run without it; and kernels would be 50 times slower.
set(isa_flags $<$<OR:$<CONFIG:Debug>,$<CONFIG:MinSizeRel>,$<CONFIG:None>,$<CONFIG:>>:-O2>)
# The reference may not be vectorised: units like armv7's NEON flush subnormals, its VFP does not.
set(scalar_flags -fno-tree-vectorize)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(scalar_flags -fno-vectorize -fno-slp-vectorize)
endif()
# False warnings: GCC 12 in its own AVX-512 headers, and about types that never cross a function of another file.
set(false_warnings -Wno-uninitialized -Wno-maybe-uninitialized -Wno-psabi -Wno-ignored-attributes)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(false_warnings -Wno-psabi -Wno-pass-failed)
endif()

set(generic_flags)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  list(APPEND generic_flags -Wno-pass-failed)
endif()

function(heed_isa file kernels)
  set_property(TARGET heed APPEND PROPERTY heed_kernels ${kernels})
  if(HEED_FIXED_KERNEL AND NOT HEED_FIXED_KERNEL IN_LIST kernels AND NOT file STREQUAL fixed_reference)
    return()
  endif()
  string(TOUPPER ${file} macro)
  target_sources(heed PRIVATE lib/isa/${file}.cpp)
  target_compile_definitions(heed PRIVATE HEED_HAS_${macro})
  set_source_files_properties(lib/isa/${file}.cpp PROPERTIES COMPILE_OPTIONS "${ARGN};${isa_flags}")
endfunction()

# The same for files that include xsimd.
function(heed_xsimd_isa file kernels)
  if(HEED_XSIMD_INCLUDE_DIR)
    heed_isa(${file} "${kernels}" ${ARGN} ${false_warnings} -isystem ${xsimd_folder})
  endif()
endfunction()

# The scalar reference of a fixed kernel's profile is always there: the self-test compares with it.
set(fixed_reference reference_fused)
if(HEED_FIXED_KERNEL MATCHES "^sse2$|-unfused$")
  set(fixed_reference reference_unfused)
endif()

if(heed_x86_64 OR heed_i686)
  target_sources(heed PRIVATE lib/isa/cpu_x86.cpp)
  set(avx512 -mavx512f -mavx512cd -mavx512dq -mavx512bw -mavx512vl -mavx2 -mfma)  # xsimd 14 wants CD, too
  set(avx2 -mavx2 -mfma)
  set(base)
  if(heed_i686)  # x87 would round to 80 bits
    set(base -msse2 -mfpmath=sse)
    target_compile_options(heed PRIVATE ${base})
  endif()
  heed_xsimd_isa(avx512 avx512 ${avx512})
  heed_xsimd_isa(avx2 avx2 ${avx2})
  heed_xsimd_isa(sse2 sse2 ${base})
  set(fused ${avx2})
  set(unfused ${base})
  set(profiles fused unfused)
elseif(heed_aarch64)
  target_sources(heed PRIVATE lib/isa/cpu_arm.cpp)
  if(xsimd_version VERSION_GREATER_EQUAL 9)
    heed_xsimd_isa(sve256 sve256 -march=armv8.2-a+sve -msve-vector-bits=256)
  endif()
  heed_xsimd_isa(neon neon)
  set(profiles fused unfused)
elseif(heed_armv7)
  target_sources(heed PRIVATE lib/isa/cpu_arm.cpp)
  heed_xsimd_isa(neon32 neon -mfpu=neon-vfpv4)
  if(HEED_XSIMD_INCLUDE_DIR)
    target_compile_definitions(heed PRIVATE HEED_HAS_NEON)
  endif()
  set(fused -mfpu=neon-vfpv4)
  set(profiles fused unfused)
else()  # no backend of its own
  target_sources(heed PRIVATE lib/isa/cpu_other.cpp)
  set(profiles unfused)
  if(heed_target_fma)
    list(PREPEND profiles fused)
  endif()
endif()
# Every processor can be asked for the unfused profile: a fleet that has one without FMA agrees on it.

if("fused" IN_LIST profiles)
  heed_isa(generic_fused "lanes4;lane1" ${fused} ${generic_flags})
  heed_isa(reference_fused scalar ${fused} ${scalar_flags})
endif()
if("unfused" IN_LIST profiles)
  heed_isa(generic_unfused "lanes4-unfused;lane1-unfused" ${unfused} ${generic_flags})
  heed_isa(reference_unfused scalar-unfused ${unfused} ${scalar_flags})
endif()

if(HEED_FIXED_KERNEL)
  get_target_property(kernels heed heed_kernels)
  if(NOT HEED_FIXED_KERNEL IN_LIST kernels)
    message(FATAL_ERROR "heed: this build has no kernel ${HEED_FIXED_KERNEL}, but: ${kernels}")
  endif()
  set(symbol ${HEED_FIXED_KERNEL})
  if(symbol MATCHES "^(lanes4|lane1|scalar)$")
    set(symbol ${symbol}-fused)
  endif()
  string(REPLACE "-" "_" symbol kernel_${symbol})
  target_compile_definitions(heed PRIVATE HEED_FIXED_KERNEL="${HEED_FIXED_KERNEL}" HEED_FIXED_SYMBOL=${symbol})
endif()
