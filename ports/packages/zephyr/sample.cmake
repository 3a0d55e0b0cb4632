# west build -b mps2/an386 samples/hello -- -DEXTRA_ZEPHYR_MODULES=$PWD. SPDX-License-Identifier: MIT
cmake_minimum_required(VERSION 3.20)
find_package(Zephyr REQUIRED HINTS $ENV{ZEPHYR_BASE})
project(hello)
target_sources(app PRIVATE src/main.c)
