# A small model of a sensor in C (sensor), what reads and quantises it on a host (sensor_host), and the programs.
set(sensor_folder ${PROJECT_SOURCE_DIR}/ports/sensor)
add_library(sensor STATIC ${sensor_folder}/sensor.c ${sensor_folder}/sensor_int.c ${sensor_folder}/sensor_status.c)
target_include_directories(sensor PUBLIC ${sensor_folder})
target_link_libraries(sensor PUBLIC heed)
target_compile_options(sensor PRIVATE ${base} -ffp-contract=off -Wall -Wextra -Wpedantic)

add_library(sensor_host STATIC ${sensor_folder}/sensor_files.cpp ${sensor_folder}/sensor_quantize.cpp)
target_link_libraries(sensor_host PUBLIC sensor PRIVATE quantize)
add_executable(heed_sensor ${sensor_folder}/heed_sensor.cpp)
target_link_libraries(heed_sensor PRIVATE sensor_host receipt_runs)
add_executable(sensor_weights ${sensor_folder}/sensor_weights.cpp)
target_link_libraries(sensor_weights PRIVATE sensor_host)
foreach(target sensor_host heed_sensor sensor_weights)
  target_compile_options(${target} PRIVATE ${base} -ffp-contract=off -Wall -Wextra)  # the same scales from any host
endforeach()
