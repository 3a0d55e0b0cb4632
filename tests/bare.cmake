# Cores without an operating system under QEMU, against this PC: ports/bare/check.sh for every core of the list `cores`.
set(bare ${PROJECT_SOURCE_DIR}/ports/bare)
file(STRINGS ${bare}/cores rows REGEX "^[a-z]")
set(cores)
foreach(row IN LISTS rows)
  string(REGEX REPLACE " *\\| *" ";" row "${row}")
  list(GET row 0 core)
  list(GET row 1 preset_${core})
  list(GET row 9 target_${core})
  list(APPEND cores ${core})
endforeach()
add_test(NAME presets COMMAND sh ${bare}/presets.sh check)
set(board_port ${PROJECT_SOURCE_DIR}/ports/port.c ${PROJECT_SOURCE_DIR}/ports/linux/port.c)
heed_test_program(heed_device device/main.c device/block.c device/cache.c device/formats.c device/known.c device/narrow.c device/options.c
                  device/options_refused.c device/packed.c device/random.c device/refused.c ${board_port})
heed_test_program(heed_firmware_example ${bare}/example.c ${board_port})
heed_test_program(heed_device_integers device/integers.c ${PROJECT_SOURCE_DIR}/ports/linux/clock.c ${board_port})
foreach(program heed_device heed_device_integers heed_firmware_example)
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/ports)
endforeach()

# Options that bind in another order give the same bits: the device's program on a library of one file, in either order.
foreach(order usual reversed)
  set(source ${PROJECT_SOURCE_DIR}/lib/single.cpp)
  if(order STREQUAL "reversed")
    set(source reversed_options.cpp)
  endif()
  add_executable(heed_device_${order} device/main.c device/block.c device/cache.c device/formats.c device/known.c device/narrow.c device/options.c
                 device/options_refused.c device/packed.c device/random.c device/refused.c ${board_port} ${source})
  target_include_directories(heed_device_${order} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/ports ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(heed_device_${order} PRIVATE HEED_FLAGS_ARE_SET)
  target_compile_options(heed_device_${order} PRIVATE ${lib_flags})
  set_target_properties(heed_device_${order} PROPERTIES C_STANDARD 99 CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
endforeach()
add_test(NAME options_in_any_order COMMAND sh -c "$<TARGET_FILE:heed_device_usual> >usual && $<TARGET_FILE:heed_device_reversed> >reversed \
  && cmp usual reversed && wc -l usual")
set_tests_properties(options_in_any_order PROPERTIES LABELS boards)

set(references ${CMAKE_CURRENT_BINARY_DIR}/bare)
add_test(NAME board_references COMMAND sh ${bare}/references.sh ${references}
         ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:heed_device> $<TARGET_FILE:heed_firmware_example>
         $<TARGET_FILE:heed_device_bench> $<TARGET_FILE:heed_device_integers>)
set_tests_properties(board_references PROPERTIES LABELS boards FIXTURES_SETUP board_references)
foreach(core IN LISTS cores)
  set(compilers gcc clang)
  if(target_${core} STREQUAL "-")  # which clang does not know
    set(compilers gcc)
  endif()
  foreach(compiler ${compilers})
    set(when)
    # M7 and M33 run the kernel of M4F.
    if(core MATCHES "^m7|^m33" OR core MATCHES "^rv" AND NOT (core STREQUAL "rv32imc" AND compiler STREQUAL "gcc"))
      set(when CONFIGURATIONS all)
    endif()
    string(REPLACE "-" "_" name ${preset_${core}}_${compiler})
    add_test(NAME ${name} COMMAND sh ${bare}/check.sh ${core} ${compiler} ${references} ${references}_${core}_${compiler} ${when})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_REQUIRED board_references TIMEOUT 1200 LABELS boards
                         PROCESSORS 2 RESOURCE_LOCK ${references}_${core}_${compiler})
  endforeach()
endforeach()

# Tests that build in the same folder never run at the same time: RESOURCE_LOCK names the folder.

# No number of rows of a projection costs more than one more, in the same builds.
foreach(core m0plus m3 m4f m55)
  foreach(compiler gcc clang)
    add_test(NAME cliffs_${core}_${compiler} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/cliffs.sh ${core} ${compiler} ${PROJECT_SOURCE_DIR}
             ${references}_${core}_${compiler})
    set_tests_properties(cliffs_${core}_${compiler} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300 LABELS boards
                         RESOURCE_LOCK ${references}_${core}_${compiler})
  endforeach()
endforeach()

# Keyword spotting in the same builds: all clips with the compiler that generates the better code, a few with the other.
if(TARGET heed_kwt)
  foreach(run "m7;gcc;24" "m7;clang;3" "m55;clang;24" "m55;gcc;3" "m55;clang;4")
    list(GET run 0 core)
    list(GET run 1 compiler)
    list(GET run 2 n_clips)
    set(name kwt_${core}_${compiler})
    set(when CONFIGURATIONS all)
    if(n_clips EQUAL 4)
      set(when)
      set(name ${name}_few)
    endif()
    add_test(NAME ${name} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/kwt_board.sh ${run} ${PROJECT_SOURCE_DIR}
             ${references}_${core}_${compiler} $<TARGET_FILE:heed_kwt> $<TARGET_FILE:kwt_weights> ${when})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1200 LABELS boards
                         RESOURCE_LOCK ${references}_${core}_${compiler})
  endforeach()
