# Installs headers, libraries, the CMake package and pkg-config files.
include(CMakePackageConfigHelpers)
set(targets heed)
if(TARGET heed_openmp)
  list(APPEND targets heed_openmp)
endif()
install(DIRECTORY include/heed DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS ${targets} EXPORT heedTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})  # a DLL

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/heed)
install(EXPORT heedTargets NAMESPACE heed:: DESTINATION ${package})
configure_package_config_file(ports/cmake/heedConfig.cmake.in heedConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(heedConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heedConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/heedConfigVersion.cmake
        DESTINATION ${package})

# Folders relative to the .pc file, so that an installed tree can be moved.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
configure_file(ports/cmake/heed.pc.in heed.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heed.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET heed_openmp)
  configure_file(ports/cmake/heed-openmp.pc.in heed-openmp.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heed-openmp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
