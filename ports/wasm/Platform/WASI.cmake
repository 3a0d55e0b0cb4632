# CMake knows no such system yet, and would say so at each check.
set(WASI 1)