endif()

# The same in integers, where there is no FPU, too: one clip, and all of them with `ctest -C all`.
if(TARGET heed_kwt_int)
  foreach(run "m0plus;gcc;1" "m3;gcc;1" "rv32imc;gcc;24" "m0plus;gcc;24" "m3;gcc;24" "m3;clang;3" "m4f;gcc;24" "m4f;clang;3" "m55;gcc;24" "m55;clang;24")
    list(GET run 0 core)
    list(GET run 1 compiler)
    list(GET run 2 n_clips)
    set(name kwt_int_${core}_${compiler})
    set(when CONFIGURATIONS all)
    if(n_clips EQUAL 1)
      set(when)
    else()
      set(name ${name}_${n_clips})
    endif()
    set(build ${references}_${core}_${compiler})
    if(core STREQUAL "m0plus")  # on another board
      set(build ${references}_dreams_${core}_${compiler})
    endif()
    add_test(NAME ${name} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/kwt_int_board.sh ${run} ${PROJECT_SOURCE_DIR}
             ${build} $<TARGET_FILE:heed_kwt_int> $<TARGET_FILE:heed_calibrate> ${when})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1200 LABELS boards
                         RESOURCE_LOCK ${build})
  endforeach()
endif()

# A language model on all cores: whole texts where there is an FPU.
if(TARGET heed_compile AND HEED_UTF8PROC_LIBRARY)
  foreach(run "m0plus;gcc;12" "m3;gcc;12" "m4f;gcc;128" "m4f;clang;24" "m7;gcc;128" "m7;clang;24" "m33;gcc;128" "m55;clang;128" "m55;gcc;128")
    list(GET run 0 core)
    list(GET run 1 compiler)
    set(build ${references}_${core}_${compiler})
    if(core STREQUAL "m0plus")  # on another board
      set(build ${references}_dreams_${core}_${compiler})
    endif()
    set(when)
    if(core MATCHES "^m7|^m33")
      set(when CONFIGURATIONS all)
    endif()
    add_test(NAME dreams_${core}_${compiler} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/dreams_board.sh ${run} ${PROJECT_SOURCE_DIR}
             ${build} ${CMAKE_C_COMPILER} $<TARGET_FILE:heed_compile> $<TARGET_FILE:heed_model> $<TARGET_FILE:heed> ${when})
    set_tests_properties(dreams_${core}_${compiler} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1200 LABELS boards
                         RESOURCE_LOCK ${build})
  endforeach()
endif()

# The sensor's model: in integers on the board with 16 KB of RAM, in both forms where there is an FPU; every core with
# `ctest -C all`.
if(TARGET heed_sensor)
  foreach(run "m0plus;gcc;integers" "m0plus;clang;integers" "m3;gcc;floats integers" "m3;clang;floats integers" "m4f;gcc;floats integers"
              "m4f;clang;floats integers" "m7;gcc;floats integers" "m7;clang;floats integers" "m33;gcc;floats integers"
              "m55;gcc;floats integers" "m55;clang;floats integers" "rv32imc;gcc;floats integers" "rv32imc;clang;floats integers"
              "rv32imafc;gcc;floats integers")
    list(GET run 0 core)
    list(GET run 1 compiler)
    set(name sensor_${core}_${compiler})
    set(command sh ${CMAKE_CURRENT_SOURCE_DIR}/sensor_board.sh ${run} ${PROJECT_SOURCE_DIR} ${references}_${core}_${compiler}
        $<TARGET_FILE:heed_sensor> $<TARGET_FILE:sensor_weights>)
    if(name MATCHES "^sensor_(m0plus|m4f)_gcc$")
      add_test(NAME ${name} COMMAND ${command})
      set_tests_properties(${name} PROPERTIES LABELS boards)
    else()
      add_test(NAME ${name} COMMAND ${command} CONFIGURATIONS all)
      set_tests_properties(${name} PROPERTIES LABELS targets)
    endif()
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600
                         RESOURCE_LOCK ${references}_${core}_${compiler})
  endforeach()
