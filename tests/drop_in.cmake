# heed.h and heed.cpp, the library as two files (target heed_single), compiled with one call for this PC and every core.
set(single ${PROJECT_BINARY_DIR}/single)
add_test(NAME drop_in COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${single}
                              -P ${PROJECT_SOURCE_DIR}/ports/cmake/drop_in.cmake)
set_tests_properties(drop_in PROPERTIES FIXTURES_SETUP drop_in LABELS drop_in)
set(drop_in sh ${CMAKE_CURRENT_SOURCE_DIR}/drop_in.sh)

function(heed_drop_in_test name)
  add_test(NAME drop_in_${name} COMMAND ${ARGN})
  set_tests_properties(drop_in_${name} PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_REQUIRED "digest;drop_in" TIMEOUT 900 LABELS drop_in)
endfunction()

# With no flag but the optimisation: the source itself must keep compilers from contracting products and sums.
foreach(compiler g++ clang++-19)
  set(run ${drop_in} run ${digest_reference} ${single} ${PROJECT_SOURCE_DIR} ${compiler} -O2)
  heed_drop_in_test(${compiler} ${run})
  heed_drop_in_test(${compiler}_gnu++14 ${run} -std=gnu++14 -O1)
  heed_drop_in_test(${compiler}_standards ${drop_in} standards - ${single} ${PROJECT_SOURCE_DIR} ${compiler})
  heed_drop_in_test(${compiler}_beside ${drop_in} beside - ${single} ${PROJECT_SOURCE_DIR} ${compiler})
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    heed_drop_in_test(${compiler}_fma ${run} -mavx2 -mfma)
    heed_drop_in_test(${compiler}_lane1 ${run} -mavx2 -mfma -DHEED_FIXED_ISA=lane1)
    heed_drop_in_test(${compiler}_no_fma ${run} -mavx2 -mfma -DHEED_FIXED_ISA=lane1_no_fma)
  endif()
endforeach()

# Vectors without fma where subnormal numbers are flushed: on demand, and on a Cortex-A9 whatever the mode is.
heed_drop_in_test(aarch64_no_fma ${drop_in} emulated qemu-aarch64 ${single} ${PROJECT_SOURCE_DIR} aarch64-linux-gnu-g++ -O1
                  -DHEED_FIXED_ISA=lanes4_no_fma)
heed_drop_in_test(cortex_a9_clang++-19 ${drop_in} emulated "qemu-arm -cpu cortex-a9" ${single} ${PROJECT_SOURCE_DIR} clang++-19
                  --target=arm-linux-gnueabihf -mcpu=cortex-a9 -mfpu=neon -O2 -DHEED_FIXED_ISA=lanes4_no_fma)

# One lane where there are no vector registers: a third of the code. Integers and their self-test are 45 KB of it.
heed_drop_in_test(rv32 ${drop_in} size 201000 ${single} ${PROJECT_SOURCE_DIR} clang++-19 --target=riscv32 -march=rv32imac
                  -mabi=ilp32 -Os -ffreestanding -fno-exceptions -fno-rtti)

# Modes of compilers that may change bits, and 32 bits with traps for undefined behaviour. An older clang with `ctest -C all`.
set(modes sh ${CMAKE_CURRENT_SOURCE_DIR}/compiler_modes.sh ${digest_reference} ${single} ${PROJECT_SOURCE_DIR})
heed_drop_in_test(modes_g++ ${modes} g++)
heed_drop_in_test(modes_clang++-19 ${modes} clang++-19 CONFIGURATIONS all)
heed_drop_in_test(modes_clang++ ${modes} clang++ CONFIGURATIONS all)
set_tests_properties(drop_in_modes_clang++-19 drop_in_modes_clang++ PROPERTIES COST 100)  # the longest, so the first
heed_drop_in_test(broadcast_32 sh ${CMAKE_CURRENT_SOURCE_DIR}/broadcast_32.sh ${single} ${PROJECT_SOURCE_DIR} CONFIGURATIONS all)

# Sizes, and what is too large, with addresses of 64 bits and of 32.
foreach(target here i686 wasm32)
  heed_drop_in_test(sizes_${target} sh ${CMAKE_CURRENT_SOURCE_DIR}/sizes.sh ${target} ${single} ${PROJECT_SOURCE_DIR})
endforeach()

# On each core the library's own code. On two of them a whole program, too, built with the flags that heed.cpp names:
# where one of those is missing it carries all of heed, 53 KB and up.
set(most_m4f 7900)
set(most_m0plus 11100)
file(STRINGS ${PROJECT_SOURCE_DIR}/ports/bare/cores rows REGEX "^[a-z]")
foreach(row IN LISTS rows)
  string(REGEX REPLACE " *\\| *" ";" row "${row}")
  list(GET row 0 core)
  list(GET row 3 family)
  list(GET row 7 gcc)
  list(GET row 9 target)
  list(GET row 10 core_flags)
  separate_arguments(core_flags)
  set(compilers ${gcc}-g++ clang++-19)
  if(target STREQUAL "-")  # which clang does not know
    set(compilers ${gcc}-g++)
  endif()
  foreach(compiler ${compilers})
    set(flags ${core_flags})
    if(compiler MATCHES clang)
      list(APPEND flags --target=${target})
      if(family STREQUAL "cortex-m")
        list(APPEND flags -meabi gnu)
      endif()
    endif()
    set(when)
    if(core MATCHES "^(m3|m7|m33|rv32imafc|rv64gc)$")  # others have their kernels
      set(when CONFIGURATIONS all)
    endif()
    heed_drop_in_test(${core}_${compiler} ${drop_in} core - ${single} ${PROJECT_SOURCE_DIR} ${compiler} ${flags}
                      -Os -ffreestanding -fno-exceptions -fno-rtti ${when})
    if(most_${core})
      heed_drop_in_test(program_${core}_${compiler} ${drop_in} program ${most_${core}} ${single} ${PROJECT_SOURCE_DIR} ${compiler}
                        ${flags})
    endif()
  endforeach()
endforeach()
