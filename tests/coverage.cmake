# Instruments the library, leaves the suites at full speed: coverage.sh names this file in CMAKE_PROJECT_heed_INCLUDE.
# Unoptimised and with no function inlined, each condition of the source is one branch of each instantiation. The build
# type has a name of its own because Debug optimises kernel files. Atomic: tasks run in threads.
set(heed_is_counted $<OR:$<STREQUAL:$<TARGET_PROPERTY:NAME>,heed>,$<STREQUAL:$<TARGET_PROPERTY:NAME>,heed_every_kernel>,$<STREQUAL:$<TARGET_PROPERTY:NAME>,heed_openmp>,$<STREQUAL:$<TARGET_PROPERTY:NAME>,heed_threads>>)
foreach(flag -O0 -Dalways_inline=noinline --coverage -fprofile-abs-path -fprofile-update=atomic)
  add_compile_options($<${heed_is_counted}:${flag}>)
endforeach()
add_compile_definitions(HEED_COVERAGE)
add_link_options(--coverage)
