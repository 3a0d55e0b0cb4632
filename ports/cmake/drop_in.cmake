# cmake -DSOURCE=heed's folder -DOUTPUT=folder -P drop_in.cmake: writes heed.h and heed.cpp, the whole library as two files, from
# the real sources: lib/single.cpp with every #include "..." replaced by the file, once each.
cmake_minimum_required(VERSION 3.16)

function(inline_file path result)
  get_filename_component(folder ${path} DIRECTORY)
  file(RELATIVE_PATH name ${SOURCE} ${path})
  file(READ ${path} text)
  # CMake's lists must not see these.
  string(REPLACE ";" "@semicolon@" text "${text}")
  string(REPLACE "[" "@open@" text "${text}")
  string(REPLACE "]" "@close@" text "${text}")
  string(REPLACE "\\" "@backslash@" text "${text}")
  string(REPLACE "\n" ";" lines "${text}")
  set(out "// ---- ${name}\n")
  foreach(line IN LISTS lines)
    if(line MATCHES "^#include \"(.*)\"")
      set(file ${CMAKE_MATCH_1})
      if(file MATCHES "^heed/")  # heed.h and integers.h are one file
        set(included ${SOURCE}/include/heed/heed.h)
      else()
        get_filename_component(included ${folder}/${file} ABSOLUTE)
      endif()
      get_property(done GLOBAL PROPERTY done)
      if(NOT included IN_LIST done)
        set_property(GLOBAL APPEND PROPERTY done ${included})
        if(file MATCHES "^heed/")
          string(APPEND out "#include \"heed.h\"\n")
        else()
          inline_file(${included} inlined)
          string(APPEND out "${inlined}")
        endif()
      endif()
    else()
      string(APPEND out "${line}\n")
    endif()
  endforeach()
  set(${result} "${out}" PARENT_SCOPE)
endfunction()

function(inline_all path result)
  inline_file(${path} text)
  string(REPLACE "@semicolon@" ";" text "${text}")
  string(REPLACE "@open@" "[" text "${text}")
  string(REPLACE "@close@" "]" text "${text}")
  string(REPLACE "@backslash@" "\\" text "${text}")
  string(REGEX REPLACE "\n\n\n+" "\n\n" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

file(READ ${SOURCE}/LICENSE license)
string(REGEX REPLACE "\n+$" "" license "${license}")
inline_all(${SOURCE}/include/heed/heed.h header)
inline_all(${SOURCE}/include/heed/integers.h integers)
string(APPEND header "\n${integers}")
set_property(GLOBAL PROPERTY done "")
inline_all(${SOURCE}/lib/single.cpp code)
file(WRITE ${OUTPUT}/heed.cpp.new "/* heed as one file, made from its sources: change those. Compile it beside heed.h with one call, for instance
 *   arm-none-eabi-g++ -std=c++17 -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -Os -ffreestanding \\
 *     -fno-exceptions -fno-rtti -ffunction-sections -fdata-sections -c heed.cpp
 * With GCC, -ffp-contract=off -fno-math-errno -fno-tree-vectorize -DHEED_FLAGS_ARE_SET besides make it 8 % faster.
 * Link with -Wl,--gc-sections: what the program does not call is left out. That needs both -f...-sections above: without
 * -ffunction-sections or without -fdata-sections a program carries all of heed, ten times the code of one call.

${license} */
${code}")
configure_file(${OUTPUT}/heed.cpp.new ${OUTPUT}/heed.cpp COPYONLY)
file(REMOVE ${OUTPUT}/heed.cpp.new)
file(WRITE ${OUTPUT}/heed.h.new "${header}")
configure_file(${OUTPUT}/heed.h.new ${OUTPUT}/heed.h COPYONLY)
file(REMOVE ${OUTPUT}/heed.h.new)
