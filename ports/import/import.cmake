# The reader of flat files of weights in C (heed_file), what reads and converts models (import_host), and heed_import.
set(import_folder ${PROJECT_SOURCE_DIR}/ports/import)
add_library(heed_file STATIC ${import_folder}/heed_file.c)
target_include_directories(heed_file PUBLIC ${import_folder})
target_link_libraries(heed_file PUBLIC heed)
target_compile_options(heed_file PRIVATE -Wall -Wextra -Wpedantic)
set_target_properties(heed_file PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)

# Texts to tokens, in C, with tables of a flat file.
set(tokenizer_folder ${PROJECT_SOURCE_DIR}/ports/tokenizer)
add_library(tokenizer STATIC ${tokenizer_folder}/bpe.c ${tokenizer_folder}/normalize.c ${tokenizer_folder}/split.c ${tokenizer_folder}/tokenizer.c
            ${tokenizer_folder}/unigram.c ${tokenizer_folder}/wordpiece.c)
target_include_directories(tokenizer PUBLIC ${tokenizer_folder})
target_link_libraries(tokenizer PUBLIC heed_file)
target_compile_options(tokenizer PRIVATE -O2 -Wall -Wextra -Wpedantic)
set_target_properties(tokenizer PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)

add_library(import_host STATIC ${import_folder}/c_arrays.cpp ${import_folder}/convert.cpp ${import_folder}/flat_file.cpp ${import_folder}/ggml_blocks.cpp
            ${import_folder}/onnx_graphs.cpp ${import_folder}/onnx_products.cpp
            ${import_folder}/onnx_shapes.cpp ${import_folder}/onnx_tensors.cpp ${import_folder}/onnx_uses.cpp ${import_folder}/read_gguf.cpp ${import_folder}/read_npy.cpp ${import_folder}/read_onnx.cpp
            ${import_folder}/read_receipt.cpp ${import_folder}/read_safetensors.cpp ${import_folder}/read_tflite.cpp ${import_folder}/select.cpp
            ${import_folder}/tensor.cpp ${import_folder}/tflite_as_onnx.cpp ${import_folder}/tflite_graph.cpp)
target_link_libraries(import_host PUBLIC heed_file receipts)
# Libraries of headers alone. Without them the tool says which package is missing, when it is given such a file.
find_path(HEED_PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp DOC "protozero: heed_import and heed_compile read ONNX with it (Debian: libprotozero-dev)")
find_path(HEED_JSON_INCLUDE_DIR nlohmann/json.hpp DOC "JSON for Modern C++: heed_import reads safetensors with it (Debian: nlohmann-json3-dev)")
if(HEED_PROTOZERO_INCLUDE_DIR)
  target_include_directories(import_host SYSTEM PRIVATE ${HEED_PROTOZERO_INCLUDE_DIR})
  target_compile_definitions(import_host PUBLIC HEED_IMPORT_ONNX)
else()
  message(STATUS "heed: protozero is not found (Debian: libprotozero-dev), so heed_import and heed_compile do not read ONNX")
endif()
if(HEED_JSON_INCLUDE_DIR)
  target_include_directories(import_host SYSTEM PRIVATE ${HEED_JSON_INCLUDE_DIR})
  target_compile_definitions(import_host PUBLIC HEED_IMPORT_SAFETENSORS)
  target_sources(import_host PRIVATE ${import_folder}/tfjs_as_onnx.cpp ${import_folder}/tfjs_graph.cpp)
else()
  message(STATUS "heed: nlohmann/json.hpp is not found (Debian: nlohmann-json3-dev), so heed_import does not read safetensors")
endif()
find_path(HEED_UTF8PROC_INCLUDE_DIR utf8proc.h DOC "utf8proc: heed_import reads tokenizers with it (Debian: libutf8proc-dev)")
find_library(HEED_UTF8PROC_LIBRARY utf8proc)
mark_as_advanced(HEED_UTF8PROC_LIBRARY)
if(HEED_UTF8PROC_INCLUDE_DIR AND HEED_UTF8PROC_LIBRARY AND HEED_JSON_INCLUDE_DIR)
  target_sources(import_host PRIVATE ${import_folder}/gguf_tokenizer.cpp ${import_folder}/read_pieces.cpp ${import_folder}/read_tokenizer.cpp ${import_folder}/vocabulary.cpp)
  target_include_directories(import_host SYSTEM PRIVATE ${HEED_UTF8PROC_INCLUDE_DIR})
  target_link_libraries(import_host PUBLIC ${HEED_UTF8PROC_LIBRARY})
  target_compile_definitions(import_host PUBLIC HEED_IMPORT_TOKENIZERS)
else()
  message(STATUS "heed: utf8proc is not found (Debian: libutf8proc-dev), so heed_import does not read tokenizers")
