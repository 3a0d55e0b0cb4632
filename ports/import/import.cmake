# The reader of flat files of weights in C (heed_file), what reads and converts models (import_host), and heed_import.
set(import_folder ${PROJECT_SOURCE_DIR}/ports/import)
add_library(heed_file STATIC ${import_folder}/heed_file.c)
target_include_directories(heed_file PUBLIC ${import_folder})
target_link_libraries(heed_file PUBLIC heed)
target_compile_options(heed_file PRIVATE -Wall -Wextra -Wpedantic)
set_target_properties(heed_file PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)

add_library(import_host STATIC ${import_folder}/c_arrays.cpp ${import_folder}/convert.cpp ${import_folder}/flat_file.cpp
            ${import_folder}/onnx_graphs.cpp ${import_folder}/onnx_products.cpp
            ${import_folder}/onnx_shapes.cpp ${import_folder}/onnx_uses.cpp ${import_folder}/read_gguf.cpp ${import_folder}/read_npy.cpp ${import_folder}/read_onnx.cpp
            ${import_folder}/read_receipt.cpp ${import_folder}/read_safetensors.cpp ${import_folder}/select.cpp ${import_folder}/tensor.cpp)
target_link_libraries(import_host PUBLIC heed_file receipts)
# Libraries of headers alone. Without them the tool says which package is missing, when it is given such a file.
find_path(HEED_PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp DOC "protozero: heed_import and heed_listen read ONNX with it (Debian: libprotozero-dev)")
find_path(HEED_JSON_INCLUDE_DIR nlohmann/json.hpp DOC "JSON for Modern C++: heed_import reads safetensors with it (Debian: nlohmann-json3-dev)")
if(HEED_PROTOZERO_INCLUDE_DIR)
  target_include_directories(import_host SYSTEM PRIVATE ${HEED_PROTOZERO_INCLUDE_DIR})
  target_compile_definitions(import_host PUBLIC HEED_IMPORT_ONNX)
else()
  message(STATUS "heed: protozero is not found (Debian: libprotozero-dev), so heed_import and heed_listen do not read ONNX")
endif()
if(HEED_JSON_INCLUDE_DIR)
  target_include_directories(import_host SYSTEM PRIVATE ${HEED_JSON_INCLUDE_DIR})
  target_compile_definitions(import_host PUBLIC HEED_IMPORT_SAFETENSORS)
else()
  message(STATUS "heed: nlohmann/json.hpp is not found (Debian: nlohmann-json3-dev), so heed_import does not read safetensors")
endif()
add_executable(heed_import ${import_folder}/main.cpp)
target_link_libraries(heed_import PRIVATE import_host)
foreach(target import_host heed_import)
  target_compile_options(${target} PRIVATE ${base} -ffp-contract=off -Wall -Wextra -Wpedantic)  # the same numbers from any host
  set_target_properties(${target} PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
endforeach()
