# One row per file of lib/isa, best first: its name, the kernel it holds, its flags. A file is compiled for processors that
# the rest of the program may not run on. The rows are the one list of kernels: lib/kernel/dispatch.cpp has it as HEED_KERNELS,
# benchmarks as the property heed_kernels of target heed.
#
# Of the generic kernels the library holds the best, and that only for a profile that no other kernel has. All of them,
# beside all others, are in heed_every_kernel, which the tests link.
option(HEED_GENERIC_KERNELS "The generic kernels lanes4 and lane1 even where the processor has a kernel of its own" OFF)

# What the compiler targets, not what CMAKE_SYSTEM_PROCESSOR says: that ignores -m32 and --target.
function(heed_defined macro result)
  check_cxx_source_compiles("#ifndef ${macro}\n#error\n#endif\nint main() { return 0; }" ${result})
endfunction()
heed_defined(__x86_64__ heed_x86_64)
heed_defined(__i386__ heed_i686)
heed_defined(__aarch64__ heed_aarch64)
heed_defined(__ARM_ARCH_7A__ heed_armv7)
set(include_target "#include \"${PROJECT_SOURCE_DIR}/lib/isa/target.hpp\"\n")
check_cxx_source_compiles("${include_target}#ifndef HEED_TARGET_FMA\n#error\n#endif\nint main() { return 0; }" heed_target_fma)

# Kernel files are optimised in every build, and alike: in unoptimised code, and xsimd's for NEON at -Os, inline functions
# become weak symbols, compiled for AVX-512 and shared with files that must run without it; and kernels would be 50 times
# slower. -O3 makes them a third larger, not faster.
set(isa_flags -O2)
# The reference may not be vectorised: units like armv7's NEON flush subnormals, its VFP does not.
set(scalar_flags -Os -fno-tree-vectorize)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(scalar_flags -Os -fno-vectorize -fno-slp-vectorize)
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

set(every_kernel)               # with those that the library leaves out
set(left_out lib/kernel/dispatch.cpp lib/api/kernels.cpp)  # their files, the list, and who first asks for it
function(heed_isa file kernel)
  heed_kernel_file(${file} ${kernel} ${ARGN})
  if(NOT HEED_FIXED_KERNEL OR kernel STREQUAL HEED_FIXED_KERNEL OR file STREQUAL fixed_reference)
    set_property(TARGET heed APPEND PROPERTY heed_kernels ${kernel})
    target_sources(heed PRIVATE lib/isa/${file}.cpp)
  endif()
  set(every_kernel ${every_kernel} ${kernel} PARENT_SCOPE)
endfunction()
function(heed_leave_out file kernel)
  heed_kernel_file(${file} ${kernel} ${ARGN})
  set(left_out ${left_out} lib/isa/${file}.cpp PARENT_SCOPE)
  set(every_kernel ${every_kernel} ${kernel} PARENT_SCOPE)
endfunction()
function(heed_kernel_file file kernel)
  set_property(TARGET heed APPEND PROPERTY heed_known_kernels ${kernel})
  set_source_files_properties(lib/isa/${file}.cpp PROPERTIES COMPILE_OPTIONS "${isa_flags};${ARGN}")
endfunction()

# heed_isa for files that include xsimd: no other kernel of their profile is wanted then.
macro(heed_xsimd_isa profile file kernel)
  if(HEED_XSIMD_INCLUDE_DIR)
    heed_isa(${file} ${kernel} ${ARGN} ${false_warnings} -isystem ${xsimd_folder})
    set(best_${profile} ${kernel})
  endif()
endmacro()

# The scalar reference of a fixed kernel's profile is always there: the self-test compares with it.
set(fixed_reference reference_fused)
if(HEED_FIXED_KERNEL MATCHES "^sse2$|-unfused$")
  set(fixed_reference reference_unfused)
endif()

# Kernels of integers, best first: a row for each, as above. All give the same bits.
function(heed_int_isa file kernel)
  set(files lib/isa/${file}.cpp)
  if(EXISTS ${PROJECT_SOURCE_DIR}/lib/isa/${file}_products.cpp)
    list(APPEND files lib/isa/${file}_products.cpp)
  endif()
  set_source_files_properties(${files} PROPERTIES COMPILE_OPTIONS "${isa_flags};${ARGN}")
  set_property(TARGET heed APPEND PROPERTY heed_int_kernels ${kernel})
  target_sources(heed PRIVATE ${files})
endfunction()

if(heed_x86_64 OR heed_i686)
  target_sources(heed PRIVATE lib/isa/cpu_x86.cpp)
  set(avx512 -mavx512f -mavx512cd -mavx512dq -mavx512bw -mavx512vl -mavx2 -mfma -mf16c)  # xsimd 14 wants CD, too
  set(avx2 -mavx2 -mfma -mf16c)
  set(base)
  if(heed_i686)  # x87 would round to 80 bits
    set(base -msse2 -mfpmath=sse)
    target_compile_options(heed PRIVATE ${base})
  endif()
  # GCC fills code up so that jumps lead to multiples of 16: a hundredth of a kernel, and no speed that could be measured.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND isa_flags -falign-jumps=1)
  endif()
  heed_xsimd_isa(fused avx512 avx512 ${avx512})
  heed_xsimd_isa(fused avx2 avx2 ${avx2})
  heed_xsimd_isa(unfused sse2 sse2 ${base})
  heed_int_isa(int_avx512vnni int_avx512vnni ${avx512} -mavx512vnni ${false_warnings})
  set(CMAKE_REQUIRED_FLAGS "${CMAKE_REQUIRED_FLAGS} -mavxvnni")  # GCC 11, clang 12
  check_cxx_source_compiles("int main() { return 0; }" heed_avxvnni)
  unset(CMAKE_REQUIRED_FLAGS)
  if(heed_avxvnni)
    heed_int_isa(int_avxvnni int_avxvnni ${avx2} -mavxvnni ${false_warnings})
  endif()
  heed_int_isa(int_avx2 int_avx2 ${avx2} ${false_warnings})
  set(fused ${avx2})
  set(unfused ${base})
  set(profiles fused unfused)
