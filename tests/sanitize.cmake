# Address and undefined-behaviour sanitizers, and the differential program under libFuzzer, in one scratch build with
# clang.
option(HEED_TEST_SANITIZED "Instrument the library and build the libFuzzer program (clang)" OFF)
if(HEED_TEST_SANITIZED)
  # The library alone: its faults are looked for, and the suites build in half the time. Checks of pointer arithmetic
  # cost four times the rest to compile, and find little that the address sanitizer does not.
  foreach(library heed heed_every_kernel)
    target_compile_options(${library} PRIVATE -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all
                           -fno-sanitize=pointer-overflow,object-size -g1 -Wno-pass-failed)
  endforeach()
  target_link_options(heed PUBLIC -fsanitize=address,undefined)
  heed_test_program(heed_fuzz fuzz_api.cpp)
  target_link_libraries(heed_fuzz PRIVATE GTest::gtest Threads::Threads)
  target_link_options(heed_fuzz PRIVATE -fsanitize=fuzzer)
  if(TARGET import_host)
    foreach(library heed_file tokenizer import_host heed_maps kwt_host sound_files kwt_int int_model quantize calibrate receipt receipts receipt_runs)
      target_compile_options(${library} PRIVATE -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all -g1)
    endforeach()
    heed_test_program(heed_fuzz_readers fuzz_readers.cpp)
    target_link_libraries(heed_fuzz_readers PRIVATE calibrate receipt_runs import_host tokenizer heed_maps GTest::gtest Threads::Threads)
    target_link_options(heed_fuzz_readers PRIVATE -fsanitize=fuzzer)
    if(TARGET compile_host AND HEED_UTF8PROC_LIBRARY)
      target_compile_options(compile_host PRIVATE -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all -g1)
      target_sources(heed_fuzz_readers PRIVATE support/published_models.cpp)
      target_link_libraries(heed_fuzz_readers PRIVATE compile_host)
      target_compile_definitions(heed_fuzz_readers PRIVATE HEED_TEST_COMPILE)
    endif()
  endif()
  return()
endif()

if(CMAKE_CROSSCOMPILING OR sanitized OR NOT CMAKE_SOURCE_DIR STREQUAL PROJECT_SOURCE_DIR OR HEED_FIXED_ISA)
  return()
endif()

# The thread sanitizer, on heed_threads: the only part with threads of its own. It sees a late thread in a job that is
# gone even where nothing comes of it.
set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
check_cxx_source_compiles("int main() { return 0; }" heed_has_thread_sanitizer)
unset(CMAKE_REQUIRED_FLAGS)
if(TARGET heed_threads AND GTest_FOUND AND heed_has_thread_sanitizer)
  heed_test_program(heed_threads_races threads_life_test.cpp threads_test.cpp ../lib/threads/threads.cpp ../lib/api/status.cpp)
  target_compile_definitions(heed_threads_races PRIVATE HEED_TESTS_THREADS HEED_TESTS_RACES)
  target_compile_options(heed_threads_races PRIVATE -fsanitize=thread -g1)
  target_link_options(heed_threads_races PRIVATE -fsanitize=thread)
  target_link_libraries(heed_threads_races PRIVATE GTest::gtest_main Threads::Threads)
  add_test(NAME threads_races COMMAND heed_threads_races --gtest_brief=1)
  set_tests_properties(threads_races PROPERTIES SKIP_REGULAR_EXPRESSION "unexpected memory mapping" TIMEOUT 300)
endif()

set(build ${CMAKE_CURRENT_BINARY_DIR}/sanitized)
set(readers_of_files npy safetensors gguf onnx flat_file int_model tflite tflite_tensors wav map description receipt numbers
    tokenizer_json words_of_gguf words_of_file llama2 network_config network_metadata onnx_model)
add_test(NAME sanitized_build COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/scratch_build.sh clang++ ${PROJECT_SOURCE_DIR}
         ${build} heed_fuzz,heed_fuzz_readers,heed_differential,heed_vectors,heed_vectors_random -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++
         -DHEED_TEST_SANITIZED=ON -DHEED_BUILD_BENCH=ON -DCMAKE_CXX_FLAGS_RELEASE=-O1)
set_tests_properties(sanitized_build PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_SETUP sanitized TIMEOUT 1800 PROCESSORS 2 LABELS sanitizers)