endif()
add_executable(heed_import ${import_folder}/main.cpp)
target_link_libraries(heed_import PRIVATE import_host)
add_executable(heed_tokens ${tokenizer_folder}/heed_tokens.cpp)
target_link_libraries(heed_tokens PRIVATE tokenizer)
# heed_compile: a published model as a program in C (compile_host is all of it but the command line). What such programs link is one
# library, heed_model.
add_library(graph_math OBJECT ${PROJECT_SOURCE_DIR}/ports/compile/graph_math.c ${PROJECT_SOURCE_DIR}/ports/compile/graph_rows.c ${PROJECT_SOURCE_DIR}/ports/compile/graph_recurrent.c)
target_include_directories(graph_math PUBLIC ${PROJECT_SOURCE_DIR}/ports/compile ${import_folder})
target_link_libraries(graph_math PUBLIC heed)
target_compile_options(graph_math PRIVATE -O2 -ffp-contract=off -Wall -Wextra -Wpedantic)
set_target_properties(graph_math PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)
add_library(heed_model STATIC $<TARGET_OBJECTS:heed_file> $<TARGET_OBJECTS:receipt> $<TARGET_OBJECTS:tokenizer> $<TARGET_OBJECTS:graph_math>)
target_include_directories(heed_model PUBLIC ${PROJECT_SOURCE_DIR}/ports/compile ${import_folder})
target_link_libraries(heed_model PUBLIC heed)
set_target_properties(heed_model PROPERTIES LINKER_LANGUAGE C)
if(HEED_JSON_INCLUDE_DIR)
  set(compile_folder ${PROJECT_SOURCE_DIR}/ports/compile)
  add_library(compile_host STATIC ${compile_folder}/check.cpp ${compile_folder}/checkpoint.cpp ${compile_folder}/families.cpp ${compile_folder}/families_speech.cpp
              ${compile_folder}/header_size.cpp ${compile_folder}/in_memory.cpp ${compile_folder}/program.cpp ${compile_folder}/project.cpp ${compile_folder}/published.cpp ${compile_folder}/reference.cpp ${compile_folder}/reference_speech.cpp
              ${compile_folder}/run.cpp ${compile_folder}/run_parts.cpp ${compile_folder}/run_speech.cpp ${compile_folder}/spectrogram.cpp ${compile_folder}/target.cpp ${compile_folder}/target_cost.cpp ${compile_folder}/target_graph.cpp ${compile_folder}/target_speech.cpp
              ${compile_folder}/weight_file.cpp ${compile_folder}/weights.cpp ${compile_folder}/write_decoder.cpp ${compile_folder}/write_encoder.cpp
              ${compile_folder}/write_speech.cpp ${PROJECT_SOURCE_DIR}/ports/wav.c)
  if(HEED_PROTOZERO_INCLUDE_DIR) # graphs of ONNX: they are read, computed in double precision, and become steps of a program
    foreach(part check_graph compile_graph constants evaluate_graph fold_scales fuse graph_inputs kept_rows lower lower_nodes lower_products lower_recurrent lower_shapes operators operators_attention operators_convolutions operators_elementwise operators_gather operators_images operators_microsoft
                 operators_norms operators_products operators_quantized operators_recurrent operators_reduce operators_shapes place_storages read_graph rewrite rewrite_convolutions rewrite_einsum rewrite_microsoft rewrite_places rewrite_quantized rewrite_resize rewrite_rounding rewrite_rows rewrite_simple rewrite_views run_steps target_steps write_steps)
      target_sources(compile_host PRIVATE ${compile_folder}/onnx/${part}.cpp)
    endforeach()
    target_sources(compile_host PRIVATE $<TARGET_OBJECTS:graph_math>)
  endif()
  # Without a float: calibration is ports/calibrate's (quantize).
  target_sources(compile_host PRIVATE ${compile_folder}/integers.cpp ${compile_folder}/integers_file.cpp ${compile_folder}/integers_run.cpp
                 ${compile_folder}/integers_samples.cpp ${compile_folder}/integers_text.cpp ${compile_folder}/target_integers.cpp
                 ${compile_folder}/write_integers.cpp ${compile_folder}/write_integer_decoder.cpp)
  target_include_directories(compile_host SYSTEM PRIVATE ${HEED_JSON_INCLUDE_DIR})
  target_include_directories(compile_host PUBLIC ${compile_folder})
  target_link_libraries(compile_host PUBLIC import_host tokenizer PRIVATE quantize)
  add_executable(heed_compile ${compile_folder}/main.cpp)
  target_link_libraries(heed_compile PRIVATE compile_host)
  set(compile compile_host heed_compile)
endif()
foreach(target import_host heed_import heed_tokens ${compile})
  target_compile_options(${target} PRIVATE ${base} -ffp-contract=off -Wall -Wextra -Wpedantic)  # the same numbers from any host
  set_target_properties(${target} PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
endforeach()
