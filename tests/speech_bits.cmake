# The speech model on other processors: the tokens, and the bits of the encoder's output and of all logits, that this computer's
# program gives. Two clips of 2 s; with `ctest -C all` more processors, and all 24 clips, except on the slowest emulator (s390x).
set(speech ${PROJECT_SOURCE_DIR}/ports/speech)
set(import ${PROJECT_SOURCE_DIR}/ports/import)
heed_test_program(heed_speech_bits speech_bits.c ${speech}/speech.c ${speech}/speech_model.c ${import}/heed_file.c
                  ${PROJECT_SOURCE_DIR}/ports/wav.c)
target_include_directories(heed_speech_bits PRIVATE ${speech} ${import} ${PROJECT_SOURCE_DIR}/ports)
if(NOT main_build OR NOT TARGET heed_listen)
  return()
endif()

function(heed_speech_run name build formats clips) # and the emulator; then CONFIGURATIONS
  set(label boards)
  set(remember)
  if(ARGN MATCHES "CONFIGURATIONS")
    set(label targets)
    set(remember ${once} speech_${name})
  endif()
  add_test(NAME speech_${name} COMMAND ${remember} sh ${CMAKE_CURRENT_SOURCE_DIR}/speech_bits.sh $<TARGET_FILE:heed_listen> $<TARGET_FILE:speech_weights>
           ${formats} ${clips} ${CMAKE_CURRENT_BINARY_DIR}/${build}/tests/heed_speech_bits ${ARGN})
  set_tests_properties(speech_${name} PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_REQUIRED ${build} TIMEOUT 3600 LABELS ${label})
endfunction()
function(heed_speech_build name program) # where no other test has a build
  add_test(NAME speech_${name}_build COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/scratch_build.sh ${program} ${PROJECT_SOURCE_DIR}
           ${CMAKE_CURRENT_BINARY_DIR}/speech_${name} heed_speech_bits -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON
           -DCMAKE_DISABLE_FIND_PACKAGE_OpenMP=ON ${ARGN} CONFIGURATIONS all)
  set_tests_properties(speech_${name}_build PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_SETUP speech_${name} TIMEOUT 1200 LABELS targets)
endfunction()

set(two "alsa_front_center alsa_rear_left")
set(all CONFIGURATIONS all)
set(wasm node --no-warnings ${PROJECT_SOURCE_DIR}/ports/wasm/run.mjs)
if(aarch64)
  heed_speech_run(aarch64 digest_aarch64 w8a8 "${two}" ${aarch64} -cpu max)
  heed_speech_run(aarch64_f32 digest_aarch64 int8 "${two}" ${aarch64} -cpu cortex-a53 ${all})
  heed_speech_run(aarch64_all digest_aarch64 w8a8 all ${aarch64} -cpu cortex-a53 ${all})
endif()
heed_speech_run(armv7_f32 digest_armv7 int8 "${two}" ${armv7} -cpu max ${all})
heed_speech_run(armv7_all digest_armv7 w8a8 all ${armv7} -cpu cortex-a9 ${all})
heed_speech_build(s390x s390x-linux-gnu-g++ -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/ports/linux/s390x.cmake)
heed_speech_run(s390x speech_s390x "int8 w8a8" "${two}" qemu-s390x -L /usr/s390x-linux-gnu ${all})
heed_speech_build(wasm clang-19 -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/ports/wasm/wasi.cmake -DHEED_WASM_SIMD=ON)
heed_speech_run(wasm_all speech_wasm "int8 w8a8" all ${wasm} ${all})
