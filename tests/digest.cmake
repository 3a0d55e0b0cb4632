# The same digest from every compiler, processor and emulator (digest.c). The reference is what this build's own scalar
# kernel gives; nothing is committed, so a change of the arithmetic on purpose needs no new file, and a difference between
# two targets always shows.
set(digest_reference ${CMAKE_CURRENT_BINARY_DIR}/digest_native.txt)
set(digest_scripts ${CMAKE_CURRENT_SOURCE_DIR})
set(digest_here ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:heed_digest>)
add_test(NAME digest_reference COMMAND sh ${digest_scripts}/digest_write.sh ${digest_reference} ${digest_here})
set_tests_properties(digest_reference PROPERTIES FIXTURES_SETUP digest)
add_test(NAME digest_native COMMAND sh ${digest_scripts}/digest_compare.sh ${digest_reference} ${digest_here})
set_tests_properties(digest_native PROPERTIES FIXTURES_REQUIRED digest SKIP_RETURN_CODE 77)

if(NOT main_build)
  return()
endif()

# What other tests find, too, is left to `ctest -C all`: set(when CONFIGURATIONS all) before it.
set(when)
# An executable in an emulator, compared with the reference.
function(heed_digest_run name executable)
  add_test(NAME digest_${name} COMMAND sh ${digest_scripts}/digest_compare.sh ${digest_reference} ${ARGN}
                                       ${executable} ${when})
  set_tests_properties(digest_${name} PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_REQUIRED digest TIMEOUT 900)
endfunction()

# A scratch build of library and digest, if `program` is installed.
set(digest_targets heed_digest)
function(heed_digest_build name program)
  set(build ${CMAKE_CURRENT_BINARY_DIR}/digest_${name})
  add_test(NAME digest_${name}_build COMMAND sh ${digest_scripts}/scratch_build.sh ${program}
           ${PROJECT_SOURCE_DIR} ${build} ${digest_targets} ${ARGN} ${when})
  set_tests_properties(digest_${name}_build PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_SETUP digest_${name} TIMEOUT 1200
                       PROCESSORS 2)
endfunction()
function(heed_digest_run_build name build)
  heed_digest_run(${name} ${CMAKE_CURRENT_BINARY_DIR}/digest_${build}/tests/heed_digest ${ARGN})
  set_tests_properties(digest_${name} PROPERTIES FIXTURES_REQUIRED "digest;digest_${build}")
endfunction()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(when CONFIGURATIONS all)  # a clang build is sanitized, drop-ins run with both compilers
  # The other compiler. Other levels of optimisation are rows of targets.sh: a Release build sets its own for each file.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    heed_digest_build(clang clang++ -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++)
    heed_digest_run_build(clang clang)
  else()
    heed_digest_build(gcc g++ -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++)
    heed_digest_run_build(gcc gcc)
  endif()
  set(when)
  # A processor with AVX2 but no AVX-512, and the oldest x86-64: dispatch must not touch what they lack.
  heed_digest_run(qemu_x86_64_max $<TARGET_FILE:heed_digest> qemu-x86_64 -cpu max)
  heed_digest_run(qemu_x86_64_qemu64 $<TARGET_FILE:heed_digest> qemu-x86_64 -cpu qemu64)

  set(when CONFIGURATIONS all)
  set(i686_loader /usr/i686-linux-gnu/lib/ld-linux.so.2 --library-path /usr/i686-linux-gnu/lib)
  heed_digest_build(i686 i686-linux-gnu-g++ -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/ports/linux/i686.cmake)
  heed_digest_run_build(i686 i686 ${i686_loader})
  set(when)
endif()

# With the programs that a board gets, as the presets build them: they run without the board's libraries (no -L).
set(digest_targets heed_digest,heed_selftest,heed_demo,heed_device_bench,heed_kwt)
set(board_programs -DHEED_BUILD_DEMO=ON -DHEED_STATIC_PROGRAMS=ON)
if(TARGET heed_dreams)  # with what this computer's heed_compile has written
  string(APPEND digest_targets ,heed_dreams)
  list(APPEND board_programs -DHEED_DREAMS_PROGRAM=${PROJECT_BINARY_DIR}/bench)
endif()
if(TARGET heed_listen)
  string(APPEND digest_targets ,heed_listen)
  list(APPEND board_programs -DHEED_SPEECH_PROGRAM=${PROJECT_BINARY_DIR}/bench)
endif()
function(heed_board_selftest build)
  add_test(NAME board_${build} COMMAND sh ${digest_scripts}/board_programs.sh ${CMAKE_CURRENT_BINARY_DIR}/digest_${build}/bench ${ARGN} ${when})
  set_tests_properties(board_${build} PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_REQUIRED digest_${build} TIMEOUT 900)
  if(TARGET heed_replay)
    add_test(NAME receipt_${build} COMMAND sh ${digest_scripts}/receipt_processor.sh $<TARGET_FILE:heed_replay>
             ${CMAKE_CURRENT_BINARY_DIR}/digest_${build}/bench ${ARGN} ${when})
    set_tests_properties(receipt_${build} PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_REQUIRED digest_${build} TIMEOUT 900)
  endif()
endfunction()

if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(aarch64 qemu-aarch64 -L /usr/aarch64-linux-gnu)
  heed_digest_build(aarch64 aarch64-linux-gnu-g++
                    -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/ports/linux/aarch64.cmake ${board_programs})
  heed_digest_run_build(aarch64 aarch64 ${aarch64} -cpu max)
  heed_digest_run_build(aarch64_cortex_a53 aarch64 ${aarch64} -cpu cortex-a53)
  heed_board_selftest(aarch64 qemu-aarch64 -cpu cortex-a53)
  add_test(NAME row_counts COMMAND sh ${digest_scripts}/row_counts.sh ${CMAKE_C_COMPILER} ${PROJECT_SOURCE_DIR}
           ${CMAKE_CURRENT_BINARY_DIR}/digest_aarch64)
  set_tests_properties(row_counts PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_REQUIRED digest_aarch64 TIMEOUT 600)
endif()

set(armv7 qemu-arm -L /usr/arm-linux-gnueabihf)
set(when CONFIGURATIONS all)  # targets.cmake has a build of armv7
heed_digest_build(armv7 arm-linux-gnueabihf-g++ -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/ports/linux/armv7.cmake
                  ${board_programs})
heed_digest_run_build(armv7 armv7 ${armv7} -cpu max)
# Without VFPv4, so without a fused multiply-add: the arithmetic without fma.
heed_digest_run_build(armv7_cortex_a9 armv7 ${armv7} -cpu cortex-a9)
heed_board_selftest(armv7 qemu-arm -cpu cortex-a9)
set(when)
