# cmake -DSOURCE=heed's folder -DOUTPUT=folder -P drop_in.cmake: writes heed.h and heed.cpp, the whole library as two files, from
# the real sources: lib/single.cpp with every #include "..." replaced by the file, once each. Beside them heed.hpp for C++17,
# heed_threads.h and heed_threads.cpp for systems with POSIX threads, and the readers of files: int_model for heed_calibrate's,
# heed_file for heed_import's, and heed_model, which programs of heed_compile need besides.
cmake_minimum_required(VERSION 3.16)

include(${CMAKE_CURRENT_LIST_DIR}/inline.cmake)

file(READ ${SOURCE}/LICENSE license)
string(REGEX REPLACE "\n+$" "" license "${license}")
inline_all(${SOURCE}/include/heed/heed.h header)
inline_all(${SOURCE}/include/heed/integers.h integers)
write(heed.h "${header}\n${integers}")
inline_all(${SOURCE}/include/heed/heed.hpp header)
write(heed.hpp "${header}")
inline_all(${SOURCE}/include/heed/threads.h header)
write(heed_threads.h "${header}")
foreach(file calibrate/int_model.h calibrate/int_model.c import/heed_file.h import/heed_file.c)
  get_filename_component(name ${file} NAME)
  configure_file(${SOURCE}/ports/${file} ${OUTPUT}/${name} COPYONLY)
endforeach()
include(${CMAKE_CURRENT_LIST_DIR}/heed_model.cmake)
inline_all(${SOURCE}/lib/threads/threads.cpp threads)
write(heed_threads.cpp "/* An executor on POSIX threads, beside heed.cpp, made from its sources: change those. Link with -pthread.

${license} */
${threads}")
# Warnings beyond -Wall -Wextra -Wpedantic, which a project may switch on for its own sources.
set(quiet "#ifdef __GNUC__\n")
foreach(warning shadow sign-conversion conversion float-equal cast-align)
  string(APPEND quiet "#pragma GCC diagnostic ignored \"-W${warning}\"\n")
endforeach()
string(APPEND quiet "#endif\n")
inline_all(${SOURCE}/lib/single.cpp code)
write(heed.cpp "/* heed as one file, made from its sources: change those. Compile it beside heed.h with one call, for instance
 *   arm-none-eabi-g++ -std=c++17 -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -Os \\
 *     -ffreestanding -fno-exceptions -fno-rtti -fno-math-errno -fno-tree-vectorize -ffp-contract=off \\
 *     -ffunction-sections -fdata-sections -DHEED_FLAGS_ARE_SET -c heed.cpp
 *   g++ -std=c++17 -O2 -march=native -fno-exceptions -ffunction-sections -fdata-sections -c heed.cpp     (a PC)
 * HEED_FLAGS_ARE_SET says that the flags before it are set; GCC's code is smaller and faster with them than with the
 * pragmas that replace them. With GCC for Arm add -mfp16-format=ieee: f16 by the FPU's instruction. Without -march=native or -mfma a PC's bits are those without fma.
 * -fno-exceptions is needed where nothing of the C++ runtime is linked.
 * Link with -Wl,--gc-sections: what the program does not call is left out. That needs both -f...-sections above: without
 * -ffunction-sections or without -fdata-sections a program carries all of heed, ten times the code of one call.
 * Where there is no C++17, -std=gnu++14 will do (GCC 12, clang 19; older compilers were not tried).

${license} */
#if __cplusplus < 201402L || (__cplusplus < 201703L && defined(__STRICT_ANSI__))
#error \"heed needs C++17, or C++14 with GNU extensions: compile heed.cpp with -std=gnu++17 or -std=gnu++14\"
#else
${quiet}${code}
#endif
")
