# The example in C (kwt), the same in integers (kwt_int), what reads the model on a host (kwt_host), and the programs.
set(kwt_folder ${PROJECT_SOURCE_DIR}/ports/kwt)
add_library(kwt STATIC ${kwt_folder}/kwt.c ${kwt_folder}/kwt_math.c ${kwt_folder}/kwt_texts.c ${kwt_folder}/kwt_words.c)
target_include_directories(kwt PUBLIC ${kwt_folder})
target_link_libraries(kwt PUBLIC heed)
target_compile_options(kwt PRIVATE ${base} -ffp-contract=off -fno-math-errno -Wall -Wextra -Wpedantic)
add_library(kwt_int STATIC ${kwt_folder}/kwt_int.c ${kwt_folder}/kwt_int_sound.c)
target_link_libraries(kwt_int PUBLIC kwt int_model)
target_compile_options(kwt_int PRIVATE -Wall -Wextra -Wpedantic)

add_library(kwt_host STATIC ${kwt_folder}/host_files.cpp ${kwt_folder}/network.cpp ${kwt_folder}/tflite_walker.cpp
            ${kwt_folder}/tflite_weights.cpp ${PROJECT_SOURCE_DIR}/ports/import/tflite_graph.cpp)
target_link_libraries(kwt_host PUBLIC kwt sound_files)
add_executable(heed_kwt ${kwt_folder}/heed_kwt.cpp ${kwt_folder}/kwt_map.cpp ${kwt_folder}/kwt_sounds.cpp)
target_link_libraries(heed_kwt PRIVATE kwt_host heed_maps receipt_runs)
add_executable(heed_kwt_int ${kwt_folder}/heed_kwt_int.cpp)
target_link_libraries(heed_kwt_int PRIVATE kwt_int kwt_host receipt_runs)
add_executable(kwt_weights ${kwt_folder}/kwt_weights.cpp)
target_link_libraries(kwt_weights PRIVATE kwt_host)
foreach(target kwt_host heed_kwt heed_kwt_int kwt_weights)
  target_compile_options(${target} PRIVATE ${base} -ffp-contract=off -Wall -Wextra)  # the same weights from any host
endforeach()
