# The commands of the pages: each is run or has a reason not to be, and presets build what the pages promise. Each page is run with
# ctest -C all, -L pages.
add_test(NAME commands COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/commands.sh check ${PROJECT_SOURCE_DIR})
add_test(NAME presets_of_linux COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/presets.sh ${PROJECT_SOURCE_DIR})
set_tests_properties(presets_of_linux PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
file(READ ${CMAKE_CURRENT_SOURCE_DIR}/commands.txt pages)
string(REPLACE "[" "@" pages "${pages}")  # which CMake's lists must not see
string(REGEX MATCHALL "\n@[A-Za-z0-9/-]+\\.md" pages "${pages}")
foreach(page IN LISTS pages)
  string(SUBSTRING "${page}" 2 -1 page)
  string(REGEX REPLACE "/README.md$|\\.md$" "" name "${page}")
  string(REPLACE "/" "_" name ${name})
  add_test(NAME page_${name} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/commands.sh run ${PROJECT_SOURCE_DIR} ${page}
                                     ${CMAKE_CURRENT_BINARY_DIR}/pages/${name} CONFIGURATIONS all)
  set_tests_properties(page_${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS pages TIMEOUT 3600 PROCESSORS 2)
endforeach()
