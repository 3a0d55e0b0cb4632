# Speech to text in C (speech), what reads and makes its files on a host (speech_host), and the programs.
set(speech_folder ${PROJECT_SOURCE_DIR}/ports/speech)
add_library(speech STATIC ${speech_folder}/speech.c ${speech_folder}/speech_align.c ${speech_folder}/speech_cut.c
             ${speech_folder}/speech_model.c)
target_include_directories(speech PUBLIC ${speech_folder})
target_compile_definitions(speech PUBLIC SPEECH_WORKERS=8)
target_link_libraries(speech PUBLIC heed_file)
target_compile_options(speech PRIVATE ${base} -ffp-contract=off -Wall -Wextra -Wpedantic)

add_library(speech_host STATIC ${speech_folder}/speech_files.cpp)
target_link_libraries(speech_host PUBLIC speech sound_files import_host)
add_executable(heed_listen ${speech_folder}/heed_listen.cpp ${speech_folder}/listener.cpp ${speech_folder}/words_map.cpp)
target_link_libraries(heed_listen PRIVATE speech_host heed_peak heed_pictures speech_runs)
if(TARGET heed_threads)
  target_link_libraries(heed_listen PRIVATE heed_threads)
  target_compile_definitions(heed_listen PRIVATE HEED_LISTEN_THREADS)
endif()
add_executable(speech_weights ${speech_folder}/speech_weights.cpp)
target_link_libraries(speech_weights PRIVATE speech_host)
foreach(target speech_host heed_listen speech_weights)
  target_compile_options(${target} PRIVATE ${base} -ffp-contract=off -Wall -Wextra)  # the same weights from any host
endforeach()