elseif(heed_aarch64)
  target_sources(heed PRIVATE lib/isa/cpu_arm.cpp)
  if(xsimd_version VERSION_GREATER_EQUAL 9)
    heed_xsimd_isa(fused sve256 sve256 -march=armv8.2-a+sve -msve-vector-bits=256)
  endif()
  heed_xsimd_isa(fused neon neon)
  heed_int_isa(int_neon_dotprod int_neon_dotprod -march=armv8.2-a+dotprod)
  heed_int_isa(int_neon int_neon)
  set(profiles fused unfused)
elseif(heed_armv7)
  target_sources(heed PRIVATE lib/isa/cpu_arm.cpp)
  heed_xsimd_isa(fused neon32 neon -mfpu=neon-vfpv4)
  set(fused -mfpu=neon-vfpv4)
  set(profiles fused unfused)
else()  # no backend of its own
  target_sources(heed PRIVATE lib/isa/cpu_other.cpp)
  set(profiles unfused)
  if(heed_target_fma)
    list(PREPEND profiles fused)
  endif()
endif()
heed_int_isa(int_plain int_plain)
get_target_property(int_kernels heed heed_int_kernels)
list(TRANSFORM int_kernels REPLACE "(.+)" "KERNEL(\\1)")
list(JOIN int_kernels " " int_kernels)
set_source_files_properties(lib/kernel/int_dispatch.cpp lib/kernel/int_product_dispatch.cpp PROPERTIES
                            COMPILE_DEFINITIONS "HEED_INT_KERNELS=${int_kernels}")

# Every processor can be asked for the unfused profile: a fleet that has one without FMA agrees on it.

# Four lanes where there are registers for them, else one.
string(JOIN " " CMAKE_REQUIRED_FLAGS ${base})
check_cxx_source_compiles("${include_target}#ifndef HEED_TARGET_VECTORS\n#error\n#endif\nint main() { return 0; }" heed_target_vectors)
unset(CMAKE_REQUIRED_FLAGS)
set(generic lanes4 lane1)
if(NOT heed_target_vectors)
  set(generic lane1 lanes4)
endif()

foreach(profile ${profiles})
  set(suffix)
  if(profile STREQUAL "unfused")
    set(suffix -unfused)
  endif()
  foreach(model ${generic})
    set(kernel ${model}${suffix})
    if(HEED_GENERIC_KERNELS OR NOT best_${profile} OR HEED_FIXED_KERNEL STREQUAL kernel)
      heed_isa(${model}_${profile} ${kernel} ${${profile}} ${generic_flags})
      set(best_${profile} ${kernel})
    else()
      heed_leave_out(${model}_${profile} ${kernel} ${${profile}} ${generic_flags})
    endif()
  endforeach()
  heed_isa(reference_${profile} scalar${suffix} ${${profile}} ${scalar_flags})
endforeach()

# KERNEL(symbol) of each kernel of a list.
function(heed_kernel_list result)
  set(list)
  foreach(kernel ${ARGN})
    heed_kernel_symbol(${kernel} symbol)
    string(APPEND list " KERNEL(${symbol})")
  endforeach()
  set(${result} "HEED_KERNELS=${list}" PARENT_SCOPE)
endfunction()
function(heed_kernel_symbol kernel result)
  if(kernel MATCHES "^(lanes4|lane1|scalar)$")
    string(APPEND kernel -fused)
  endif()
  string(REPLACE "-" "_" kernel kernel_${kernel})
  set(${result} ${kernel} PARENT_SCOPE)
endfunction()

get_target_property(kernels heed heed_kernels)
heed_kernel_list(list ${kernels})
target_compile_definitions(heed PRIVATE ${list})

if(HEED_FIXED_KERNEL)
  get_target_property(known heed heed_known_kernels)
  if(NOT HEED_FIXED_KERNEL IN_LIST known)
    message(FATAL_ERROR "heed: this build has no kernel ${HEED_FIXED_KERNEL}, but: ${known}")
  endif()
  heed_kernel_symbol(${HEED_FIXED_KERNEL} symbol)
  target_compile_definitions(heed PRIVATE HEED_FIXED_KERNEL="${HEED_FIXED_KERNEL}" HEED_FIXED_SYMBOL=${symbol})
elseif(HEED_BUILD_TESTS AND NOT BUILD_SHARED_LIBS)
  # Before heed on a linker's command line: its list of kernels then takes the place of the library's.
  heed_library(heed_every_kernel every_kernel STATIC ${left_out})
  heed_kernel_list(list ${every_kernel})
  target_compile_definitions(heed_every_kernel PRIVATE ${list})
  target_compile_options(heed_every_kernel PRIVATE ${base})
  target_link_libraries(heed_every_kernel PUBLIC heed)
  set_property(TARGET heed_every_kernel PROPERTY heed_kernels ${every_kernel})
endif()
