# Other targets, compilers and build types: targets.sh has the list. Here the rows that tell most; all of them, and what needs
# Wine, coverage, every float and an hour of differential fuzzing with `ctest -C all` (sh ports/linux/test.sh --all).
set(targets ${CMAKE_CURRENT_BINARY_DIR}/targets)
set(telling_rows
    armv7-gcc-RelWithDebInfo                                     # loops that GCC vectorises below -O3 for a unit without vectors
    )
list(TRANSFORM telling_rows PREPEND target_ OUTPUT_VARIABLE telling_tests)
foreach(row IN LISTS telling_rows)
  add_test(NAME target_${row} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/targets.sh ${targets} ${row})
endforeach()
# One test for each target and compiler, then the table of all, whose rows have passed before. Rows keep their own stamps.
file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/targets.sh pairs REGEX "^[a-z0-9-]+ +(gcc|clang) +[A-Z]")
foreach(pair IN LISTS pairs)
  string(REGEX REPLACE "^([a-z0-9-]+) +(gcc|clang) .*" "\\1-\\2" pair "${pair}")
  add_test(NAME targets_${pair} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/targets.sh ${targets} check ${pair}-* CONFIGURATIONS all)
  list(APPEND target_groups targets_${pair})
endforeach()
add_test(NAME targets COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/targets.sh ${targets} check CONFIGURATIONS all)
set_tests_properties(targets ${target_groups} ${telling_tests} PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_REQUIRED digest TIMEOUT 3600
                     LABELS targets ENVIRONMENT "HEED_DIGEST_REFERENCE=${digest_reference};HEED_JOBS=1")
set_tests_properties(${target_groups} PROPERTIES DEPENDS "${telling_tests}" COST 100)
set_tests_properties(targets PROPERTIES DEPENDS "${telling_tests};${target_groups}")

# Stack where frames are largest: a processor without vector registers (as HEED_TARGET_VECTORS has it), with 160 bytes of register
# save area in each frame. Every build above measures its stack, too.
add_test(NAME stack_s390x COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/stack_target.sh qemu-s390x s390x-linux-gnu-g++
         ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/stack_s390x
         -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/ports/linux/s390x.cmake CONFIGURATIONS all)
set_tests_properties(stack_s390x PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)

add_test(NAME once COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/once_check.sh ${CMAKE_CURRENT_BINARY_DIR}/once
         ${CMAKE_CURRENT_SOURCE_DIR}/once.sh)
# Slow ones are run once for each state of the sources.
set(once sh ${CMAKE_CURRENT_SOURCE_DIR}/once.sh ${CMAKE_CURRENT_BINARY_DIR}/passed)
add_test(NAME coverage COMMAND ${once} coverage sh ${CMAKE_CURRENT_SOURCE_DIR}/coverage.sh ${CMAKE_CURRENT_BINARY_DIR}/coverage
         CONFIGURATIONS all)
set_tests_properties(coverage PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 3600 PROCESSORS 2 LABELS coverage)

add_test(NAME windows_package COMMAND ${once} windows_package sh ${CMAKE_CURRENT_SOURCE_DIR}/windows.sh ${PROJECT_SOURCE_DIR}
         ${CMAKE_CURRENT_BINARY_DIR}/windows CONFIGURATIONS all)
set_tests_properties(windows_package PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900 LABELS windows)

if(TARGET heed_differential)
  # An hour of random calls in quarters, each with its own seed: the version, as 201 for 0.2.1, and 1 to 4 behind it.
  math(EXPR seed "${PROJECT_VERSION_MAJOR} * 10000 + ${PROJECT_VERSION_MINOR} * 100 + ${PROJECT_VERSION_PATCH}")
  foreach(quarter 1 2 3 4)
    add_test(NAME differential_quarter_${quarter} COMMAND ${once} differential_quarter_${quarter} $<TARGET_FILE:heed_differential>
             --seed ${seed}${quarter} --seconds 900 CONFIGURATIONS all)
    set_tests_properties(differential_quarter_${quarter} PROPERTIES LABELS differential TIMEOUT 1500 COST 1000)
  endforeach()
  foreach(arithmetic fma no-fma)
    add_test(NAME activations_of_every_float_${arithmetic} COMMAND ${once} activations_${arithmetic} $<TARGET_FILE:heed_activation_sweep>
             1 2 ${arithmetic} CONFIGURATIONS all)
    set_tests_properties(activations_of_every_float_${arithmetic} PROPERTIES LABELS sweep TIMEOUT 3600 PROCESSORS 2)
    add_test(NAME faulty_constants_${arithmetic} COMMAND ${once} faulty_constants_${arithmetic} sh ${CMAKE_CURRENT_SOURCE_DIR}/faulty_constants.sh
             ${PROJECT_SOURCE_DIR} ${CMAKE_CXX_COMPILER} ${arithmetic} CONFIGURATIONS all)
    set_tests_properties(faulty_constants_${arithmetic} PROPERTIES LABELS sweep TIMEOUT 3600)
  endforeach()
endif()
