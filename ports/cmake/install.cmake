# Installs headers, sources of readers of files, licence, libraries, the CMake package and pkg-config files.
include(CMakePackageConfigHelpers)
set(targets heed)
foreach(executor openmp threads)
  if(TARGET heed_${executor})
    list(APPEND targets heed_${executor})
  endif()
endforeach()
install(DIRECTORY include/heed DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# The readers of heed_calibrate's and heed_import's files, and what programs of heed_compile need: headers, and sources that a program
# compiles with its own.
set(sources ${CMAKE_INSTALL_INCLUDEDIR}/heed)
install(FILES ports/calibrate/int_model.h ports/calibrate/int_model.c ports/import/heed_file.h ports/import/heed_file.c
        DESTINATION ${sources})
set(model ${CMAKE_CURRENT_BINARY_DIR}/heed_model)
install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" \"-DSOURCE=${PROJECT_SOURCE_DIR}\" \"-DOUTPUT=${model}\" -P
                              \"${PROJECT_SOURCE_DIR}/ports/cmake/heed_model.cmake\" RESULT_VARIABLE failed)
              if(failed)
                message(FATAL_ERROR \"heed_model was not written\")
              endif()")
install(FILES ${model}/heed_model.h ${model}/heed_model.c DESTINATION ${sources})
# Programs of heed_compile include "heed_model.h". The folder of the others is no folder for a compiler: it has a threads.h.
file(WRITE ${model}/forward/heed_model.h "/* See heed/heed_model.h. SPDX-License-Identifier: MIT */\n#include \"heed/heed_model.h\"\n")
install(FILES ${model}/forward/heed_model.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/heed)
install(TARGETS ${targets} EXPORT heedTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})  # a DLL

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/heed)
install(EXPORT heedTargets NAMESPACE heed:: DESTINATION ${package})
configure_package_config_file(ports/cmake/heedConfig.cmake.in heedConfig.cmake INSTALL_DESTINATION ${package} PATH_VARS sources)
write_basic_package_version_file(heedConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heedConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/heedConfigVersion.cmake
        DESTINATION ${package})

# Folders relative to the .pc file, so that an installed tree can be moved.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
configure_file(ports/cmake/heed.pc.in heed.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heed.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
foreach(executor openmp threads)
  if(TARGET heed_${executor})
    configure_file(ports/cmake/heed-${executor}.pc.in heed-${executor}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heed-${executor}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endif()
endforeach()
