# 32-bit WebAssembly with WASI: clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32. Node runs the programs, if it is installed.
#   -DHEED_WASM_CLANG=clang   another clang, 14 or newer
#   -DHEED_WASM_SIMD=ON       vectors (SIMD128), which every browser has since 2023
set(HEED_WASM_CLANG clang-19 CACHE STRING "Name of a clang")
option(HEED_WASM_SIMD "Vectors: SIMD128" OFF)
if(HEED_WASM_SIMD)
  set(CMAKE_C_FLAGS_INIT -msimd128)
  set(CMAKE_CXX_FLAGS_INIT -msimd128)
endif()
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
set(CMAKE_SYSTEM_NAME WASI)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_C_COMPILER ${HEED_WASM_CLANG})
string(REPLACE clang clang++ CMAKE_CXX_COMPILER ${HEED_WASM_CLANG})
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # Debian's wasi-libc comes without a C++ library, which heed does not need
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HEED_WASM_CLANG HEED_WASM_SIMD)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
find_program(HEED_NODE NAMES node nodejs)
if(HEED_NODE)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${HEED_NODE} --no-warnings ${CMAKE_CURRENT_LIST_DIR}/run.mjs)
endif()