# The suites on every kernel, with `ctest -C all`: those of the drop-in below take minutes less, and find most of it.
list(JOIN suites " " all_suites)
add_test(NAME sanitized_suites_build COMMAND sh -c "[ -x ${build}/tests/heed_fuzz ] || { echo 'SKIPPED: clang is not installed'; exit 77; }
  exec ${CMAKE_COMMAND} --build ${build} --parallel 2 --target ${all_suites}" CONFIGURATIONS all)
set_tests_properties(sanitized_suites_build PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_REQUIRED sanitized FIXTURES_SETUP sanitized_suites
                     TIMEOUT 1800 PROCESSORS 2 LABELS sanitizers)
foreach(suite ${suites})
  add_test(NAME sanitized_${suite} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/sanitized.sh ${build}/tests/${suite} --gtest_brief=1
           CONFIGURATIONS all)
  set_tests_properties(sanitized_${suite} PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_REQUIRED sanitized_suites TIMEOUT 1200
                       LABELS sanitizers)
endforeach()
add_test(NAME fuzz COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/sanitized.sh ${build}/tests/heed_fuzz -max_total_time=20
                           -max_len=400 -len_control=0 -print_final_stats=1)
add_test(NAME sanitized_differential COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/sanitized.sh
         ${build}/tests/heed_differential --seed 8 --seconds 20)
add_test(NAME sanitized_vectors COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/sanitized.sh /bin/sh
         ${CMAKE_CURRENT_SOURCE_DIR}/vectors.sh random ${kernels} ${build}/tests)
set_tests_properties(fuzz sanitized_differential sanitized_vectors PROPERTIES SKIP_RETURN_CODE 77
                     FIXTURES_REQUIRED sanitized TIMEOUT 1200 LABELS sanitizers)

# Every reader of files: some seconds each, a minute each with `ctest -C all`.
foreach(reader ${readers_of_files})
  add_test(NAME fuzz_${reader} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/fuzz_reader.sh ${build}/tests/heed_fuzz_readers ${reader} 4)
  add_test(NAME fuzz_long_${reader} COMMAND ${once} fuzz_long_${reader} sh ${CMAKE_CURRENT_SOURCE_DIR}/fuzz_reader.sh
           ${build}/tests/heed_fuzz_readers ${reader} 60 CONFIGURATIONS all)
  set_tests_properties(fuzz_${reader} fuzz_long_${reader} PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_REQUIRED sanitized TIMEOUT 1200
                       LABELS sanitizers)
endforeach()
# The library as two files, whose kernel is another and whose code is inlined otherwise: the suites' own objects, linked with
# heed.cpp that clang has compiled, here with the checks of pointer arithmetic, too. heed_steps and heed_faulty_kernel_tests
# need the archive's internals, and the suites of programs (kwt, dreams, import, ...) more than the library: they run above.
if(NOT BUILD_SHARED_LIBS AND GTest_FOUND)
  set(drop_in_sanitized sh ${CMAKE_CURRENT_SOURCE_DIR}/drop_in_sanitized.sh)
  set(build ${CMAKE_CURRENT_BINARY_DIR}/drop_in_sanitized)
  add_test(NAME drop_in_sanitized_build COMMAND ${drop_in_sanitized} build ${PROJECT_BINARY_DIR}/single ${build})
  set_tests_properties(drop_in_sanitized_build PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_REQUIRED drop_in
                       FIXTURES_SETUP drop_in_sanitized PROCESSORS 2 TIMEOUT 1800 LABELS sanitizers)
  set(libraries $<TARGET_FILE:GTest::gtest_main> $<TARGET_FILE:GTest::gtest> -pthread)
  foreach(executor threads openmp)
    if(TARGET heed_${executor})
      list(PREPEND libraries $<TARGET_FILE:heed_${executor}>)
    endif()
  endforeach()
  if(TARGET heed_openmp)
    list(APPEND libraries ${OpenMP_CXX_LIBRARIES})
  endif()
  foreach(suite ${suites})
    add_test(NAME drop_in_sanitized_${suite} COMMAND ${drop_in_sanitized} run ${build} ${suite} $<TARGET_OBJECTS:${suite}> --
             ${libraries} COMMAND_EXPAND_LISTS)
    set_tests_properties(drop_in_sanitized_${suite} PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_REQUIRED drop_in_sanitized
                         TIMEOUT 1200 LABELS sanitizers)
  endforeach()
endif()
