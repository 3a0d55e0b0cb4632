# Layers of integers in C (int_model), from layers of floats to them (quantize), and the program.
set(calibrate_folder ${PROJECT_SOURCE_DIR}/ports/calibrate)
add_library(int_model STATIC ${calibrate_folder}/int_model.c)
target_include_directories(int_model PUBLIC ${calibrate_folder})
target_link_libraries(int_model PUBLIC heed)
target_compile_options(int_model PRIVATE -Wall -Wextra -Wpedantic)

add_library(quantize STATIC ${calibrate_folder}/calibrate.cpp ${calibrate_folder}/channels.cpp ${calibrate_folder}/quantize.cpp
            ${calibrate_folder}/rope.cpp ${calibrate_folder}/rounding.cpp)
target_link_libraries(quantize PUBLIC int_model)
add_library(calibrate STATIC ${calibrate_folder}/description.cpp ${calibrate_folder}/model_file.cpp ${calibrate_folder}/report.cpp
            ${PROJECT_SOURCE_DIR}/ports/kwt/kwt_int_weights.cpp)
target_link_libraries(calibrate PUBLIC quantize kwt_int kwt_host)
add_executable(heed_calibrate ${calibrate_folder}/main.cpp)
target_link_libraries(heed_calibrate PRIVATE calibrate)
foreach(target quantize calibrate heed_calibrate)
  target_compile_options(${target} PRIVATE ${base} -ffp-contract=off -Wall -Wextra)  # the same scales from any host
endforeach()
