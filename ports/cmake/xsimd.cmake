# Finds xsimd's headers, 8.1 or newer, also when cross compiling: they are the same for every processor, but the package's
# CMake file lies in the host's multiarch folder, where a cross build does not look. Sets HEED_XSIMD_INCLUDE_DIR (a cache
# variable, may be given), xsimd_folder and xsimd_version.
find_path(HEED_XSIMD_INCLUDE_DIR xsimd/xsimd.hpp PATHS /usr/include /usr/local/include NO_CMAKE_FIND_ROOT_PATH
          DOC "Folder that holds xsimd/xsimd.hpp")
set(xsimd_version 0)
option(HEED_FETCH_XSIMD "Download xsimd's headers if the system has none" OFF)
if(NOT HEED_XSIMD_INCLUDE_DIR AND HEED_FETCH_XSIMD)
  include(FetchContent)
  FetchContent_Declare(xsimd GIT_REPOSITORY https://github.com/xtensor-stack/xsimd.git GIT_TAG 13.2.0 GIT_SHALLOW ON
                       SOURCE_SUBDIR headers_alone)  # no such folder: nothing of it is built
  FetchContent_MakeAvailable(xsimd)
  set(HEED_XSIMD_INCLUDE_DIR ${xsimd_SOURCE_DIR}/include CACHE PATH "Folder that holds xsimd/xsimd.hpp" FORCE)
endif()
if(NOT HEED_XSIMD_INCLUDE_DIR)
  message(WARNING "heed: xsimd is not found. The kernels for x86, NEON and SVE are left out; the generic ones take about 2.2 times as long. Get it by apt-get install "
                 "libxsimd-dev, by -DHEED_XSIMD_INCLUDE_DIR=FOLDER, or by -DHEED_FETCH_XSIMD=ON, which downloads its headers.")
  return()
endif()

set(xsimd_config ${HEED_XSIMD_INCLUDE_DIR}/xsimd/config/xsimd_config.hpp)
if(NOT EXISTS ${xsimd_config})
  message(FATAL_ERROR "heed: HEED_XSIMD_INCLUDE_DIR is ${HEED_XSIMD_INCLUDE_DIR}, but there is no ${xsimd_config}. Give the folder that "
                      "holds xsimd/xsimd.hpp and xsimd/config/xsimd_config.hpp, /usr/include for instance.")
endif()

# A link to xsimd/ alone: -isystem /usr/include would put the host's C headers in front of a cross compiler's.
set(xsimd_folder ${CMAKE_CURRENT_BINARY_DIR}/xsimd_include)
file(MAKE_DIRECTORY ${xsimd_folder})
file(CREATE_LINK ${HEED_XSIMD_INCLUDE_DIR}/xsimd ${xsimd_folder}/xsimd SYMBOLIC COPY_ON_ERROR)

file(STRINGS ${xsimd_config} xsimd_version REGEX "define XSIMD_VERSION_(MAJOR|MINOR|PATCH)")
list(TRANSFORM xsimd_version REPLACE "[^0-9]" "")
list(JOIN xsimd_version "." xsimd_version)
if(xsimd_version VERSION_LESS 8.1)
  message(FATAL_ERROR "heed: xsimd ${xsimd_version} in ${HEED_XSIMD_INCLUDE_DIR} is older than 8.1")
endif()
message(STATUS "xsimd ${xsimd_version} in ${HEED_XSIMD_INCLUDE_DIR}")