endif()

# Receipts that boards make, checked on this computer.
if(TARGET heed_replay)
  foreach(run "m4f;gcc;kwt dreams sensor_floats sensor_integers" "m0plus;gcc;dreams sensor_floats sensor_integers")
    list(GET run 0 core)
    set(name receipt_${core}_gcc)
    add_test(NAME ${name} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/receipt_board.sh ${run} ${PROJECT_SOURCE_DIR}
             ${references}_receipt_${core} ${PROJECT_BINARY_DIR}/bench)
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 LABELS boards)
  endforeach()
endif()

# The speech model on the board with external memory, with `ctest -C all`: minutes, and files of 100 MB.
if(TARGET heed_compile AND HEED_UTF8PROC_LIBRARY)
  foreach(run "m55;gcc;f32 f16 int8 w8a8" "m55;clang;w8a8")
    list(GET run 0 core)
    list(GET run 1 compiler)
    add_test(NAME speech_${core}_${compiler} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/speech_board.sh ${run} ${PROJECT_SOURCE_DIR}
             ${references}_${core}_${compiler} ${CMAKE_C_COMPILER} ${PROJECT_BINARY_DIR}/bench $<TARGET_FILE:heed_model> $<TARGET_FILE:heed> CONFIGURATIONS all)
    set_tests_properties(speech_${core}_${compiler} PROPERTIES LABELS targets SKIP_RETURN_CODE 77 TIMEOUT 1800
                         RESOURCE_LOCK ${references}_${core}_${compiler})
  endforeach()
endif()

# Weights of heed_import in a program: a flat file that is linked, and arrays in C.
if(TARGET heed_import)
  add_test(NAME import_m4f_gcc COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/import_board.sh m4f gcc ${PROJECT_SOURCE_DIR}
           ${references}_m4f_gcc $<TARGET_FILE:heed_import>)
  set_tests_properties(import_m4f_gcc PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300 LABELS boards
                       RESOURCE_LOCK ${references}_m4f_gcc)
endif()

# Layers of a file keep to HEED_STACK_BYTES, too, and the table of stacks of RTOS tasks is right.
foreach(run "m4f;gcc" "m4f;clang" "m0plus;gcc" "m55;clang")
  string(REPLACE ";" "_" name "int_model_${run}")
  add_test(NAME ${name} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/int_model_board.sh ${run} ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300 LABELS boards)
endforeach()

# No program is larger than the ceilings of ports/cortex-m/README.md, riscv and xtensa, and no ceiling is a tenth too high.
add_test(NAME ceilings COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/ceilings.sh ${bare}/ceilings.awk)
add_test(NAME size_table COMMAND sh ${bare}/size.sh check CONFIGURATIONS all)
set_tests_properties(size_table PROPERTIES LABELS boards SKIP_RETURN_CODE 77 TIMEOUT 900)

# What a call takes of a chip, for readers who plan: ports/cortex-m/PLAN.md.
add_test(NAME plan_table COMMAND sh ${PROJECT_SOURCE_DIR}/ports/cortex-m/plan.sh check CONFIGURATIONS all)
set_tests_properties(plan_table PROPERTIES LABELS boards SKIP_RETURN_CODE 77 TIMEOUT 1800)

# No public function takes more stack than HEED_STACK_BYTES, nor than its ceiling in ports/cortex-m/STACK.md: here two cores with
# both compilers, all with `ctest -C all`.
add_test(NAME stack_table COMMAND sh ${PROJECT_SOURCE_DIR}/ports/cortex-m/stack.sh check m4f m55)
add_test(NAME stack_table_all COMMAND sh ${PROJECT_SOURCE_DIR}/ports/cortex-m/stack.sh check CONFIGURATIONS all)
set_tests_properties(stack_table stack_table_all PROPERTIES LABELS boards SKIP_RETURN_CODE 77 TIMEOUT 1800)
