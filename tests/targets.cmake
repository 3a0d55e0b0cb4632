# Other targets, compilers and build types: targets.sh has the list. Here the rows that tell most; all of them, and what needs
# Wine, with `ctest -C all` (sh ports/linux/test.sh --all).
set(targets ${CMAKE_CURRENT_BINARY_DIR}/targets)
set(telling_rows
    armv7-gcc-RelWithDebInfo                                     # loops that GCC vectorises below -O3 for a unit without vectors
    x86-64-gcc-Debug x86-64-gcc-MinSizeRel x86-64-gcc-lto        # calls from one instruction set's code into another's
    i686-gcc-None)                                               # as distributions build, for x87's target
list(TRANSFORM telling_rows PREPEND target_ OUTPUT_VARIABLE telling_tests)
foreach(row IN LISTS telling_rows)
  add_test(NAME target_${row} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/targets.sh ${targets} ${row})
endforeach()
add_test(NAME targets COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/targets.sh ${targets} check CONFIGURATIONS all)
set_tests_properties(targets ${telling_tests} PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_REQUIRED digest TIMEOUT 1200
                     ENVIRONMENT HEED_DIGEST_REFERENCE=${digest_reference})
set_tests_properties(targets PROPERTIES RUN_SERIAL ON TIMEOUT 7200 DEPENDS "${telling_tests}")

add_test(NAME coverage COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/coverage.sh ${CMAKE_CURRENT_BINARY_DIR}/coverage
         CONFIGURATIONS all)
set_tests_properties(coverage PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1800 PROCESSORS 2)

add_test(NAME windows_package COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/windows.sh ${PROJECT_SOURCE_DIR}
         ${CMAKE_CURRENT_BINARY_DIR}/windows CONFIGURATIONS all)
set_tests_properties(windows_package PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
